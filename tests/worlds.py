"""Every world that some schedule leads to: for claims about the middle of a run, not its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chandylamport import Snapshot, System
from chandylamport.exploration import clone, frozen, key
from chandylamport.simulator import Algorithm, World


def every_world(
    system: System, algorithm: Algorithm | None, initiators: Iterable[str] | None = None
) -> Iterator[tuple[World, Snapshot | None]]:
    """Each world, with the global state in which the first process recorded, if one has."""
    start = World(system, algorithm)
    who = list(system.processes if initiators is None else initiators)
    begin = [(id, process) for id in start.ids for process in who]
    waiting: list[tuple[World, Snapshot | None]] = [(start, None)]
    seen = set()
    while waiting:
        world, began = waiting.pop()
        yield world, began
        for option in world.options(begin):
            other = world.copy()
            other.recorders[option.process] = clone(world.recorders[option.process])
            other.take(option)
            first = began or (world.now() if option.method == "begin" else None)
            recorders = {process: frozen(own) for process, own in other.recorders.items()}
            mark = key(other, recorders), other.reports, first
            if mark not in seen:
                seen.add(mark)
                waiting.append((other, first))


def taken(world: World) -> Snapshot | None:
    """The snapshot, once it is complete."""
    return next(iter(world.complete.values()), None)
