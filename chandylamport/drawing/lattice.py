"""The lattice of cuts as a Hasse diagram: one event more for each step up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, product
from math import prod

from ..cuts import Counts, Cut, counts_of, cut_of
from ..events import Computation
from ..lattice import consistent_cuts, count_consistent_cuts
from .geometry import Point
from .picture import BLUE, GREY, INK, PALE, SUN, Box, Line, Picture, Text, text_width

STEP, HIGH, LIMIT = 58.0, 26.0, 300


def draw_lattice(
    computation: Computation,
    *,
    inconsistent: bool = False,
    where: Callable[[Cut], bool] | None = None,
    path: Iterable[Cut] = (),
) -> Picture:
    """Draw the consistent cuts, the empty one at the bottom; on demand the others too, in grey.

    Cuts that satisfy `where` are yellow with a heavy edge; `path` draws one run in blue.

    >>> from chandylamport import computation
    >>> draw_lattice(computation("p: m!\\nq: m?"), inconsistent=True)
    Lattice of p, q: 3 consistent cuts; 1 inconsistent, in grey.
    """
    number = count_consistent_cuts(computation)
    sizes = [range(len(history) + 1) for history in computation.histories]
    total = prod(map(len, sizes))
    many = total if inconsistent else number
    if many > LIMIT:
        raise ValueError(f"a lattice of {many} cuts is too large to draw; {LIMIT} are possible")
    good = {counts_of(computation, cut) for cut in consistent_cuts(computation)}
    chosen = {counts for counts in good if where and where(cut_of(computation, counts))}
    run = [counts_of(computation, cut) for cut in path]
    _must_be_a_run(computation, run, good)
    shown = list(product(*sizes)) if inconsistent else sorted(good)

    width = 16 + max(text_width(_label(counts), 13) for counts in shown)
    spot = _places(shown, width)
    steps = [(a, b) for a in shown for b in _neighbours(a, 1) if b in spot]
    lines = sorted((_edge(spot, step, run, good) for step in steps), key=lambda line: line.width)
    boxes = [
        Box(x, y, width, HIGH, *_paint(counts in good, counts in chosen, counts in run))
        for counts, (x, y) in spot.items()
    ]
    words = [
        Text(x, y + 4.5, _label(counts), 13, INK if counts in good else GREY, ground=box.fill)
        for (counts, (x, y)), box in zip(spot.items(), boxes, strict=True)
    ]
    who = ", ".join(computation.processes)
    title = Text(12, 20, f"({who})", 12, GREY, anchor="start")
    alt = f"Lattice of {who}: {number} consistent cut{'' if number == 1 else 's'}"
    alt += f", {len(chosen)} of them marked" if where else ""
    alt += f"; {total - number} inconsistent, in grey" if inconsistent else ""
    across = max(*(x + width for x, _ in spot.values()), title.bounds[2] + 12)
    below = max(y for _, y in spot.values()) + 30
    return Picture(round(across), round(below), (*lines, *boxes, *words, title), f"{alt}.")


def _label(counts: Counts) -> str:
    return ",".join(map(str, counts))


def _must_be_a_run(computation: Computation, run: list[Counts], good: set[Counts]) -> None:
    for counts in run:
        if counts not in good:
            raise ValueError(f"path: {cut_of(computation, counts)!r} is not consistent")
    for before, after in pairwise(run):
        if after not in _neighbours(before, 1):
            cuts = " to ".join(repr(cut_of(computation, counts)) for counts in (before, after))
            raise ValueError(f"path: from {cuts} is not a step of one event")


def _edge(
    spot: dict[Counts, Point], step: tuple[Counts, Counts], run: list[Counts], good: set[Counts]
) -> Line:
    (x0, y0), (x1, y1) = spot[step[0]], spot[step[1]]
    ends = (x0, y0 - HIGH / 2), (x1, y1 + HIGH / 2)  # between the levels it meets no other cut
    if step in pairwise(run):
        return Line(ends, BLUE, 3.0)
    return Line(ends, INK, 1.2) if {*step} <= good else Line(ends, PALE, 1.0)


def _paint(good: bool, chosen: bool, on_run: bool) -> tuple[str, str, float, tuple[float, ...]]:
    """Fill, edge, weight and dashes of one cut."""
    edge = BLUE if on_run else INK if good else PALE
    return (
        SUN if chosen else "white",
        edge,
        2.6 if on_run or chosen else 1.2,
        () if good else (3, 3),
    )


def _places(shown: list[Counts], width: float) -> dict[Counts, Point]:
    """Height counts events; two processes make a diamond, more are spread by their neighbours."""
    levels: dict[int, list[Counts]] = {}
    for counts in shown:
        levels.setdefault(sum(counts), []).append(counts)
    spread = width + 22
    if len(shown[0]) == 2:
        x = {c: (c[0] - c[1]) * spread / 2 for c in shown}
    else:
        x = {c: place for level in levels.values() for c, place in _evenly(level, spread)}
        for sweep in range(6):
            toward = -1 if sweep % 2 == 0 else 1
            for height in sorted(levels, reverse=toward > 0):
                pull = {c: [x[d] for d in _neighbours(c, toward) if d in x] for c in levels[height]}
                mean = {c: sum(xs) / len(xs) if xs else x[c] for c, xs in pull.items()}
                x |= dict(_evenly([c for _, c in sorted((m, c) for c, m in mean.items())], spread))
    left, top = min(x.values()) - width - 12, 40 + STEP * max(levels)
    return {c: (x[c] - left, top - STEP * sum(c)) for c in shown}


def _evenly(level: list[Counts], spread: float) -> Iterator[tuple[Counts, float]]:
    return ((c, spread * (i - (len(level) - 1) / 2)) for i, c in enumerate(level))


def _neighbours(counts: Counts, toward: int) -> Iterator[Counts]:
    return ((*counts[:i], n + toward, *counts[i + 1 :]) for i, n in enumerate(counts))
