"""Exercises on the lattice of cuts: counting, possibly and definitely."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import eq

from ...cuts import (
    Cut,
    consistent_cuts,
    count_consistent_cuts,
    count_runs,
    definitely,
    in_transit,
    possibly,
    successors,
)
from ...drawing import Picture, draw_lattice
from ...events import Channel, Computation, Event
from ..checking import Exercise
from .causality import CHAIN, CROSS, STREAM, UNDER_WAY
from .cuts import all_cuts

Test = Callable[[Cut], bool]


def size(c: Computation, cut: Cut) -> int:
    """The number of events in a cut."""
    return sum(cut[p] for p in c.processes)


def number_where(c: Computation, allowed: Test) -> int:
    """The number of consistent cuts of some kind."""
    return sum(allowed(cut) for cut in consistent_cuts(c))


COUNT = Exercise(
    name="count_consistent_cuts",
    answer=count_consistent_cuts,
    questions=lambda c: [()],
    because=lambda c: "the lattice has so many cuts, the empty and the full one included",
    picture=lambda c: draw_lattice(c, inconsistent=len(c) <= 8),
    examples=(CHAIN, CROSS, STREAM, UNDER_WAY),
    not_to_be_called=("count_consistent_cuts", "consistent_cuts", "count_runs"),
    mistakes={
        "an event of every process: a cut may hold no event of some process": (
            lambda c: number_where(c, lambda cut: all(cut[p] for p in c.processes))
        ),
        "all cuts: only the consistent ones count": lambda c: len(list(all_cuts(c))),
        "runs instead of cuts: a run is a path through the cuts": count_runs,
        "the empty cut forgotten: the cut before everything is consistent": (
            lambda c: count_consistent_cuts(c) - 1
        ),
        "quiet cuts only: messages may be in transit": (
            lambda c: number_where(c, lambda cut: not in_transit(c, cut))
        ),
        "one run only: there are cuts that this run never passes": lambda c: len(c) + 1,
    },
    hints=(
        "itertools.product of the ranges 0…k gives the numbers of all cuts; cl.Cut makes a cut.",
        "a range from 0 to k has k + 1 numbers.",
        "cl.is_consistent may be used here.",
    ),
)


@dataclass(frozen=True)
class Condition:
    """A question about one cut, with the words for it."""

    name: str
    holds: Test

    def __call__(self, cut: Cut) -> bool:
        """Whether it is true of this cut."""
        return self.holds(cut)


def conditions(c: Computation) -> Iterator[tuple[Condition]]:
    """A question for each cut, each number of events, each channel and each event."""

    def holding(n: int) -> Test:
        return lambda cut: size(c, cut) == n

    def in_use(channel: Channel) -> Test:
        return lambda cut: channel in in_transit(c, cut)

    def after(event: Event) -> Test:
        return lambda cut: cut[event.process] == event.position

    for target in all_cuts(c):
        yield (Condition(f"cut == {target!r}", partial(eq, target)),)
    for n in range(len(c) + 1):
        yield (Condition(f"{n} events in the cut", holding(n)),)
    for channel in c.channels:
        yield (Condition(f"{channel} holds a message", in_use(channel)),)
    for event in c:
        yield (Condition(f"{event.process} has just done {event.name}", after(event)),)


def runs(c: Computation) -> list[list[Cut]]:
    """Every run, as the cuts it passes through."""
    ways = [[Cut({})]]
    for _ in range(len(c)):
        ways = [[*way, cut] for way in ways for cut in successors(c, way[-1])]
    return ways


def why_possibly(c: Computation, condition: Condition) -> str:
    """A cut that satisfies the condition, or that there is none."""
    for cut in filter(condition, consistent_cuts(c)):
        return f"it is true in {cut!r}"
    return "it is false in every consistent cut"


def why_definitely(c: Computation, condition: Condition) -> str:
    """A run that avoids the condition, or that there is none."""
    for run in runs(c):
        if not any(map(condition, run)):
            return (
                "the run "
                + " ".join(str(tuple(cut[p] for p in c.processes)) for cut in run)
                + " avoids it"
            )
    return "every run passes through a cut where it is true"


def lattice(c: Computation, condition: Condition) -> Picture:
    """The lattice, with the cuts where the condition is true in yellow."""
    return draw_lattice(c, where=condition)


POSSIBLY = Exercise(
    name="possibly",
    answer=possibly,
    questions=conditions,
    because=why_possibly,
    picture=lattice,
    examples=(CROSS, STREAM, UNDER_WAY),
    not_to_be_called=("possibly", "definitely"),
    mistakes={
        "in every cut: one consistent cut is enough": (
            lambda c, condition: all(map(condition, consistent_cuts(c)))
        ),
        "one run only: another run may meet it": lambda c, condition: any(
            map(condition, runs(c)[0])
        ),
        "inconsistent cuts too: no run passes through an inconsistent cut": (
            lambda c, condition: any(map(condition, all_cuts(c)))
        ),
        "the end only: look at all cuts, not the last": lambda c, condition: condition(
            runs(c)[0][-1]
        ),
        "definitely: possibly asks for one run, not for all": definitely,
    },
    hints=("which cuts does some run pass through?", "cl.consistent_cuts(c) lists them."),
)


DEFINITELY = Exercise(
    name="definitely",
    answer=definitely,
    questions=conditions,
    because=why_definitely,
    picture=lattice,
    examples=(CROSS, STREAM, UNDER_WAY),
    not_to_be_called=("possibly", "definitely"),
    mistakes={
        "in every cut: every run must meet it once, not always": (
            lambda c, condition: all(map(condition, consistent_cuts(c)))
        ),
        "possibly: one run that meets it is not enough": possibly,
        "one run only: another run may avoid it": lambda c, condition: any(
            map(condition, runs(c)[0])
        ),
        "a whole level: runs may be caught on different levels": (
            lambda c, condition: any(
                all(condition(cut) for cut in consistent_cuts(c) if size(c, cut) == n)
                for n in range(len(c) + 1)
            )
        ),
        "the ends forgotten: the first and the last cut are on every run": (
            lambda c, condition: all(any(map(condition, run[1:-1])) for run in runs(c))
        ),
    },
    hints=(
        "ask the opposite: can a run get from the empty cut to the full one and avoid it?",
        "cl.successors(c, cut) gives the consistent cuts with one event more.",
        "keep the set of cuts that can be reached while avoiding it, level by level.",
    ),
)
