"""Spark's checkpoint directory read as what it is: a row of snapshots, each with its parts.

It runs no query and changes no file. The names are Spark's, the roles are those of a snapshot:

    offsets/N      where the cut goes through the sources; in micro-batches written before the work
    state/…/N+1    the states of the operators
    commits/N      the manifest: with it, snapshot N is complete
    (no file)      the states of the channels: a batch drains them, so they are empty
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .sessions import session
from .streaming import Ledger

OFFSETS, COMMITS, NOTHING = "offsets", "commits", "-"
VERSIONS = {OFFSETS: ("v1",), COMMITS: ("v1", "v2")}  # v2 names each state file as well


class BadCheckpoint(ValueError):
    """A directory that is no checkpoint, or a damaged one: the text names the file and a remedy."""


class WrongState(ValueError):
    """The state of an epoch is not what the input up to its offset produces."""


@dataclass(frozen=True)
class Checkpoint:
    """The snapshots of a query: for each epoch its offsets, and whether it is complete."""

    path: Path
    offsets: Mapping[int, tuple[Any, ...]]  # by epoch; one offset for each source
    commits: tuple[int, ...]
    continuous: bool = False

    @property
    def epochs(self) -> tuple[int, ...]:
        """All epochs that are written down; in micro-batch mode, an epoch is a batch."""
        return tuple(self.offsets)

    @property
    def planned(self) -> tuple[int, ...]:
        """The epochs that have offsets and no commit.

        A batch is run again. In continuous mode the offsets are no plan but a report, and what was
        read behind the last commit is read again.
        """
        return tuple(epoch for epoch in self.offsets if epoch not in self.commits)

    @property
    def with_state(self) -> tuple[int, ...]:
        """The complete epochs whose state is still there: Spark deletes old ones."""
        versions = {version for files in self._state() for version in files}
        return tuple(epoch for epoch in self.commits if versions and min(versions) <= epoch + 1)

    def _state(self) -> list[dict[int, str]]:
        """For each partition of the state its files, by version: 3.zip, 3.delta, 3_….changelog."""
        return [
            {int(re.split("[._]", file.name)[0]): file.name for file in partition.glob("[0-9]*")}
            for partition in sorted(self.path.glob("state/*/[0-9]*"))
        ]

    def state(self, epoch: int) -> dict[Any, Any]:
        """The balances in the state of a complete epoch, through Spark's own reader."""
        if epoch not in self.commits:
            known = f"the complete epochs are {_and(self.commits)}"
            raise ValueError(f"{self.path}: epoch {epoch} is not complete, {known}")
        reader = session().read.format("statestore").option("batchId", epoch)
        try:
            rows = reader.option("stateVarName", "balance").load(str(self.path)).collect()
        except Exception as error:  # Spark has many, and a broken file ends in any of them
            reason = str(error).partition("\n")[0][:200]
            raise BadCheckpoint(
                f"{self.path / 'state'}: the state of epoch {epoch} cannot be read "
                f"({reason}): put back a copy of the directory"
            ) from None
        return {row.key[0]: row.value[0] for row in sorted(rows)}

    def roles(self, epoch: int) -> str:
        """Which file plays which part in the snapshot of an epoch: a table."""
        if epoch not in self.offsets:
            raise ValueError(f"there is no epoch {epoch}; there are {_and(self.epochs)}")
        partitions = self._state()
        files = [each[epoch + 1] for each in partitions if epoch + 1 in each]
        counted = f"{_count(len(files), 'file')}, for {_count(len(partitions), 'partition')}"
        if len(files) < len(partitions):
            counted += ": incomplete"
        empty, missing = "between two batches nothing is under way", "run it again"
        if self.continuous:
            empty, missing = (
                "each task reads, works and writes by itself",
                "its rows are read again",
            )
        return _table(
            ("part of the snapshot", "file", "here"),
            ("the cut through the sources", f"offsets/{epoch}", _places(self.offsets[epoch])),
            (
                "states of the operators",
                f"state/…/{files[0]}" if files else "no file",
                counted if partitions else "none",
            ),
            ("states of the channels", "no file", f"empty: {empty}"),
            (
                "the manifest",
                f"commits/{epoch}",
                "complete" if epoch in self.commits else f"missing: {missing}",
            ),
        )

    def __repr__(self) -> str:
        mode, only = ("continuous", "reported") if self.continuous else ("micro-batch", "planned")
        rows = [
            (str(epoch), _places(offset), "yes" if epoch in self.commits else f"no: {only} only")
            for epoch, offset in self.offsets.items()
        ]
        title = f"Checkpoint ({mode}): {len(self.offsets)} epochs, {len(self.commits)} complete."
        return f"{title}\n{_table(('epoch', 'offsets: the cut', 'committed'), *rows)}"


# --- reading the logs ----------------------------------------------------------------------------


def checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint directory, of micro-batches or of continuous mode."""
    path = Path(path)
    give = "give the checkpointLocation of a query"
    if not path.is_dir():
        raise BadCheckpoint(f"{path}: there is no such directory; {give}")
    if not any(path.iterdir()):
        raise BadCheckpoint(f"{path} is empty: no query has begun with it; {give} that has run")
    if not (path / "metadata").is_file() or not (path / OFFSETS).is_dir():
        missing = OFFSETS if (path / "metadata").is_file() else "metadata"
        raise BadCheckpoint(f"{path} is no checkpoint of Spark, for it has no {missing}; {give}")
    planned, done = dict(_log(path / OFFSETS)), dict(_log(path / COMMITS))
    for epoch in done:
        if epoch not in planned:
            raise BadCheckpoint(
                f"{path / COMMITS / str(epoch)}: epoch {epoch} is committed, and "
                f"{path / OFFSETS / str(epoch)} is not there: {_COPY}"
            )
    # Micro-batches note settings of the query beside the offsets; continuous mode does not.
    continuous = bool(planned) and all(settings is None for settings, *_ in planned.values())
    offsets = {epoch: tuple(offset) for epoch, (_, *offset) in planned.items()}
    return Checkpoint(path, offsets, tuple(done), continuous)


_COPY = "put back a copy of it; without it nobody knows where the cut went"


def _log(directory: Path) -> Iterator[tuple[int, list[Any]]]:
    """The numbered files of a log, in order, without gaps; hidden ones are Spark's checksums."""
    found = [int(file.name) for file in directory.glob("[0-9]*") if file.name.isdecimal()]
    for last, epoch in zip([None, *sorted(found)], sorted(found), strict=False):
        if last is not None and epoch != last + 1:
            lost = directory / str(last + 1)
            raise BadCheckpoint(
                f"{lost} is missing, and {directory / str(epoch)} is there: {_COPY}"
            )
        yield epoch, _entry(directory / str(epoch), VERSIONS[directory.name])


def _entry(file: Path, versions: Sequence[str]) -> list[Any]:
    """The lines behind the version: JSON, an empty one or a - where there is nothing to say."""
    version, *lines = file.read_text(errors="replace").splitlines() or [""]
    if re.fullmatch(r"v\d+", version) and version not in versions:
        known = _and(versions)
        raise BadCheckpoint(f"{file} has version {version}, and {known} can be read: use its Spark")
    try:
        if version not in versions or len(lines) < (2 if file.parent.name == OFFSETS else 1):
            raise ValueError("lines are missing")
        return [json.loads(line) if line not in ("", NOTHING) else None for line in lines]
    except ValueError as error:
        raise BadCheckpoint(f"{file} is torn ({error}): {_COPY}") from None


# --- the proof -----------------------------------------------------------------------------------


def verify(checkpoint: Checkpoint, source: Ledger) -> tuple[int, ...]:
    """Prove that the state of every epoch is what the input up to its offset produces.

    It reads each state that is still there, and counts anew from the opening balances. It gives the
    epochs that it has proved, and raises WrongState at the first account that differs.
    """
    if not checkpoint.with_state:
        raise WrongState(f"{checkpoint.path}: no complete epoch has a state; nothing can be proved")
    for epoch in checkpoint.with_state:
        (offset,) = checkpoint.offsets[epoch]
        where = f"epoch {epoch}, offset {_places((offset,))}"
        if not isinstance(offset, dict) or not offset.keys() <= source.end.keys():
            raise WrongState(f"{where}: the source has the branches {_and([*source.end])}")
        for branch, there in source.end.items():
            if offset.get(branch, 0) > there:
                raise WrongState(f"{where}: the source has {there} transfers of {branch}")
        touched = {leg.account for leg in source.legs(offset)}
        due = {account: b for account, b in source.balances(offset).items() if account in touched}
        found = checkpoint.state(epoch)
        for account in sorted(due.keys() | found.keys()):
            if due.get(account) != found.get(account):
                says = f"account {account} has {found.get(account, 'no state')}"
                gives = due.get(account, "no transfer")
                raise WrongState(f"{where}: {says}, and the input gives {gives}")
    return checkpoint.with_state


# --- in words ------------------------------------------------------------------------------------


def _table(*lines: Sequence[str]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _places(offsets: Sequence[Any]) -> str:
    """Offsets in one line: north 3, south 2."""
    return "; ".join(map(_place, offsets))


def _place(offset: Any) -> str:
    if not isinstance(offset, dict):
        return "nothing" if offset is None else str(offset)
    if "value" in offset:  # the source of numbers notes the time as well
        return str(offset["value"])
    return ", ".join(f"{key} {_place(at)}" for key, at in sorted(offset.items()))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _and(items: Sequence[Any]) -> str:
    return ", ".join(map(str, items)) or "none"
