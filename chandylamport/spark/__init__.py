"""The course on a real engine: everything here needs the extra `spark`, and nothing else does."""
