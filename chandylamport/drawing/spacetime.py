"""Space-time diagrams: processes as lines, time to the right, messages as arrows, cuts across."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from math import hypot
from typing import Literal

from ..causality import lamport_clocks
from ..cuts import Cut, counts_of, in_transit, orphans
from ..events import Computation, Event, Message
from .picture import (
    BLUE,
    GREY,
    INK,
    RED,
    SHADE,
    Area,
    Dot,
    Line,
    Picture,
    Point,
    Shape,
    Text,
    shortened,
    text_width,
)

ROW, TOP, RIGHT = 72.0, 48.0, 30.0
Bounds = tuple[float, float, float, float]


def draw(
    computation: Computation,
    cut: Cut | Mapping[str, Cut] | None = None,
    *,
    clocks: Literal["vector", "lamport"] | None = None,
    markers: Collection[str] = (),
    order: Sequence[Event] | None = None,
) -> Picture:
    """Draw the space-time diagram of a computation, with a cut or several named ones across it.

    Messages in transit are blue, orphans are red and heavy, messages named in `markers` are
    dashed. `order` draws one run, an event a column; otherwise columns are Lamport's clock.

    >>> from chandylamport import Cut, computation
    >>> draw(computation("p: m!\\nq: m?"), Cut.of(q=1))
    Space-time diagram of p, q: 2 events, 1 message.
    p:  m!
    q:      m?
    Cut p=0, q=1 is inconsistent: m is received inside and sent outside.
    """
    cuts = {"": cut} if isinstance(cut, Cut) else dict(cut or {})
    for each in cuts.values():
        counts_of(computation, each)
    unknown = [name for name in markers if name not in computation.messages]
    if unknown:
        raise ValueError(f"markers names {unknown[0]}, which is not a message of this computation")
    gap = 60.0
    while True:  # wider columns until every label has a place of its own
        scene = _Scene(computation, cuts, clocks, set(markers), order, gap)
        if not scene.crowded or gap > 400:
            return scene.picture()
        gap *= 1.12


def cut_verdict(computation: Computation, cut: Cut, name: str = "") -> str:
    """Say in one sentence whether a cut is consistent, and what is in transit or orphaned.

    >>> from chandylamport import computation
    >>> cut_verdict(computation("p: m!\\nq: m?"), Cut.of(p=1))
    'Cut p=1, q=0 is consistent; in transit p→q: m.'
    """
    counts = ", ".join(f"{p}={cut[p]}" for p in computation.processes)
    lost = orphans(computation, cut)
    title = f"Cut {name + ': ' if name else ''}{counts}"
    if lost:
        verb = "is" if len(lost) == 1 else "are"
        return (
            f"{title} is inconsistent: {', '.join(lost)} {verb} received inside and sent outside."
        )
    channels = in_transit(computation, cut)
    flying = "; ".join(f"{channel}: {', '.join(names)}" for channel, names in channels.items())
    return f"{title} is consistent; " + (
        f"in transit {flying}." if flying else "nothing is in transit."
    )


class _Scene:
    """One attempt at a layout, for one width of the columns."""

    def __init__(
        self,
        computation: Computation,
        cuts: Mapping[str, Cut],
        clocks: str | None,
        markers: set[str],
        order: Sequence[Event] | None,
        gap: float,
    ) -> None:
        self.c, self.cuts, self.markers, self.gap = computation, cuts, markers, gap
        self.row = {p: TOP + ROW * i for i, p in enumerate(computation.processes)}
        column = _columns(computation, order)
        self.left = 26 + max(text_width(p, 15, bold=True) for p in computation.processes)
        self.x = {event: self.left + gap * column[event] for event in computation}
        self.end = self.left + gap * (max(column.values(), default=0) + 1)
        self.orphans = {m for cut in cuts.values() for m in orphans(computation, cut)}
        one = next(iter(cuts.values())) if len(cuts) == 1 else Cut({})
        self.transit = {m for names in in_transit(computation, one).values() for m in names}
        self.arrows = {m.name: self._arrow(m) for m in computation.messages.values()}
        self.cut_lines = {name: self._cut_line(cut) for name, cut in cuts.items()}
        self.strokes = [*(line.points for line in self.arrows.values()), *self.cut_lines.values()]
        self.taken: list[Bounds] = [self._around(event) for event in computation]
        self.crowded = False
        self.labels = [*self._message_labels(), *self._event_labels(clocks)]

    def picture(self) -> Picture:
        bottom = TOP + ROW * (len(self.row) - 1) + 40
        captions = [cut_verdict(self.c, cut, name) for name, cut in self.cuts.items()]
        events, messages = len(self.c), len(self.c.messages)
        who, size = ", ".join(self.c.processes), _many(events, "event")
        title = f"Space-time diagram of {who}: {size}, {_many(messages, 'message')}."
        alt = [title, str(self.c) if events <= 200 else "", *captions]
        words = [
            Text(14, bottom + 20 * i, line, 13, anchor="start")
            for i, line in enumerate(captions, 1)
        ]
        width = max([self.end + RIGHT, *(text.bounds[2] + 14 for text in words + self.labels)])
        shapes: list[Shape] = [
            *self._shade(bottom - 10),
            *(
                Line(((self.left - 8, y), (self.end + 12, y)), GREY, 1.3, arrow=True)
                for y in self.row.values()
            ),
            *(Text(14, y + 5, p, 15, anchor="start", bold=True) for p, y in self.row.items()),
            *(self._cut_stroke(name) for name in self.cuts),
            *self.arrows.values(),
            *(Dot(x, self.row[e.process], note=str(e)) for e, x in self.x.items()),
            *self.labels,
            *words,
        ]
        height = bottom + 20 * len(captions) + (12 if captions else 0)
        return Picture(round(width), round(height), tuple(shapes), "\n".join(filter(None, alt)))

    def _around(self, event: Event) -> Bounds:
        x, y = self.x[event], self.row[event.process]
        return x - 7, y - 7, x + 7, y + 7

    def _arrow(self, message: Message) -> Line:
        start = self.x[self.c[message.src, message.sent]], self.row[message.src]
        if message.received is None:  # under way: the arrow ends in the air
            reach = 0.62 * (self.row[message.dst] - start[1])
            end = start[0] + 0.8 * self.gap, start[1] + reach
        else:
            end = self.x[self.c[message.dst, message.received]], self.row[message.dst]
        dots = [(x, self.row[e.process]) for e, x in self.x.items()]
        others = [dot for dot in dots if dot not in (start, end)]
        # An arrow through somebody else's event would tell a lie, so it bends around the dot.
        bends = [_bent(start, end, by) for by in (0, 12, -12, 22, -22, 34, -34, 48, -48)]
        clear = (b for b in bends if not any(_touches(dot, b) for dot in others))
        points = next(clear, bends[0])
        points = (*points[:-2], *shortened(points[-2], points[-1], 6 if message.received else 0))
        orphan, transit = message.name in self.orphans, message.name in self.transit
        colour = RED if orphan else BLUE if transit else INK
        dashes = (7.0, 4.0) if message.name in self.markers else ()
        return Line(points, colour, 2.8 if orphan else 2.2 if transit else 1.4, dashes, arrow=True)

    def _cut_line(self, cut: Cut) -> tuple[Point, ...]:
        """Pass between the last event inside and the first outside, as straight as they allow."""
        room = []
        for process in self.c.processes:
            xs = [self.left - 4.0, *(self.x[e] for e in self.c.history(process)), self.end + 8.0]
            room.append((xs[cut[process]], xs[cut[process] + 1]))
        straight = sum(a + b for a, b in room) / 2 / len(room)
        xs = [
            min(max(straight, a + 0.4 * self.gap), b - 0.4 * self.gap)
            if b - a > 0.8 * self.gap
            else (a + b) / 2
            for a, b in room
        ]
        ys = list(self.row.values())
        return ((xs[0], ys[0] - 34), *zip(xs, ys, strict=True), (xs[-1], ys[-1] + 30))

    def _cut_stroke(self, name: str) -> Line:
        bad = bool(orphans(self.c, self.cuts[name]))
        return Line(self.cut_lines[name], RED if bad else BLUE, 2.4, (3.0, 3.0) if bad else ())

    def _shade(self, bottom: float) -> Iterator[Area]:
        if len(self.cuts) == 1:
            (line,) = self.cut_lines.values()
            yield Area(((self.left - 8, line[0][1]), *line, (self.left - 8, line[-1][1])), SHADE)

    def _message_labels(self) -> Iterator[Text]:
        for name, line in self.arrows.items():
            heavy = name in self.orphans
            places = []
            for t in (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78):
                x, y = _along(line.points, t)
                side = 5 + text_width(name, 12, bold=heavy) / 2
                rise = 1 if line.points[-1][1] > line.points[0][1] else -1
                places += [
                    Text(x + side, y - 3 * rise + 2, name, 12, line.colour, bold=heavy),
                    Text(x - side, y + 3 * rise + 8, name, 12, line.colour, bold=heavy),
                ]
            yield self._place(places)
        for name, points in self.cut_lines.items():
            if name:
                yield self._place([Text(points[0][0], points[0][1] - 4, name, 13, bold=True)])

    def _event_labels(self, clocks: str | None) -> Iterator[Text]:
        lamport = lamport_clocks(self.c) if clocks == "lamport" else {}
        for event, x in self.x.items():
            y = self.row[event.process]
            if event.label:
                yield self._place(_beside(x, y, _short(event.label), 12, INK))
            if clocks is not None:
                values = self.c.clocks[event].values() if clocks == "vector" else [lamport[event]]
                clock = ",".join(map(str, values))
                yield self._place(
                    _beside(x, y, f"({clock})" if clocks == "vector" else clock, 11, GREY)
                )

    def _place(self, places: Sequence[Text]) -> Text:
        """Take the first place that covers no other label or dot, and the fewest lines."""

        def cost(text: Text) -> tuple[bool, int]:
            on_row = sum(b[1] < y < b[3] for b in [text.bounds] for y in self.row.values())
            crossed = sum(
                _crosses(text.bounds, a, b) for line in self.strokes for a, b in pairwise(line)
            )
            return any(_overlap(text.bounds, other) for other in self.taken), on_row + crossed

        best = min(places, key=cost)
        self.crowded |= cost(best)[0]
        self.taken.append(best.bounds)
        return best


def _columns(computation: Computation, order: Sequence[Event] | None) -> Mapping[Event, int]:
    if order is None:
        return lamport_clocks(computation)
    if sorted(map(str, order)) != sorted(map(str, computation)):
        raise ValueError("order must name each event of the computation once")
    return {event: i for i, event in enumerate(order, start=1)}


def _bent(start: Point, end: Point, by: float) -> tuple[Point, ...]:
    """A way from start to end in short straight pieces, bowed sideways by so many pixels."""
    if by == 0:
        return start, end
    (x0, y0), (x1, y1) = start, end
    length = hypot(x1 - x0, y1 - y0)
    way = []
    for t in (i / 12 for i in range(13)):
        aside = 4 * by * t * (1 - t) / length
        way.append((x0 + t * (x1 - x0) - aside * (y1 - y0), y0 + t * (y1 - y0) + aside * (x1 - x0)))
    return tuple(way)


def _touches(dot: Point, way: Sequence[Point]) -> bool:
    x, y = dot
    return any(_crosses((x - 9, y - 9, x + 9, y + 9), a, b) for a, b in pairwise(way))


def _along(way: Sequence[Point], t: float) -> Point:
    """The point at the fraction t of a way of equal pieces."""
    piece = min(int(t * (len(way) - 1)), len(way) - 2)
    rest = t * (len(way) - 1) - piece
    (x0, y0), (x1, y1) = way[piece : piece + 2]
    return x0 + rest * (x1 - x0), y0 + rest * (y1 - y0)


def _beside(x: float, y: float, text: str, size: float, colour: str) -> list[Text]:
    side = 8 + text_width(text, size) / 2
    return [
        Text(x + dx, y + dy, text, size, colour)
        for dx in (0, side - 4, 4 - side)
        for dy in (-11, 11 + 0.8 * size)
    ]


def _short(text: str) -> str:
    return text if len(text) <= 16 else text[:15] + "…"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _overlap(a: Bounds, b: Bounds) -> bool:
    return a[0] < b[2] + 2 and b[0] < a[2] + 2 and a[1] < b[3] + 1 and b[1] < a[3] + 1


def _crosses(bounds: Bounds, a: Point, b: Point) -> bool:
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
