"""Exercises on several snapshots at once."""

from __future__ import annotations

from typing import Any

from ... import broken
from ...chandy_lamport import ChandyLamport
from ...events import Channel
from ...overlapping import Overlapping, Ports, Tagged
from ...recorder import Id, LocalSnapshot, Payload
from ..checking import Exercise, NotYet
from ..judging import blame_the_system, in_every_schedule
from .markers import ONE

APART = 'cl.System(cl.actors(cl.computation("p: a\\nq: b")), cl.Fifo(cl.complete("pq")))'


class Several(Overlapping):
    """The right way, with one recorder for each id."""

    def __init__(self) -> None:
        super().__init__(ChandyLamport)


class FirstOnly(Several):
    """Shows a message to the oldest snapshot only."""

    def listening(self) -> list[Id]:
        return list(self.recorders)[:1]

    def on_receive(self, ports: Ports, channel: Channel, wire: Any) -> Payload | None:
        if isinstance(wire, Tagged):
            return super().on_receive(ports, channel, wire)
        for id in self.listening():
            self.recorders[id].on_receive(ports(id), channel, wire.plain)
        return wire.plain


class LatestOnly(FirstOnly):
    """Shows a message to the newest snapshot only."""

    def listening(self) -> list[Id]:
        return list(self.recorders)[-1:]


class Deaf(FirstOnly):
    """Shows messages to no snapshot."""

    def listening(self) -> list[Id]:
        return []


class KeepsMessages(FirstOnly):
    """Shows a message to every snapshot, and not to the process."""

    def on_receive(self, ports: Ports, channel: Channel, wire: Any) -> Payload | None:
        super(FirstOnly, self).on_receive(ports, channel, wire)
        return None


class LatestResult(Several):
    """Gives the part of the newest snapshot, whichever is asked for."""

    def result(self, id: Id) -> LocalSnapshot | None:
        return super().result(next(reversed(self.recorders), id))


class MarkersForAll(Several):
    """Shows a marker to every snapshot that it knows."""

    def on_receive(self, ports: Ports, channel: Channel, wire: Any) -> Payload | None:
        if isinstance(wire, Tagged):
            self.recorder(wire.id)
            for id, recorder in self.recorders.items():
                recorder.on_receive(ports(id), channel, wire.control)
            return None
        return super().on_receive(ports, channel, wire)


class StartsAnew(Several):
    """Makes a new recorder whenever a marker comes."""

    def on_receive(self, ports: Ports, channel: Channel, wire: Any) -> Payload | None:
        if isinstance(wire, Tagged):
            self.recorders.pop(wire.id, None)
        return super().on_receive(ports, channel, wire)


class Foreseen(Several):
    """Takes part in the snapshots 1 and 2, and in no other."""

    def begin(self, ports: Ports, id: Id) -> None:
        if id in (1, 2):
            super().begin(ports, id)


def in_place(answer: Any) -> Any:
    """Refuse a class that cannot stand where the package has its own."""
    if isinstance(answer, type) and not issubclass(answer, Overlapping):
        raise NotYet(f"Begin with class {answer.__name__}(cl.Overlapping): and write its methods.")
    return answer


SNAPSHOTS = Exercise(
    name="Snapshots",
    subject="system",
    questions=lambda system: [("AB" if len(system.processes) > 2 else (1, 2),)],
    ask=lambda answer, system, ids: in_every_schedule(ids=ids)(in_place(answer), system),
    weigh=blame_the_system,
    examples=(APART, ONE),
    not_to_be_called=("Overlapping",),
    mistakes={
        "the second lost: a process takes part in every snapshot, and each has its own recorder": (
            broken.OneFlagForAllSnapshots
        ),
        "numbers expected: an id may be anything, and a process does not know it beforehand": (
            Foreseen
        ),
        "an id of its own: a marker must go on with the id with which it came": (
            broken.OverwritesTheId
        ),
        "messages for the first only: every snapshot logs what is under way for it": FirstOnly,
        "messages for the latest only: every snapshot logs what is under way for it": LatestOnly,
        "messages for none: every snapshot logs what is under way for it": Deaf,
        "swallowed messages: the process gets every message, once": KeepsMessages,
        "the result of another: result(id) asks for the part of this snapshot": LatestResult,
        "markers for all: a marker belongs to one snapshot, and the others do not see it": (
            MarkersForAll
        ),
        "a new recorder at each marker: make one for an id that is not known yet": StartsAnew,
    },
    hints=(
        "self.recorders is a dict with one recorder for each id. When is one made?",
        "an id may be heard of in two ways: begin, or a marker. Write one method that gives the "
        "recorder of an id, and makes it if there is none.",
        "a marker goes to the recorder of its id. A message goes to all recorders, each with its "
        "own port, ports(id); and then to the process.",
    ),
)
