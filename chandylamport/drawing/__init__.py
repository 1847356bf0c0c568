"""Pictures of what the other chapters compute: pure functions, the same bytes every time."""

from .lattice import draw_lattice
from .picture import Picture
from .runs import draw_run
from .spacetime import draw

__all__ = ["Picture", "draw", "draw_lattice", "draw_run"]
