"""Exercises on recovery: what is restored and in which order, and what the world outside sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

from ...chandy_lamport import ChandyLamport
from ...drawing import Picture, draw
from ...events import Channel
from ...log import Log
from ...recorder import Id, Snapshot
from ...runs import Run, simulate
from ...systems import System, restore
from ..checking import Exercise, NotYet, Outcome
from ..checking import crash as stopped
from ..judging import is_a_class_with, pasted
from .barriers import R11, sources, stream_of

# --- a job of letters -----------------------------------------------------------------------------


class Crash(NamedTuple):
    """A run that stops in the middle: the checkpoints by their ids, those not complete as None."""

    run: Run
    checkpoints: Mapping[Id, Snapshot | None]

    @property
    def last(self) -> Snapshot | None:
        """The checkpoint that was complete last, or None."""
        complete = [snapshot for snapshot in self.checkpoints.values() if snapshot is not None]
        return complete[-1] if complete else None


def crashes(system: System) -> Iterator[Crash]:
    """Let a job with two checkpoints crash after each of its steps, in some schedules."""
    first, second = (dict.fromkeys(sources(system), at) for at in (2, 5))
    ids: dict[Id, dict[str, int]] = {1: first, 2: second}
    none: dict[Id, dict[str, int]] = {1: {}, 2: {}}
    for seed in range(8):
        steps = simulate(system, ChandyLamport, snapshots=ids, seed=seed).schedule
        for number in range(len(steps) + 1):
            run = simulate(system, ChandyLamport, schedule=steps[:number], snapshots=none)
            begun = [id for id in ids if any(f"records {id}" in step for step in steps[:number])]
            yield Crash(run, {id: run.snapshots[id] for id in begun})


def listed(records: Any) -> list[Any]:
    """Take a list of records, not a single one: a word is no list of its letters."""
    if isinstance(records, str) or not isinstance(records, Iterable):
        raise ValueError(f"a list of records is needed, such as [{records!r}], not {records!r}")
    return list(records)


class Job:
    """A job after a crash: nothing is left of it but the records, and where the sources stood."""

    def __init__(self, system: System, crash: Crash) -> None:
        """All processes are as at the very beginning, and the channels are empty."""
        self._system = system
        self.sources, self.channels = sources(system), system.network.channels
        self.operators = [process for process in system.processes if process not in self.sources]
        stood = crash.run.final.states
        self._offsets: dict[str, int] = {source: stood[source][0] for source in self.sources}
        self._states = {operator: system.start.states[operator] for operator in self.operators}
        self._held: dict[Channel, list[Any]] = {channel: [] for channel in self.channels}
        self._running = set[str]()

    def set_state(self, operator: str, state: Any) -> None:
        """Give an operator its state."""
        if operator not in self.operators:
            raise ValueError(f"{operator} is no operator; there are {', '.join(self.operators)}")
        self._states[operator] = state

    def put(self, channel: tuple[str, str], records: Any) -> None:
        """Put records into a channel, behind those that are there."""
        if channel not in self.channels:
            raise ValueError(f"there is no channel {channel!r}")
        self._held[Channel(*channel)] += listed(records)

    def start(self, source: str, offset: int) -> None:
        """Start a source: it sends all its records from this offset on."""
        if source not in self.sources or not isinstance(offset, int):
            raise ValueError(f"start takes a source and a number, not {source!r} and {offset!r}")
        self._offsets[source] = offset
        self._running.add(source)
        processes: Any = self._system.processes
        for operator, record in processes[source].letters[offset:]:
            self._held[Channel(source, operator)].append(record)

    def _snapshot(self) -> Snapshot:
        for source in self.sources:
            if source not in self._running:
                self.start(source, self._offsets[source])
        stopped = {source: (len(stream_of(self._system, source)), ()) for source in self.sources}
        return Snapshot(stopped | self._states, {c: tuple(r) for c, r in self._held.items()})


def in_order(system: System, final: Snapshot) -> dict[str, dict[str, list[Any]]]:
    """For each operator and source, what has come in the end, in its order."""
    streams = {source: stream_of(system, source) for source in sources(system)}
    return {
        operator: {s: [r for r in state[1] if r in streams[s]] for s in streams}
        for operator, state in final.states.items()
        if operator not in streams
    }


def after_every_crash(answer: Callable[..., object], system: System) -> Outcome:
    """Judge a recovery by what has come to the operators in the end, after each crash."""
    due = in_order(system, simulate(system).final)
    for crash in crashes(system):
        job, last, steps = Job(system, crash), crash.last, crash.run.schedule
        where = f"behind step {len(steps)}, {steps[-1]!r}" if steps else "before the first step"
        when, code = f"After a crash {where},", pasted("cl.ChandyLamport", steps)
        try:
            answer(job, dict(crash.checkpoints))
        except (NotImplementedError, NotYet):
            raise
        except Exception as error:
            left = [f"{id}: {'complete' if s else None}" for id, s in crash.checkpoints.items()]
            fault = f"checkpoints was {', '.join(left) or 'empty'}, and recover(job, checkpoints) "
            fault += stopped(error, answer)
            return Outcome(f"{when} {fault}.", steps, code=code, run=crash.run)
        began = [job._states[operator] for operator in job.operators]
        run = simulate(restore(system, job._snapshot()))
        fault = ""
        for operator, per_source in in_order(system, run.final).items():
            for source, got in per_source.items():
                if got != due[operator][source] and not fault:
                    fault = f"{operator} has got {got} from {source} in the end, "
                    fault += f"and should have {due[operator][source]}"
        if not fault and last and began != [last.states[o] for o in job.operators]:
            fault = "the job goes back further than to the last complete checkpoint, whose results "
            fault += "may be visible already"
        if fault:
            return Outcome(f"{when} {fault}.", steps, code=code, run=run)
    return Outcome()


def recovering(*parts: str) -> Callable[[Job, Mapping[Id, Snapshot | None]], None]:
    """Give a recovery that does some of what is to be done, in this order."""

    def recover(job: Job, checkpoints: Mapping[Id, Snapshot | None]) -> None:
        complete = [snapshot for snapshot in checkpoints.values() if snapshot is not None]
        if "the newest" in parts and None in checkpoints.values():
            complete = []
        last = complete[0 if "the first" in parts else -1] if complete else None
        for part in parts:
            if part == "states" and last:
                for operator in job.operators[: 1 if "one" in parts else None]:
                    job.set_state(operator, last.states[operator])
            if part == "in flight" and last:
                for channel, records in last.channels.items():
                    job.put(channel, records)
            if part == "offsets":
                for source in job.sources:
                    sent = last.states[source][0] if last else 0
                    job.start(source, 0 if "anew" in parts else sent)

    return recover


RECOVER = Exercise(
    name="recover",
    subject="system",
    ask=after_every_crash,
    examples=(R11,),
    not_to_be_called=(),
    mistakes={
        "what was in flight is forgotten: the sources have sent it, and will not do so again": (
            recovering("states", "offsets")
        ),
        "in flight behind new records: put first what was sent first": (
            recovering("states", "offsets", "in flight")
        ),
        "offsets not rewound: what was sent since the checkpoint, or the beginning, is lost": (
            recovering("states", "in flight")
        ),
        "offsets without states: what came before the checkpoint is in the states alone": (
            recovering("in flight", "offsets")
        ),
        "from the beginning: what is in the states must not be sent again": (
            recovering("states", "in flight", "offsets", "anew")
        ),
        "too far back: an older checkpoint may be complete though the newest is not": (
            recovering("states", "in flight", "offsets", "the newest")
        ),
        "too far back: take the last one that is complete": (
            recovering("states", "in flight", "offsets", "the first")
        ),
        "one operator restored: all go back, or those that do not have counted too much": (
            recovering("states", "in flight", "offsets", "one")
        ),
    },
    hints=(
        "first choose: the checkpoint with the largest id that is not None. There may be none.",
        "three things are in a checkpoint: the states of the operators, what was in flight, and "
        "the offsets of the sources. Nothing else is left of the job.",
        "a source that is started sends at once. So what must be in its channel before?",
    ),
)


# --- a sink ---------------------------------------------------------------------------------------


class Outside:
    """What everybody can see, and what is staged for that. It survives every crash."""

    def __init__(self) -> None:
        """Nothing has been written."""
        self.visible: list[str] = []
        self.staged: dict[int, tuple[str, ...]] = {}
        self.committed: set[int] = set()

    def show(self, records: Any) -> None:
        """Make records visible, at once and for ever."""
        self.visible += listed(records)

    def stage(self, id: int, records: Any) -> None:
        """Keep records safe, not visible yet, under the id of a checkpoint."""
        self.staged[id] = tuple(listed(records))

    def commit(self, id: int) -> None:
        """Make visible what is staged under an id; who does it twice makes it visible twice."""
        if id not in self.staged:
            raise ValueError(f"nothing is staged under {id}")
        self.show(self.staged[id])
        self.committed.add(id)

    def drop(self, id: int) -> None:
        """Throw away what is staged under an id."""
        self.staged.pop(id, None)


CAPTION = (
    "Arrows: what becomes visible. | 1: the barrier of checkpoint 1. ! 1: the sink hears that it "
    "is complete. crash → 1: a crash, and back to 1."
)


@dataclass(frozen=True)
class Played(Outcome):
    """How a sink has fared in a story, with what it did and what could be seen from then on."""

    events: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), compare=False)

    def picture(self) -> Picture:
        """The sink's steps, and an arrow for whatever it makes visible in one of them."""
        log, times = Log(("sink", "outside")), Counter[str]()
        for label, shown in self.events:
            names = []
            for record in shown:
                times[record] += 1
                names.append(record + "′" * (times[record] - 1))
            together = [" ".join(names)] if names else []
            log.event("sink", label, sends=dict.fromkeys(together, "outside"))
            if together:
                log.event("outside", receives=together)
        return draw(log.computation(), caption=CAPTION)


