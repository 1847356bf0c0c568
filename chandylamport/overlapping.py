"""Many snapshots at once: an id on everything, and one recorder for each id.

It may not know the algorithm, only that recorders are made without arguments. The algorithm knows
nothing of ids.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import NamedTuple

from .events import Channel
from .recorder import Id, LocalSnapshot, Payload, Port, Recorder, Wire

Ports = Callable[[Id], Port]  # the port of this process, for each snapshot


class Stamped(NamedTuple):
    """A message: as a process sends it that knows of no snapshot, and for each id that differs."""

    plain: Wire
    stamps: tuple[tuple[Id, Wire], ...] = ()


class Tagged(NamedTuple):
    """Control of one snapshot."""

    id: Id
    control: Wire


class Overlapping:
    """All recorders of one process, by the id of their snapshot.

    One recorder never begins. It has seen every message since the process started, so a copy of
    it is what a snapshot of a new id begins with; and what it would send is what no stamp means.
    """

    def __init__(self, algorithm: Callable[[], Recorder]) -> None:
        """No snapshot is known yet."""
        self.unstarted = algorithm()
        self.recorders: dict[Id, Recorder] = {}

    def recorder(self, id: Id) -> Recorder:
        """Give the recorder of a snapshot; an id that is heard of for the first time makes one."""
        if id not in self.recorders:
            self.recorders[id] = deepcopy(self.unstarted)
        return self.recorders[id]

    def begin(self, ports: Ports, id: Id) -> None:
        """Initiate the snapshot of this id."""
        self.recorder(id).begin(ports(id))

    def on_send(self, ports: Ports, channel: Channel, message: Payload) -> Stamped:
        """Let every recorder colour the message for its own snapshot."""
        plain = self.unstarted.on_send(ports(None), channel, message)
        wires = ((id, r.on_send(ports(id), channel, message)) for id, r in self.recorders.items())
        return Stamped(plain, tuple((id, wire) for id, wire in wires if wire != plain))

    def on_receive(self, ports: Ports, channel: Channel, wire: Stamped | Tagged) -> Payload | None:
        """Give control to its own recorder, and a message to each of them."""
        if isinstance(wire, Tagged):
            return self.recorder(wire.id).on_receive(ports(wire.id), channel, wire.control)
        stamps = dict(wire.stamps)
        for id in stamps:
            self.recorder(id)
        message = self.unstarted.on_receive(ports(None), channel, wire.plain)
        for id, recorder in self.recorders.items():
            got = recorder.on_receive(ports(id), channel, stamps.get(id, wire.plain))
            message = got if message is not None else None  # what one of them keeps is lost
        return message

    def result(self, id: Id) -> LocalSnapshot | None:
        """Give this process's part in one snapshot."""
        return self.recorders[id].result() if id in self.recorders else None
