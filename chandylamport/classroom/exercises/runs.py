"""Exercises on runs of the marker algorithm: what they record, when they end, how to break them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ... import broken
from ...chandy_lamport import ChandyLamport
from ...drawing import Picture, draw
from ...exploration import frozen
from ...recorder import Snapshot
from ...runs import Run, Schedule, replay, simulate
from ...simulator import Algorithm
from ...systems import System
from ..checking import Exercise, Outcome, made
from .markers import ONE, TRIANGLE, TWICE

# --- 03a: predict the snapshot --------------------------------------------------------------------


@dataclass(frozen=True)
class Script:
    """A run that somebody can follow by hand."""

    name: str
    system: str
    schedule: str

    def __str__(self) -> str:
        return f'cl.simulate({self.system}, cl.ChandyLamport, schedule="""{self.schedule}\n""")'

    def run(self, algorithm: Algorithm = ChandyLamport) -> Run:
        """What happens, and what an algorithm records."""
        return simulate(made(self.system), algorithm, schedule=self.schedule)


RUNS = {
    script.name: script
    for script in (
        Script(
            "one payment",
            'cl.System(cl.bank({"p": 100, "q": 50}, ("p", "q", 20)), cl.Fifo(cl.complete("pq")))',
            """
p sends m to q
q records
q receives m
p receives marker from q
q receives marker from p""",
        ),
        Script(
            "three letters",
            'cl.System(cl.letters(p=[("q", "x"), ("q", "y"), ("q", "z")], q=[]), '
            'cl.Fifo(cl.complete("pq")))',
            """
p sends x to q
q receives x
q records
p sends y to q
p records
p sends z to q
q receives y
q receives marker from p
q receives z
p receives marker from q""",
        ),
        Script(
            "bank, first run",
            "cl.textbook_bank()",
            """
A sends m to B
A records
B sends n to A
A receives n
B receives m
B receives marker from A
A receives marker from B""",
        ),
        Script(
            "bank, second run",
            "cl.textbook_bank()",
            """
A records
A sends m to B
B sends n to A
B receives marker from A
A receives n
B receives m
A receives marker from B""",
        ),
        Script(
            "two states",
            "cl.example_2_2()",
            """
p records
p sends M to q
q sends M' to p
p receives M'
q receives marker from p
p receives marker from q""",
        ),
        Script(
            "three branches",
            "cl.three_process_bank()",
            """
R sends a to Q
P records
Q sends b to P
Q receives marker from P
Q receives a
P sends c to R
R sends d to P
P receives b
R receives marker from P
R receives c
R receives marker from Q
Q receives marker from R
P receives marker from Q
P receives d
P receives marker from R""",
        ),
    )
}


def as_values(states: Any, channels: Any) -> list[object]:
    """A global state in Python's own types; a channel that holds nothing is left out."""
    held = {tuple(channel): [*messages] for channel, messages in channels.items() if messages}
    return [{process: frozen(state) for process, state in states.items()}, held]


def of_snapshot(snapshot: Snapshot | None) -> list[object]:
    """The values of a snapshot that is complete."""
    return as_values(snapshot.states, snapshot.channels) if snapshot else []


def compared(given: Any, script: Script) -> object:
    """A student's states and channels, written in the one way in which they can be compared."""
    try:
        return as_values(*given)
    except (AttributeError, TypeError, ValueError):
        return given


def recorded_by(algorithm: Algorithm) -> Callable[[str], object]:
    """What somebody predicts who believes in an algorithm."""
    return lambda name: of_snapshot(RUNS[name].run(algorithm).snapshot)


def at_an_instant(name: str) -> object:
    """The global state at the moment when the first process records."""
    steps = RUNS[name].run().schedule
    first = next(i for i, step in enumerate(steps) if "records" in step)
    return of_snapshot(replay(made(RUNS[name].system), steps[:first])[-1])


def without_snapshot(script: Script) -> Picture:
    """The run to think about, without what is asked for."""
    run = script.run()
    return draw(run.computation, order=run.order, caption="The run, without its snapshot.")


PREDICT = Exercise(
    name="predict",
    subject="run",
    ask=lambda answer, script: answer(script.name),
    weigh=compared,
    answer=lambda script: of_snapshot(script.run().snapshot),
    tells=False,
    because=lambda script: "that is not what is recorded, so follow the schedule once more",
    picture=without_snapshot,
    examples=(RUNS["one payment"], RUNS["three letters"]),
    not_to_be_called=("simulate", "explore", "find_failure", "ChandyLamport"),
    mistakes={
        "nothing under way: what arrives between the recording and the marker is in the channel": (
            recorded_by(broken.NoLog)
        ),
        "counted twice: what arrived before the recording is in the state already": (
            recorded_by(broken.LogsFromTheBeginning)
        ),
        "logged behind the marker: the marker ends the log of its channel": (
            recorded_by(broken.LogsBehindTheMarker)
        ),
        "recorded again: a process that has recorded does not record again at a marker": (
            recorded_by(broken.RecordsAtEveryMarker)
        ),
        "the states at the end: a state is recorded once, in the middle of the run": (
            lambda name: [of_snapshot(RUNS[name].run().final)[0], of_run(name)[1]]
        ),
        "the states at the start: what a process did before it recorded is in its state": (
            lambda name: [dict(made(RUNS[name].system).start.states), of_run(name)[1]]
        ),
        "an instant: the processes record at different times, each at its own": at_an_instant,
        "the wrong way round: a channel has a name with its sender first": (
            lambda name: [
                of_run(name)[0],
                {(dst, src): held for (src, dst), held in of_run(name)[1].items()},
            ]
        ),
        "markers in the channel: a marker is not part of the computation": (
            lambda name: [
                of_run(name)[0],
                {channel: [*held, "marker"] for channel, held in of_run(name)[1].items()},
            ]
        ),
    },
    hints=(
        "draw a line for each process, and mark where each of them records. A process "
        "that did not begin records when its first marker arrives.",
        "write down the state of each process just before its own mark.",
        "a message is in the channel if it starts before the mark of its sender and arrives after "
        "the mark of its receiver. Such a message always arrives before the marker.",
    ),
)


