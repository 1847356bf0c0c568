"""Runs: three ways to choose the steps, and what is left when a run is over.

Chance, a script or an earlier schedule choose; all three choose among the same steps, by their
words. So whatever one of them finds can be read, edited and run again by another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

from .cuts import Cut, in_transit
from .events import Channel, Computation, Event
from .log import Log
from .recorder import Channels, Id, Payload, Snapshot
from .simulator import NO_ID, Algorithm, Entry, Option, World
from .systems import System
from .truth import why_not_complete

if TYPE_CHECKING:
    from .drawing import Picture
    from .moments import Moment


class Schedule(tuple[str, ...]):
    """The steps of a run, one a line, as a person can read, edit and feed them back.

    >>> print(Schedule("p sends m1 to q; q receives m1"))
    p sends m1 to q
    q receives m1
    """

    def __new__(cls, steps: str | Iterable[str] = ()) -> Schedule:
        """Read steps from lines of text (or with ; between), or take them as they are."""
        lines = re.split(r"[\n;]", steps) if isinstance(steps, str) else steps
        words = (" ".join(re.sub(r"(^|\s)#.*", "", line).split()) for line in lines)
        return super().__new__(cls, (line for line in words if line))

    def __str__(self) -> str:
        return "\n".join(self)


@dataclass(frozen=True, repr=False)
class Run:
    """What happened, what was recorded, and the cut at which it was recorded."""

    system: System
    algorithm: Algorithm | None
    schedule: Schedule
    trace: tuple[Entry, ...]
    payloads: Mapping[str, Payload]
    cuts: Mapping[Id, Cut]  # of the snapshots that every process has recorded
    snapshots: Mapping[Id, Snapshot | None]  # None: never complete
    faults: Mapping[Id, str]  # what is wrong with a snapshot, if anything is
    final: Snapshot
    controls: Mapping[Id, int]  # markers, and other controls if there are any
    peak: int  # the most messages that were logged at one time
    time: int  # when it was over
    reports: tuple[tuple[str, object], ...]

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot, where there is one only."""
        return next(iter(self.snapshots.values()), None)

    @property
    def cut(self) -> Cut | None:
        """The cut at which it was recorded."""
        return self.cuts.get(next(iter(self.snapshots), None))

    @property
    def fault(self) -> str:
        """What is wrong, in words; nothing if all is right."""
        return next(iter(self.faults.values()), "")

    @property
    def markers(self) -> int:
        """How many markers and other controls were sent, in all snapshots together."""
        return sum(self.controls.values())

    @cached_property
    def computation(self) -> Computation:
        """The events of the processes, without those of the algorithm."""
        log = Log(self.system.processes)
        for entry in (entry for entry in self.trace if entry.is_event):
            log.event(entry.process, entry.label, sends=dict(entry.sends), receives=entry.receives)
        return log.computation(payloads=self.payloads)

    @cached_property
    def order(self) -> tuple[Event, ...]:
        """The events in the order in which they happened."""
        ahead = {p: iter(self.computation.history(p)) for p in self.system.processes}
        return tuple(next(ahead[entry.process]) for entry in self.trace if entry.is_event)

    @property
    def steps(self) -> Schedule:
        """The schedule without the steps of the algorithm."""
        before = len(self.trace) - len(self.schedule)  # what a restored system has sent already
        pairs = zip(self.schedule, self.trace[before:], strict=True)
        return Schedule(step for step, entry in pairs if entry.is_event)

    def cut_of(self, id: Id | None) -> Cut:
        """Give the cut of a snapshot, by default of the only one, or say why there is none."""
        cut = self.cut if id is None else self.cuts.get(id)
        if cut is None:
            why = self.faults.get(id, "there is no such snapshot") if id else self.fault
            raise ValueError(f"no cut was recorded: {why or 'nobody took a snapshot'}")
        return cut

    def in_transit(self, id: Id | None = None) -> Mapping[Channel, tuple[Payload, ...]]:
        """Say what the channels hold at the cut, from the computation alone."""
        cut = self.cut_of(id)
        contents = self.system.network.contents
        return Channels(
            (channel, contents(self.payloads[name] for name in names))
            for channel, names in in_transit(self.computation, cut).items()
        )

    def moments(self) -> Iterator[Moment]:
        """Live through the run again: give its start, and the moment after each step."""
        from .moments import moments

        return moments(self)

    def draw(self) -> Picture:
        """Draw the run with its markers, dashed, and its cuts."""
        from .drawing import draw_run

        return draw_run(self)

    def _repr_svg_(self) -> str | None:
        return self.draw().svg if len(self.schedule) <= 40 else None

    def __repr__(self) -> str:
        steps = f"Run of {len(self.schedule)} steps, {len(self.computation)} events"
        words = [f"{id}: {self.faults.get(id, 'right')}" for id in self.snapshots]
        return f"<{'; '.join([steps, *words])}>"


