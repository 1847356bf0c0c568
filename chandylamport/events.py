"""Processes, events, messages and computations: what happened, and in which local order.

This chapter knows no clock, no cut and no algorithm. It only names what there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .causality import VectorClocks


class MalformedComputation(ValueError):
    """A description of what cannot have happened, or not as was asked: it names event and rule."""


class Channel(NamedTuple):
    """A one-way connection from one process to another.

    >>> Channel("p", "q"), str(Channel("p", "q"))
    (('p', 'q'), 'p→q')
    """

    src: str
    dst: str

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __str__(self) -> str:
        return f"{self.src}→{self.dst}"


@dataclass(frozen=True, slots=True)
class Message:
    """What travels along a channel: sent once, received at most once.

    `sent` and `received` are the positions of those events in their processes.
    """

    name: str
    src: str
    dst: str
    sent: int
    received: int | None = None
    payload: object = None

    @property
    def channel(self) -> Channel:
        """The channel on which the message travels."""
        return Channel(self.src, self.dst)


@dataclass(frozen=True, slots=True)
class Event:
    """One step of one process: it may change the state, send messages and receive messages.

    >>> Event("q", 3, sends=("n",), receives=("m",)).name
    'm?,n!'
    """

    process: str
    position: int
    label: str = ""
    sends: tuple[str, ...] = ()
    receives: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The label, or what the event does: `m!` sends m, `m?` receives it."""
        actions = [f"{m}?" for m in self.receives] + [f"{m}!" for m in self.sends]
        return self.label or ",".join(actions)

    def __str__(self) -> str:
        return f"{self.name} ({self.process} {self.position})"


@dataclass(frozen=True, repr=False)
class Computation:
    """Local histories, joined by the messages that were sent and received.

    Type one with `computation`, or write one down with `Log`.

    >>> from chandylamport import computation
    >>> c = computation("p: a m! n?\\nq: m? b n!")
    >>> c
    <Computation of p, q: 6 events, 2 messages>
    >>> c["m?"] == c["q", 1], c["b"].position
    (True, 2)
    """

    processes: tuple[str, ...]
    histories: tuple[tuple[Event, ...], ...]
    messages: Mapping[str, Message] = field(hash=False)
    order: tuple[Event, ...] = field(compare=False)  # one order in which it can have happened

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The number of each process."""
        return {process: i for i, process in enumerate(self.processes)}

    @cached_property
    def clocks(self) -> VectorClocks:
        """The vector clocks of all events, computed once, when they are first asked for."""
        from .causality import VectorClocks

        return VectorClocks(self)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The channels that carried a message, in the order of the processes."""
        used = {m.channel for m in self.messages.values()}
        return tuple(sorted(used, key=lambda k: (self.index[k.src], self.index[k.dst])))

    @cached_property
    def _named(self) -> Mapping[str, list[Event]]:
        named = defaultdict(list)
        for event in self:
            named[event.name].append(event)
        return named

    def history(self, process: str) -> tuple[Event, ...]:
        """Give all events of one process, in their local order."""
        if process not in self.index:
            raise KeyError(f"there is no process {process}, only {', '.join(self.processes)}")
        return self.histories[self.index[process]]

    def __getitem__(self, key: str | tuple[str, int]) -> Event:
        """Find an event: by its name, as `m!` or `m?`, or by process and position (from 1)."""
        if isinstance(key, tuple):
            history = self.history(key[0])
            if not 1 <= key[1] <= len(history):
                raise KeyError(f"{key[0]} has {len(history)} events, no number {key[1]}")
            return history[key[1] - 1]
        message = self.messages.get(key[:-1])
        if message and key.endswith("!"):
            return self[message.src, message.sent]
        if message and key.endswith("?") and message.received:
            return self[message.dst, message.received]
        found = self._named.get(key, [])
        if not found:
            raise KeyError(f"there is no event {key}")
        if len(found) > 1:
            places = " or ".join(f"c[{e.process!r}, {e.position}]" for e in found)
            raise KeyError(f"{len(found)} events are called {key}; say which: {places}")
        return found[0]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        who = ", ".join(self.processes)
        return f"<Computation of {who}: {len(self)} events, {len(self.messages)} messages>"

    def __str__(self) -> str:
        from .diagrams import diagram

        return diagram(self)

    def _repr_svg_(self) -> str | None:
        from .drawing import draw

        return draw(self).svg if len(self) <= 200 else None
