"""The words under a space-time diagram, which are also its text alternative."""

from __future__ import annotations

from collections.abc import Iterator

from ..cuts import Cut, in_transit, orphans
from ..events import Computation
from .picture import text_width


def cut_verdict(computation: Computation, cut: Cut, name: str = "") -> str:
    """Say in one sentence whether a cut is consistent, and what is in transit or orphaned.

    >>> from chandylamport import computation
    >>> cut_verdict(computation("p: m!\\nq: m?"), Cut.of(p=1))
    'Cut p=1, q=0 is consistent; in transit p→q: m.'
    """
    counts = ", ".join(f"{p}={cut[p]}" for p in computation.processes)
    title = f"Cut {name + ': ' if name else ''}{counts}"
    channels = in_transit(computation, cut)
    flying = "; ".join(f"{channel}: {', '.join(names)}" for channel, names in channels.items())
    transit = f"in transit {flying}" if flying else "nothing is in transit"
    lost = orphans(computation, cut)
    if not lost:
        return f"{title} is consistent; {transit}."
    verb = "is" if len(lost) == 1 else "are"
    verdict = f"inconsistent: {', '.join(lost)} {verb} received inside and sent outside"
    return f"{title} is {verdict}{f'; {transit}' if flying else ''}."


def wrapped(text: str, size: float, width: float) -> Iterator[str]:
    """Break a caption into lines no wider than the picture, or than a usual line."""
    line, *words = text.split(" ")
    for word in words:
        if text_width(f"{line} {word}", size) > max(width, 680):
            yield line
            line = word
        else:
            line += f" {word}"
    yield line


def short(text: str) -> str:
    """Give the beginning of a name that is too long for a label."""
    return text if len(text) <= 16 else text[:15] + "…"


def many(number: int, noun: str) -> str:
    """Count in words: 1 event, 2 events."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
