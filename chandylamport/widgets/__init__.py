"""The interactive layer: drawings that a reader moves. Needs ipywidgets (`chandylamport[lab]`)."""

from .cut import MovableCut
from .run import RunPlayer

__all__ = ["MovableCut", "RunPlayer"]
