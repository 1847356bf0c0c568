"""The course on a real engine: everything here needs the extra `spark`, and nothing else does."""

from .auditing import (
    DamagedTrace,
    Finding,
    audit,
    check_clocks,
    conservation,
    damage,
    in_transit,
    orphans,
)
from .checkpoints import BadCheckpoint, Checkpoint, WrongState, checkpoint, verify
from .sessions import SparkFailed, session, stop
from .tables import MalformedTrace, Trace, read_table, read_trace, synthetic, trace
from .tasks import SparkRun, TooFewSlots, run

__all__ = [
    "BadCheckpoint",
    "Checkpoint",
    "DamagedTrace",
    "Finding",
    "MalformedTrace",
    "SparkFailed",
    "SparkRun",
    "TooFewSlots",
    "Trace",
    "WrongState",
    "audit",
    "check_clocks",
    "checkpoint",
    "conservation",
    "damage",
    "in_transit",
    "orphans",
    "read_table",
    "read_trace",
    "run",
    "session",
    "stop",
    "synthetic",
    "trace",
    "verify",
]
