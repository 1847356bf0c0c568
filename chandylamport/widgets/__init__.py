"""The interactive layer: drawings that a reader moves. Needs ipywidgets (`chandylamport[lab]`)."""

from .cut import MovableCut

__all__ = ["MovableCut"]
