"""Wrong on purpose: each variant makes one mistake, is named after it, and differs in a few lines.

Each names the smallest system that exposes it, so that a search through all schedules finds the
shortest run in which it goes wrong. They test the tests, and show what each clause is there for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .applications import actors, letters
from .chandy_lamport import MARKER, ChandyLamport
from .dataflow.barriers import AtLeastOnce
from .diagrams import computation
from .events import Channel
from .exploration import Exploration, explore
from .lai_yang import LaiYang, Mattern
from .overlapping import Overlapping, Ports
from .recorder import Id, LocalSnapshot, Payload, Port, Recorder, Wire
from .simulator import NO_ID, Algorithm
from .systems import Fifo, System, Unordered
from .topologies import complete, ring

Step = Callable[[Port], None]


@dataclass(frozen=True)
class Broken:
    """A wrong variant, and the smallest system on which some schedule exposes it."""

    name: str
    mistake: str
    algorithm: Algorithm
    system: System
    ids: tuple[Id, ...]

    def explore(self) -> Exploration:
        """Search for the shortest run that goes wrong."""
        return explore(self.system, self.algorithm, ids=self.ids, stop=True)


BROKEN: dict[str, Broken] = {}


def exposed_by(system: System, *ids: Id) -> Callable[[type], type]:
    """Register a wrong variant with the system that exposes it."""

    def register(variant: type) -> type:
        mistake = (variant.__doc__ or "").splitlines()[0]
        BROKEN[variant.__name__] = Broken(variant.__name__, mistake, variant, system, ids or NO_ID)
        return variant

    return register


def performing(
    diagram: str, network: type[Fifo] = Fifo, channels: Sequence[Channel] = ()
) -> System:
    """The system that performs a typed computation; by default everybody has channels to all."""
    c = computation(diagram)
    return System(actors(c), network(channels or complete(c.processes)))


ONE_WAY = [Channel("p", "q")]
ONE = performing("p: m!\nq: m?", Fifo, ONE_WAY)
MAIL = performing("p: m!\nq: m?", Unordered, ONE_WAY)
TWICE = System(letters(p=[("q", 50), ("q", 50)], q=[]), Fifo(ONE_WAY))
JOIN = performing("p: m!\nq:\nr: m?", Fifo, [Channel("p", "r"), Channel("q", "r")])

# --- the marker rules -----------------------------------------------------------------------------


@exposed_by(ONE)
class LateMarker(ChandyLamport):
    """Sends its markers some time after it has recorded, and perhaps messages in between."""

    pending = False

    def marker_sending_rule(self, port: Port) -> None:
        self.record(port)
        self.pending = True

    @property
    def step(self) -> Step | None:
        return self.send_markers if self.pending else None

    def send_markers(self, port: Port) -> None:
        self.pending = False
        for channel in port.outputs:
            port.send(channel, MARKER)


@exposed_by(ONE)
class MarkerBeforeRecording(LateMarker):
    """Sends its markers first and records some time later."""

    def marker_sending_rule(self, port: Port) -> None:
        if not self.pending:
            self.send_markers(port)
            self.pending = True

    @property
    def step(self) -> Step | None:
        return self.record_late if self.pending else None

    def record_late(self, port: Port) -> None:
        closed = self.logged.keys()
        self.pending = False
        self.record(port)
        self.open -= closed

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        super().marker_receiving_rule(port, channel)
        if not self.recorded:
            self.logged[channel] = ()  # closed before the log is open


@exposed_by(ONE)
class OpensTheLogLate(ChandyLamport):
    """Begins to log some time after it has recorded: what arrives in the gap is in no picture."""

    opened = True

    def record(self, port: Port) -> None:
        super().record(port)
        self.opened = False

    @property
    def step(self) -> Step | None:
        return None if self.opened else self.open_log

    def open_log(self, port: Port) -> None:
        self.opened = True

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        missed = wire is not MARKER and not self.opened
        return wire if missed else super().on_receive(port, channel, wire)


@exposed_by(ONE)
class NoLog(ChandyLamport):
    """Records the states and forgets the channels."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        return super().on_receive(port, channel, wire) if wire is MARKER else wire


