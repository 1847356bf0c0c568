"""Whoever starts snapshots: ids that grow, acknowledgements, time-outs, aborts, and the next try.

The coordinator sees no message and no state of a process: only who has stored a part, and when. It
does no I/O but through its store, and reads no clock: whoever runs it says what time it is, and
carries out what it decides. So it is the same in logical time, on sockets and on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .chandy_lamport import ChandyLamport
from .events import Channel
from .overlapping import Overlapping, Ports, Stamped, Tagged
from .recorder import Id, Payload, Recorder, still_owed
from .store import Receipt, Store


class TooMuchInTransit(NamedTuple):
    """What a process reports when the log of a snapshot has outgrown its limit."""

    id: int
    logged: int


class Latest(Overlapping):
    """The recorders of one process, where ids are growing numbers, and one snapshot runs at a time.

    A newer id ends the older ones, and what still arrives of them is ignored. So a process that
    never heard of an abort is not held up by it, and parts of two snapshots cannot be mixed.
    """

    def __init__(
        self, algorithm: Callable[[], Recorder] = ChandyLamport, limit: int | None = None
    ) -> None:
        """No snapshot is known yet; `limit` bounds the messages logged for one."""
        super().__init__(algorithm)
        self.limit = limit
        self.over = 0  # this snapshot and all before it

    def end(self, ports: Ports, id: Id) -> None:
        """Forget a snapshot and all before it: it is stored, or will never be."""
        self.over = max(self.over, _number(id))
        for old in [old for old in self.recorders if _number(old) <= self.over]:
            given_up = self.recorders.pop(old).result() is None
            port: Any = ports(old)
            if given_up and hasattr(port, "release"):  # then what it has held must not stay held
                for channel in port.inputs:
                    port.release(channel)

    def begin(self, ports: Ports, id: Id) -> None:
        """Initiate the snapshot of this id, unless it is over."""
        if self._is_new(ports, id):
            super().begin(ports, id)

    def on_receive(self, ports: Ports, channel: Channel, wire: Stamped | Tagged) -> Payload | None:
        """Let only the newest snapshot see it; give up on one that logs too much."""
        if isinstance(wire, Tagged):
            if not self._is_new(ports, wire.id):
                return None
        else:
            wire = Stamped(wire.plain, tuple(s for s in wire.stamps if self._is_new(ports, s[0])))
        message = super().on_receive(ports, channel, wire)
        if self.limit is not None:
            for id, recorder in list(self.recorders.items()):
                logged = sum(map(len, getattr(recorder, "logged", {}).values()))
                if logged > self.limit:
                    ports(id).report(TooMuchInTransit(_number(id), logged))
                    self.end(ports, id)
        return message

    def _is_new(self, ports: Ports, id: Id) -> bool:
        if _number(id) <= self.over:
            return False
        self.end(ports, _number(id) - 1)
        return True


def _number(id: Id) -> int:
    if not isinstance(id, int):
        raise TypeError(f"the snapshot {id!r}: its id must be a number, for a newer one is greater")
    return id


class Notice(NamedTuple):
    """What the coordinator has decided: that a snapshot begins, is complete, or is aborted.

    One that cannot even begin has no id yet, and 0 in its place.
    """

    what: str
    id: int
    why: str = ""

    def __str__(self) -> str:
        which = f"snapshot {self.id}" if self.id else "a snapshot"
        return f"{which} {self.what}" + (f": {self.why}" if self.why else "")


BEGINS, COMPLETE, ABORTED, CANNOT = "begins", "is complete", "is aborted", "cannot begin"


class SnapshotsFail(RuntimeError):
    """More snapshots have failed in a row than are tolerated."""


class Coordinator:
    """Begins a snapshot every so often, and gives up on one that is not acknowledged in time.

    Its memory is the store. One that starts again on the same store finds the complete snapshots,
    collects the others, and goes on with ids that nobody has used.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as path, Store(path) as store:
    ...     coordinator = Coordinator(store, ["p"], every=10, timeout=5, tolerated=1)
    ...     for now in (10, 15, 20):
    ...         print(*coordinator.tick(now))
    snapshot 1 begins
    snapshot 1 is aborted: nothing from p after 5; is somebody down, or the time too short?
    snapshot 2 begins
    """

    def __init__(
        self,
        store: Store,
        members: Iterable[str],
        *,
        every: float,
        timeout: float,
        tolerated: int = 0,
        now: float = 0,
    ) -> None:
        """Nothing runs yet; the first snapshot is due after `every`."""
        self.store, self.members = store, tuple(members)
        self.every, self.timeout, self.tolerated = every, timeout, tolerated
        self.running: int | None = None
        self.receipts: dict[str, Receipt] = {}
        self.due, self.deadline = now + every, now
        self.failures = 0  # in a row

    def tick(self, now: float) -> list[Notice]:
        """Say what is to be done at this time: give up on a snapshot, or begin one."""
        if self.running is not None:
            if now < self.deadline:
                return []
            silent = ", ".join(p for p in self.members if p not in self.receipts)
            late = f"nothing from {silent}" if silent else "messages are still owed"
            why = f"{late} after {self.timeout}; is somebody down, or the time too short?"
            return self.fail(self.running, why)
        if now < self.due:
            return []
        self.due, self.deadline = now + self.every, now + self.timeout
        try:
            self.running, self.receipts = self.store.begin(self.members), {}
        except OSError as error:
            return self._count([Notice(CANNOT, 0, f"the store cannot write: {error}")])
        return [Notice(BEGINS, self.running)]

    def acknowledge(self, id: int, process: str, receipt: Receipt) -> list[Notice]:
        """Take the receipt of a stored part; the last one that is missing completes the snapshot.

        What comes of another snapshot than the running one is too late, and does no harm.
        """
        if id != self.running or process not in self.members:
            return []
        self.receipts[process] = receipt
        owed = still_owed(each.owed for each in self.receipts.values())
        if len(self.receipts) < len(self.members) or owed:
            return []
        try:
            self.store.commit(id, self.receipts)
        except OSError as error:
            return self.fail(id, f"the store cannot write: {error}")
        self.running, self.failures = None, 0
        return [Notice(COMPLETE, id)]

    def fail(self, id: int | None, why: str) -> list[Notice]:
        """Abort a snapshot that has failed, and count it."""
        return self._count(self.abort(id, why))

    def abort(self, id: int | None, why: str) -> list[Notice]:
        """Abort a snapshot through no fault of its own; without effect unless it is running."""
        if id is None or id != self.running:
            return []
        self.running = None
        self.store.abort(id)
        return [Notice(ABORTED, id, why)]

    def change(self, members: Iterable[str]) -> list[Notice]:
        """Let processes join or leave: a snapshot that runs is of the old ones, and aborted."""
        self.members = tuple(members)
        return self.abort(self.running, "the members have changed")

    def _count(self, failed: list[Notice]) -> list[Notice]:
        self.failures += len(failed)
        if failed and self.failures > self.tolerated:
            number = f"{self.failures} in a row, {self.tolerated} tolerated"
            raise SnapshotsFail(f"{failed[0]} ({number})")
        return failed
