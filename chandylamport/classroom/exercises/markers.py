"""Exercises on the marker algorithm."""

from __future__ import annotations

from ... import broken
from ...chandy_lamport import MARKER, ChandyLamport
from ...events import Channel
from ...recorder import LocalSnapshot, Payload, Port, Wire
from ..checking import Exercise
from ..judging import blame_the_system, in_every_schedule

ONE = 'cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Fifo(cl.complete("pq")))'
CROSS = 'cl.System(cl.letters(p=[("q", "m")], q=[("p", "n")]), cl.Fifo(cl.complete("pq")))'
TWICE = 'cl.System(cl.letters(p=[("q", 50), ("q", 50)], q=[]), cl.Fifo(cl.complete("pq")))'
TRIANGLE = 'cl.System(cl.letters(p=[], q=[("r", "m")], r=[]), cl.Fifo(cl.complete("pqr")))'


class Swallows(ChandyLamport):
    """Obeys the markers, and hands no message on."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> None:
        super().on_receive(port, channel, wire)


class BeginsSilently(ChandyLamport):
    """Records when it begins, and tells nobody."""

    def begin(self, port: Port) -> None:
        self.record(port)


class PassesNothingOn(ChandyLamport):
    """Records at a marker, and tells nobody."""

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        if not self.recorded:
            self.record(port)
        self.open.discard(channel)


class AnswersBack(ChandyLamport):
    """Sends a marker only to the process from which one came."""

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        if not self.recorded:
            self.record(port)
            for back in port.outputs:
                if back.dst == channel.src:
                    port.send(back, MARKER)
        self.open.discard(channel)


class BeginsAgain(ChandyLamport):
    """Does at every marker what is to be done at the first."""

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        self.marker_sending_rule(port)
        self.open.discard(channel)


class AnswersEveryMarker(ChandyLamport):
    """Sends its markers again at every marker."""

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        known = self.recorded
        super().marker_receiving_rule(port, channel)
        for output in port.outputs if known else ():
            port.send(output, MARKER)


class LateMarkers(ChandyLamport):
    """Sends its markers when the next message or marker arrives."""

    pending = False

    def marker_sending_rule(self, port: Port) -> None:
        self.record(port)
        self.pending = True

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        got = super().on_receive(port, channel, wire)
        if self.pending:
            self.pending = False
            for output in port.outputs:
                port.send(output, MARKER)
        return got


class OneLog(ChandyLamport):
    """Keeps one log for all its channels."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        got = super().on_receive(port, channel, wire)
        if wire is not MARKER and channel in self.open:
            self.logged = dict.fromkeys(self.logged, self.logged[channel])
        return got


class LastFirst(ChandyLamport):
    """Puts each message in front of those that came before."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        got = super().on_receive(port, channel, wire)
        if wire is not MARKER and channel in self.open:
            *before, last = self.logged[channel]
            self.logged[channel] = (last, *before)
        return got


class CountsOutputs(ChandyLamport):
    """Waits for as many markers as it has sent."""

    missing: int

    def record(self, port: Port) -> None:
        super().record(port)
        self.missing = len(port.outputs)

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        super().marker_receiving_rule(port, channel)
        self.missing -= 1

    def result(self) -> LocalSnapshot | None:
        done = self.recorded and self.missing <= 0
        return LocalSnapshot(self.state, dict(self.logged)) if done else None


MARKER_RULES = Exercise(
    name="MarkerRules",
    subject="system",
    ask=in_every_schedule(),
    weigh=blame_the_system,
    examples=(ONE, CROSS, TWICE, TRIANGLE),
    not_to_be_called=("ChandyLamport", "LaiYang", "Mattern"),
    mistakes={
        "swallowed messages: on_receive gives every message on, and None only for a marker": (
            Swallows
        ),
        "no log: what arrives after the recording and before the marker was under way": (
            broken.NoLog
        ),
        "a log from the beginning: what came before the recording is in the state already": (
            broken.LogsFromTheBeginning
        ),
        "a log behind the marker: the marker ends the log of its channel": (
            broken.LogsBehindTheMarker
        ),
        "the first channel left open: behind its marker come messages that the cut leaves out": (
            broken.LeavesTheFirstChannelOpen
        ),
        "every channel closed: a marker says something about its own channel only": (
            broken.ClosesAllChannels
        ),
        "recorded again: a process records once, and a later marker only closes its channel": (
            broken.RecordsAtEveryMarker
        ),
        "recorded again: all that belongs to the first marker is done once": BeginsAgain,
        "the first marker seen: who began has recorded before any marker comes": (
            broken.RecordsAtTheFirstMarkerSeen
        ),
        "markers without end: each process sends its markers once, when it records": (
            AnswersEveryMarker
        ),
        "no markers at the beginning: who begins sends a marker on each outgoing channel": (
            BeginsSilently
        ),
        "markers not passed on: whoever records sends a marker on each outgoing channel": (
            PassesNothingOn
        ),
        "a marker back only: whoever records sends a marker on each outgoing channel": AnswersBack,
        "late markers: they leave with the recording, before any other message": LateMarkers,
        "done too early: the part is whole when every incoming channel has brought its marker": (
            broken.DoneWhenRecorded
        ),
        "outputs counted: wait for a marker on each incoming channel": CountsOutputs,
        "one log for all: each incoming channel has a state of its own": OneLog,
        "a set: two messages of 50 are two, so keep a sequence": broken.LogsASet,
        "last first: a channel holds its messages in the order of arrival": LastFirst,
        "a drained channel: the computation goes on as if nobody took a snapshot": (
            broken.DrainsTheChannel
        ),
    },
    hints=(
        "remember three things: whether you have recorded, which incoming channels are still open, "
        "and what has arrived on each of them since.",
        "write one method that records, opens all of port.inputs and sends the markers. begin and "
        "the first marker both use it, and it runs once.",
        "a marker closes the channel on which it came, and no other. A message on an open channel "
        "is logged and given on; any other is only given on.",
        "result gives None until the state is recorded and no incoming channel is open.",
    ),
)
