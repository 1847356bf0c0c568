"""What is true of a snapshot: the cut that was recorded, and the global state that belongs to it.

No process can know this. It is kept beside the run, message by message, and compared with what
the algorithm says: the states, and the channels as their network keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .events import Channel
from .recorder import Id, Payload, Snapshot, State

if TYPE_CHECKING:
    from .simulator import World


@dataclass
class Truth:
    """The cut of one snapshot as it is being recorded, and the global state that belongs to it."""

    cut: dict[str, int] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    orphans: tuple[str, ...] = ()
    late: dict[Channel, tuple[Payload, ...]] = field(default_factory=dict)  # in transit, arrived

    def copy(self) -> Truth:
        """Give one that can be changed by itself."""
        return Truth(dict(self.cut), dict(self.states), self.orphans, dict(self.late))


def state_at_cut(world: World, id: Id) -> Snapshot:
    """Give the global state of a cut: what was sent inside, and has not been received inside."""
    truth = world.truth[id]
    channels = {
        channel: [
            *truth.late.get(channel, ()),
            *(k.message for k in held if k.message is not None and id not in k.recorded),
        ]
        for channel, held in world.channels.items()
    }
    return world.settled(truth.states, channels)


def faults_of(world: World, id: Id) -> Iterator[str]:
    """Compare a complete snapshot with the truth, and say in words what is wrong with it."""
    found, right = world.complete[id], state_at_cut(world, id)
    for name in world.truth[id].orphans:
        yield f"{name} is received inside the cut and sent outside"
    for process, state in right.states.items():
        if found.states[process] != state:
            recorded = f"{process} is recorded in state {found.states[process]!r}"
            yield f"{recorded}, and was in {state!r} at its cut"
    for channel in sorted({*found.channels, *right.channels}):
        given, held = list(found.channels[channel]), list(right.channels[channel])
        if given != held:
            yield f"channel {channel} is recorded as {given}, and holds {held} at the cut"


def why_not_complete(world: World, id: Id) -> str:
    """Say what a snapshot waits for, and whether in vain."""
    recorded = world.truth[id].cut
    if not recorded:
        return "not complete: nobody has recorded"
    reached, channels = set(recorded), world.system.network.channels
    while more := {c.dst for c in channels if c.src in reached} - reached:
        reached |= more
    if never := [p for p in world.states if p not in reached]:
        return f"never complete: no channels lead from an initiator to {', '.join(never)}"
    if missing := [p for p in world.states if p not in recorded]:
        return f"not complete: {', '.join(missing)} did not record"
    if waiting := [p for p, own in world.recorders.items() if own.result(id) is None]:
        return f"not complete: no result yet from {', '.join(waiting)}"
    return "not complete: messages are still owed"