def simulate(
    system: System,
    algorithm: Algorithm | None = None,
    *,
    initiators: Iterable[str] = (),
    at: int = 0,
    snapshots: Mapping[Id, Mapping[str, int]] | None = None,
    seed: int = 0,
    schedule: str | Iterable[str] | Run | None = None,
    limit: int = 100_000,
) -> Run:
    """Run a system until nothing can happen any more, or along a schedule until it ends.

    After `at` steps the initiators begin, by default the first process. Several snapshots are
    given as the steps after which each process begins them: `snapshots={1: {"p": 8}, 2: {"q": 9}}`.
    """
    if initiators and (schedule is not None or snapshots is not None or algorithm is None):
        raise ValueError("initiators go with an algorithm, without a schedule or snapshots")
    if schedule is not None:
        script = schedule.schedule if isinstance(schedule, Run) else Schedule(schedule)
        ids: Iterable[Id] = snapshots or (_ids(system, script) if algorithm else ())
        world = World(system, algorithm, ids)
        steps = by_script(world, script)
    else:
        if algorithm is not None and snapshots is None:
            first = named(system, initiators) or [next(iter(system.processes))]
            snapshots = {NO_ID[0]: dict.fromkeys(first, at)}
        world = World(system, algorithm, snapshots or ())
        steps = by_chance(world, snapshots or {}, Random(seed))
    taken = []
    for option in steps:
        world.take(option)
        taken.append(option.text)
        if len(taken) > limit:
            last = f"the last: {'; '.join(taken[-3:])}"
            raise RuntimeError(f"still running after {limit} steps, {last}. Does it ever end?")
    return finished(world, algorithm, taken)


def replay(system: System, schedule: str | Iterable[str]) -> list[Snapshot]:
    """Give the global states that a schedule without a snapshot passes through, from the start."""
    world = World(system, None, ())
    passed = [world.now()]
    for option in by_script(world, Schedule(schedule)):
        world.take(option)
        passed.append(world.now())
    return passed


def finished(world: World, algorithm: Algorithm | None, steps: Iterable[str]) -> Run:
    """Freeze a world at the end of a run."""
    everybody = len(world.states)
    return Run(
        world.system,
        algorithm,
        Schedule(steps),
        tuple(world.trace),
        world.payloads,
        {
            id: Cut({process: truth.cut[process] for process in world.states})
            for id, truth in world.truth.items()
            if len(truth.cut) == everybody
        },
        {id: world.complete.get(id) for id in world.ids},
        {
            id: world.faults[id] if id in world.faults else why_not_complete(world, id)
            for id in world.ids
            if id in world.faults or id not in world.complete
        },
        world.now(),
        world.controls,
        world.peak,
        world.clock,
        world.reports,
    )


def by_chance(
    world: World, snapshots: Mapping[Id, Mapping[str, int]], random: Random
) -> Iterator[Option]:
    """Choose among all that can happen, until nothing can; begin the snapshots at their steps."""
    plan = [(step, id, p) for id, begin in snapshots.items() for p, step in begin.items()]
    named(world.system, [process for _, _, process in plan])
    plan.sort(key=lambda begin: begin[0])
    step = 0
    while True:
        options = world.options()
        if plan and (plan[0][0] <= step or not options):
            _, id, process = plan.pop(0)
            recorded = process in world.truth[id].cut
            options = [] if recorded else world.options([(id, process)])[:1]
        elif not options and not world.wait():
            return
        if options:
            step += 1
            yield random.choice(options)


def by_script(world: World, script: Schedule) -> Iterator[Option]:
    """Choose the steps that a script names, one after the other; say which of them cannot be."""
    begin = [(id, process) for id in world.ids for process in world.states]
    for number, line in enumerate(script, start=1):
        options = now = world.options(begin)
        while (found := _find(line, options)) is None and world.wait():
            options = world.options(begin)
        if found is None:
            can = "; ".join(option.text for option in now) or "nothing"
            raise ValueError(f"step {number}, {line!r}, cannot happen now. What can: {can}")
        if found.method == "act" and (taken := {*found.arguments[1]} & world.payloads.keys()):
            raise ValueError(f"step {number}, {line!r}: there is a message {taken.pop()} already")
        yield found


def _find(line: str, options: Sequence[Option]) -> Option | None:
    same = (option for option in options if option.text == line)
    return next(same, None) or next(filter(None, (_renamed(line, o) for o in options)), None)


def _renamed(line: str, option: Option) -> Option | None:
    """The step with the names that a script gives to its messages, if they have none yet."""
    if option.method != "act" or option.arguments[0].label:
        return None
    name = r"(sends|,) (.+?) to "
    if re.sub(name, r"\1 _ to ", line) != re.sub(name, r"\1 _ to ", option.text):
        return None
    names = tuple(given for _, given in re.findall(name, line))
    return option._replace(text=line, arguments=(option.arguments[0], names))


def _ids(system: System, script: Schedule) -> Sequence[Id]:
    lines = (line.removeprefix(f"{p} records ") for line in script for p in system.processes)
    ids = dict.fromkeys(id for id in lines if id not in script)
    return [int(id) if re.fullmatch("0|[1-9][0-9]*", id) else id for id in ids] or NO_ID


def named(system: System, processes: Iterable[str]) -> list[str]:
    """List processes of a system by their names, and refuse what is none."""
    if isinstance(processes, str):
        meant = [processes] if processes in system.processes else list(processes)
        raise TypeError(f"a list of processes is needed: {meant!r}")
    listed = sorted(processes) if isinstance(processes, Set) else list(processes)
    if unknown := [process for process in listed if process not in system.processes]:
        known = ", ".join(system.processes)
        raise ValueError(f"there is no process {unknown[0]} to begin a snapshot, only {known}")
    return listed
