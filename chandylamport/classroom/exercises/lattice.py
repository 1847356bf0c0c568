"""Exercises on the lattice of cuts: counting, possibly and definitely."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, permutations
from operator import eq

from ...cuts import Cut, in_transit
from ...drawing import draw_lattice
from ...events import Channel, Computation, Event
from ...lattice import (
    consistent_cuts,
    count_consistent_cuts,
    count_runs,
    definitely,
    possibly,
    successors,
)
from ..checking import Exercise
from .causality import CHAIN, CROSS, STREAM, UNDER_WAY
from .cuts import all_cuts, neighbours_only

Test = Callable[[Cut], bool]
Steps = Callable[[Computation, Cut], Iterator[Cut]]
EMPTY = Cut({})


def full(c: Computation) -> Cut:
    """The cut with all events."""
    return Cut({p: len(c.history(p)) for p in c.processes})


def size(c: Computation, cut: Cut) -> int:
    """The number of events in a cut."""
    return sum(cut[p] for p in c.processes)


def number_where(c: Computation, allowed: Test) -> int:
    """The number of consistent cuts of some kind."""
    return sum(allowed(cut) for cut in consistent_cuts(c))


def why_so_many(c: Computation) -> str:
    """How many cuts there are, and how many do not count."""
    every = len(list(all_cuts(c)))
    return f"of all {every} cuts, {every - count_consistent_cuts(c)} have an orphan"


COUNT = Exercise(
    name="count_consistent_cuts",
    answer=count_consistent_cuts,
    questions=lambda c: [()],
    because=why_so_many,
    picture=lambda c: draw_lattice(c, inconsistent=len(c) <= 8),
    examples=(CHAIN, CROSS, STREAM, UNDER_WAY),
    not_to_be_called=("count_consistent_cuts", "consistent_cuts", "count_runs"),
    mistakes={
        "an event of every process: a cut may hold no event of some process": (
            lambda c: number_where(c, lambda cut: all(cut[p] for p in c.processes))
        ),
        "all cuts: only the consistent ones count": lambda c: len(list(all_cuts(c))),
        "ranges too short: a process with k events has k + 1 prefixes, from 0 to k": (
            lambda c: number_where(c, lambda cut: all(cut[p] < full(c)[p] for p in c.processes))
        ),
        "runs instead of cuts: a run is a path through the cuts": count_runs,
        "the empty cut forgotten: the cut before everything is consistent": (
            lambda c: count_consistent_cuts(c) - 1
        ),
        "quiet cuts only: messages may be in transit": (
            lambda c: number_where(c, lambda cut: not in_transit(c, cut))
        ),
        "one run only: there are cuts that this run never passes": lambda c: len(c) + 1,
        "neighbours only: any two processes may exchange messages": (
            lambda c: sum(neighbours_only(c, cut) for cut in all_cuts(c))
        ),
    },
    hints=(
        "a process with k events has k + 1 prefixes, the empty one included: range(k + 1).",
        "itertools.product of these ranges gives the numbers of all cuts; cl.Cut makes a cut.",
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
    """Questions for each cut, number of events, channel, event and pair of processes."""

    def holding(n: int) -> Test:
        return lambda cut: size(c, cut) == n

    def in_use(channel: Channel) -> Test:
        return lambda cut: channel in in_transit(c, cut)

    def alone(channel: Channel) -> Test:
        return lambda cut: [*in_transit(c, cut)] == [channel]

    def after(event: Event) -> Test:
        return lambda cut: cut[event.process] == event.position

    def ahead(p: str, q: str) -> Test:
        return lambda cut: cut[p] > cut[q]

    for target in all_cuts(c):
        yield (Condition(f"cut == {target!r}", partial(eq, target)),)
    for n in range(len(c) + 1):
        yield (Condition(f"{n} events in the cut", holding(n)),)
    for channel in c.channels:
        yield (Condition(f"{channel} holds a message", in_use(channel)),)
        yield (Condition(f"only {channel} holds a message", alone(channel)),)
    for event in c:
        yield (Condition(f"{event.process} has just done {event.name}", after(event)),)
    for p, q in permutations(c.processes, 2):
        yield (Condition(f"{p} has done more than {q}", ahead(p, q)),)


def listed(c: Computation) -> Iterator[Cut]:
    """The run in the order in which the events are listed."""
    return accumulate(c, lambda cut, e: cut | Cut({e.process: e.position}), initial=EMPTY)


def greedy(c: Computation) -> Iterator[Cut]:
    """The run in which the first process that can move always moves."""
    cut: Cut | None = EMPTY
    while cut is not None:
        yield cut
        cut = next(successors(c, cut), None)


def any_step(c: Computation, cut: Cut) -> Iterator[Cut]:
    """All cuts with one event more, consistent or not."""
    return (next_one for p in c.processes if (next_one := cut | Cut({p: cut[p] + 1})) <= full(c))


def avoiding(c: Computation, condition: Test, steps: Steps = successors) -> list[Cut]:
    """A run that never meets the condition, or nothing."""
    ways = {EMPTY: [EMPTY]}
    for _ in c:
        kept = [way for way in ways.values() if not condition(way[-1])]
        ways = {cut: [*way, cut] for way in kept for cut in steps(c, way[-1])}
    return next((way for way in ways.values() if not condition(way[-1])), [])


def why_possibly(c: Computation, condition: Condition) -> str:
    """A cut that satisfies the condition, or that there is none."""
    for cut in filter(condition, consistent_cuts(c)):
        return f"it is true in {cut!r}"
    return "it is false in every consistent cut"


def why_definitely(c: Computation, condition: Condition) -> str:
    """A run that avoids the condition, or that there is none."""
    run = [str(tuple(cut[p] for p in c.processes)) for cut in avoiding(c, condition)]
    if not run:
        return "every run passes through a cut where it is true"
    return f"the run {' '.join(run)} avoids it"


POSSIBLY = Exercise(
    name="possibly",
    answer=possibly,
    questions=conditions,
    because=why_possibly,
    picture=lambda c, condition: draw_lattice(c, where=condition),
    examples=(CROSS, STREAM, UNDER_WAY),
    not_to_be_called=("possibly", "definitely"),
    mistakes={
        "in every cut: one consistent cut is enough": (
            lambda c, condition: all(map(condition, consistent_cuts(c)))
        ),
        "one run only: another run may meet it": (
            lambda c, condition: any(map(condition, greedy(c)))
        ),
        "one run only: the events may come in another order": (
            lambda c, condition: any(map(condition, listed(c)))
        ),
        "inconsistent cuts too: no run passes through an inconsistent cut": (
            lambda c, condition: any(map(condition, all_cuts(c)))
        ),
        "the end only: look at all cuts, not the last": lambda c, condition: condition(full(c)),
        "two processes only: a computation may have more": (
            lambda c, condition: possibly(
                c, lambda cut: condition(cut) and not any(cut[p] for p in c.processes[2:])
            )
        ),
        "definitely: possibly asks for one run, not for all": definitely,
    },
    hints=("which cuts does some run pass through?", "cl.consistent_cuts(c) lists them."),
)


DEFINITELY = replace(
    POSSIBLY,
    name="definitely",
    answer=definitely,
    because=why_definitely,
    picture=lambda c, condition: draw_lattice(c, where=condition, path=avoiding(c, condition)),
    mistakes={
        "in every cut: every run must meet it once, not always": (
            lambda c, condition: all(map(condition, consistent_cuts(c)))
        ),
        "possibly: one run that meets it is not enough": possibly,
        "one run only: another run may avoid it": (
            lambda c, condition: any(map(condition, greedy(c)))
        ),
        "one run only: the events may come in another order": (
            lambda c, condition: any(map(condition, listed(c)))
        ),
        "a whole level: runs may be caught on different levels": (
            lambda c, condition: any(
                all(condition(cut) for cut in consistent_cuts(c) if size(c, cut) == n)
                for n in range(len(c) + 1)
            )
        ),
        "inconsistent cuts too: no run passes through an inconsistent cut": (
            lambda c, condition: not avoiding(c, condition, any_step)
        ),
        "the ends forgotten: the first and the last cut are on every run": (
            lambda c, condition: definitely(
                c, lambda cut: condition(cut) and cut not in (EMPTY, full(c))
            )
        ),
        "the first cut forgotten: every run begins with the empty cut": (
            lambda c, condition: definitely(c, lambda cut: condition(cut) and cut != EMPTY)
        ),
        "the last cut forgotten: every run ends with the full cut": (
            lambda c, condition: definitely(c, lambda cut: condition(cut) and cut != full(c))
        ),
    },
    hints=(
        "ask the opposite: can a run get from the empty cut to the full one and avoid it?",
        "cl.successors(c, cut) gives the consistent cuts with one event more.",
        "keep the set of cuts that can be reached while avoiding it, level by level.",
    ),
)