@exposed_by(ONE)
class LogsFromTheBeginning(ChandyLamport):
    """Takes everything that came before the marker for the channel's state."""

    def record(self, port: Port) -> None:
        before = self.logged
        super().record(port)
        self.logged |= before

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        if wire is not MARKER and not self.recorded:
            self.logged[channel] = (*self.logged.get(channel, ()), wire)
        return super().on_receive(port, channel, wire)


@exposed_by(ONE)
class LogsBehindTheMarker(ChandyLamport):
    """Takes the marker for the beginning of the log, where it is the end."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        if wire is not MARKER and self.recorded and channel not in self.open:
            self.logged[channel] += (wire,)
        return super().on_receive(port, channel, wire) if wire is MARKER else wire


@exposed_by(performing("p: m!\nq: m?"))
class LeavesTheFirstChannelOpen(ChandyLamport):
    """Goes on logging the channel on which the first marker came."""

    first: Channel | None = None

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        if self.recorded:
            self.open.discard(channel)
        else:
            self.first = channel
            self.marker_sending_rule(port)

    def result(self) -> LocalSnapshot | None:
        done = self.recorded and self.open <= {self.first}
        return LocalSnapshot(self.state, dict(self.logged)) if done else None


@exposed_by(ONE)
class RecordsAtEveryMarker(ChandyLamport):
    """Records its state again whenever a marker comes."""

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        super().marker_receiving_rule(port, channel)
        self.state = port.record()


@exposed_by(ONE)
class RecordsAtTheFirstMarkerSeen(ChandyLamport):
    """Asks whether this is the first marker, not whether the state is recorded."""

    seen = False

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        if not self.seen:
            self.seen = True
            self.marker_sending_rule(port)
        self.open.discard(channel)


@exposed_by(JOIN)
class RecordsAtTheLastMarker(AtLeastOnce):
    """Records when the marker has come on every channel, and receives what is behind them."""


@exposed_by(ONE)
class AliasesState(ChandyLamport):
    """Keeps the live state instead of a copy: the record changes with it."""

    def on_send(self, port: Port, channel: Channel, message: Payload) -> Wire:
        return self.look_again(port, super().on_send(port, channel, message))

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        return self.look_again(port, super().on_receive(port, channel, wire))

    def look_again(self, port: Port, passed_on: Wire) -> Wire:
        if self.recorded:
            self.state = port.record()
        return passed_on


@exposed_by(JOIN)
class ClosesAllChannels(ChandyLamport):
    """Closes every channel at the first marker, not only the one on which it came."""

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        super().marker_receiving_rule(port, channel)
        self.open.clear()


@exposed_by(performing("p:\nq:\nr:", Fifo, ring("pqr")))
class WaitsForEverybodysMarker(ChandyLamport):
    """Waits for a marker from everybody else, of three, though fewer channels lead to it."""

    markers = 0

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        super().marker_receiving_rule(port, channel)
        self.markers += 1

    def result(self) -> LocalSnapshot | None:
        return super().result() if self.markers == 2 else None


@exposed_by(ONE)
class DoneWhenRecorded(ChandyLamport):
    """Hands in its part when its state is recorded, without waiting for the markers."""

    def result(self) -> LocalSnapshot | None:
        return LocalSnapshot(self.state, dict(self.logged)) if self.recorded else None


@exposed_by(TWICE)
class LogsASet(ChandyLamport):
    """Keeps the channel as a set: two payments of 50 become one."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        known = wire in self.logged.get(channel, ())
        return wire if known else super().on_receive(port, channel, wire)


