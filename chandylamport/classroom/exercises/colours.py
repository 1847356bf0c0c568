"""Exercises on channels without order: colours, and counting the white messages still to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ... import broken
from ...events import Channel
from ...lai_yang import Coloured, LaiYang, Mattern
from ...recorder import LocalSnapshot, Payload, Port, Wire
from ...systems import System, Unordered
from ..checking import Exercise, Outcome
from ..judging import blame_the_system, in_every_schedule, is_a_class_with
from . import markers

Rule = Callable[..., Any]  # of two colours: the process's, and that of a message that arrives


class SlowRed(Unordered):
    """Channels in which a red message takes longer than anybody waits."""

    def next_from(self, packets: Sequence[Any]) -> Sequence[int]:
        """Any but the messages of those who have recorded."""
        return [i for i, k in enumerate(packets) if k.message is None or not k.recorded]


def rules(
    sent: Rule = lambda red: not red,
    came: Rule = lambda red, message: not message,
    logs: Rule = lambda red, message: red and not message,
) -> type:
    """Give the algorithm with other rules: what counts, and what is logged."""

    class Rules(LaiYang):
        def on_send(self, port: Port, channel: Channel, message: Payload) -> Wire:
            self.count(channel, int(sent(self.red)))
            return Coloured(self.red, message)

        def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
            if wire.red and not self.red:
                self.turn_red(port)
            if wire.message is not None:
                self.count(channel, -int(came(self.red, wire.red)))
                more = (wire.message,) * logs(self.red, wire.red)
                self.logged[channel] = self.logged.get(channel, ()) + more
            return wire.message

    return Rules


class TellsNobody(LaiYang):
    """Lets the colour spread with the messages alone."""

    def turn_red(self, port: Port) -> None:
        self.red, self.state = True, port.record()


class PassesNothingOn(TellsNobody):
    """Tells the neighbours if it begins, and otherwise nobody."""

    def begin(self, port: Port) -> None:
        if not self.red:
            LaiYang.turn_red(self, port)


class RecordsAgain(LaiYang):
    """Records at everything red."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        self.state = port.record() if self.red and wire.red else self.state
        return super().on_receive(port, channel, wire)


class ClosedByRed(broken.TrustsTheOrder):
    """Is done when red has come on every channel, as if it were a marker."""

    def turn_red(self, port: Port) -> None:
        super().turn_red(port)
        self.inputs = {*port.inputs}

    def result(self) -> LocalSnapshot | None:
        done = self.red and self.closed == self.inputs
        return LocalSnapshot(self.state, dict(self.logged)) if done else None


class KeepsASet(LaiYang):
    """Keeps equal messages of a channel once."""

    def result(self) -> LocalSnapshot | None:
        part, logs = super().result(), {c: tuple({*log}) for c, log in self.logged.items()}
        return part and replace(part, channels=logs)


COLOURS = Exercise(
    name="Colours",
    subject="system",
    ask=in_every_schedule(
        begin=lambda system: [None, *([p] for p in system.processes)], markers=False
    ),
    weigh=blame_the_system,
    examples=tuple(
        text.replace("Fifo", "Unordered") for text in (markers.ONE, markers.CROSS, markers.TRIANGLE)
    ),
    not_to_be_called=("LaiYang", "Mattern"),
    mistakes={
        "no forced red: a white process records before it receives red": broken.NoForcedRed,
        "nobody told: a neighbour to whom nothing is sent would stay white": TellsNobody,
        "not passed on: who is made red tells its neighbours too": PassesNothingOn,
        "recorded again: a red process has its state, and keeps it": RecordsAgain,
        "no log: white messages that reach a red process were under way": rules(logs=lambda *_: 0),
        "red logged: a red message is sent outside the cut": rules(logs=lambda red, _: red),
        "a log from the beginning: what came to a white process is in its state": (
            rules(logs=lambda red, message: not message)
        ),
        "a set: two messages of 50 are two, so keep a sequence": KeepsASet,
        "markers in disguise: a white message may come behind a red one": broken.TrustsTheOrder,
        "markers in disguise: red does not say that all white has come": ClosedByRed,
        "no count from the start: the numbers of white messages tell whether all have come": (
            broken.ForgetsTheHistory
        ),
        "arrivals forgotten: what came to a white process has come as well": (
            rules(came=lambda red, message: red and not message)
        ),
        "counts frozen: white messages that come after the recording are taken off too": (
            rules(came=lambda red, message: not red)
        ),
        "red counted: the picture does not wait for red messages": (
            rules(sent=lambda red: True, came=lambda *_: True)
        ),
        "red counted: only white messages were counted when they left": broken.CountsRed,
    },
    hints=(
        "remember four things: your colour, your state, what is owed on each channel, what is in "
        "the logs.",
        "write one method that turns red: it records and tells the neighbours. begin uses it, and "
        "so does everything red that reaches a white process.",
        "a message that leaves counts if you are white. One that arrives counts if IT is white.",
        "a white message that reaches a red process crosses the cut. Log it.",
    ),
)


class Report(NamedTuple):
    """What a process tells the collector: which of its methods to call, and with what."""

    method: str
    details: tuple[Any, ...]

    def __str__(self) -> str:
        first, *red = self.details
        return f"{'red' if any(red) else 'white'} {first}" if red else f"counter {first}"


