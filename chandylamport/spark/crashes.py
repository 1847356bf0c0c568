"""Crashes on purpose: a stream is stopped at a chosen moment of a chosen batch.

It may not know how Spark recovers. What it needs of source, operator and sink it adds to them as
subclasses, so they know nothing of it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.query import StreamingQuery

from . import streaming
from .sessions import PREFIX, session
from .streaming import AppendingSink, RunningBalances, TransferReader, Transfers

PLACES = {
    "plan": "the source says where the batch ends; nothing is written down yet",
    "planned": "the offsets are written, no task has begun",
    "read": "a task reads from the source",
    "work": "a task works on an account",
    "write": "a task hands a row to the sink",
    "commit": "all tasks have ended, the sink has not committed",
    "committed": "the sink has committed, Spark has not noted it",
}
SLOTS = "local[64]"  # a task that is stopped keeps its slot
PATIENCE = 300  # seconds for all streams to come to their moments


@dataclass(frozen=True)
class Moment:
    """A place in the work on a batch, and the row at which a task comes to it."""

    place: str
    batch: int
    row: int = 0

    def __post_init__(self) -> None:
        if self.place not in PLACES:
            raise ValueError(f"there is no place {self.place!r}; there are {', '.join(PLACES)}")


def interrupted(
    moment: Moment, act: Callable[[], None], sink: type[AppendingSink]
) -> dict[str, Any]:
    """Arguments for `start`: source, operator and sink that do something at a moment."""

    def at(place: str, batch: int, row: int = 0) -> None:
        if moment == Moment(place, batch, row):
            act()

    def watched(place: str, rows: Iterator[Row]) -> Iterator[Row]:
        batch = int(TaskContext.get().getLocalProperty("streaming.sql.batchId"))  # type: ignore
        for number, row in enumerate(rows):
            at(place, batch, number)
            yield row

    class Reader(TransferReader):
        def _batch(self, start: dict[str, int]) -> int:
            return -(-max(start.values()) // max(1, self.rows // len(start)))

        def latestOffset(self, start: Any, limit: Any) -> Any:
            at("plan", self._batch(start))
            return super().latestOffset(start, limit)

        def partitions(self, start: Any, end: Any) -> Any:
            at("planned", self._batch(start))
            return super().partitions(start, end)

        def read(self, partition: Any) -> Any:
            return watched("read", super().read(partition))  # type: ignore[arg-type]

    class Source(Transfers):
        reads = Reader

    class Operator(RunningBalances):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
            return watched("work", super().handleInputRows(key, rows, timerValues))

    class Writer(sink.writes):  # type: ignore[misc, name-defined]
        def write(self, iterator: Any) -> Any:
            return super().write(watched("write", iterator))

        def commit(self, messages: Any, batchId: int) -> None:
            at("commit", batchId)
            super().commit(messages, batchId)
            at("committed", batchId)

    class Sink(sink):  # type: ignore[misc, valid-type]
        writes = Writer

    return {"reader": Source, "operator": Operator, "sink": Sink}


# --- the whole process ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A stream that is to be stopped at a moment, and dies there."""

    source: str
    into: str
    checkpoint: str
    sink: str
    moment: Moment


def kill(jobs: Sequence[Job]) -> int:
    """Run streams in a process of their own, and SIGKILL it when each is at its moment.

    Driver, JVM and workers go at once, without a last word. It gives the exit status, -9.
    """
    with TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as room:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, json.dumps([asdict(job) for job in jobs])],
            env=os.environ | {"TMPDIR": room},  # the dead do not tidy up
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=PATIENCE)
        finally:
            _kill_session(process.pid)
            process.wait()
    if process.returncode != -signal.SIGKILL:
        raise RuntimeError(f"the streams were not killed, but ended: {said[-2_000:]}")
    return process.returncode


def living(session: int) -> list[int]:
    """The processes of a session that are still there."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def _kill_session(leader: int) -> None:
    """Workers of Spark have groups of their own; wait until the last one has gone."""
    while found := living(leader):
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)


def _halt(mark: Path) -> Callable[[], None]:
    def act() -> None:
        mark.touch()
        while True:
            signal.pause()

    return act


def _main(jobs: list[dict[str, Any]]) -> None:
    spark, on_the_way = session(SLOTS), dict[Path, StreamingQuery]()
    for number, job in enumerate(jobs, 1):
        mark = Path(gettempdir(), f"reached-{number}")
        sink = getattr(streaming, job.pop("sink"))
        parts = interrupted(Moment(**job.pop("moment")), _halt(mark), sink)
        on_the_way[mark] = streaming.start(spark, **job, **parts)
        while len(on_the_way) > (number < len(jobs)):  # two at a time; then each waits for all
            for mark, query in [*on_the_way.items()]:
                if mark.exists():
                    del on_the_way[mark]
                elif query.awaitTermination(0.05):  # type: ignore[arg-type]
                    raise SystemExit(f"stream {mark.name[8:]} has ended before its moment")
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
