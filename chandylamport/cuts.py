"""Cuts of a computation: consistent or not, what is in transit, and the lattice they form.

This chapter knows what happened and what happened before what. It knows no states and no
algorithm: how a system finds a consistent cut of itself is the next question.

Chandy and Lamport, "Distributed snapshots", 1985, doi:10.1145/214451.214456. The lattice and
vector time: Mattern 1989. Possibly and definitely: Cooper and Marzullo 1991.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    return all(_past_inside(computation, i, n, counts) for i, n in enumerate(counts))


def _past_inside(computation: Computation, process: int, position: int, counts: Counts) -> bool:
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
    return bisect_right(outside, 0, key=lambda n: not _past_inside(computation, process, n, counts))


def successors(computation: Computation, cut: Cut) -> Iterator[Cut]:
    """Give the consistent cuts with one event more than this consistent cut."""
    following = _next(computation, counts_of(computation, cut))
    return (cut_of(computation, counts) for counts in following)


def _next(computation: Computation, counts: Counts) -> Iterator[Counts]:
    for i, n in enumerate(counts):
        more = (*counts[:i], n + 1, *counts[i + 1 :])
        if n < len(computation.histories[i]) and _past_inside(computation, i, n + 1, more):
            yield more


def consistent_cuts(computation: Computation) -> Iterator[Cut]:
    """List the consistent cuts in lexicographic order, which is bottom to top.

    The next one moves the last process that can move while those before it stand still, and
    puts those after it as low as causality allows (Garg's lexical enumeration).

    >>> from chandylamport import computation
    >>> list(consistent_cuts(computation("p: m!\\nq: m?")))
    [Cut.of(p=0, q=0), Cut.of(p=1, q=0), Cut.of(p=1, q=1)]
    """
    counts: Counts | None = (0,) * len(computation.processes)
    while counts is not None:
        yield cut_of(computation, counts)
        counts = _lexical_successor(computation, counts)


def _lexical_successor(computation: Computation, counts: Counts) -> Counts | None:
    row = computation.clocks.row
    for i in reversed(range(len(counts))):
        if counts[i] == len(computation.histories[i]):
            continue
        step = row(i, counts[i] + 1)
        if all(map(le, step[:i], counts[:i])):
            known = [step, *(row(j, n) for j, n in enumerate(counts[:i]))]
            return (*counts[:i], *(max(entries) for entries in list(zip(*known, strict=True))[i:]))
    return None


def count_consistent_cuts(computation: Computation) -> int:
    """Count the consistent cuts; list them only as far as the processes are entangled.

    A message ties two processes only. So place one process after the other, and remember the
    prefixes of those alone that have messages with a process still to come.

    >>> from chandylamport import computation
    >>> count_consistent_cuts(computation("p: a b\\nq: d e\\nr: f g"))
    27
    """
    ties: dict[int, set[int]] = {i: set() for i in range(len(computation.processes))}
    for channel in computation.channels:
        src, dst = computation.index[channel.src], computation.index[channel.dst]
        ties[src].add(dst)
        ties[dst].add(src)
    waiting = set(ties)

    def burden(i: int) -> tuple[int, int, int]:
        """How many more prefixes there are to remember once process i has its place."""
        freed = sum(ties[j] & waiting == {i} for j in ties[i] - waiting)
        return bool(ties[i] & waiting) - freed, len(ties[i] & waiting), i

    cuts: Counter[tuple[tuple[int, int], ...]] = Counter({(): 1})  # by the prefixes to remember
    while waiting:
        i = min(waiting, key=burden)
        waiting.remove(i)
        larger: Counter[tuple[tuple[int, int], ...]] = Counter()
        for prefixes, number in cuts.items():
            room = _room(computation, i, [(j, n) for j, n in prefixes if j in ties[i]])
            rest = tuple((j, n) for j, n in prefixes if ties[j] & waiting)
            if ties[i] & waiting:
                for n in room:
                    larger[(*rest, (i, n))] += number
            else:
                larger[rest] += number * len(room)
        cuts = larger
    return cuts[()]


def _room(computation: Computation, i: int, others: Iterable[tuple[int, int]]) -> range:
    """The positions of process i that agree with the prefixes of some others."""
    row, low, high = computation.clocks.row, 0, len(computation.histories[i])
    for j, n in others:
        low = max(low, row(j, n)[i])
        high = bisect_right(range(high + 1), n, key=lambda at: row(i, at)[j]) - 1
    return range(low, high + 1)


def count_runs(computation: Computation) -> int:
    """Count the runs: the linear extensions of happens-before, or the paths through the lattice.

    >>> from chandylamport import computation
    >>> count_runs(computation("p: a b\\nq: d e"))
    6
    """
    level: Counter[Counts] = Counter({(0,) * len(computation.processes): 1})
    for _ in range(len(computation)):
        above: Counter[Counts] = Counter()
        for counts, paths in level.items():
            for more in _next(computation, counts):
                above[more] += paths
        level = above
    return sum(level.values())


def possibly(computation: Computation, predicate: Callable[[Cut], bool]) -> bool:
    """Decide whether some run passes through a cut that satisfies the predicate.

    >>> from chandylamport import computation
    >>> possibly(computation("p: a\\nq: b"), lambda cut: cut["p"] > cut["q"])
    True
    """
    return any(predicate(cut) for cut in consistent_cuts(computation))


def definitely(computation: Computation, predicate: Callable[[Cut], bool]) -> bool:
    """Decide whether every run passes through a cut that satisfies the predicate.

    Level by level, keep the cuts that a run can reach without having met it.

    >>> from chandylamport import computation
    >>> definitely(computation("p: a\\nq: b"), lambda cut: cut["p"] > cut["q"])
    False
    """

    def avoiding(cuts: Iterable[Counts]) -> set[Counts]:
        return {counts for counts in cuts if not predicate(cut_of(computation, counts))}

    level = avoiding([(0,) * len(computation.processes)])
    for _ in range(len(computation)):
        level = avoiding({more for counts in level for more in _next(computation, counts)})
    return not level
