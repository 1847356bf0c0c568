"""An executable course on distributed snapshots.

The modules are the chapters, in reading order. What happened: `events`, `log`, `causality`,
`cuts`, `lattice`. How a system photographs itself: `recorder`, `chandy_lamport`, `lai_yang`,
`overlapping`. How that is run and proved: `systems`, `truth`, `simulator`, `runs`, `exploration`,
`reachability`. What for: `detection`. In production: `keyed_state`, `encoding`, `store`,
`coordinator`, `clusters`, `dataflow`, `retracing`, `connections`, `workers`, `sockets`, `spark`.
Beside them, `applications` and `topologies` are there to be photographed, `broken` is wrong on
purpose, `diagrams` and `formats` read and write, `drawing` draws, `widgets` moves, and `classroom`
asks and marks.
"""

from .applications import (
    EXAMPLE_2_2,
    accounts,
    actors,
    bank,
    example_2_2,
    letters,
    object_graph,
    servers,
    single_token,
    textbook_bank,
    three_process_bank,
    work_pool,
)
from .causality import concurrent, happens_before, lamport_clocks, vector_clocks
from .chandy_lamport import MARKER, ChandyLamport
from .clusters import Cluster
from .coordinator import Coordinator, Latest, SnapshotsFail
from .cuts import (
    Cut,
    frontier,
    greatest_consistent_below,
    in_transit,
    is_consistent,
    least_consistent_above,
    orphans,
)
from .dataflow import (
    Aligned,
    AtLeastOnce,
    count,
    deploy,
    execute,
    filter,
    join,
    key_by,
    loop,
    map,
    sink,
    source,
    sum,
    window,
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
from .keyed_state import KeyedState
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
from .store import DamagedSnapshot, Disk, ForeignSnapshot, NoSuchSnapshot, Store, StoreInUse
from .systems import Action, Fifo, Process, System, Unordered, restore
from .topologies import both_ways, complete, line, ring, star, strongly_connected

__version__ = "0.1.0"
