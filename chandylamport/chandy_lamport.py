"""The marker algorithm: two rules by which processes record a global state while they work.

It may not know how many processes there are, nor who else began. It needs channels that deliver
in order (FIFO), and a path of channels from those who begin to everybody else.

Chandy and Lamport, "Distributed snapshots: determining global states of distributed systems",
ACM Transactions on Computer Systems 3(1), 1985, doi:10.1145/214451.214456.
"""

from __future__ import annotations

from enum import Enum

from .events import Channel
from .recorder import LocalSnapshot, Payload, Port, State, Wire


class Control(Enum):
    """What an algorithm itself puts into a channel, among the messages."""

    MARKER = "marker"
    ACK = "ack"  # of a marker; the two rules do without it

    def __str__(self) -> str:
        return self.value


MARKER, ACK = Control


class ChandyLamport:
    """One process's part in the marker algorithm.

    >>> import chandylamport as cl
    >>> run = cl.simulate(cl.textbook_bank(), ChandyLamport, initiators=["A"], at=1, seed=3)
    >>> sum(run.snapshot.states.values()) + sum(sum(m) for m in run.snapshot.channels.values())
    800
    """

    def __init__(self) -> None:
        """Nothing is recorded yet."""
        self.recorded = False
        self.state: State = None
        self.open: set[Channel] = set()  # incoming channels that have not delivered a marker
        self.logged: dict[Channel, tuple[Payload, ...]] = {}

    def begin(self, port: Port) -> None:
        """Record spontaneously: any process may, and several may at once."""
        if not self.recorded:
            self.marker_sending_rule(port)

    def marker_sending_rule(self, port: Port) -> None:
        """Record the state; send one marker on each outgoing channel before further messages."""
        self.record(port)
        for channel in port.outputs:
            port.send(channel, MARKER)

    def record(self, port: Port) -> None:
        """Record the state, and begin to log what arrives from now on."""
        self.recorded, self.state = True, port.record()
        self.open, self.logged = set(port.inputs), dict.fromkeys(port.inputs, ())

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        """If the state is not recorded, record it, and the channel as empty.

        Otherwise the channel's state is what arrived on it after the recording, until now.
        """
        if not self.recorded:
            self.marker_sending_rule(port)
        self.open.discard(channel)

    def on_send(self, port: Port, channel: Channel, message: Payload) -> Wire:
        """Leave the messages of the computation as they are."""
        return message

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        """Obey a marker; log a copy of a message that is in transit at the cut."""
        if wire is MARKER:
            self.marker_receiving_rule(port, channel)
            return None
        if channel in self.open:
            self.logged[channel] += (wire,)
        return wire

    def result(self) -> LocalSnapshot | None:
        """Give the state and the incoming channels, once each of them has delivered its marker."""
        if not self.recorded or self.open:
            return None
        return LocalSnapshot(self.state, dict(self.logged))
