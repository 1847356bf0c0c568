"""Space-time diagrams: processes as lines, time to the right, messages as arrows, cuts across."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import inf
from typing import Literal

from ..causality import lamport_clocks
from ..cuts import Cut, counts_of, in_transit, orphans
from ..events import Computation, Event, Message
from .captions import cut_verdict, many, short, wrapped
from .geometry import BENDS, BOWS, Bounds, Point, along, bent, crosses, overlap, shortened, touches
from .picture import BLUE, GREY, INK, RED, SHADE, Area, Dot, Line, Picture, Shape, Text, text_width

ROW, TOP, RIGHT = 72.0, 52.0, 30.0


def draw(
    computation: Computation,
    cut: Cut | Mapping[str, Cut] | None = None,
    *,
    clocks: Literal["vector", "lamport"] | None = None,
    markers: Collection[str] = (),
    order: Sequence[Event] | None = None,
    caption: str = "",
) -> Picture:
    """Draw the space-time diagram of a computation, with a cut or several named ones across it.

    Messages in transit are blue, orphans are red and heavy, messages named in `markers` are
    dashed and have no label. `order` draws one run, an event a column; otherwise columns are
    Lamport's clock. `caption` stands in the place of the verdict on the cut.

    >>> from chandylamport import Cut, computation
    >>> draw(computation("p: m!\\nq: m?"), Cut.of(q=1))
    Space-time diagram of p, q: 2 events, 1 message.
    p:  m!
    q:      m?
    Cut p=0, q=1 is inconsistent: m is received inside and sent outside.
    """
    cuts = {"": cut} if isinstance(cut, Cut) else dict(cut or {})
    for name, each in cuts.items():
        if not isinstance(each, Cut):
            raise TypeError(f"{name!r}: {each!r} is not a cut; write Cut.of({name}={each!r})")
        counts_of(computation, each)
    unknown = [name for name in markers if name not in computation.messages]
    if unknown:
        raise ValueError(f"markers names {unknown[0]}, which is not a message of this computation")
    if clocks not in (None, "vector", "lamport"):
        raise ValueError(f"clocks={clocks!r}: there are 'vector' and 'lamport'")
    gap, readable = 60.0, None
    while True:  # wider columns until every label has a place of its own and every arrow a way
        scene = _Scene(computation, cuts, clocks, set(markers), order, gap)
        if gap > 400 or not (scene.crowded or scene.blocked):
            return scene.picture(caption)
        readable = readable or (None if scene.crowded else scene)
        if readable and gap > 140:  # width alone does not clear the way
            return readable.picture(caption)
        gap *= 1.12


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
        self.c, self.cuts, self.markers = computation, cuts, markers
        self.order, self.gap = order, gap
        self.row = {p: TOP + ROW * i for i, p in enumerate(computation.processes)}
        column = _columns(computation, order)
        self.left = 26 + max(text_width(p, 15, bold=True) for p in computation.processes)
        self.x = {event: self.left + gap * column[event] for event in computation}
        self.end = self.left + gap * (max(column.values(), default=0) + 1)
        self.crowded = self.blocked = False
        # A marker belongs to no cut: it may cross that of another snapshot, and proves nothing.
        self.lost = {name: set(orphans(computation, cut)) - markers for name, cut in cuts.items()}
        self.orphans = {m for lost in self.lost.values() for m in lost}
        one = next(iter(cuts.values())) if len(cuts) == 1 else Cut({})
        self.transit = {m for names in in_transit(computation, one).values() for m in names}
        self.arrows = {m.name: self._arrow(m) for m in computation.messages.values()}
        middle = (len(cuts) - 1) / 2
        self.cut_lines = {
            name: self._cut_line(cut, 5 * (i - middle))
            for i, (name, cut) in enumerate(cuts.items())
        }
        self.strokes = [*(line.points for line in self.arrows.values()), *self.cut_lines.values()]
        self.names = [
            Text(14, y + 5, p, 15, anchor="start", bold=True) for p, y in self.row.items()
        ]
        edge = (-inf, -inf, 2.0, inf)  # left of the picture no label has a place
        self.taken: list[Bounds] = [edge, *(text.bounds for text in self.names)]
        self.taken += map(self._around, computation)
        # Those with the fewest possible places choose first.
        self.labels = [*self._cut_labels(), *self._event_labels(clocks), *self._message_labels()]

    def picture(self, caption: str) -> Picture:
        bottom = TOP + ROW * (len(self.row) - 1) + 40
        verdicts = [cut_verdict(self.c, cut, name) for name, cut in self.cuts.items()]
        captions = [caption] if caption else verdicts
        lines = [line for words in captions for line in wrapped(words, 13, self.end)]
        events, messages = len(self.c), len(self.c.messages)
        who, size = ", ".join(self.c.processes), many(events, "event")
        title = f"Space-time diagram of {who}: {size}, {many(messages, 'message')}."
        run = f"Drawn as the run {', '.join(e.name for e in self.order)}." if self.order else ""
        alt = [title, str(self.c) if events <= 200 else "", run, *captions]
        words = [
            Text(14, bottom + 20 * i, line, 13, anchor="start") for i, line in enumerate(lines, 1)
        ]
        width = max([self.end + RIGHT, *(text.bounds[2] + 14 for text in words + self.labels)])
        shapes: list[Shape] = [
            *self._shade(),
            *(
                Line(((self.left - 8, y), (self.end + 12, y)), GREY, 1.3, arrow=True)
                for y in self.row.values()
            ),
            *self.names,
            *(self._cut_stroke(name) for name in self.cuts),
            *self.arrows.values(),
            *(Dot(x, self.row[e.process], note=str(e)) for e, x in self.x.items()),
            *self.labels,
            *words,
        ]
        height = bottom + 20 * len(lines) + (12 if lines else 0)
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
        ways = [bent(start, end, bow, by) for by in BENDS for bow in BOWS]
        clear = (way for way in ways if not any(touches(dot, way) for dot in others))
        points = next(clear, ())
        self.blocked |= not points
        points = points or ways[0]
        points = (*points[:-2], *shortened(points[-2], points[-1], 6 if message.received else 0))
        orphan, transit = message.name in self.orphans, message.name in self.transit
        colour = RED if orphan else BLUE if transit else INK
        dashes = (7.0, 4.0) if message.name in self.markers else ()
        return Line(points, colour, 2.8 if orphan else 2.2 if transit else 1.4, dashes, arrow=True)

    def _cut_line(self, cut: Cut, aside: float) -> tuple[Point, ...]:
        """Pass between the last event inside and the first outside, as straight as they allow."""
        room = []
        for process in self.c.processes:
            xs = [self.left - 4.0, *(self.x[e] for e in self.c.history(process)), self.end + 8.0]
            room.append((xs[cut[process]], xs[cut[process] + 1]))
        straight = sum(a + b for a, b in room) / 2 / len(room)
        xs = [min(max(straight, a + 0.4 * self.gap), b - 0.4 * self.gap) + aside for a, b in room]
        ys = list(self.row.values())
        return ((xs[0], ys[0] - 30), *zip(xs, ys, strict=True), (xs[-1], ys[-1] + 30))

    def _cut_stroke(self, name: str) -> Line:
        bad = bool(self.lost[name])
        return Line(self.cut_lines[name], RED if bad else BLUE, 2.4, (3.0, 3.0) if bad else ())

    def _shade(self) -> Iterator[Area]:
        if len(self.cuts) == 1:
            (line,) = self.cut_lines.values()
            yield Area(((self.left - 8, line[0][1]), *line, (self.left - 8, line[-1][1])), SHADE)

    def _message_labels(self) -> Iterator[Text]:
        for name, line in self.arrows.items():
            if name in self.markers:
                continue
            heavy, name = name in self.orphans, short(name)
            side = 5 + text_width(name, 12, bold=heavy) / 2
            rise = 3 if line.points[-1][1] > line.points[0][1] else -3
            # Right and left of the arrow; above and below it, if it is flat.
            around = ((side, 2 - rise), (-side, 8 + rise), (0, -6), (0, 15))
            yield self._place(
                [
                    Text(x + dx, y + dy, name, 12, line.colour, bold=heavy)
                    for t in (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78)
                    for x, y in [along(line.points, t)]
                    for dx, dy in around
                ]
            )

    def _cut_labels(self) -> Iterator[Text]:
        for name, ((x, top), *_, (end, bottom)) in self.cut_lines.items():
            aside = 4 + text_width(short(name), 13, bold=True)
            if name:
                yield self._place(
                    [
                        Text(middle + dx, y, short(name), 13, bold=True)
                        for middle, y in ((x, top - 7), (end, bottom + 13))
                        for dx in (0, aside / 2, -aside / 2, aside, -aside)
                    ]
                )

    def _event_labels(self, clocks: str | None) -> Iterator[Text]:
        lamport = lamport_clocks(self.c) if clocks == "lamport" else {}
        for event, x in self.x.items():
            y = self.row[event.process]
            if event.label:
                yield self._place(_beside(x, y, short(event.label), 12, INK), x)
            if clocks is not None:
                values = self.c.clocks[event].values() if clocks == "vector" else [lamport[event]]
                clock = ",".join(map(str, values))
                clock = f"({clock})" if clocks == "vector" else clock
                yield self._place(_beside(x, y, clock, 11, GREY), x)

    def _place(self, places: Sequence[Text], x: float | None = None) -> Text:
        """Take the first place that covers no other label or dot, and the fewest lines."""

        def crossed(text: Text) -> int:
            left, top, right, bottom = text.bounds
            box = left - 2, top - 2, right + 2, bottom + 2
            rows = sum(box[1] < y < box[3] for y in self.row.values())
            return rows + sum(crosses(box, a, b) for way in self.strokes for a, b in pairwise(way))

        free = [t for t in places if not any(map(partial(overlap, t.bounds), self.taken))]
        self.crowded |= not free
        # A label above or below its dot cannot be taken for that of another one.
        centred = [t for t in free if t.x == x]
        best = min(centred or free or places, key=crossed)
        self.taken.append(best.bounds)
        return best


def _columns(computation: Computation, order: Sequence[Event] | None) -> Mapping[Event, int]:
    if order is None:
        return lamport_clocks(computation)
    column = {event: i for i, event in enumerate(order, start=1)}
    if len(order) != len(computation) or column.keys() != set(computation):
        raise ValueError("order must name each event of the computation once")
    for message in computation.messages.values():
        send, receive = computation[message.src, message.sent], f"{message.name}?"
        if message.received and column[computation[receive]] < column[send]:
            raise ValueError(f"{receive} is before {message.name}!: order must keep happens-before")
    for before, after in (pair for events in computation.histories for pair in pairwise(events)):
        if column[after] < column[before]:
            raise ValueError(f"{after} is before {before}: order must keep happens-before")
    return column


def _beside(x: float, y: float, text: str, size: float, colour: str) -> list[Text]:
    side = 8 + text_width(text, size) / 2
    return [
        Text(x + dx, y + dy, text, size, colour)
        for dx in (0, side - 4, 4 - side)
        for dy in (-11, 11 + 0.8 * size)
    ]
