"""An executable course on distributed snapshots.

The modules are the chapters, in reading order: `events`, `log`, `causality`, `cuts`, `lattice`.
Beside them, `diagrams` and `formats` read and write, `drawing` draws, `widgets` moves, and
`classroom` asks and marks.
"""

from .applications import (
    EXAMPLE_2_2,
    accounts,
    actors,
    bank,
    both_ways,
    complete,
    example_2_2,
    letters,
    line,
    object_graph,
    ring,
    servers,
    single_token,
    star,
    strongly_connected,
    textbook_bank,
    three_process_bank,
    work_pool,
)
from .causality import concurrent, happens_before, lamport_clocks, vector_clocks
from .chandy_lamport import MARKER, ChandyLamport
from .cuts import (
    Cut,
    frontier,
    greatest_consistent_below,
    in_transit,
    is_consistent,
    least_consistent_above,
    orphans,
)
from .detection import (
    AcknowledgedMarkers,
    breakpoint_at,
    deadlocked,
    garbage,
    reference_counts,
    terminated,
    tokens,
    violations,
)
from .diagrams import computation
from .drawing import Picture, draw, draw_lattice, draw_moments, draw_run, draw_swaps
from .events import Channel, Computation, Event, MalformedComputation, Message
from .exploration import explore, find_failure
from .formats import SHIVIZ, read_json, read_shiviz, to_json, to_shiviz
from .lai_yang import LaiYang, Mattern
from .lattice import (
    consistent_cuts,
    count_consistent_cuts,
    count_runs,
    definitely,
    possibly,
    successors,
)
from .log import Log
from .overlapping import Overlapping
from .reachability import reorder
from .recorder import LocalSnapshot, Port, Recorder, Snapshot, assemble
from .runs import Run, Schedule, replay, simulate
from .systems import Action, Fifo, System, Unordered, restore

__version__ = "0.1.0"
