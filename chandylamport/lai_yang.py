"""Snapshots without FIFO: colours instead of markers, and counting the messages still to come.

It may not know in which order a channel delivers. A process is white before it records and red
afterwards, and each message has the colour of its sender.

Lai and Yang, "On distributed snapshots", Information Processing Letters 25, 1987. Counting:
Mattern, "Efficient algorithms for distributed snapshots and global virtual time approximation",
Journal of Parallel and Distributed Computing 18, 1993.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

from .events import Channel
from .recorder import LocalSnapshot, Payload, Port, State, Wire


class Coloured(NamedTuple):
    """A message with its sender's colour; without a message it only says that the sender is red."""

    red: bool
    message: Payload | None = None

    def __str__(self) -> str:
        return "red" if self.red else "white"


class LaiYang:
    """One process's part: white until it records, red before it receives anything red.

    The channel from p to q holds the white messages that q receives when it is red. They are all
    there when the white messages that arrived are as many as those that were sent. The paper
    subtracts the histories of white messages sent and received; that gives the same.

    >>> import chandylamport as cl
    >>> mail = cl.System(cl.accounts(p=10, q=10, transfers=3), cl.Unordered(cl.complete("pq")))
    >>> run = cl.simulate(mail, LaiYang, initiators=["p"], at=2, seed=1)
    >>> run.snapshot.channels == run.in_transit()
    True
    """

    def __init__(self) -> None:
        """White, and no message counted yet."""
        self.red = False
        self.state: State = None
        self.owed: Counter[Hashable] = Counter()  # white messages, sent less arrived
        self.logged: dict[Channel, tuple[Payload, ...]] = {}

    def begin(self, port: Port) -> None:
        """Record spontaneously."""
        if not self.red:
            self.turn_red(port)

    def turn_red(self, port: Port) -> None:
        """Record the state; tell the neighbours, for they may get no message for a long time."""
        self.red, self.state = True, port.record()
        for channel in port.outputs:
            port.send(channel, Coloured(red=True))

    def on_send(self, port: Port, channel: Channel, message: Payload) -> Wire:
        """Colour the message like its sender."""
        if not self.red:
            self.count(channel, +1)
        return Coloured(self.red, message)

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        """Turn red before receiving red; white to a red process is in transit at the cut."""
        if wire.red and not self.red:
            self.turn_red(port)
        if not wire.red:
            self.count(channel, -1)
        if self.red and not wire.red:
            self.logged[channel] = (*self.logged.get(channel, ()), wire.message)
        return wire.message

    def count(self, channel: Channel, number: int) -> None:
        """Count a white message on its channel."""
        self.owed[channel] += number

    def result(self) -> LocalSnapshot | None:
        """Give what is known; more white messages may come, and the counts tell whether."""
        if not self.red:
            return None
        return LocalSnapshot(self.state, dict(self.logged), dict(self.owed))


class Mattern(LaiYang):
    """The same with one counter for each process, however many channels it has.

    Over all processes the counters add up to the number of white messages under way. A single
    one is negative where more has arrived than was sent.
    """

    def count(self, channel: Channel, number: int) -> None:
        """Count a white message, whatever its channel."""
        self.owed["white messages"] += number
