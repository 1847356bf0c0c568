"""Dataflows with checkpoints: operators are processes, edges are channels, barriers are markers."""

from .barriers import Aligned, AtLeastOnce
from .execution import Execution, execute
from .flows import (
    Flow,
    count,
    deploy,
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

__all__ = [
    "Aligned",
    "AtLeastOnce",
    "Execution",
    "Flow",
    "count",
    "deploy",
    "execute",
    "filter",
    "join",
    "key_by",
    "loop",
    "map",
    "sink",
    "source",
    "sum",
    "window",
]