class Story:
    """A script that is played with a sink, and what must be visible."""

    def __init__(self, new: Callable[[Outside], Any], script: str) -> None:
        """Begin at the beginning."""
        self.new, self.outside = new, Outside()
        self.lines = ["outside = Outside()", "sink = Sink(outside)"]
        self.sink, self.script, self.id = new(self.outside), script.split(), 0
        self.complete: int | None = None
        self.after: dict[int, int] = {}  # where the script goes on behind each barrier
        self.events: list[tuple[str, tuple[str, ...]]] = []  # and what they make visible
        self.at = 0
        self.decided = False  # whether the checkpoint of the last barrier is complete already

    def play(self, crashes: tuple[int, ...]) -> str:
        """Play it, with a crash after each of these numbers of steps; say what is wrong."""
        done, ahead = 0, list(crashes)
        while self.at < len(self.script) or ahead:
            if ahead and done == ahead[0]:
                ahead.pop(0)
                done = 0
                self.crash()
            elif self.at == len(self.script):
                return ""  # the crash would come after the end
            else:
                self.step(self.script[self.at])
                done += 1
            if fault := self.too_early():
                return fault
        records = [word for word in self.script if word.isalnum()]
        if (seen := self.outside.visible) != records:
            words = f"In the end, {', '.join(seen) or 'nothing'} can be seen"
            return f"{words}, and it should be {', '.join(records)}."
        if left := sorted(self.outside.staged.keys() - self.outside.committed):
            return f"In the end, records are staged under {left[0]}, which never was complete."
        return ""

    def step(self, word: str) -> None:
        """Take one step of the script."""
        self.at += 1
        if word == "|":
            self.id, self.decided = self.id + 1, False
            self.after[self.id] = self.at
            self.say(f"| {self.id}", "on_barrier", self.id)
        elif word.isalnum():
            self.say(word, "write", word)
        elif self.decided:  # what is complete is not decided twice
            return
        elif word == "+":
            self.complete = self.id
            self.lines.append(f"# the coordinator: checkpoint {self.id} is complete")
        else:
            self.say(f"! {self.complete}", "on_complete", self.complete)

    def say(self, label: str, method: str, detail: object) -> None:
        """Let the sink hear something, and note what becomes visible."""
        self.lines.append(f"sink.{method}({detail!r})")
        seen = len(self.outside.visible)
        getattr(self.sink, method)(detail)
        self.events.append((label, tuple(self.outside.visible[seen:])))

    def crash(self) -> None:
        """Let the job start anew, from the last complete checkpoint."""
        self.at, self.decided = self.after.get(self.complete or 0, 0), self.complete is not None
        self.sink = self.new(self.outside)
        self.lines += [f"# a crash; back to {self.complete}", "sink = Sink(outside)"]
        self.say(f"crash → {self.complete or 'start'}", "recover", self.complete)

    def too_early(self) -> str:
        """What is visible must be in a complete checkpoint."""
        upto = self.after.get(self.complete or 0, 0)
        covered = [word for word in self.script[:upto] if word.isalnum()]
        early = [record for record in self.outside.visible if record not in covered]
        return f"{early[0]} is visible before its checkpoint is complete." if early else ""


