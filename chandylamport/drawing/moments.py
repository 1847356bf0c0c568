"""A system in the middle of a run: its processes, what is under way, and what is recorded so far.

It knows only what a `Moment` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import copysign, cos, dist, inf, pi, sin

from ..events import Channel
from ..moments import Moment
from ..runs import Run
from ..simulator import NO_ID
from .captions import short
from .geometry import Bounds, Point, crosses, overlap
from .picture import BLUE, INK, SHADE, SUN, Box, Line, Picture, Shape, Text, text_width

HIGH, LINE = 20.0, 18.0  # of a token, and of a line of text
LEGEND = "Dashed: from the algorithm. Heavy: has recorded, or is being logged."


def draw_moments(run: Run) -> tuple[Picture, ...]:
    """Draw a run moment by moment, all alike: its start, and what is there after each step.

    What is in a channel stands in its order, the next to arrive nearest to the receiver.

    >>> import chandylamport as cl
    >>> run = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)
    >>> draw_moments(run)[2]
    Step 2 of 6: p sends M to q.
    p: state B; recorded: A; logging q→p: empty.
    q: state C.
    p→q: marker, M.
    """
    moments, scale = tuple(run.moments()), 120.0
    while (plan := _Plan(moments, scale)).crowded and scale < 1500:
        scale *= 1.1
    return tuple(map(plan.picture, range(len(moments))))


def words(moment: Moment, process: str) -> list[str]:
    """What a process holds: its state, and what it has recorded of itself and its channels."""
    found = [f"state {short(str(moment.states[process]))}"]
    for id, state in ((id, state) for (id, p), state in moment.recorded.items() if p == process):
        found.append(f"recorded{'' if id in NO_ID else f' {id}'}: {short(str(state))}")
        for (other, channel), held in moment.logged.items():
            if (other, channel.dst) == (id, process):
                verb = "closed" if (id, channel) in moment.closed else "logging"
                found.append(f"{verb} {channel}: {short(', '.join(map(str, held)) or 'empty')}")
    return found


class _Plan:
    """Where everything stands, for one size: with room for each of the moments."""

    def __init__(self, moments: Sequence[Moment], scale: float) -> None:
        self.moments, self.channels = moments, list(moments[0].channels)
        processes = list(moments[0].states)
        lines = [words(moment, process) for moment in moments for process in processes]
        wide = max(text_width(line, 12, bold=True) for line in sum(lines, processes))
        self.size = wide + 20, LINE * (max(map(len, lines)) + 1) + 12
        tokens = [t.text for m in moments for held in m.channels.values() for t in held]
        self.token = max((text_width(text, 12) for text in tokens), default=0.0) + 12, HIGH
        self.spot = self._spots(processes, scale)
        self.way = {channel: self._way(channel) for channel in self.channels}
        self.place = {channel: list(self._places(channel)) for channel in self.channels}
        boxes = {p: _around(spot, self.size) for p, spot in self.spot.items()}
        slots = [_around(at, self.token) for places in self.place.values() for at in places]
        self.crowded = any(
            overlap(a, b) for a, b in combinations([*boxes.values(), *slots], 2)
        ) or any(
            crosses(box, *way)
            for channel, way in self.way.items()
            for process, box in boxes.items()
            if process not in channel
        )

    def _spots(self, processes: list[str], scale: float) -> dict[str, Point]:
        """Two stand on a line, more on a circle, made wide as their boxes are."""
        wide, high = self.size
        turn = pi if len(processes) == 2 else -pi / 2  # from left to right, or from the top
        angles = [turn + 2 * pi * i / len(processes) for i in range(len(processes))]
        xs = [0.65 * (wide + scale) * cos(angle) for angle in angles]
        ys = [0.65 * (high + 0.6 * scale) * round(sin(angle), 9) for angle in angles]
        left, top = wide / 2 + 14 - min(xs), high / 2 + 14 - min(ys)
        return {p: (x + left, y + top) for p, x, y in zip(processes, xs, ys, strict=True)}

    def _way(self, channel: Channel) -> tuple[Point, Point]:
        """From box to box; of two opposite channels, each keeps to the right."""
        start, end = (self.spot[process] for process in channel)
        dx, dy = _toward(start, end)
        two = Channel(channel.dst, channel.src) in self.channels
        aside = _apart(-dy, dx, self.token) / 2 if two else 0.0
        off_x, off_y = -dy * aside, dx * aside

        def edge(spot: Point, dx: float, dy: float, beyond: float) -> Point:
            across = _over(self.size[0] / 2 - copysign(off_x, off_x * dx), abs(dx))
            down = _over(self.size[1] / 2 - copysign(off_y, off_y * dy), abs(dy))
            far = min(across, down) + beyond
            return spot[0] + off_x + dx * far, spot[1] + off_y + dy * far

        return edge(start, dx, dy, 0), edge(end, -dx, -dy, 3)

    def _places(self, channel: Channel) -> Iterator[Point]:
        """The places in a channel, the one nearest to the receiver first."""
        start, (x, y) = self.way[channel]
        dx, dy = _toward(start, (x, y))
        step = _apart(dx, dy, self.token)
        first = 14 + step / 2 + 0.1 * dist(start, (x, y))
        for i in range(max(len(moment.channels[channel]) for moment in self.moments)):
            yield x - dx * (first + step * i), y - dy * (first + step * i)

    def picture(self, number: int) -> Picture:
        moment = self.moments[number]
        last = len(self.moments) - 1
        titles = [f"Step {i} of {last}: {m.step}." for i, m in enumerate(self.moments)]
        title = titles[number] if number else f"The start of {last} steps."
        low = max(y for _, y in self.spot.values()) + self.size[1] / 2 + 26
        right = max(x for x, _ in self.spot.values()) + self.size[0] / 2
        caption = [
            Text(14, low, title, anchor="start"),
            Text(14, low + 18, LEGEND, 12, anchor="start"),
        ]
        room = max(text_width(text, 13) for text in [*titles, LEGEND])  # the same for all
        alt = [title, *(f"{p}: {'; '.join(words(moment, p))}." for p in self.spot)]
        held = {c: ", ".join(token.text for token in ts) for c, ts in moment.channels.items() if ts}
        alt += [f"{channel}: {tokens}." for channel, tokens in held.items()]
        shapes = (*self._arrows(moment), *self._tokens(moment), *self._boxes(moment), *caption)
        return Picture(round(max(right, 14 + room) + 14), round(low + 30), shapes, "\n".join(alt))

    def _arrows(self, moment: Moment) -> Iterator[Shape]:
        logging = {channel for _, channel in moment.logged.keys() - moment.closed}
        for channel, way in self.way.items():
            colour, width = (BLUE, 2.8) if channel in logging else (INK, 1.2)
            yield Line(way, colour, width, arrow=True)

    def _tokens(self, moment: Moment) -> Iterator[Shape]:
        for channel, tokens in moment.channels.items():
            for token, (x, y) in zip(tokens, self.place[channel], strict=False):
                fill, dashes = (SUN, (4.0, 3.0)) if token.is_control else ("white", ())
                yield Box(x, y, text_width(token.text, 12) + 10, HIGH, fill, INK, 1.4, dashes)
                yield Text(x, y + 4.5, token.text, 12, ground=fill)

    def _boxes(self, moment: Moment) -> Iterator[Shape]:
        for process, (x, y) in self.spot.items():
            recorded = any(who == process for _, who in moment.recorded)
            fill, edge, line = (SHADE, BLUE, 3.0) if recorded else ("white", INK, 1.2)
            yield Box(x, y, *self.size, fill, edge, line)
            for i, text in enumerate([process, *words(moment, process)], start=1):
                bold = i == 1 or text.startswith("recorded")
                yield Text(x, y - self.size[1] / 2 + LINE * i, text, 12, bold=bold, ground=fill)


def _around(spot: Point, size: Point) -> Bounds:
    (x, y), (wide, high) = spot, size
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def _toward(a: Point, b: Point) -> Point:
    return (b[0] - a[0]) / dist(a, b), (b[1] - a[1]) / dist(a, b)


def _apart(dx: float, dy: float, size: Point) -> float:
    """How far two tokens must be apart in a direction, not to touch."""
    return min(_over(size[0] + 6, abs(dx)), _over(size[1] + 6, abs(dy)))


def _over(a: float, b: float) -> float:
    return a / b if b > 0.01 else inf
