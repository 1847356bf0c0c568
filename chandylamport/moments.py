"""A run moment by moment: what somebody would see who could look everywhere at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .events import Channel
from .recorder import Id, Payload, State
from .runs import Run, by_script
from .simulator import Packet, World


class Token(NamedTuple):
    """What is under way in a channel: a payload with its stamps, or control, in words."""

    text: str
    is_control: bool


@dataclass(frozen=True)
class Moment:
    """A system between two steps of a run: what its processes, channels and recorders hold."""

    step: str  # that led here; "" at the start
    states: Mapping[str, State]
    channels: Mapping[Channel, tuple[Token, ...]]  # the next to arrive first
    recorded: Mapping[tuple[Id, str], State]
    logged: Mapping[tuple[Id, Channel], tuple[Payload, ...]]  # of processes that have recorded
    closed: frozenset[tuple[Id, Channel]]  # channels whose log is final


def moments(run: Run) -> Iterator[Moment]:
    """Live through a run again: give its start, and the moment after each step."""
    world = World(run.system, run.algorithm, run.snapshots)
    yield _moment(world, "")
    for option in by_script(world, run.schedule):
        world.take(option)
        yield _moment(world, option.text)


def _moment(world: World, step: str) -> Moment:
    recorded, logged, closed = {}, {}, set()
    for id, truth in world.truth.items():
        for process, state in truth.states.items():
            recorder = world.recorders[process].recorders.get(id)
            recorded[id, process] = getattr(recorder, "state", state)
            for channel in world.system.network.inputs(process):
                logged[id, channel] = getattr(recorder, "logged", {}).get(channel, ())
                if id in world.complete or channel not in getattr(recorder, "open", {channel}):
                    closed.add((id, channel))
    channels = {c: tuple(map(_token, packets)) for c, packets in world.channels.items()}
    return Moment(step, dict(world.states), channels, recorded, logged, frozenset(closed))


def _token(packet: Packet) -> Token:
    if packet.message is None:
        return Token(packet.name.partition("#")[0], is_control=True)
    stamps = (str(stamp) for _, stamp in getattr(packet.wire, "stamps", ()))
    return Token(" ".join([str(packet.message), *dict.fromkeys(stamps)]), is_control=False)
