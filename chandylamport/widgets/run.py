"""A run that is played, step by step, forwards and backwards."""

from __future__ import annotations

from html import escape

import ipywidgets

from ..drawing import Picture, draw_moments
from ..runs import Run


class RunPlayer(ipywidgets.VBox):  # type: ignore[misc]
    """A button to play and a slider for the step, and the system as it is after that step.

    >>> import chandylamport as cl
    >>> run = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)
    >>> player = RunPlayer(run)
    >>> player.slider.value = 1
    >>> player.picture
    Step 1 of 6: p records.
    p: state A; recorded: A; logging q→p: empty.
    q: state C.
    p→q: marker.
    """

    def __init__(self, run: Run) -> None:
        """Begin at the start of the run."""
        self._pictures = draw_moments(run)
        last = len(self._pictures) - 1
        self.play = ipywidgets.Play(max=last, interval=1000, description="play the run")
        self.slider = ipywidgets.IntSlider(max=last, description="step")
        self.play.observe(lambda change: self.move(change.new), names="value")
        self.slider.observe(lambda _: self._show(), names="value")
        self._view = ipywidgets.HTML()
        super().__init__([ipywidgets.HBox([self.play, self.slider]), self._view])
        self._show()

    @property
    def picture(self) -> Picture:
        """The moment as the slider stands now."""
        return self._pictures[int(self.slider.value)]

    def move(self, step: int) -> None:
        """Go to the moment after so many steps."""
        self.slider.value = step

    def _show(self) -> None:
        self.play.value = self.slider.value
        title, *rest = self.picture.alt.splitlines()
        self._view.value = (
            f'<p role="status" style="font-weight:bold;margin:0">{escape(title)}</p>'
            f"{self.picture.svg}"
            f'<p style="margin:0;line-height:1.4">{"<br>".join(map(escape, rest))}</p>'
        )

    def __repr__(self) -> str:
        return f"Play, or move the slider, once all cells down to this one are run. {self.picture}"
