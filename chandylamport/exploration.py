"""Every schedule of a small system: all states it can be in, and the shortest way to a wrong one.

The search knows nothing of the algorithm. It lets every step that can be taken be taken, and
recognises a state that it has seen. The truth about the cut is a part of the state: without it,
two histories that differ only in what is to be recorded would be taken for one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from .cuts import Cut
from .recorder import Id, LocalSnapshot, Snapshot
from .runs import Run, Schedule, named, simulate
from .simulator import NO_ID, Algorithm, World
from .systems import System


class TooManyStates(RuntimeError):
    """A system too large to be searched through."""


@dataclass(frozen=True)
class Exploration:
    """All that can happen: how many states, which snapshots and cuts, and what goes wrong first."""

    states: int
    snapshots: frozenset[Snapshot]
    cuts: frozenset[Cut]
    counterexample: Run | None  # the shortest

    def __repr__(self) -> str:
        found = f"states: {self.states}, snapshots: {len(self.snapshots)}, cuts: {len(self.cuts)}"
        wrong = self.counterexample
        return f"<{found}; {f'wrong: {wrong.fault}' if wrong else 'no counterexample'}>"


def explore(
    system: System,
    algorithm: Algorithm,
    *,
    initiators: Iterable[str] | None = None,
    ids: Iterable[Id] = NO_ID,
    limit: int = 50_000,
    stop: bool = False,
) -> Exploration:
    """Take every schedule, with everybody free to begin at any time, or the initiators only.

    A snapshot that is complete and wrong is a counterexample, and so is one that is not complete
    when nothing can happen any more. With `stop`, the search ends at the first, a shortest one.

    >>> import chandylamport as cl
    >>> explore(cl.textbook_bank(), cl.ChandyLamport)
    <states: 141, snapshots: 9, cuts: 7; no counterexample>
    """
    who = list(system.processes) if initiators is None else named(system, initiators)
    begin = [(id, p) for id in ids for p in who]
    # All delays are among the schedules, so none needs to be waited for.
    system = replace(system, network=replace(system.network, delays={}))
    start = World(system, algorithm, dict.fromkeys(id for id, _ in begin))
    ways: dict[Hashable, tuple[Hashable, str]] = {}  # to each state: the one before, and the step
    recorders = {process: frozen(own) for process, own in start.recorders.items()}
    level = {key(start, recorders): (start, recorders)}
    seen, snapshots, cuts, wrong = set(level), set[Snapshot](), set[Cut](), None
    while level and not (stop and wrong):
        above: dict[Hashable, tuple[World, dict[str, Hashable]]] = {}
        for here, (world, recorders) in level.items():
            options = world.options(begin)
            if not options or world.faults:
                if wrong is None and (world.faults or len(world.complete) < len(world.ids)):
                    wrong = _way(ways, here)
                continue
            for option in options:
                other = world.copy()
                other.recorders[option.process] = clone(world.recorders[option.process])
                try:
                    other.take(option)
                except Exception as error:  # in the algorithm: say how it came to this
                    error.add_note(str(Schedule([*_way(ways, here), option.text])))
                    raise
                changed = {**recorders, option.process: frozen(other.recorders[option.process])}
                there = key(other, changed)
                if there not in seen:
                    if len(seen) >= limit:
                        raise TooManyStates(
                            f"more than {limit} states: take a smaller system, or raise limit"
                        )
                    seen.add(there)
                    ways[there], above[there] = (here, option.text), (other, changed)
                    snapshots.update(other.complete.values())
                    cuts.update(Cut(other.truth[id].cut) for id in other.complete)
        level = above
    snapshot_ids: dict[Id, dict[str, int]] = {id: {} for id in start.ids}
    run = simulate(system, algorithm, schedule=wrong, snapshots=snapshot_ids) if wrong else None
    return Exploration(len(seen), frozenset(snapshots), frozenset(cuts), run)


def find_failure(
    system: System,
    algorithm: Algorithm,
    *,
    initiators: Iterable[str] | None = None,
    limit: int = 3_000,
    seeds: int = 1_000,
) -> Run | None:
    """Find a run that goes wrong: the shortest if the search gets there, else one cut short.

    None says that there is no such run if the search went through all states, and that `seeds`
    runs by chance have shown none if it did not.

    >>> import chandylamport as cl
    >>> mail = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Unordered(cl.complete("pq")))
    >>> print(find_failure(mail, cl.ChandyLamport, initiators=["p"]).schedule)
    p sends m to q
    p records
    q receives marker from p
    p receives marker from q
    """
    who = list(system.processes) if initiators is None else named(system, initiators)
    with suppress(TooManyStates):
        found = explore(system, algorithm, initiators=who, limit=limit, stop=True)
        return found.counterexample
    for seed in range(seeds):
        first, at = [who[seed % len(who)]], seed % 23
        run = simulate(system, algorithm, initiators=first, at=at, seed=seed)
        if run.fault:
            return shortened(run)
    return None


def shortened(run: Run) -> Run:
    """Leave out every step without which a run still goes wrong, the later ones first."""
    number = len(run.schedule)
    while number and run.snapshot is not None:
        number -= 1
        fewer = (*run.schedule[:number], *run.schedule[number + 1 :])
        try:
            other = simulate(run.system, run.algorithm, schedule=fewer)
        except ValueError:  # a later step needs this one
            continue
        if other.fault and other.snapshot is not None:
            run, number = other, len(other.schedule)
    return run


def _way(ways: dict[Hashable, tuple[Hashable, str]], end: Hashable) -> Schedule:
    steps = []
    while end in ways:
        end, step = ways[end]
        steps.append(step)
    return Schedule(reversed(steps))


def key(world: World, recorders: Mapping[str, Hashable]) -> Hashable:
    """What two worlds must have in common to have the same future and the same truth."""
    return (
        tuple(world.states.values()),
        (*world.done.values(), *world.taken.values()),
        tuple(
            tuple((k.wire, k.message, k.recorded) for k in held) for held in world.channels.values()
        ),
        tuple(recorders.values()),
        tuple((frozen(t.cut), frozen(t.late), bool(t.orphans)) for t in world.truth.values()),
        (frozenset(world.complete), bool(world.faults), world.in_vain, world.held),
    )


def frozen(value: Any) -> Hashable:
    """Give what is equal for equal contents, and can be looked up."""
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, dict):
        return frozenset((k, frozen(v)) for k, v in value.items())
    if isinstance(value, list | tuple | deque):
        return tuple(map(frozen, value))
    if isinstance(value, set):
        return frozenset(value)
    return frozen(vars(value)) if _can_change(value) else value


def clone(value: Any, twins: dict[int, Any] | None = None) -> Any:
    """Give a copy that shares nothing that can change; deepcopy does the same, slowly."""
    twins = {} if twins is None else twins  # what is one thing under two names stays one
    other: Any
    if id(value) in twins:
        return twins[id(value)]
    if isinstance(value, dict):
        other = twins[id(value)] = copy(value)
        for k, v in value.items():
            other[k] = clone(v, twins)
        return other
    if isinstance(value, list | set | deque):
        other = twins[id(value)] = type(value)(clone(part, twins) for part in value)
        return other
    if _can_change(value):
        other = twins[id(value)] = copy(value)
        vars(other).update((name, clone(part, twins)) for name, part in vars(value).items())
        return other
    return value


def _can_change(value: object) -> bool:
    """Whether a value is an object known by its identity, such as a recorder, or has dicts."""
    if isinstance(value, LocalSnapshot):
        return True
    if type(value).__hash__ not in (object.__hash__, None) or isinstance(value, type):
        return False
    if getattr(value, "__slots__", None):
        raise TypeError(f"a {type(value).__name__} cannot be copied: do without __slots__")
    return hasattr(value, "__dict__") and not callable(value)