def played(answer: Any, subject: tuple[int, str]) -> Outcome:
    """Judge a sink along a script, with crashes behind every step, and behind every two."""
    is_a_class_with(("write", "on_barrier", "on_complete", "recover"), answer)
    number, script = subject
    steps = range(len(script.split()) + 1)
    for way in (way for n in range(number + 1) for way in product(steps, repeat=n)):
        story = Story(answer, script)
        if fault := story.play(way):
            code = "\n".join([*story.lines, "print(outside.visible, outside.staged)"])
            return Played(fault, tuple(story.lines), code=code, events=tuple(story.events))
    return Outcome()


class Transactions:
    """The right way; the wrong ones leave something out."""

    def __init__(self, outside: Outside) -> None:
        self.outside, self.open = outside, list[str]()

    def write(self, record: str) -> None:
        self.open.append(record)

    def on_barrier(self, id: int) -> None:
        self.outside.stage(id, self.open)
        self.open = []

    def on_complete(self, id: int) -> None:
        for staged in self.waiting():
            if staged <= id:
                self.outside.commit(staged)

    def recover(self, id: int | None) -> None:
        self.on_complete(id or 0)
        for staged in self.waiting():
            self.outside.drop(staged)

    def waiting(self) -> list[int]:
        """What is staged and not committed."""
        return sorted(self.outside.staged.keys() - self.outside.committed)


