"""Pictures of what the other chapters compute: pure functions, the same bytes every time."""

from .lattice import draw_lattice
from .moments import draw_moments
from .picture import Picture
from .runs import draw_run, draw_swaps
from .spacetime import draw

__all__ = ["Picture", "draw", "draw_lattice", "draw_moments", "draw_run", "draw_swaps"]
