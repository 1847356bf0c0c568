"""Barriers: the marker algorithm in a dataflow, where sources begin and records are replayed.

Unaligned checkpointing is `ChandyLamport` as it is: nothing here repeats it. Aligned checkpointing
waits for a barrier on every input before it records, and holds the inputs whose barrier has come,
so that no channel has to be recorded. It needs a port that can hold and release an input.

Carbone et al., "Lightweight asynchronous snapshots for distributed dataflows", arXiv:1506.08603.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from ..chandy_lamport import ChandyLamport
from ..events import Channel
from ..recorder import Port


class AtLeastOnce(ChandyLamport):
    """One operator's part in a checkpoint that holds nothing: it records at the last barrier.

    What comes behind an earlier barrier is in the state, and will be replayed as well.
    """

    in_order = True  # a barrier waits its turn behind the records

    def __init__(self, back: Set[Channel] = frozenset()) -> None:
        """Nothing has come. The back-edges of cycles are logged instead of waited for."""
        super().__init__()
        self.back, self.came = back, set[Channel]()

    def record(self, port: Port) -> None:
        """Record the state, and log what arrives from now on along back-edges."""
        super().record(port)
        self.open -= self.came

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        """Record when a barrier has come on every input, back-edges aside."""
        self.came.add(channel)
        if not self.recorded and self.came | self.back >= set(port.inputs):
            self.marker_sending_rule(port)
        self.open.discard(channel)


class Aligned(AtLeastOnce):
    """One operator's part in an aligned checkpoint: an input whose barrier has come is held.

    What comes behind a barrier waits until the state is recorded, so it is counted once.
    """

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        """Hold the input until the last barrier has come; then record, and release them all."""
        port.hold(channel)
        super().marker_receiving_rule(port, channel)
        if self.recorded:
            self.release_all(port)

    def release_all(self, port: Any) -> None:
        """Take from every input again."""
        for channel in self.came:
            port.release(channel)
