"""The same picture painted by matplotlib, one point for each pixel."""

from __future__ import annotations

from matplotlib import patheffects
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Polygon

from .picture import Area, Box, Dot, Line, Picture, Text, arrow_head


def figure(picture: Picture) -> Figure:
    """Paint a picture on a matplotlib figure of its own size.

    >>> from chandylamport.drawing.picture import Dot
    >>> figure(Picture(72, 36, (Dot(10, 10),), "one dot")).get_size_inches().tolist()
    [1.0, 0.5]
    """
    result = Figure(figsize=(picture.width / 72, picture.height / 72), dpi=100)
    axes = result.add_axes((0, 0, 1, 1), xlim=(0, picture.width), ylim=(picture.height, 0))
    axes.set_axis_off()
    for depth, shape in enumerate(picture.shapes):
        match shape:
            case Line(points, colour, width, dashes, arrow):
                style = (0, tuple(d / width for d in dashes)) if dashes else "solid"
                xs, ys = zip(*points, strict=True)
                axes.plot(xs, ys, color=colour, linewidth=width, linestyle=style, zorder=depth)
                if arrow:
                    axes.add_patch(
                        Polygon(arrow_head(shape), color=colour, linewidth=0, zorder=depth)
                    )
            case Area(points, fill):
                axes.add_patch(Polygon(points, color=fill, linewidth=0, zorder=depth))
            case Dot(x, y, radius, fill):
                axes.add_patch(Circle((x, y), radius, color=fill, linewidth=0, zorder=depth))
            case Box(x, y, width, height, fill, colour, line, dashes):
                corner = (x - width / 2, y - height / 2)
                style = (0, tuple(d / line for d in dashes)) if dashes else "solid"
                axes.add_patch(
                    FancyBboxPatch(
                        corner,
                        width,
                        height,
                        "round,pad=0,rounding_size=6",
                        facecolor=fill,
                        edgecolor=colour,
                        linewidth=line,
                        linestyle=style,
                        zorder=depth,
                    )
                )
            case Text(x, y, text, size, colour, anchor, bold, ground):
                where = {"start": "left", "middle": "center", "end": "right"}[anchor]
                edge = [patheffects.withStroke(linewidth=3, foreground=ground)]
                axes.text(
                    x,
                    y,
                    text,
                    parse_math=False,
                    size=size,
                    color=colour,
                    ha=where,
                    va="baseline",
                    weight="bold" if bold else "normal",
                    path_effects=edge,
                    zorder=depth,
                )
    return result
