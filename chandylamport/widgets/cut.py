"""A cut that is moved by one slider for each process, over the drawing of its computation."""

from __future__ import annotations

from html import escape

import ipywidgets

from ..cuts import (
    Cut,
    counts_of,
    greatest_consistent_below,
    is_consistent,
    least_consistent_above,
)
from ..drawing import draw
from ..drawing.captions import cut_verdict
from ..events import Computation


class MovableCut(ipywidgets.VBox):  # type: ignore[misc]
    """Sliders for the events of each process inside the cut, the drawing, and the verdict in words.

    >>> from chandylamport import computation
    >>> movable = MovableCut(computation("p: m!\\nq: m?"))
    >>> movable.sliders["q"].value = 1
    >>> movable.verdict
    'Cut p=0, q=1 is inconsistent: m is received inside and sent outside.'
    """

    def __init__(self, computation: Computation, start: Cut | None = None) -> None:
        """Begin with a cut, by default the empty one."""
        self._computation = computation
        start = start or Cut({})
        counts_of(computation, start)
        self.sliders = {
            process: ipywidgets.IntSlider(
                value=start[process],
                max=len(history),
                description=process,
                continuous_update=True,
            )
            for process, history in zip(computation.processes, computation.histories, strict=True)
        }
        for slider in self.sliders.values():
            slider.observe(lambda _: self._show(), names="value")
        up = ipywidgets.Button(description="least consistent above")
        down = ipywidgets.Button(description="greatest consistent below")
        for button in (up, down):
            button.layout.width = "16em"
        up.on_click(lambda _: self.move(least_consistent_above(computation, self.cut)))
        down.on_click(lambda _: self.move(greatest_consistent_below(computation, self.cut)))
        self._view = ipywidgets.HTML()
        super().__init__([*self.sliders.values(), ipywidgets.HBox([down, up]), self._view])
        self._show()

    @property
    def cut(self) -> Cut:
        """The cut as the sliders stand now."""
        return Cut({process: slider.value for process, slider in self.sliders.items()})

    @property
    def verdict(self) -> str:
        """What is said beside the drawing: consistent or not, orphans, messages in transit."""
        return cut_verdict(self._computation, self.cut)

    def move(self, cut: Cut) -> None:
        """Put all sliders where this cut is."""
        counts_of(self._computation, cut)
        for process, slider in self.sliders.items():
            slider.value = cut[process]

    def _show(self) -> None:
        mark = "✓ consistent" if is_consistent(self._computation, self.cut) else "✗ inconsistent"
        picture = draw(self._computation, self.cut)
        self._view.value = (
            f'<p role="status" style="font-weight:bold;margin:0">{escape(mark)}</p>{picture.svg}'
        )

    def __repr__(self) -> str:
        who = ", ".join(self._computation.processes)
        return f"Sliders for {who}, once all cells down to this one are run. {self.verdict}"
