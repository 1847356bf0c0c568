"""Exercises on channels without order: colours, and counting the white messages still to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import broken
from ...events import Channel
from ...lai_yang import Coloured, LaiYang, Mattern
from ...recorder import LocalSnapshot, Payload, Port, Wire
from ...systems import System, Unordered
from ..checking import Exercise, Outcome
from ..judging import Groups, in_every_schedule, is_a_class_with
from . import markers

ONE, CROSS, TRIANGLE = (
    text.replace("Fifo", "Unordered") for text in (markers.ONE, markers.CROSS, markers.TRIANGLE)
)


class SlowRed(Unordered):
    """Channels in which a red message takes longer than anybody waits."""

    def next_from(self, packets: Sequence[Any]) -> Sequence[int]:
        """Any but the messages of senders that have recorded."""
        return [i for i, k in enumerate(packets) if k.message is None or not k.recorded]


def rules(
    sends: Callable[[bool], bool] = lambda red: not red,
    arrives: Callable[[bool, bool], bool] = lambda red, message: not message,
    logs: Callable[[bool, bool], bool] = lambda red, message: red and not message,
) -> type:
    """Give the algorithm with other rules: what counts and what is logged, by colour."""

    class Rules(LaiYang):
        def on_send(self, port: Port, channel: Channel, message: Payload) -> Wire:
            if sends(self.red):
                self.count(channel, +1)
            return Coloured(self.red, message)

        def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
            if wire.red and not self.red:
                self.turn_red(port)
            if wire.message is not None and arrives(self.red, wire.red):
                self.count(channel, -1)
            if wire.message is not None and logs(self.red, wire.red):
                self.logged[channel] = (*self.logged.get(channel, ()), wire.message)
            return wire.message

    return Rules


class AlwaysWhite(LaiYang):
    """Sends messages that are white for ever."""

    def on_send(self, port: Port, channel: Channel, message: Payload) -> Wire:
        return Coloured(False, super().on_send(port, channel, message).message)


class TellsNobody(LaiYang):
    """Lets the colour spread with the messages alone."""

    def turn_red(self, port: Port) -> None:
        self.red, self.state = True, port.record()


class PassesNothingOn(TellsNobody):
    """Tells the neighbours if it has begun, and otherwise nobody."""

    def begin(self, port: Port) -> None:
        if not self.red:
            LaiYang.turn_red(self, port)


class TurnsRedAgain(LaiYang):
    """Records at everything red."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        if wire.red and self.red:
            self.state = port.record()
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
        logs = {channel: tuple(dict.fromkeys(log)) for channel, log in self.logged.items()}
        return LocalSnapshot(self.state, logs, dict(self.owed)) if self.red else None


COLOURS = Exercise(
    name="Colours",
    subject="system",
    ask=in_every_schedule(
        begin=lambda system: [None, *([p] for p in system.processes)], markers=False
    ),
    examples=(ONE, CROSS, TRIANGLE),
    not_to_be_called=("LaiYang", "Mattern"),
    mistakes={
        "no forced red: a white process records before it receives anything red": (
            broken.NoForcedRed
        ),
        "white for ever: what a red process sends is red": AlwaysWhite,
        "nobody told: who turns red tells its neighbours, for no other message may come": (
            TellsNobody
        ),
        "not passed on: who is made red tells its neighbours too": PassesNothingOn,
        "recorded again: a red process has its state, and keeps it": TurnsRedAgain,
        "no log: the white messages that reach a red process were under way": (
            rules(logs=lambda red, message: False)
        ),
        "red logged: a red message was sent outside the cut": rules(logs=lambda red, message: red),
        "a log from the beginning: what came while the process was white is in its state": (
            rules(logs=lambda red, message: not message)
        ),
        "a set: two messages of 50 are two, so keep a sequence": KeepsASet,
        "markers in disguise: without order, white messages may still come behind a red one": (
            broken.TrustsTheOrder
        ),
        "markers in disguise: without order, red does not say that all white has come": ClosedByRed,
        "nothing owed: without the counts nobody knows whether all white messages have come": (
            rules(sends=lambda red: False, arrives=lambda red, message: False)
        ),
        "the past forgotten: white messages count from the start, not from the recording": (
            broken.ForgetsTheHistory
        ),
        "the past forgotten: what arrived before the recording has arrived as well": (
            rules(arrives=lambda red, message: red and not message)
        ),
        "counts frozen: the white messages that arrive after the recording count as well": (
            rules(arrives=lambda red, message: not red)
        ),
        "red counted: a red message is no part of the picture, however it travels": (
            rules(sends=lambda red: True, arrives=lambda red, message: True)
        ),
        "red counted: only white messages were counted when they were sent": broken.CountsRed,
    },
    hints=(
        "remember four things: your colour, your state, what is owed on each channel, and what "
        "you have logged.",
        "write one method that turns red: it records and tells the neighbours, once. begin uses "
        "it, and so does whatever red arrives at a white process.",
        "a message that leaves counts if you are white. One that arrives counts if it is white, "
        "whatever you are.",
        "a message is logged if it is white and you are red: then it crosses the cut.",
    ),
)


class Report(NamedTuple):
    """What a process tells the collector: its counter, or a message that came after it recorded."""

    method: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return " ".join(map(str, self.arguments))


class Reporting(Mattern):
    """Tells a collector what it counts; the collector is the process without outgoing channels."""

    collector: Any = None  # the object that a student's class has made, in that process
    made: Callable[..., object]

    def turn_red(self, port: Port) -> None:
        """Record, and hand in the counter as it is now."""
        self.red, self.state = True, port.record()
        self.tell(port, Report("recorded", (port.name, self.owed["white messages"])))

    def tell(self, port: Port, report: Report) -> None:
        """Send a report to the collector."""
        for channel in port.outputs:
            if channel.dst == "c":
                port.send(channel, report)
