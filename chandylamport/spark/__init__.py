"""The course on a real engine: everything here needs the extra `spark`, and nothing else does."""

from .sessions import SparkFailed, session, stop

__all__ = ["SparkFailed", "session", "stop"]