@exposed_by(ONE)
class DrainsTheChannel(ChandyLamport):
    """Empties a channel instead of recording it as empty: the computation loses messages."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        if wire is not MARKER and self.recorded and channel not in self.open:
            return None
        return super().on_receive(port, channel, wire)


# --- the network ----------------------------------------------------------------------------------


class ExpressMarkers(Fifo):
    """Channels in which control overtakes the messages."""

    def next_from(self, packets: Sequence[Any]) -> Sequence[int]:
        """The first marker if there is one, else the first message."""
        control = [i for i, packet in enumerate(packets) if packet.message is None]
        return control[:1] or super().next_from(packets)


@exposed_by(performing("p: m!\nq: m?", ExpressMarkers, ONE_WAY))
class MarkersOutsideTheChannel(ChandyLamport):
    """Sends control beside the channel, not in its order with the messages."""


@exposed_by(MAIL)
class MarkersWithoutFifo(ChandyLamport):
    """Trusts the order of a channel that has none."""


# --- several snapshots ----------------------------------------------------------------------------


class _Several(Overlapping):
    def __init__(self) -> None:
        super().__init__(ChandyLamport)


@exposed_by(performing("p:"), 1, 2)
class OneFlagForAllSnapshots(_Several):
    """Has one recorder for all ids: the second snapshot finds that all is recorded already."""

    def recorder(self, id: Id) -> Recorder:
        return super().recorder("the only one")

    def result(self, id: Id) -> LocalSnapshot | None:
        return super().result("the only one")


@exposed_by(performing("p:\nq:", Fifo, ONE_WAY), 1)
class OverwritesTheId(_Several):
    """Gives a snapshot that it hears of an id of its own."""

    def on_receive(self, ports: Ports, channel: Channel, wire: Any) -> Payload | None:
        if hasattr(wire, "control"):
            wire = wire._replace(id=f"of {channel.dst}")
        return super().on_receive(ports, channel, wire)


@exposed_by(performing("p:"), 1, 2)
class IgnoresTheSecondSnapshot(_Several):
    """Takes part in one snapshot in its life."""

    def begin(self, ports: Ports, id: Id) -> None:
        if not {*self.recorders} - {id}:
            super().begin(ports, id)

    def on_receive(self, ports: Ports, channel: Channel, wire: Any) -> Payload | None:
        if hasattr(wire, "control") and {*self.recorders} - {wire.id}:
            return None
        return super().on_receive(ports, channel, wire)


# --- colours --------------------------------------------------------------------------------------


@exposed_by(MAIL)
class NoForcedRed(LaiYang):
    """Receives a red message while it is white."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        if wire.message is not None and wire.red and not self.red:
            return wire.message
        return super().on_receive(port, channel, wire)


@exposed_by(MAIL)
class ForgetsTheHistory(LaiYang):
    """Begins to count white messages when it records, not from the start."""

    def turn_red(self, port: Port) -> None:
        super().turn_red(port)
        self.owed.clear()


@exposed_by(MAIL)
class CountsRed(LaiYang):
    """Counts red messages that arrive as if they were white."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        if wire.red and wire.message is not None:
            self.count(channel, -1)
        return super().on_receive(port, channel, wire)


@exposed_by(MAIL)
class TrustsTheOrder(LaiYang):
    """Logs no white message behind a red one."""

    def __init__(self) -> None:
        super().__init__()
        self.closed: set[Channel] = set()

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        if wire.red:
            self.closed.add(channel)
        log = self.logged.get(channel, ())
        message = super().on_receive(port, channel, wire)
        if channel in self.closed:
            self.logged[channel] = log
        return message


@exposed_by(MAIL)
class AbsoluteCounters(Mattern):
    """Adds the counters up without their signs."""

    def result(self) -> LocalSnapshot | None:
        part = super().result()
        owed = {name: abs(number) for name, number in self.owed.items()}
        return part and LocalSnapshot(part.state, part.channels, owed)


@exposed_by(MAIL)
class StopsByItself(Mattern):
    """Is done when its own counter is zero, whatever the others say."""

    def result(self) -> LocalSnapshot | None:
        part = super().result()
        if part is None or any(self.owed.values()):
            return None
        return LocalSnapshot(part.state, part.channels)
