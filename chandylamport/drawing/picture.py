"""A picture is a list of lines, boxes, dots and texts, written as SVG or drawn by matplotlib.

This file knows nothing of computations: it paints what it is told, in pixels from the top left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .geometry import Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind people (the red darker, to be read as text);
# weight and captions serve grey prints.
INK, GREY, PALE = "#222222", "#767676", "#c8c8c8"
BLUE, RED, SHADE, SUN = "#0072b2", "#c04f00", "#e6f0f8", "#ffe9b8"
FONT = "DejaVu Sans, Verdana, sans-serif"
# The wider of DejaVu Sans and Verdana, for each character that is not as wide as most.
_EM = {"il'": 0.31, " .,j": 0.37, "ft!r": 0.45, "()[]/-:;|": 0.46, "DGHNOQU": 0.79}
_EM |= {"wM→#&+<=>^~": 0.9, "mW@—…": 1.01, "%": 1.08}
_WIDTHS = {character: em for group, em in _EM.items() for character in group}
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Line:
    """A stroke through some points, with an arrow head at its end if wanted."""

    points: tuple[Point, ...]
    colour: str = INK
    width: float = 1.5
    dashes: tuple[float, ...] = ()
    arrow: bool = False


@dataclass(frozen=True, slots=True)
class Area:
    """A filled polygon."""

    points: tuple[Point, ...]
    fill: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A filled circle; its note is what a reader sees when pointing at it."""

    x: float
    y: float
    radius: float = 5
    fill: str = INK
    note: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with round corners around its middle."""

    x: float
    y: float
    width: float
    height: float
    fill: str = "white"
    colour: str = INK
    line: float = 1.2
    dashes: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """Words at a point, with an edge in the colour of the ground: legible over lines."""

    x: float
    y: float
    text: str
    size: float = 13
    colour: str = INK
    anchor: Literal["start", "middle", "end"] = "middle"
    bold: bool = False
    ground: str = "white"

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the words."""
        width = text_width(self.text, self.size, bold=self.bold)
        left = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return left, self.y - 0.8 * self.size, left + width, self.y + 0.25 * self.size


Shape = Line | Area | Dot | Box | Text


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Estimate the width of a text from above, so that no font of the list needs more."""
    ems = (_WIDTHS.get(c, 1.03 if not c.isascii() else 0.72 if c.isupper() else 0.64) for c in text)
    return sum(ems) * size * (1.12 if bold else 1.0)


@dataclass(frozen=True)
class Picture:
    """Shapes on white paper, and the words for a reader who cannot see them.

    >>> dot = Picture(20, 20, (Dot(10, 10),), "one dot")
    >>> dot
    one dot
    >>> dot.svg.splitlines()[-2]
    '<circle cx="10" cy="10" r="5" fill="#222222"/>'
    """

    width: float
    height: float
    shapes: tuple[Shape, ...]
    alt: str

    @property
    def svg(self) -> str:
        """The picture as an SVG document: the same picture, the same bytes."""
        w, h = _n(self.width), _n(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" '
            f'viewBox="0 0 {w} {h}" role="img" font-family="{FONT}" '
            'style="max-width:100%;height:auto">'
        )
        title = f"<title>{_escape(self.alt.splitlines()[0])}</title>"
        desc = f"<desc>{_escape(self.alt)}</desc>"
        paper = f'<rect width="{w}" height="{h}" fill="white"/>'
        return "\n".join(
            [head, title, desc, paper, *(s for shape in self.shapes for s in _svg(shape)), "</svg>"]
        )

    def figure(self) -> Figure:
        """The picture as a matplotlib figure, for print and for further drawing."""
        from .matplotlib import figure

        return figure(self)

    def save(self, path: str | Path) -> None:
        """Write a file: `.svg` by ourselves, `.png` and `.pdf` by matplotlib."""
        if Path(path).suffix == ".svg":
            Path(path).write_text(self.svg + "\n", encoding="utf-8")
        else:
            self.figure().savefig(path, dpi=144)

    def __repr__(self) -> str:
        return self.alt

    def _repr_svg_(self) -> str:
        return self.svg


def arrow_head(line: Line) -> tuple[Point, ...]:
    """The triangle at the end of a line."""
    (x0, y0), (x, y) = line.points[-2:]
    length = hypot(x - x0, y - y0) or 1
    dx, dy = (x - x0) / length, (y - y0) / length
    long, half = 7 + 1.5 * line.width, 2.5 + line.width
    back_x, back_y = x - long * dx, y - long * dy
    return (
        (x, y),
        (back_x - half * dy, back_y + half * dx),
        (back_x + half * dy, back_y - half * dx),
    )


def _escape(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _path(points: Iterable[Point]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _svg(shape: Shape) -> list[str]:
    """The SVG elements of one shape."""
    match shape:
        case Line(points, colour, width, dashes, arrow):
            dash = f' stroke-dasharray="{" ".join(map(_n, dashes))}"' if dashes else ""
            stroke = f'stroke="{colour}" stroke-width="{_n(width)}" stroke-linejoin="round"{dash}'
            lines = [f'<polyline points="{_path(points)}" fill="none" {stroke}/>']
            return lines + (
                [f'<polygon points="{_path(arrow_head(shape))}" fill="{colour}"/>'] if arrow else []
            )
        case Area(points, fill):
            return [f'<polygon points="{_path(points)}" fill="{fill}"/>']
        case Dot(x, y, radius, fill, note):
            circle = f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{fill}"'
            return [f"{circle}><title>{_escape(note)}</title></circle>" if note else f"{circle}/>"]
        case Box(x, y, width, height, fill, colour, line, dashes):
            dash = f' stroke-dasharray="{" ".join(map(_n, dashes))}"' if dashes else ""
            place = f'x="{_n(x - width / 2)}" y="{_n(y - height / 2)}"'
            size = f'width="{_n(width)}" height="{_n(height)}" rx="6"'
            stroke = f'stroke="{colour}" stroke-width="{_n(line)}"{dash}'
            return [f'<rect {place} {size} fill="{fill}" {stroke}/>']
        case Text(x, y, text, size, colour, anchor, bold, ground):
            weight = ' font-weight="bold"' if bold else ""
            edge = f'stroke="{ground}" stroke-width="3" stroke-linejoin="round"'
            place = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-size="{_n(size)}"'
            paint = f'fill="{colour}" {edge} paint-order="stroke"{weight}'
            return [f"<text {place} {paint}>{_escape(text)}</text>"]
