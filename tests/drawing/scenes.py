"""Random computations to draw, and what can be read back from a picture.

Nothing here uses the geometry of the package: a picture is judged by its shapes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, pairwise
from math import hypot
from random import Random

import chandylamport as cl
from chandylamport import Computation, Cut, Event, Log, Picture, Run, draw
from chandylamport.broken import BROKEN
from chandylamport.drawing.picture import GREY, Area, Box, Dot, Line, Text, arrow_head

Bounds = tuple[float, float, float, float]
SCENES = [(seed, (None, "vector", "lamport")[seed % 3]) for seed in range(30)]


@cache
def scene(seed: int) -> tuple[Computation, Cut]:
    """A computation and a cut; every second one has 8 processes and 60 events."""
    random = Random(seed)
    processes = [f"p{i}" for i in range(1, 1 + (8 if seed % 2 else random.randint(1, 8)))]
    log, flying = Log(processes), []
    for number in range(60 if seed % 2 else random.randint(0, 60)):
        me, dice = random.choice(processes), random.random()
        arriving = [message for message in flying if message[1] == me]
        if arriving and dice < 0.55:
            message = random.choice(arriving)
            flying.remove(message)
            log.event(me, receives=[message[0]])
        elif dice < 0.85 and len(processes) > 1:
            other = random.choice([p for p in processes if p != me])
            sends = {f"m{number}": other}
            if dice < 0.6:  # to two at once
                sends[f"k{number}"] = random.choice(
                    [p for p in processes if p not in (me, other)] or [other]
                )
            flying += sends.items()
            log.event(me, f"say{number}" if dice > 0.8 else "", sends=sends)
        else:
            log.event(me, f"e{number}")
    c = log.computation()
    return c, Cut({p: random.randint(0, len(c.history(p))) for p in processes})


@cache
def drawn(seed: int, clocks: str | None) -> Picture:
    c, cut = scene(seed)
    return draw(c, cut, clocks=clocks)


@cache
def runs() -> dict[str, Run]:
    """Runs of every kind: right and wrong ones, with one snapshot, several or none."""
    three, post = cl.three_process_bank(), cl.Unordered(cl.complete("pqr"))
    mail = cl.System(cl.accounts(p=10, q=10, r=5, transfers=2), post)
    four = cl.System(cl.accounts(p=9, q=8, r=7, s=6, transfers=2), cl.Fifo(cl.complete("pqrs")))
    line = cl.System(cl.letters(p=[("q", "m")], q=[("r", "n")], r=[]), cl.Fifo(cl.line("pqr")))
    found = {
        "example 2.2": cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2),
        "unfinished": cl.simulate(line, cl.ChandyLamport, initiators=["q"], seed=1),
        "without a snapshot": cl.simulate(three, seed=1),
        "restored": cl.simulate(cl.restore(three, bank(2).snapshot), cl.ChandyLamport, seed=1),
        "two at once": cl.simulate(
            three, cl.ChandyLamport, snapshots={"one": {"P": 2}, "two": {"Q": 3}}, seed=5
        ),
        "four": cl.simulate(four, cl.ChandyLamport, initiators=["p", "r"], at=6, seed=1),
    }
    for seed in range(4):
        found[f"bank {seed}"] = bank(seed)
        found[f"mail {seed}"] = cl.simulate(mail, cl.LaiYang, initiators=["q"], at=4, seed=seed)
    return found | {name: broken.explore().counterexample for name, broken in BROKEN.items()}


def bank(seed: int) -> Run:
    return cl.simulate(cl.three_process_bank(), cl.ChandyLamport, initiators=["P"], at=3, seed=seed)


def of_kind(picture: Picture, kind: type) -> list:
    return [shape for shape in picture.shapes if isinstance(shape, kind)]


def texts(picture: Picture) -> list[Text]:
    return of_kind(picture, Text)


def process_lines(picture: Picture) -> list[Line]:
    return [line for line in of_kind(picture, Line) if line.arrow and line.colour == GREY]


def arrows(c: Computation, picture: Picture) -> dict[str, Line]:
    """The arrow of each message."""
    lines = [line for line in of_kind(picture, Line) if line.arrow and line.colour != GREY]
    return dict(zip(c.messages, lines, strict=True))


def cut_lines(picture: Picture) -> list[Line]:
    return [line for line in of_kind(picture, Line) if not line.arrow]


def dots(c: Computation, picture: Picture) -> dict[Event, Dot]:
    """The dot of each event, found by its note."""
    by_note = {dot.note: dot for dot in of_kind(picture, Dot)}
    assert len(by_note) == len(c)
    return {event: by_note[str(event)] for event in c}


def around(dot: Dot) -> Bounds:
    return dot.x - dot.radius, dot.y - dot.radius, dot.x + dot.radius, dot.y + dot.radius


def overlaps(boxes: Sequence[Bounds]) -> list[tuple[Bounds, Bounds]]:
    return [(a, b) for a, b in combinations(boxes, 2) if overlap(a, b)]


def overlap(a: Bounds, b: Bounds) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def distance(x: float, y: float, way: Sequence[tuple[float, float]]) -> float:
    """From a point to the nearest of a way, by trying many."""
    steps = [i / 50 for i in range(51)]
    return min(
        hypot(ax + t * (bx - ax) - x, ay + t * (by - ay) - y)
        for (ax, ay), (bx, by) in pairwise(way)
        for t in steps
    )


def extent(picture: Picture) -> Iterator[Bounds]:
    """The box around each shape."""
    for shape in picture.shapes:
        match shape:
            case Text():
                yield shape.bounds
            case Dot():
                yield around(shape)
            case Box(x, y, width, height):
                yield x - width / 2, y - height / 2, x + width / 2, y + height / 2
            case Line(points, _, _, _, arrow):
                xs, ys = zip(*points, *(arrow_head(shape) if arrow else ()), strict=True)
                yield min(xs), min(ys), max(xs), max(ys)
            case Area(points):
                xs, ys = zip(*points, strict=True)
                yield min(xs), min(ys), max(xs), max(ys)


def outside(picture: Picture) -> list[Bounds]:
    """The shapes that leave the paper."""
    return [
        (left, top, right, bottom)
        for left, top, right, bottom in extent(picture)
        if left < 0 or top < 0 or right > picture.width or bottom > picture.height
    ]


# --- how a colour looks in grey, as WCAG 2 defines it --------------------------------------------


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(colour: str, other: str = "#ffffff") -> float:
    dark, light = sorted((luminance(colour), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
