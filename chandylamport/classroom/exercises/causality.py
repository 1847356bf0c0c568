"""Exercises on happens-before and concurrency."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

from ...causality import concurrent, happens_before, lamport_clocks, vector_clocks
from ...cuts import Cut
from ...diagrams import computation
from ...drawing import Picture, draw
from ...events import Computation, Event
from ..checking import Exercise

CHAIN = computation("p: a m!\nq: m? b n!\nr: d n? z")
CROSS = computation("p: m! n?\nq: n! m?", payloads={"m": 50, "n": 80})
STREAM = computation("p: m! n! a\nq: m? b n?", payloads={"m": 50, "n": 50})
UNDER_WAY = computation("p: m!q k?\nq: a k!", payloads={"m": 20, "k": 5})

Relation = Callable[[Computation, Event, Event], bool]


def pairs(c: Computation) -> Iterator[tuple[Event, Event]]:
    """All ordered pairs of events, equal ones too."""
    return product(c, c)


def local(c: Computation, e: Event, f: Event) -> bool:
    """Whether e comes before f in one process."""
    return e.process == f.process and e.position < f.position


def direct(c: Computation, e: Event, f: Event) -> bool:
    """Whether e comes before f in one process, or sends what f receives."""
    return local(c, e, f) or bool({*e.sends} & {*f.receives})


def one_message(c: Computation, e: Event, f: Event) -> bool:
    """Whether a chain with at most one message leads from e to f."""
    sends = [g for g in c if g == e or local(c, e, g)]
    receives = [h for h in c if h == f or local(c, h, f)]
    return any(direct(c, g, h) for g in sends for h in receives)


def chains(message: Callable[[Event, Event], bool]) -> Relation:
    """The chains of local steps and of messages as somebody understands them."""

    def reaches(c: Computation, e: Event, f: Event) -> bool:
        ahead, seen = [e], set[Event]()
        while ahead:
            g = ahead.pop()
            new = [h for h in c if h not in seen and (local(c, g, h) or message(g, h))]
            seen.update(new)
            ahead += new
        return f in seen

    return reaches


def by_lamport(c: Computation, e: Event, f: Event) -> bool:
    """Whether e has the smaller Lamport clock."""
    clock = lamport_clocks(c)
    return clock[e] < clock[f]


def chain(c: Computation, e: Event, f: Event) -> str:
    """One shortest chain of direct steps from e to f, in words."""
    ways = [[e]]
    while ways[0][-1] != f:
        way = ways.pop(0)
        ways += [[*way, g] for g in c if direct(c, way[-1], g)]
    return " → ".join(event.name for event in ways[0])


def why_ordered(c: Computation, e: Event, f: Event) -> str:
    """Why e happens before f, or why not."""
    if e == f:
        return "no event happens before itself, and none is concurrent with itself"
    if happens_before(c, e, f):
        return f"there is the chain {chain(c, e, f)}"
    if happens_before(c, f, e):
        return f"there is the chain {chain(c, f, e)}, and none back"
    return f"no chain leads from {e.name} to {f.name}, nor back"


def past_of(c: Computation, e: Event, f: Event) -> Picture:
    """The later event and its causal past, shaded."""
    later = e if happens_before(c, f, e) else f
    words = f"Shaded: {later.name} of {later.process} and all that happens before it."
    return draw(c, Cut(vector_clocks(c)[later]), caption=words)


HAPPENS_BEFORE = Exercise(
    name="happens_before",
    answer=happens_before,
    questions=pairs,
    because=why_ordered,
    picture=past_of,
    examples=(CHAIN, CROSS, STREAM, UNDER_WAY),
    not_to_be_called=("happens_before", "concurrent"),
    mistakes={
        "no chains: the relation is transitive, so one step may follow another": direct,
        "local order only: a send also happens before its receive": local,
        "one message only: a chain may pass through many messages": one_message,
        "an event before itself: no event happens before itself": (
            lambda c, e, f: e == f or happens_before(c, e, f)
        ),
        "both directions: a message leads from its send to its receive, never back": (
            chains(lambda e, f: bool({*e.sends} & {*f.receives} or {*e.receives} & {*f.sends}))
        ),
        "one send per event: an event may send several messages": (
            chains(lambda e, f: bool({*e.sends[:1]} & {*f.receives}))
        ),
        "one receive per event: an event may receive several messages": (
            chains(lambda e, f: bool({*e.sends} & {*f.receives[:1]}))
        ),
        "not after, so before: two events may also be concurrent": (
            lambda c, e, f: e != f and not happens_before(c, f, e)
        ),
        "backwards: cause and effect are exchanged": lambda c, e, f: happens_before(c, f, e),
        "a clock instead of a chain: a smaller Lamport clock does not prove it": by_lamport,
        "positions compared: positions count only within one process": (
            lambda c, e, f: e.position < f.position
        ),
        "the order of one run: concurrent events come in either order": (
            lambda c, e, f: c.order.index(e) < c.order.index(f)
        ),
    },
    hints=(
        "a direct step leads to a later event of the same process, or from a send to its receive.",
        "e → f if a direct step leads from e to f, or to some g with g → f.",
        "search from e: keep a list of events still to visit, and a set of those already seen.",
    ),
)


CONCURRENT = replace(
    HAPPENS_BEFORE,
    name="concurrent",
    answer=concurrent,
    mistakes={
        "different processes: a message may order events of different processes": (
            lambda c, e, f: e.process != f.process
        ),
        "concurrent with itself: concurrency joins two different events": (
            lambda c, e, f: not happens_before(c, e, f) and not happens_before(c, f, e)
        ),
        "one direction only: f → e must be excluded as well": (
            lambda c, e, f: e != f and not happens_before(c, e, f)
        ),
        "no chains: a chain orders events that no message joins": (
            lambda c, e, f: e != f and not direct(c, e, f) and not direct(c, f, e)
        ),
        "ordered instead: two events are concurrent if NEITHER happens before the other": (
            lambda c, e, f: happens_before(c, e, f) or happens_before(c, f, e)
        ),
        "equal Lamport clocks: concurrent events may have different Lamport clocks": (
            lambda c, e, f: e != f and not by_lamport(c, e, f) and not by_lamport(c, f, e)
        ),
    },
    hints=(
        "say in words when two events are NOT concurrent. There are three cases.",
        "use your own happens_before twice.",
    ),
)
