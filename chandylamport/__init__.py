"""An executable course on distributed snapshots.

The modules are the chapters, in reading order: `events`, `log`, `causality`, `cuts`, `lattice`.
Beside them, `diagrams` and `formats` read and write, `drawing` draws, `widgets` moves, and
`classroom` asks and marks.
"""

from .causality import concurrent, happens_before, lamport_clocks, vector_clocks
from .cuts import (
    Cut,
    frontier,
    greatest_consistent_below,
    in_transit,
    is_consistent,
    least_consistent_above,
    orphans,
)
from .diagrams import computation
from .drawing import Picture, draw, draw_lattice
from .events import Channel, Computation, Event, MalformedComputation, Message
from .formats import SHIVIZ, read_json, read_shiviz, to_json, to_shiviz
from .lattice import (
    consistent_cuts,
    count_consistent_cuts,
    count_runs,
    definitely,
    possibly,
    successors,
)
from .log import Log

__version__ = "0.1.0"