class AtOnce(Transactions):
    """Shows each record."""

    def write(self, record: str) -> None:
        self.outside.show([record])

    def on_complete(self, id: int) -> None:
        pass


class CommitsAtTheBarrier(Transactions):
    """Commits what it stages."""

    def on_barrier(self, id: int) -> None:
        super().on_barrier(id)
        self.outside.commit(id)

    def on_complete(self, id: int) -> None:
        pass


class DropsAll(Transactions):
    """Begins anew after a crash."""

    def recover(self, id: int | None) -> None:
        super().recover(None)


class CommitsAgain(Transactions):
    """Commits the last complete checkpoint after a crash, whether it has done so or not."""

    def recover(self, id: int | None) -> None:
        if id is not None:
            self.outside.commit(id)
        super().recover(None)


class CommitsAll(Transactions):
    """Commits all that is staged."""

    def recover(self, id: int | None) -> None:
        for staged in self.waiting():
            self.outside.commit(staged)


class LeavesBehind(Transactions):
    """Commits what is to be, and leaves the rest where it is."""

    def recover(self, id: int | None) -> None:
        self.on_complete(id or 0)


class OwnOnly(Transactions):
    """Commits what is staged under the id of the complete checkpoint, and nothing else."""

    def on_complete(self, id: int) -> None:
        if id in self.waiting():
            self.outside.commit(id)


class LeavesOthers(OwnOnly, LeavesBehind):
    """Does both."""


class StagesTwice(Transactions):
    """Does not begin a new transaction at the barrier."""

    def on_barrier(self, id: int) -> None:
        self.outside.stage(id, self.open)


class StagesLate(Transactions):
    """Stages when the checkpoint is complete, with what has come since the barrier."""

    def on_barrier(self, id: int) -> None:
        pass

    def on_complete(self, id: int) -> None:
        super().on_barrier(id)
        super().on_complete(id)


SINK = replace(
    RECOVER,
    name="Sink",
    subject="story",
    ask=played,
    examples=("(1, 'a | b + ! c | + !')",),
    mistakes={
        "visible at once: what is shown stays, and after a crash it comes again": AtOnce,
        "committed too early: a checkpoint that is not complete may never be": CommitsAtTheBarrier,
        "dropped: what belongs to a complete checkpoint is never sent again": DropsAll,
        "committed twice: ask outside.committed before you commit": CommitsAgain,
        "never complete, and committed: its records will be sent again": CommitsAll,
        "its own id only: what was staged for a checkpoint that was given up is still to be seen": (
            OwnOnly
        ),
        "left behind: drop what belongs to no complete checkpoint, it will be sent again": (
            LeavesBehind
        ),
        "left behind: drop what belongs to no complete checkpoint": LeavesOthers,
        "one transaction for all: begin a new one at each barrier": StagesTwice,
        "staged too late: stage at the barrier, before any further record": StagesLate,
    },
    hints=(
        "collect records in a list. At the barrier stage them, and begin a new list.",
        "commit in two places only: in on_complete, and in recover.",
        "after a crash look at all that is staged and not committed. What has an id up to that of "
        "the last complete checkpoint is committed, the rest is dropped.",
    ),
)
