"""Computations as text that other programs read and write: JSON, and logs with vector clocks."""

from .as_json import read_json, to_json
from .shiviz import SHIVIZ, read_shiviz, to_shiviz

__all__ = ["SHIVIZ", "read_json", "read_shiviz", "to_json", "to_shiviz"]
