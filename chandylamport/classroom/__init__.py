"""The classroom: exercises that check themselves, hints, and the code of a chapter to read."""

from .checking import NotYet, check, hint
from .reading import show_source

__all__ = ["NotYet", "check", "hint", "show_source"]
