"""What a snapshot is good for: properties that stay true, halting, and knowing that it is complete.

A detector sees one recorded global state and nothing of the run. A stable property that holds
when the snapshot begins holds in the snapshot; if it holds in the snapshot, it holds when that is
complete and ever after. If it does not, it only did not hold in the beginning: ask again later.

Chandy and Lamport 1985, doi:10.1145/214451.214456.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from .chandy_lamport import ACK, ChandyLamport
from .events import Channel
from .recorder import Payload, Port, Snapshot, Wire
from .runs import Run, finished
from .simulator import World
from .systems import System

Predicates = Mapping[str, Callable[[Any], bool]]  # by name, or by process


def terminated(snapshot: Snapshot) -> bool:
    """Decide for a work pool: everybody is passive, and no work is under way.

    >>> terminated(Snapshot({"p": "passive", "q": "passive"}, {("p", "q"): ("work",)}))
    False
    """
    return set(snapshot.states.values()) == {"passive"} and not any(snapshot.channels.values())


def deadlocked(snapshot: Snapshot) -> tuple[str, ...]:
    """Find servers that wait for one another in a cycle, each for the next; () if there are none.

    Who has a reply under way does not wait for ever.

    >>> waiting = {"p": ("q", (), ()), "q": ("p", (), ())}
    >>> deadlocked(Snapshot(waiting, {("p", "q"): ("call",)}))
    ('p', 'q')
    """
    waits_for = {
        process: other
        for process, (other, _, _) in snapshot.states.items()
        if other and "reply" not in snapshot.channels[Channel(other, process)]
    }
    for first in sorted(waits_for):
        way = [first]
        while waits_for.get(way[-1], first) not in way:
            way.append(waits_for[way[-1]])
        if waits_for.get(way[-1]) == first:
            return tuple(way)
    return ()


def tokens(snapshot: Snapshot) -> int:
    """Count the tokens of the single-token system, in processes and in channels."""
    return [*snapshot.states.values()].count("s1") + sum(map(len, snapshot.channels.values()))


def garbage(snapshot: Snapshot, roots: Iterable[str]) -> tuple[str, ...]:
    """Find the objects to which no references lead from a root; each channel is a root as well.

    They may be collected because garbage is stable: nobody can get hold of them any more.

    >>> cycle = Snapshot({"p": (("a", ("b",)), ("p", ())), "q": (("b", ("a",)), ("q", ()))}, {})
    >>> garbage(cycle, roots="pq"), reference_counts(cycle)
    (('a', 'b'), {'a': 1, 'b': 1})
    """
    held, reached = _held(snapshot), set[Any]()
    found: set[Any] = {*roots, *snapshot.channels}
    while found:
        reached |= found
        found = {reference for holder in found for reference in held.get(holder, ())} - reached
    return tuple(sorted(held.keys() - reached))


def reference_counts(snapshot: Snapshot) -> dict[str, int]:
    """Count the references to each object: in a cycle every object has one, garbage or not."""
    held = _held(snapshot)
    counts = Counter(reference for references in held.values() for reference in references)
    objects = held.keys() - snapshot.states.keys() - snapshot.channels.keys()
    return {name: counts[name] for name in sorted(objects)}


def _held(snapshot: Snapshot) -> dict[Any, tuple[str, ...]]:
    """The references that each object, program and channel holds."""
    holders = [holder for state in snapshot.states.values() for holder in state]
    return {**dict(holders), **snapshot.channels}


def violations(snapshot: Snapshot, invariants: Predicates) -> tuple[str, ...]:
    """Name the invariants that a recorded state violates.

    The system can be in that state, even if this run was not: a violation is a mistake of the
    system. Where none is found, another state may still have one.
    """
    return tuple(name for name, holds in invariants.items() if not holds(snapshot))


def breakpoint_at(system: System, conditions: Predicates, *, seed: int = 0) -> Run:
    """Halt a system as soon as a process meets its own condition, then let it go on to the end.

    This is the marker algorithm, but who has recorded stands still until all have. So the whole
    system stood in the state `run.snapshot`. One condition is enough; the others run on until a
    marker comes. Where several conditions hold, left alone the run might never have met them at
    one time. Miller and Choi, "Breakpoints and halting in distributed programs", 1988,
    doi:10.1109/DCS.1988.12532.

    >>> import chandylamport as cl
    >>> breakpoint_at(cl.textbook_bank(), {"B": lambda balance: balance < 200}).snapshot.states["B"]
    120
    """
    world, random, steps = World(system, ChandyLamport), Random(seed), list[str]()
    [id] = world.ids
    while True:
        running = world.states.keys() - world.truth[id].cut
        met = [(id, p) for p in conditions if p in running and conditions[p](world.states[p])]
        options = [o for o in world.options(met) if o.process in (running or world.states)]
        if options:
            option = options[0] if met else random.choice(options)
            world.take(option)
            steps.append(option.text)
        elif not world.wait():
            return finished(world, ChandyLamport, steps)


class AcknowledgedMarkers(ChandyLamport):
    """The marker algorithm whose initiator learns, inside the channels, when all is recorded.

    A process acknowledges each marker at once, but for its first: that one when all its own are
    acknowledged. So the initiator's last acknowledgement says that no marker is under way.

    There must be one initiator: of several, each hears of its own tree of markers only, and a
    virtual root above would have to hear from them all. A coordinator that collects the parts
    needs none of this, it asks `assemble` whether they make a whole. Dijkstra and Scholten,
    "Termination detection for diffusing computations", 1980, doi:10.1016/0020-0190(80)90021-6.

    >>> import chandylamport as cl
    >>> cl.simulate(cl.textbook_bank(), AcknowledgedMarkers, initiators=["A"]).reports
    (('A', 'complete'),)
    """

    def __init__(self) -> None:
        """No marker is sent, none has come."""
        super().__init__()
        self.parent: Channel | None = None  # where the first marker is to be acknowledged
        self.unacknowledged = 0

    def marker_sending_rule(self, port: Port) -> None:
        """Record, and wait for as many acknowledgements as markers go out."""
        if one_way := {c.src for c in port.inputs} ^ {c.dst for c in port.outputs}:
            between = f"{port.name} and {', '.join(sorted(one_way))}"
            raise ValueError(f"acknowledgements need channels both ways between {between}")
        super().marker_sending_rule(port)
        self.unacknowledged = len(port.outputs)
        if not port.outputs:
            port.report("complete")

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        """Acknowledge a marker, unless it is the first."""
        first, back = not self.recorded, Channel(channel.dst, channel.src)
        super().marker_receiving_rule(port, channel)
        if first:
            self.parent = back
        else:
            port.send(back, ACK)

    def on_receive(self, port: Port, channel: Channel, wire: Wire) -> Payload | None:
        """Count acknowledgements; after the last, acknowledge the first marker, or report."""
        if wire is not ACK:
            return super().on_receive(port, channel, wire)
        self.unacknowledged -= 1
        if not self.unacknowledged and self.parent:
            port.send(self.parent, ACK)
        elif not self.unacknowledged:
            port.report("complete")
        return None