def of_run(name: str) -> list[Any]:
    """What is right."""
    return of_snapshot(RUNS[name].run().snapshot)


# --- 03d: break it --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """A wrong variant of the algorithm, and a system in which it can go wrong."""

    name: str
    system: System

    def __str__(self) -> str:
        return f'TO_BREAK["{self.name}"]'

    @property
    def algorithm(self) -> Algorithm:
        """The class with the mistake."""
        return broken.BROKEN[self.name].algorithm

    @property
    def mistake(self) -> str:
        """What it does, in words."""
        return broken.BROKEN[self.name].mistake

    def run(self, schedule: Schedule) -> Run:
        """What happens, and what is recorded."""
        return simulate(self.system, self.algorithm, schedule=schedule)


TO_BREAK = {
    name: Variant(name, made(system))
    for name, system in {
        "NoLog": ONE,
        "LogsFromTheBeginning": ONE,
        "RecordsAtEveryMarker": ONE,
        "LeavesTheFirstChannelOpen": ONE,
        "ClosesAllChannels": TRIANGLE,
        "LogsASet": TWICE,
    }.items()
}
NO_TEXT = "no schedule: a schedule is a text, with one step on each line"
IMPOSSIBLE = "a step that cannot happen: messages arrive in order, and only after they were sent"
NOBODY = 'nobody begins: somebody has to take the step "p records"'
UNFINISHED = "not complete: a snapshot is judged when every marker has arrived"
ANOTHER = "the wrong variant: look again at what this one does differently"
HARMLESS = "nothing goes wrong: find what this variant does differently, and let it matter"


def harm(given: Any, variant: Variant) -> Outcome:
    """Whether a schedule makes a variant go wrong where the right algorithm does not."""
    if not isinstance(given, str):
        return Outcome(f"A {type(given).__name__} cannot be run.", mistake=NO_TEXT)
    steps = Schedule(given)
    code = f'run = cl.simulate(variant.system, variant.algorithm, schedule="""\n{steps}\n""")'
    try:
        right = simulate(variant.system, ChandyLamport, schedule=steps)
        run = variant.run(steps)
    except ValueError as error:
        return Outcome(f"This cannot be run: {error}.", mistake=IMPOSSIBLE)
    if right.cut is None or right.snapshot is None:
        begun = any(step.endswith("records") for step in steps)
        words = f"With the right algorithm, the snapshot is {right.fault}."
        return Outcome(words, mistake=UNFINISHED if begun else NOBODY, code=code, run=right)
    if run.fault:
        return Outcome()
    same = [other for other in TO_BREAK.values() if other.system is variant.system]
    hurt = [other.name for other in same if other.run(steps).fault]
    words = f"{variant.name} records the right snapshot here"
    words += f", and {hurt[0]} does not." if hurt else "."
    return Outcome(words, mistake=ANOTHER if hurt else HARMLESS, code=code, run=run)


ROUND = "p records; q receives marker from p; p receives marker from q"

BREAK_IT = Exercise(
    name="break_it",
    subject="variant",
    ask=lambda answer, variant: answer(variant.name),
    weigh=harm,
    examples=(TO_BREAK["NoLog"], TO_BREAK["LogsFromTheBeginning"]),
    not_to_be_called=("explore", "find_failure"),
    mistakes={
        NOBODY: lambda name: "p sends m to q; q receives m",
        UNFINISHED: lambda name: "p records",
        IMPOSSIBLE: lambda name: "p records; q receives marker from p; q receives marker from p",
        HARMLESS: lambda name: ROUND,
        ANOTHER: lambda name: (
            f"p sends m to q; q receives m; {ROUND}"
            if name == "NoLog"
            else "p sends m to q; q records; q receives m; p receives marker from q; "
            "q receives marker from p"
        ),
        NO_TEXT: lambda name: ["p records"],
    },
    hints=(
        "ask of each variant which message it treats wrongly: one that arrives before the "
        "recording, between the recording and the marker, or behind the marker?",
        "who begins matters. If a log is to lose something, let the receiver begin, before the "
        "message arrives. If it is to hold too much behind the marker, let the sender begin.",
        "let every marker arrive, or the snapshot is not complete.",
        "for ClosesAllChannels: the message comes from the third process, after the first marker.",
    ),
)
