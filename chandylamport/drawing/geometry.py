"""Points, ways and boxes: how a way bends, and whether it meets a dot or a box.

This file knows nothing of pictures: it measures, in pixels from the top left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import hypot

Point = tuple[float, float]
Bounds = tuple[float, float, float, float]  # left, top, right, bottom

# How an arrow may swerve on its way from 0 to 1: in the middle, to and fro, early, late.
BOWS: tuple[Callable[[float], float], ...] = (
    lambda t: 4 * t * (1 - t),
    lambda t: 10 * t * (1 - t) * (1 - 2 * t),
    lambda t: 7 * t * (1 - t) ** 2,
    lambda t: 7 * t**2 * (1 - t),
)
BENDS = [by * side for by in (0, 10, 16, 24, 34, 48, 64) for side in (1, -1)]  # pixels


def shortened(start: Point, end: Point, by: float) -> tuple[Point, Point]:
    """A line that stops short of its end, so that an arrow head touches a dot, not covers it."""
    length = hypot(end[0] - start[0], end[1] - start[1]) or 1
    rest = (length - by) / length
    return start, (start[0] + rest * (end[0] - start[0]), start[1] + rest * (end[1] - start[1]))


def bent(start: Point, end: Point, bow: Callable[[float], float], by: float) -> tuple[Point, ...]:
    """A way from start to end in short straight pieces, bowed aside by so many pixels."""
    if by == 0:
        return start, end
    (x0, y0), (x1, y1) = start, end
    length = hypot(x1 - x0, y1 - y0)
    way = []
    for t in (i / 12 for i in range(13)):
        aside = by * bow(t) / length
        way.append((x0 + t * (x1 - x0) - aside * (y1 - y0), y0 + t * (y1 - y0) + aside * (x1 - x0)))
    return tuple(way)


def along(way: Sequence[Point], t: float) -> Point:
    """The point at the fraction t of a way of equal pieces."""
    piece = min(int(t * (len(way) - 1)), len(way) - 2)
    rest = t * (len(way) - 1) - piece
    (x0, y0), (x1, y1) = way[piece : piece + 2]
    return x0 + rest * (x1 - x0), y0 + rest * (y1 - y0)


def touches(dot: Point, way: Sequence[Point]) -> bool:
    """Whether a way comes so near to an event's dot that it seems to end or begin there."""
    return any(distance(dot, a, b) < 8 for a, b in pairwise(way))


def distance(point: Point, a: Point, b: Point) -> float:
    """How far a point is from the nearest point of a straight stroke."""
    (x, y), (dx, dy) = (point[0] - a[0], point[1] - a[1]), (b[0] - a[0], b[1] - a[1])
    t = min(max((x * dx + y * dy) / (dx * dx + dy * dy), 0), 1)
    return hypot(x - t * dx, y - t * dy)


def overlap(a: Bounds, b: Bounds) -> bool:
    """Whether two boxes cover each other, or leave no space between."""
    return a[0] < b[2] + 2 and b[0] < a[2] + 2 and a[1] < b[3] + 1 and b[1] < a[3] + 1


def crosses(bounds: Bounds, a: Point, b: Point) -> bool:
    """Whether a stroke enters a rectangle: what each side leaves of it is clipped away in turn."""
    enter, leave = 0.0, 1.0
    for low, high, start, step in (
        (bounds[0], bounds[2], a[0], b[0] - a[0]),
        (bounds[1], bounds[3], a[1], b[1] - a[1]),
    ):
        if step == 0:
            if not low <= start <= high:
                return False
            continue
        first, last = sorted(((low - start) / step, (high - start) / step))
        enter, leave = max(enter, first), min(leave, last)
    return enter <= leave
