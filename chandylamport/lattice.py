"""The lattice of consistent cuts: listing, counting, and questions about all runs at once.

This chapter knows cuts and nothing of states: a predicate is any function of a cut.

The lattice: Mattern 1989. Possibly and definitely: Cooper and Marzullo 1991.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from operator import le

from .cuts import Counts, Cut, counts_of, cut_of, past_inside
from .events import Computation


def successors(computation: Computation, cut: Cut) -> Iterator[Cut]:
    """Give the consistent cuts with one event more than this consistent cut."""
    following = _next(computation, counts_of(computation, cut))
    return (cut_of(computation, counts) for counts in following)


def _next(computation: Computation, counts: Counts) -> Iterator[Counts]:
    for i, n in enumerate(counts):
        more = (*counts[:i], n + 1, *counts[i + 1 :])
        if n < len(computation.histories[i]) and past_inside(computation, i, n + 1, more):
            yield more


def consistent_cuts(computation: Computation) -> Iterator[Cut]:
    """List the consistent cuts in lexicographic order: none comes before one that it contains.

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
