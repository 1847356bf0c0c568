"""What a snapshot algorithm may see, what it must do, and how its parts make a whole.

An algorithm knows its own process: the names of its channels, and its state when it asks for it.
It may not know the other processes, the network, a clock or the schedule, and it does no I/O. So
the same object runs in a simulator, in a search through all schedules, or on real connections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .events import Channel

State = Any  # of a process: a value that does not change, of tuples where JSON has lists
Payload = Any  # of a message: likewise, and never None
Wire = Any  # what travels in a channel: a payload as the algorithm sends it, or its own control
Id = Hashable  # of a snapshot, where there are several


class Port(Protocol):
    """All that an algorithm may touch: one process, for one snapshot."""

    @property
    def name(self) -> str:
        """The process."""

    @property
    def inputs(self) -> Sequence[Channel]:
        """Its incoming channels."""

    @property
    def outputs(self) -> Sequence[Channel]:
        """Its outgoing channels."""

    def record(self) -> State:
        """Give a copy of the process's state as it is now: the cut goes here."""

    def send(self, channel: Channel, control: Wire) -> None:
        """Send control along a channel, in its order with the messages."""

    def report(self, value: object) -> None:
        """Tell whoever collects the snapshot, outside the channels."""


class Recorder(Protocol):
    """What an algorithm must do: one object for each process and snapshot, made without arguments.

    One that does something on its own, at a time of its choice, has a property `step` as well: a
    function of its port, or None when there is nothing to do.
    """

    def begin(self, port: Port) -> None:
        """Initiate the snapshot here; without effect once this process has recorded."""

    def on_send(self, port: Port, channel: Channel, message: Payload) -> Wire:
        """Say what goes on the wire for a message, after the state change of its sending."""

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        """Take what arrives, before its state change; give the message, or None for control."""

    def result(self) -> LocalSnapshot | None:
        """Give this process's part, or None as long as there is nothing to report."""


@dataclass(frozen=True)
class LocalSnapshot:
    """One process's part: its state, its incoming channels, and which messages it still owes.

    What is owed counts messages sent less messages arrived, under any names. The whole is there
    when nothing is owed under any name; a single process may well have a negative number.
    """

    state: State
    channels: Mapping[Channel, tuple[Payload, ...]]  # incoming, in the order of arrival
    owed: Mapping[Hashable, int] = field(default_factory=dict)


class Channels(dict[Channel, tuple[Payload, ...]]):
    """The contents of channels; those that are empty are left out, and read as ()."""

    def __init__(self, contents: Iterable[tuple[Channel, tuple[Payload, ...]]]) -> None:
        super().__init__({Channel(*c): tuple(held) for c, held in sorted(contents) if held})

    def __missing__(self, channel: Channel) -> tuple[Payload, ...]:
        return ()


@dataclass(frozen=True)
class Snapshot:
    """A global state: the state of each process and the messages in each channel.

    >>> s = Snapshot({"p": 1, "q": 2}, {("p", "q"): ("m",), ("q", "p"): ()})
    >>> s.states["p"], s.channels["p", "q"], s.channels["q", "p"]
    (1, ('m',), ())
    """

    states: Mapping[str, State]
    channels: Mapping[Channel, tuple[Payload, ...]]  # one that holds nothing need not be named

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", dict(self.states))
        object.__setattr__(self, "channels", Channels(self.channels.items()))

    def __hash__(self) -> int:
        return hash((frozenset(self.states.items()), frozenset(self.channels.items())))


def still_owed(each: Iterable[Mapping[Hashable, int]]) -> dict[Hashable, int]:
    """Add up what all processes owe; give the names under which a message is still missing.

    >>> still_owed([{"white": 2, "red": 1}, {"white": -2}])
    {'red': 1}
    """
    total: Counter[Hashable] = Counter()
    for owed in each:
        total.update(owed)
    return {name: number for name, number in total.items() if number}


def assemble(parts: Mapping[str, LocalSnapshot | None]) -> Snapshot | None:
    """Make a snapshot of all parts, or None while one is missing or a message is still owed.

    >>> c = Channel("p", "q")
    >>> sender = LocalSnapshot("s", {}, {c: 1})
    >>> assemble({"p": sender, "q": LocalSnapshot("t", {c: ()}, {c: 0})})
    >>> assemble({"p": sender, "q": LocalSnapshot("t", {c: ("m",)}, {c: -1})}).channels
    {('p', 'q'): ('m',)}
    """
    present = {process: part for process, part in parts.items() if part is not None}
    if len(present) < len(parts) or still_owed(part.owed for part in present.values()):
        return None
    channels = {c: held for part in present.values() for c, held in part.channels.items()}
    return Snapshot({process: part.state for process, part in present.items()}, channels)
