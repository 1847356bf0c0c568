"""An executable course on distributed snapshots.

The modules are the chapters, in reading order: `events`, `causality`, `cuts`; beside them
`formats` reads and writes, `drawing` draws, `widgets` moves, `classroom` asks and marks.
"""

from .causality import concurrent, happens_before, lamport_clocks, vector_clocks
from .cuts import (
    Cut,
    consistent_cuts,
    count_consistent_cuts,
    count_runs,
    definitely,
    frontier,
    greatest_consistent_below,
    in_transit,
    is_consistent,
    least_consistent_above,
    orphans,
    possibly,
    successors,
)
from .diagrams import computation
from .drawing import Picture, draw, draw_lattice
from .events import Channel, Computation, Event, Log, MalformedComputation, Message
from .formats import SHIVIZ, read_json, read_shiviz, to_json, to_shiviz

__version__ = "0.1.0"
