"""Topologies: which channels there are between processes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise, permutations
from random import Random

from .events import Channel


def complete(processes: Iterable[str]) -> list[Channel]:
    """A channel from everybody to everybody else.

    >>> complete("pq")
    [('p', 'q'), ('q', 'p')]
    """
    return [Channel(*pair) for pair in permutations(processes, 2)]


def ring(processes: Iterable[str]) -> list[Channel]:
    """A channel from each to the next, and from the last to the first."""
    around = list(processes)
    return [Channel(*pair) for pair in pairwise([*around, *around[:1]])]


def line(processes: Iterable[str]) -> list[Channel]:
    """A channel from each to the next, one way only."""
    return [Channel(*pair) for pair in pairwise(processes)]


def star(processes: Iterable[str]) -> list[Channel]:
    """Channels between the first and each of the others, both ways."""
    hub, *others = processes
    return both_ways([Channel(hub, other) for other in others])


def both_ways(channels: Iterable[Channel]) -> list[Channel]:
    """The same channels, and those back."""
    return [way for c in channels for way in (Channel(*c), Channel(c[1], c[0]))]


def strongly_connected(processes: Iterable[str], *, extra: int, seed: int) -> list[Channel]:
    """A ring in random order, so that everybody reaches everybody, and some further channels."""
    random, around = Random(seed), list(processes)
    random.shuffle(around)
    more = [channel for channel in complete(around) if channel not in ring(around)]
    return ring(around) + random.sample(more, min(extra, len(more)))
