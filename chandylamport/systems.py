"""Systems: processes that are pure functions of their state, joined by channels.

A system knows nothing of snapshots, chance or schedules: it only says what can happen next. So it
can be simulated, searched through and run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Protocol

from .events import Channel
from .recorder import Payload, Snapshot, State


@dataclass(frozen=True)
class Action:
    """What a process may do by itself: a change of its state, messages to others, or both."""

    label: str = ""  # the name of the event, or of its message
    sends: tuple[tuple[str, Payload], ...] = ()  # receiver and payload
    then: Any = None  # whatever `step` needs to know


class Process(Protocol):
    """A process, as functions of its state.

    It may also have `accepts(state, channel, message)`, to let a message wait; `busy(state)`, to
    let everything wait, markers too; `unread(state, channel)`, the number of messages that it has
    taken from a channel into a buffer; and `limit`, the number of actions after which it only
    receives.
    """

    @property
    def initial(self) -> State:
        """The state to start from."""

    def enabled(self, state: State) -> Iterable[Action]:
        """What it may do in this state; actions that send where no channel leads are left out."""

    def step(self, state: State, action: Action) -> State:
        """Give the state after the action."""

    def receive(self, state: State, channel: Channel, message: Payload) -> State:
        """Give the state after a message has arrived."""


@dataclass(frozen=True)
class Fifo:
    """Channels that deliver in the order of sending, each after a delay in logical time.

    One with a capacity holds its sender back while it is full. What its receiver has not yet read
    counts, and so does the log of a snapshot; a marker always passes.

    >>> Fifo([("p", "q")]).outputs("p")
    (('p', 'q'),)
    """

    channels: Sequence[Channel]
    delays: Mapping[Channel, int] = field(default_factory=dict)
    capacities: Mapping[Channel, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        channels: list[Channel] = []
        for ends in self.channels:
            if isinstance(ends, str) or len(ends) != 2 or ends[0] == ends[1]:
                raise ValueError(f"{ends!r}: a channel joins two processes; write ('p', 'q')")
            if ends in channels:
                raise ValueError(f"channel {Channel(*ends)} is there twice")
            channels.append(Channel(*ends))
        object.__setattr__(self, "channels", tuple(channels))
        for ends in (*self.delays, *self.capacities):
            if ends not in channels:
                raise ValueError(f"{Channel(*ends)} has a delay or capacity, and is not a channel")
            if (delay := self.delays.get(ends, 0)) < 0:
                raise ValueError(f"channel {Channel(*ends)}: a delay of {delay} is before sending")
            if self.capacities.get(ends, 1) < 1:
                raise ValueError(f"channel {Channel(*ends)}: nothing fits into it")

    def outputs(self, process: str) -> tuple[Channel, ...]:
        """The channels that leave a process."""
        return tuple(c for c in self.channels if c.src == process)

    def inputs(self, process: str) -> tuple[Channel, ...]:
        """The channels that lead to a process."""
        return tuple(c for c in self.channels if c.dst == process)

    def next_from(self, packets: Sequence[Any]) -> Sequence[int]:
        """Which of the packets in a channel may be delivered next: the first."""
        return range(min(len(packets), 1))

    def contents(self, messages: Iterable[Payload]) -> tuple[Payload, ...]:
        """The state of a channel: a sequence."""
        return tuple(messages)


@dataclass(frozen=True)
class Unordered(Fifo):
    """Channels that lose nothing and deliver in any order."""

    def next_from(self, packets: Sequence[Any]) -> Sequence[int]:
        """Which may be delivered next: any of them."""
        return range(len(packets))

    def contents(self, messages: Iterable[Payload]) -> tuple[Payload, ...]:
        """The state of a channel: a multiset, written in a fixed order."""
        return tuple(sorted(messages, key=repr))


NOWHERE = Snapshot({}, {})


@dataclass(frozen=True)
class System:
    """Processes and a network, and the global state to start from."""

    processes: Mapping[str, Process]
    network: Fifo
    start: Snapshot = NOWHERE  # by default, the initial states and empty channels

    def __post_init__(self) -> None:
        if not self.processes:
            raise ValueError("a system needs a process")
        if not isinstance(self.network, Fifo):
            raise TypeError("give the channels as Fifo(…) or Unordered(…)")
        for name, process in self.processes.items():
            needed = ("initial", "enabled", "step", "receive")
            if isinstance(process, type) or not all(hasattr(process, part) for part in needed):
                raise TypeError(f"{name}: a process is an object that has {', '.join(needed)}")
        for channel in self.network.channels:
            for end in channel:
                if end not in self.processes:
                    raise ValueError(f"channel {channel}: there is no process {end}")
        if self.start == NOWHERE:
            initial = {name: process.initial for name, process in self.processes.items()}
            object.__setattr__(self, "start", Snapshot(initial, {}))

    def actions(self, process: str, state: State, taken: int) -> Iterable[Action]:
        """What a process may do now, by itself, when it has taken so many actions."""
        if taken >= getattr(self.processes[process], "limit", inf):
            return
        reachable = {channel.dst for channel in self.network.outputs(process)}
        enabled = self.processes[process].enabled(state)
        if not isinstance(enabled, Iterable):
            raise TypeError(f"{process}: enabled must give a list of actions, not {enabled!r}")
        for action in enabled:
            if all(dst in reachable for dst, _ in action.sends):
                yield action

    def accepts(self, process: str, state: State, channel: Channel, message: Payload) -> bool:
        """Whether a process takes a message in this state, or lets it wait."""
        decide = getattr(self.processes[process], "accepts", None)
        return decide is None or bool(decide(state, channel, message))

    def busy(self, process: str, state: State) -> bool:
        """Whether a process takes nothing at all in this state, not even a marker."""
        decide = getattr(self.processes[process], "busy", None)
        return decide is not None and bool(decide(state))

    def unread(self, process: str, state: State, channel: Channel) -> int:
        """How many messages of a channel wait in a buffer of their receiver."""
        count = getattr(self.processes[process], "unread", None)
        return 0 if count is None else int(count(state, channel))


def restore(system: System, snapshot: Snapshot) -> System:
    """Give the system that goes on from a snapshot, with its messages in their channels.

    What the states do not tell is not restored: a `limit` of actions counts from here.
    """
    if snapshot.states.keys() != system.processes.keys():
        raise ValueError("this snapshot is not of this system: the processes differ")
    if lost := [c for c in snapshot.channels if c not in system.network.channels]:
        raise ValueError(f"this snapshot is not of this system: it has no channel {lost[0]}")
    return replace(system, start=snapshot)