class Reporting(Mattern):
    """One process's part; or that of the collector c, to whom reports come in any order."""

    new: Callable[[list[str]], Any]  # makes the collector
    collector: Any = None

    def turn_red(self, port: Port) -> None:
        """Record, and report the counter as it stands now."""
        self.red, self.state = True, port.record()
        self.tell(port, "recorded", self.owed["white messages"])

    def tell(self, port: Port, method: str, *details: Any) -> None:
        """Send a report to the collector."""
        for channel in port.outputs:
            if channel.dst == "c":
                port.send(channel, Report(method, details))

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        """Report what arrives after the recording; hand reports to the collector."""
        if isinstance(wire, Report):
            if not self.red:
                self.red, self.state = True, port.record()
                self.collector = self.new([channel.src for channel in port.inputs])
            getattr(self.collector, wire.method)(channel.src, *wire.details)
            return None
        message = super().on_receive(port, channel, wire)
        if self.red:
            self.tell(port, "arrived", message, wire.red)
        return message

    def result(self) -> LocalSnapshot | None:
        """Give what is known; the collector decides whether that is all."""
        waits = self.collector is not None and not self.collector.done()
        return LocalSnapshot(self.state, dict(self.logged)) if self.red and not waits else None


def reporting_to(collector: Any) -> Any:
    """Give the algorithm in which the processes report to such a collector."""
    is_a_class_with(("recorded", "arrived", "done"), collector)
    parts = {"new": collector, "__wrapped__": collector}
    return type(f"reporting_to({collector.__name__})", (Reporting,), parts)


def with_collector(answer: Any, system: System) -> Outcome:
    """Take every schedule, of the reports too; everybody begins but the collector."""
    others = [process for process in system.processes if process != "c"]
    return in_every_schedule(begin=lambda _: [others], markers=False)(reporting_to(answer), system)


class Notes:
    """A collector that keeps all it is told."""

    def __init__(self, processes: Sequence[str]) -> None:
        """Nobody has reported."""
        self.missing, self.counters, self.reds = {*processes}, dict[str, int](), 0
        self.white: list[tuple[str, Payload, frozenset[str]]] = []

    def recorded(self, process: str, counter: int) -> None:
        """Note a counter."""
        self.missing.discard(process)
        self.counters[process] = counter

    def arrived(self, process: str, message: Payload, red: bool) -> None:
        """Note a copy, and who had not reported by then."""
        if red:
            self.reds += 1
        else:
            self.white.append((process, message, frozenset(self.missing)))

    def sum(self, sign: Callable[[int], int] = int) -> int:
        """Add the counters up."""
        return sum(map(sign, self.counters.values()))


def done_when(rule: Callable[[Any], bool], *, everybody: bool = True) -> type:
    """Give the collector that decides by a rule, once everybody has reported or before."""
    done = {"done": lambda self: not (everybody and self.missing) and rule(self)}
    return type("Collector", (Notes,), done)


PAIR = 'cl.System({}, cl.Unordered(cl.complete("pq") + [("p", "c"), ("q", "c")]))'
COLLECTOR = Exercise(
    name="Collector",
    subject="system",
    ask=with_collector,
    examples=(
        PAIR.format('cl.letters(p=[("q", "m")], q=[], c=[])'),
        PAIR.format('cl.letters(p=[("q", "m")], q=[("p", "n")], c=[])'),
        PAIR.format('cl.actors(cl.computation("p: both(m!,n!)\\nq: m? n?\\nc:"))'),
    ),
    not_to_be_called=(),
    mistakes={
        "nothing cancels: a message that has come is +1 in one process and −1 in another": (
            done_when(lambda c: c.sum(abs) == len(c.white))
        ),
        "not everybody heard: no zero proves anything while a counter is still to come": (
            done_when(lambda c: c.sum() == len(c.white), everybody=False)
        ),
        "nothing awaited: the sum says how many copies are still to come": done_when(
            lambda c: True
        ),
        "copies ignored: each copy of a white message makes one less under way": (
            done_when(lambda c: c.sum() == 0)
        ),
        "red counted: the counters speak of white messages only": (
            done_when(lambda c: c.sum() == len(c.white) + c.reds)
        ),
        "red counted: the counters speak of white messages only, and so must the copies": (
            done_when(lambda c: c.sum() <= len(c.white) + c.reds)
        ),
        "one too early: wait for the last one too": done_when(
            lambda c: c.sum() <= len(c.white) + 1
        ),
        "one too late: after the last copy comes nothing": done_when(
            lambda c: c.sum() < len(c.white)
        ),
        "early copies forgotten: a copy may overtake the counter of its own process": (
            done_when(lambda c: c.sum() == sum(k[0] not in k[2] for k in c.white))
        ),
        "early copies forgotten: a copy may come before everybody has reported": (
            done_when(lambda c: c.sum() == sum(not k[2] for k in c.white))
        ),
        "a set: two messages of 50 are two": done_when(
            lambda c: c.sum() == len({k[:2] for k in c.white})
        ),
    },
    hints=(
        "take one message. What does it add to the counters if it was received before the "
        "recording, and what if it is still under way?",
        "the sum of all counters is the number of white messages under way at the cut. Each copy "
        "of a white one says that one of them has come.",
        "reports overtake one another, so let every report change one number, whatever came "
        "before, and keep the names of those whose counter is missing.",
    ),
)
