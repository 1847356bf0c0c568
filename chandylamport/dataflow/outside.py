"""The world outside a dataflow: what everybody can read of its results, and what is staged for it.

Nothing outside goes back when a flow does: it survives crashes, and so do the mistakes of a sink.
It knows no barriers and no channels, only the states of the one task that hands records over.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..encoding import decode, encode
from ..recorder import State
from ..systems import Action
from .operators import END, Record, Sink

Held = tuple[int, tuple[Record, ...]]  # how many records went before, and those that wait


class Outside(ABC):
    """What a sink has handed over, and how: at once, under a key, or in two phases."""

    def __init__(self, sink: Sink) -> None:
        """Stand behind this sink."""
        self.sink = sink

    def hand_over(self, state: State) -> None:
        """Write the record on which the sink works next, unless its records wait for commits."""
        _, ((_, record), *_), _ = state
        if record != END:
            if self.sink.kind == "plain":
                self.append(record)
            if self.sink.kind == "idempotent":
                self.put(self.sink.key(record), record)

    def stage(self, id: int, state: State) -> bool:
        """Phase one: keep what waits for a checkpoint, invisibly; say whether there is anything."""
        if self.sink.kind == "transactional":
            self.keep(id, state[0])
        return bool(state[0][1])

    def commit(self, id: int, state: State) -> Action | None:
        """Phase two: make it visible, once; give the step in which the sink forgets it, if any.

        A sink that was stopped in between does it when it starts again; if it was done before,
        nothing is repeated.
        """
        if self.sink.kind != "transactional":
            return None
        first, records = self.kept(id)
        begin = max(self.committed, first)
        if new := records[begin - first :]:
            self.show(begin, new)
        self.check(state)
        forgets = self.committed > state[0][0]
        return Action("commit", then=self.committed) if forgets else None

    def check(self, state: State) -> None:
        """Refuse to go on from a state of the sink that does not fit what is visible."""
        handed_over, waiting = state[0]
        if self.sink.kind == "transactional" and self.committed < handed_over:
            visible, known = f"{self.committed} records are visible", f"{handed_over} handed over"
            raise RuntimeError(f"{visible}, and {known} by the restored sink: is it another's?")
        if self.committed > handed_over + len(waiting):
            visible, known = f"{self.committed} records are visible", handed_over + len(waiting)
            danger = "going on from there would repeat some of them"
            raise RuntimeError(f"{visible}, and the restored sink knows of {known}: {danger}")

    @property
    @abstractmethod
    def output(self) -> Counter[Record]:
        """What everybody outside can read, as a multiset."""

    @property
    @abstractmethod
    def committed(self) -> int:
        """How many records transactions have made visible."""

    @abstractmethod
    def append(self, record: Record) -> None:
        """Show a record, behind all others."""

    @abstractmethod
    def put(self, key: Any, record: Record) -> None:
        """Show a record in place of the last one with its key."""

    @abstractmethod
    def keep(self, id: int, held: Held) -> None:
        """Keep what waits for a checkpoint."""

    @abstractmethod
    def kept(self, id: int) -> Held:
        """Give what waits for a checkpoint, and forget it and all that is older."""

    @abstractmethod
    def show(self, begin: int, records: tuple[Record, ...]) -> None:
        """Make the records of a transaction visible, all at once, behind so many others."""


class Memory(Outside):
    """A world outside that lasts as long as this program."""

    committed = 0

    def __init__(self, sink: Sink) -> None:
        """Nothing has been written."""
        super().__init__(sink)
        self.visible: list[Record] = []
        self.under_key: dict[Any, Record] = {}
        self.staged: dict[int, Held] = {}  # by checkpoint

    @property
    def output(self) -> Counter[Record]:
        """What everybody outside can read, as a multiset."""
        return Counter([*self.visible, *self.under_key.values()])

    def append(self, record: Record) -> None:
        """Show a record, behind all others."""
        self.visible.append(record)

    def put(self, key: Any, record: Record) -> None:
        """Show a record in place of the last one with its key."""
        self.under_key[key] = record

    def keep(self, id: int, held: Held) -> None:
        """Keep what waits for a checkpoint."""
        self.staged[id] = held

    def kept(self, id: int) -> Held:
        """Give what waits for a checkpoint, and forget it and all that is older."""
        held = self.staged.get(id, (0, ()))
        self.staged = {newer: waits for newer, waits in self.staged.items() if newer > id}
        return held

    def show(self, begin: int, records: tuple[Record, ...]) -> None:
        """Make the records of a transaction visible, all at once, behind so many others."""
        self.visible[begin:] = records
        self.committed = len(self.visible)


class Directory(Outside):
    """A world outside in files, which outlasts every process.

        appended.jsonl              of a plain sink, one record a line
        keys/1f…c0.json             of an idempotent one, under the sha256 of its key
        staged/00000007.json        waits for checkpoint 7
        visible/000000000120.jsonl  of a transaction, under the number of records before it

    A file is renamed into its place: it is there as a whole, or not at all.
    """

    def __init__(self, sink: Sink, path: str | Path) -> None:
        """Go on with what is there."""
        super().__init__(sink)
        self.path = Path(path).absolute()
        for name in ("keys", "staged", "visible"):
            (self.path / name).mkdir(parents=True, exist_ok=True)

    @property
    def output(self) -> Counter[Record]:
        """What everybody outside can read, as a multiset."""
        files = [
            *self.path.glob("*.jsonl"),
            *self.path.glob("visible/*"),
            *self.path.glob("keys/*"),
        ]
        return Counter(record for file in files for record in _read(file))

    @property
    def appended(self) -> list[Record]:
        """What a plain sink has shown, in this order."""
        return _read(self.path / "appended.jsonl")

    @property
    def committed(self) -> int:
        """How many records transactions have made visible."""
        last = max((self.path / "visible").glob("*.jsonl"), default=None)
        return int(last.stem) + len(_read(last)) if last else 0

    def append(self, record: Record) -> None:
        """Add a line, with one call of the system, so that a kill cannot tear it."""
        how = os.O_APPEND | os.O_CREAT | os.O_WRONLY
        descriptor = os.open(self.path / "appended.jsonl", how, 0o644)
        try:
            os.write(descriptor, _lines([record]))
        finally:
            os.close(descriptor)

    def put(self, key: Any, record: Record) -> None:
        """Replace the file of its key."""
        self._write(f"keys/{sha256(_lines([key])).hexdigest()}.json", [record])

    def keep(self, id: int, held: Held) -> None:
        """Write what waits for a checkpoint; a process that writes it again writes the same."""
        self._write(f"staged/{id:08}.json", [held])

    def kept(self, id: int) -> Held:
        """Read what waits for a checkpoint; older files go, this one may still be needed."""
        for file in sorted((self.path / "staged").glob("*.json")):
            if int(file.stem) < id:
                file.unlink(missing_ok=True)
        held: Held = next(iter(_read(self.path / f"staged/{id:08}.json")), (0, ()))
        return held

    def show(self, begin: int, records: tuple[Record, ...]) -> None:
        """Rename a file with all of them into its place; a second time, it replaces itself."""
        self._write(f"visible/{begin:012}.jsonl", records)

    def _write(self, name: str, values: Iterable[Any]) -> None:
        draft = self.path / f"draft.{os.getpid()}"
        draft.write_bytes(_lines(values))
        draft.replace(self.path / name)


def _lines(values: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(encode(value)).encode() + b"\n" for value in values)


def _read(file: Path) -> list[Any]:
    text = file.read_text() if file.exists() else ""
    return [decode(json.loads(line)) for line in text.splitlines()]
