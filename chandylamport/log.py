"""Writing events down one by one, and refusing what no distributed system can do.

This chapter knows the rules that hold for every computation: a message is sent once, received at
most once, and never before it is sent. It knows nothing of clocks and cuts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from .events import Channel, Computation, Event, MalformedComputation, Message


class Log:
    """Events written down one by one, in any order that keeps each process's own order.

    >>> log = Log("pq")
    >>> log.event("p", "a")
    >>> log.event("q", receives=["m"])
    >>> log.event("p", sends={"m": "q"})
    >>> log.computation()
    <Computation of p, q: 3 events, 1 messages>
    """

    def __init__(self, processes: Iterable[str] = ()) -> None:
        """Name all processes, or none: then they come as their events do."""
        self._histories: dict[str, list[Event]] = {process: [] for process in processes}
        self._all_named = bool(self._histories)
        self._sends: dict[str, Event] = {}
        self._receives: dict[str, Event] = {}
        self._receiver: dict[str, str] = {}
        self._where: dict[tuple[str, int], str] = {}

    def event(
        self,
        process: str,
        label: str = "",
        *,
        sends: Mapping[str, str] | None = None,
        receives: Iterable[str] = (),
        where: str = "",
    ) -> None:
        """Write down one event; `sends` gives each message's receiver, "" if a receive tells it."""
        if process not in self._histories and self._all_named:
            raise MalformedComputation(f"{where}{label or 'event'}: there is no process {process}")
        history = self._histories.setdefault(process, [])
        event = Event(process, len(history) + 1, label, tuple(sends or ()), tuple(receives))
        if where:
            self._where[process, event.position] = where
        if not event.name:
            raise MalformedComputation(f"{where}event {event.position} of {process} has no name")
        for names, seen, verb in (
            (event.sends, self._sends, "sent"),
            (event.receives, self._receives, "received"),
        ):
            for name in names:
                if name in seen:
                    raise self._error(event, f"{name} is {verb} twice, first in {seen[name]}")
                seen[name] = event
        self._receiver.update(sends or {})
        history.append(event)

    def computation(
        self, *, fifo: bool = False, payloads: Mapping[str, object] | None = None
    ) -> Computation:
        """Check the rules and freeze the log; with `fifo`, no message may overtake another."""
        if not self._histories:
            raise MalformedComputation("there is nothing here: a computation needs a process")
        if "" in self._histories:
            raise MalformedComputation("a process needs a name")
        for name, receive in self._receives.items():
            if name not in self._sends:
                rule = f"{receive.process} receives a message that nobody sends"
                raise self._error(
                    receive, rule if receive.name == f"{name}?" else f"{rule}: {name}"
                )
        for name in payloads or {}:
            if name not in self._sends:
                raise MalformedComputation(f"{name} has a payload, and nobody sends it")
        histories = tuple(map(tuple, self._histories.values()))
        messages = {
            name: self._message(name, event, (payloads or {}).get(name))
            for history in histories
            for event in history
            for name in event.sends
        }
        order = self._order(messages)
        if fifo:
            self._check_fifo(messages, order)
        return Computation(tuple(self._histories), histories, messages, order)

    def _error(self, event: Event, rule: str) -> MalformedComputation:
        where = self._where.get((event.process, event.position), "")
        return MalformedComputation(f"{where}{event.name}: {rule}")

    def _message(self, name: str, send: Event, payload: object) -> Message:
        receive, dst = self._receives.get(name), self._receiver[name]
        if receive and dst not in ("", receive.process):
            raise self._error(receive, f"{name} was sent to {dst}, not to {receive.process}")
        dst = receive.process if receive else dst
        if not dst:
            raise self._error(send, f"nobody receives {name}; if it is on its way to q: {name}!q")
        if dst not in self._histories:
            raise self._error(send, f"{name} goes to {dst}, and there is no process {dst}")
        if dst == send.process:
            raise self._error(send, f"{dst} sends {name} to itself; a channel joins two processes")
        received = receive.position if receive else None
        return Message(name, send.process, dst, send.position, received, payload)

    def _order(self, messages: Mapping[str, Message]) -> tuple[Event, ...]:
        """Let each process go on until it must wait; those who wait for ever wait in a circle."""
        done = dict.fromkeys(self._histories, 0)
        waits: dict[str, str] = {}  # message: process
        order: list[Event] = []
        ready = list(reversed(self._histories))
        while ready:
            process = ready.pop()
            history = self._histories[process]
            while done[process] < len(history):
                event = history[done[process]]
                missing = [m for m in event.receives if messages[m].sent > done[messages[m].src]]
                if missing:
                    waits[missing[0]] = process
                    break
                done[process] += 1
                order.append(event)
                ready += [waits.pop(m) for m in event.sends if m in waits]
        if waits:
            raise self._circle({process: name for name, process in waits.items()}, messages)
        return tuple(order)

    def _circle(
        self, waits: Mapping[str, str], messages: Mapping[str, Message]
    ) -> MalformedComputation:
        process, seen = next(iter(waits)), list[str]()
        while process not in seen:
            seen.append(process)
            process = messages[waits[process]].src
        circle = [waits[process] for process in seen[seen.index(process) :]]
        after = zip(circle, circle[1:] + circle[:1], strict=True)
        links = ", which needs ".join(f"{m}!, which comes after {n}?" for m, n in after)
        return self._error(self._receives[circle[0]], f"a cycle through time: it needs {links}")

    def _check_fifo(self, messages: Mapping[str, Message], order: Iterable[Event]) -> None:
        channels: dict[Channel, list[str]] = defaultdict(list)
        for message in messages.values():
            channels[message.channel].append(message.name)
        queues = {channel: iter(names) for channel, names in channels.items()}
        for event in order:
            for name in event.receives:
                first = next(queues[messages[name].channel])
                if first != name:
                    rule = f"channel {messages[name].channel} is not FIFO: {name} overtakes {first}"
                    raise self._error(event, rule)
