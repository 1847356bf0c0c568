"""Cuts of a computation: consistent or not, and what is in transit.

This chapter knows what happened and what happened before what. It knows no states and no
algorithm: how a system finds a consistent cut of itself is the next question.

Mattern, "Virtual time and global states of distributed systems", 1989. Global states: Chandy and
Lamport, "Distributed snapshots", 1985, doi:10.1145/214451.214456.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from keyword import iskeyword
from operator import le

from .events import Channel, Computation, Event

Counts = tuple[int, ...]  # a cut as numbers, in the order of the computation's processes


class Cut:
    """A union of local prefixes: for each process, how many of its events are inside.

    >>> cut = Cut.of(p=2, q=1)
    >>> cut["p"], cut["r"]
    (2, 0)
    >>> cut | Cut.of(q=3), cut & Cut.of(q=3), Cut.of(p=1) <= cut
    (Cut.of(p=2, q=3), Cut.of(p=0, q=1), True)
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[str, int]) -> None:
        """Count the events of each process inside the cut; a process that is absent has none."""
        for process, count in counts.items():
            if not isinstance(count, int) or isinstance(count, bool) or count < 0:
                raise ValueError(f"{process}={count!r}: a cut counts events, so 0, 1, 2, …")
        self._counts = dict(counts)

    @classmethod
    def of(cls, /, **counts: int) -> Cut:
        """Make a cut from keywords: `Cut.of(p=1, q=2)`."""
        return cls(counts)

    def __getitem__(self, process: str) -> int:
        """How many events of this process are inside."""
        return self._counts.get(process, 0)

    def __contains__(self, event: Event) -> bool:
        return event.position <= self[event.process]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __or__(self, other: Cut) -> Cut:
        return Cut({p: max(self[p], other[p]) for p in (*self, *other)})

    def __and__(self, other: Cut) -> Cut:
        return Cut({p: min(self[p], other[p]) for p in (*self, *other)})

    def __le__(self, other: Cut) -> bool:
        return all(self[p] <= other[p] for p in self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cut) and self <= other and other <= self

    def __hash__(self) -> int:
        return hash(frozenset((p, n) for p, n in self._counts.items() if n))

    def __repr__(self) -> str:
        if all(p.isidentifier() and not iskeyword(p) for p in self):
            return f"Cut.of({', '.join(f'{p}={n}' for p, n in self._counts.items())})"
        return f"Cut({self._counts!r})"


def counts_of(computation: Computation, cut: Cut) -> Counts:
    """Give the numbers of a cut in the order of the processes, and refuse one that does not fit."""
    if not isinstance(cut, Cut):
        raise TypeError(f"{cut!r} is not a cut; write Cut.of(p=1, …) or Cut({{'p': 1, …}})")
    for process in cut:
        if process not in computation.index:
            known = ", ".join(computation.processes)
            raise ValueError(f"{cut!r}: there is no process {process}, only {known}")
        if cut[process] > len(computation.history(process)):
            most = len(computation.history(process))
            raise ValueError(f"{cut!r}: {process} has only {most} events")
    return tuple(cut[process] for process in computation.processes)


def cut_of(computation: Computation, counts: Iterable[int]) -> Cut:
    """Give the cut with these numbers, in the order of the processes."""
    return Cut(dict(zip(computation.processes, counts, strict=True)))


def frontier(computation: Computation, cut: Cut) -> dict[str, Event]:
    """Give the last event of each prefix that is not empty.

    >>> from chandylamport import computation
    >>> c = computation("p: a b\\nq: d")
    >>> [event.name for event in frontier(c, Cut.of(p=2)).values()]
    ['b']
    """
    counts = zip(computation.processes, counts_of(computation, cut), strict=True)
    return {process: computation[process, n] for process, n in counts if n}


def is_consistent(computation: Computation, cut: Cut) -> bool:
    """Decide whether the cut is closed under happens-before: f inside and e → f put e inside.

    It is enough to ask the clocks of the frontier, whatever the number of events.

    >>> from chandylamport import computation
    >>> c = computation('''
    ...     p:  a   m!
    ...     q:      m?  b
    ... ''')
    >>> is_consistent(c, Cut.of(p=1, q=1)), is_consistent(c, Cut.of(p=2, q=0))
    (False, True)
    """
    counts = counts_of(computation, cut)
    return all(past_inside(computation, i, n, counts) for i, n in enumerate(counts))


def past_inside(computation: Computation, process: int, position: int, counts: Counts) -> bool:
    """Decide whether all that this event knows of is inside the cut."""
    return all(map(le, computation.clocks.row(process, position), counts))


def orphans(computation: Computation, cut: Cut) -> tuple[str, ...]:
    """Give the messages received inside the cut and sent outside; a consistent cut has none.

    >>> from chandylamport import computation
    >>> orphans(computation("p: m!\\nq: m?"), Cut.of(q=1))
    ('m',)
    """
    counts_of(computation, cut)
    return tuple(
        m.name
        for m in computation.messages.values()
        if m.sent > cut[m.src] and m.received is not None and m.received <= cut[m.dst]
    )


def in_transit(computation: Computation, cut: Cut) -> dict[Channel, tuple[str, ...]]:
    """Give the messages sent inside the cut and received outside, in the order of sending.

    >>> from chandylamport import computation
    >>> in_transit(computation("p: m! n!\\nq: m? n?"), Cut.of(p=2))
    {('p', 'q'): ('m', 'n')}
    """
    counts_of(computation, cut)
    channels: dict[Channel, list[str]] = defaultdict(list)
    for m in computation.messages.values():
        if m.sent <= cut[m.src] and (m.received is None or m.received > cut[m.dst]):
            channels[m.channel].append(m.name)
    return {channel: tuple(names) for channel, names in channels.items()}


def least_consistent_above(computation: Computation, cut: Cut) -> Cut:
    """Give the smallest consistent cut that contains this one: add the causal past of all it has.

    >>> from chandylamport import computation
    >>> least_consistent_above(computation("p: m!\\nq: m?"), Cut.of(q=1))
    Cut.of(p=1, q=1)
    """
    rows = (computation.clocks.row(i, n) for i, n in enumerate(counts_of(computation, cut)))
    return cut_of(computation, map(max, zip(*rows, strict=True)))


def greatest_consistent_below(computation: Computation, cut: Cut) -> Cut:
    """Give the largest consistent cut inside this one: the events whose causal past is inside.

    >>> from chandylamport import computation
    >>> greatest_consistent_below(computation("p: m!\\nq: m?"), Cut.of(q=1))
    Cut.of(p=0, q=0)
    """
    counts = counts_of(computation, cut)
    return cut_of(computation, (_last_allowed(computation, i, counts) for i in range(len(counts))))


def _last_allowed(computation: Computation, process: int, counts: Counts) -> int:
    """The last position of a process with its causal past inside; clocks grow, so bisect."""
    outside = range(1, counts[process] + 1)
    return bisect_right(outside, 0, key=lambda n: not past_inside(computation, process, n, counts))
