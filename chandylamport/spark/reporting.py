"""The audit at the command line: files come in, a table and an exit status go out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType

from .auditing import audit
from .sessions import MASTER, session, stop
from .tables import MalformedTrace, cuts_table, read_table, read_trace

CONSISTENT, INCONSISTENT, BAD_INPUT = 0, 1, 2
WIDTH, PAUSE = 30, 0.2


def report(trace: str, cuts: str, *, master: str = MASTER, checked: bool = False) -> int:
    """Print the audit of a trace; the status says whether all cuts are consistent."""
    try:
        spark = session(master)
        with progress(spark):
            tables = read_trace(trace, spark)
            wanted = read_cuts(cuts, tables.messages, spark)
            rows = audit(tables.messages, wanted, events=tables.events, checked=checked).collect()
    except Exception as error:  # whatever it is, it is no verdict
        print(f"chandylamport: {' '.join(str(error).split())[:1000]}", file=sys.stderr)
        return BAD_INPUT
    finally:
        stop()
    width = max(len("cut"), *(len(str(row.cut)) for row in rows))
    print(f"{'cut':{width}}  {'orphans':>10}  {'in transit':>10}  verdict")
    for row in rows:
        verdict = "consistent" if row.consistent else "INCONSISTENT"
        print(f"{row.cut!s:{width}}  {row.orphans:>10,}  {row.in_transit:>10,}  {verdict}")
    return CONSISTENT if all(row.consistent for row in rows) else INCONSISTENT


def read_cuts(path: str, messages: DataFrame, spark: SparkSession) -> DataFrame:
    """Read cuts: a table, or one JSON object `{"cut": {"process": frontier}}`."""
    place, known = Path(path), messages.schema["src"].dataType
    try:
        whole = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else None
    except ValueError:  # parquet, or JSON lines
        whole = None
    if not isinstance(whole, dict) or not all(isinstance(of, dict) for of in whole.values()):
        return read_table(place, "cuts", spark)
    named = isinstance(known, StringType)
    numbered = all(id.isdecimal() and id == str(int(id)) for id in whole)
    rows = []
    for id, frontiers in whole.items():
        if not frontiers:
            raise MalformedTrace(f"{place}: cut {id} names no process: write a 0 for one of them")
        for process, frontier in frontiers.items():
            fits = type(frontier) is int and abs(frontier) < 2**63
            if not fits or not (named or process.lstrip("-").isdecimal()):
                wanted = "a name" if named else "a number"
                problem = f"a process is {wanted}, and its frontier an integer"
                raise MalformedTrace(f"{place}: cut {id}: {process}: {frontier!r}: {problem}")
            rows.append((int(id) if numbered else id, process if named else int(process), frontier))
    id_type, kind = "bigint" if numbered else "string", "string" if named else "bigint"
    return cuts_table(spark, rows, id_type, kind)


@contextmanager
def progress(spark: SparkSession) -> Iterator[None]:
    """Show on a terminal how many tasks of the current stages are done."""
    if not sys.stderr.isatty():
        yield
        return
    done = Event()
    thread = Thread(target=_draw, args=(spark, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _draw(spark: SparkSession, done: Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not done.wait(PAUSE):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        finished = sum(stage.numCompletedTasks for stage in stages if stage)
        tasks = sum(stage.numTasks for stage in stages if stage)
        bar = "█" * (WIDTH * finished // tasks if tasks else 0)
        print(f"\r{bar:·<{WIDTH}} {finished}/{tasks} tasks ", end="", file=sys.stderr, flush=True)
