"""Traces as tables: the messages, the events and the cuts of a run, of ours or of somebody else's.

It knows which columns a table has and where it is stored. It judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegralType, StringType, StructType

from ..causality import vector_clocks
from ..cuts import Cut
from ..events import Computation
from ..runs import Run
from .sessions import session

NAME, NUMBER = "a string or an integer", "an integer"
COLUMNS = {
    "messages": {"id": NAME, "src": NAME, "dst": NAME, "sent": NUMBER, "received": NUMBER},
    "events": {"process": NAME, "position": NUMBER},
    "cuts": {"cut": NAME, "process": NAME, "frontier": NUMBER},
    "values": {"process": NAME, "position": NUMBER},
}
BLOCK = 16  # rounds of a synthetic trace among which arrivals are mixed


class MalformedTrace(ValueError):
    """What is no trace at all: a column is missing or of a wrong type, or a file is unreadable."""


@dataclass(frozen=True)
class Trace:
    """The tables of a run: its messages, and, where they are known, its events and cuts."""

    messages: DataFrame
    events: DataFrame | None = None
    cuts: DataFrame | None = None

    def write(self, path: str | Path, format: str = "parquet") -> None:
        """Write the tables below a directory, messages in the order of sending.

        So the numbers of a block of rows lie close together, and a reader who asks for few of
        them skips most blocks.
        """
        for name in ("messages", "events", "cuts"):
            table: DataFrame | None = getattr(self, name)
            if table is not None:
                if name == "messages":
                    table = table.sortWithinPartitions("sent", "src")
                writer = table.write.format(format).mode("overwrite")
                writer.option("ignoreNullFields", False).save(str(Path(path) / name))


def checked(table: DataFrame, name: str) -> DataFrame:
    """Give a table with the columns and types of its kind, or say what is wrong."""
    wanted, found = COLUMNS[name], {field.name: field.dataType for field in table.schema}
    for column, kind in wanted.items():
        if column not in found:
            there = ", ".join(found) or "nothing"
            raise MalformedTrace(f"{name}: there is no column {column} ({kind}), only {there}")
        if not _is(found[column], kind):
            there = found[column].simpleString()
            raise MalformedTrace(f"{name}: column {column} is {there}, and {kind} is expected")
    return table


def same_kind(table: DataFrame, column: str, other: DataFrame, its: str) -> None:
    """Refuse processes that are names in one table and numbers in the other."""
    kinds = [table.schema[column].dataType, other.schema[its].dataType]
    if isinstance(kinds[0], StringType) != isinstance(kinds[1], StringType):
        one, two = (kind.simpleString() for kind in kinds)
        raise MalformedTrace(f"{column} is {one} and {its} is {two}: processes have one type")


def _is(kind: DataType, wanted: str) -> bool:
    return isinstance(kind, IntegralType) or (wanted == NAME and isinstance(kind, StringType))


def trace(
    run: Run | Computation,
    cuts: Mapping[Any, Cut] | None = None,
    spark: SparkSession | None = None,
) -> Trace:
    """Give the tables of a run, or of a computation with these cuts.

    If all payloads are integers they are there too, as `amount`.
    """
    spark = spark or session()
    computation = run.computation if isinstance(run, Run) else run
    cuts = run.cuts if cuts is None and isinstance(run, Run) else cuts or {}
    sent = computation.messages.values()
    amounts = sent and all(type(m.payload) is int for m in sent)
    messages = [
        (m.name, m.src, m.dst, m.sent, m.received, *([m.payload] if amounts else [])) for m in sent
    ]
    clocks = vector_clocks(computation)
    events = [
        (e.process, e.position, e.name, len(e.sends) + len(e.receives), clocks[e])
        for e in computation
    ]
    numbered = all(type(id) is int for id in cuts)
    frontiers = [
        (id if numbered else str(id), p, cut[p])
        for id, cut in cuts.items()
        for p in computation.processes
    ]
    columns = "id string, src string, dst string, sent bigint, received bigint"
    return Trace(
        spark.createDataFrame(messages, columns + (", amount bigint" if amounts else "")),
        spark.createDataFrame(
            events,
            "process string, position bigint, label string, messages int, "
            "clock map<string, bigint>",
        ),
        cuts_table(spark, frontiers, "bigint" if numbered else "string", "string"),
    )


def cuts_table(
    spark: SparkSession, rows: Iterable[tuple[Any, ...]], id: str, process: str
) -> DataFrame:
    """Make a table of cuts from rows: cut, process, frontier."""
    return spark.createDataFrame(
        [*rows], f"cut {id}, process {process}, frontier bigint", verifySchema=False
    )


def read_trace(path: str | Path, spark: SparkSession | None = None) -> Trace:
    """Read a trace: a directory with messages, events and cuts, or messages alone.

    Each table is parquet or JSON lines, a file or a directory of files, whoever wrote it.
    """
    place = Path(path)
    found: dict[str, Path] = {}
    for file in sorted(place.glob("*")):
        name = file.name.partition(".")[0]
        if name in ("messages", "events", "cuts") and (file.is_dir() or file.suffix):
            if name in found:
                both = f"{found[name].name} and {file.name}"
                raise MalformedTrace(f"{place}: {both}: which are the {name}? Leave one of them")
            found[name] = file
    if not found:
        return Trace(read_table(place, "messages", spark))
    if "messages" not in found:
        raise MalformedTrace(f"{place}: there are {', '.join(found)}, and no messages")
    return Trace(**{name: read_table(file, name, spark) for name, file in found.items()})


def read_table(path: str | Path, name: str, spark: SparkSession | None = None) -> DataFrame:
    """Read one table of a trace, parquet or JSON lines, and check its columns."""
    place, spark = Path(path), spark or session()
    if not place.exists():
        raise MalformedTrace(f"{place}: there is no such file or directory")
    parts = [p for p in [place, *sorted(place.rglob("*"))] if p.is_file() and p.name[0] not in "._"]
    if not parts:
        raise MalformedTrace(f"{place}: there is no file in it")
    with parts[0].open("rb") as file:
        is_json = file.read(4) != b"PAR1"
    try:
        strict = spark.read.option("mode", "FAILFAST")
        table = strict.json(str(place)) if is_json else spark.read.parquet(str(place))
    except (PySparkException, Py4JError) as error:
        kind = "JSON lines" if is_json else "parquet"
        raise MalformedTrace(f"{place} cannot be read as {kind}: {_reason(error)}") from error
    if is_json:
        table = _as_meant(table, name)
    try:
        return checked(table, name)
    except MalformedTrace as error:
        raise MalformedTrace(f"{place}: {error}") from None


def _reason(error: Exception) -> str:
    """The one line of a long Java error that tells the cause."""
    lines = [line.strip() for line in str(error).splitlines()]
    causes = [line.partition(": ")[2] for line in lines if line.startswith("Caused by: ")]
    return (causes or [line for line in lines if line] or [repr(error)])[-1 if causes else 0]


def _as_meant(table: DataFrame, name: str) -> DataFrame:
    """Undo what Spark guesses of JSON: nulls alone are strings to it, and a map is a record."""
    if not table.columns and name != "messages":  # without rows, nobody has told the columns
        kinds = (f"{c} {'bigint' if k == NUMBER else 'string'}" for c, k in COLUMNS[name].items())
        return table.sparkSession.createDataFrame([], ", ".join(kinds))
    for field in table.schema:
        column = F.col(f"`{field.name}`")
        text = isinstance(field.dataType, StringType)
        meant = COLUMNS[name].get(field.name)
        if meant == NUMBER and text and table.filter(column.isNotNull()).isEmpty():
            table = table.withColumn(field.name, column.cast("bigint"))
        if field.name == "clock" and isinstance(field.dataType, StructType):
            clock = F.from_json(F.to_json(column), "map<string, bigint>")
            table = table.withColumn("clock", clock)
    return table


def synthetic(
    spark: SparkSession,
    messages: int,
    *,
    processes: int = 64,
    cuts: int = 100,
    bad: int | None = None,
    seed: int = 0,
) -> Trace:
    """Make a valid trace of any size from expressions alone, with cuts that grow.

    In round t every process sends one message, as its event 2t+1, all of them the same number of
    processes ahead; what is sent in a block of 16 rounds arrives two blocks later, in a mixed
    order, as events 2t+2. So every message takes more than 16 rounds, and a cut whose frontiers
    are at most 16 rounds apart is consistent. In cut `bad`, process 0 is 64 rounds too far.
    """
    if processes < 2 or messages < 1:
        raise ValueError("a trace needs two processes and a message, or more")
    rounds = ceil(messages / processes)
    columns = {
        "src": f"cast(id % {processes} as int)",
        "t": f"id div {processes}",
        "shift": f"1 + pmod(xxhash64(t, {seed}), {processes - 1})",
        "mix": f"pmod(xxhash64(t div {BLOCK}, {seed + 1}), {BLOCK * BLOCK})",
        # An odd factor and any summand permute the numbers of a block.
        "place": f"(t % {BLOCK} * (2 * (mix div {BLOCK}) + 1) + mix) % {BLOCK}",
        "r": f"(t div {BLOCK} + 2) * {BLOCK} + place",
        "dst": f"cast((src + shift) % {processes} as int)",
        "sent": "2 * t + 1",
        "received": f"if(r < {rounds}, 2 * r + 2, null)",
    }
    table = spark.range(messages, numPartitions=8)
    for name, expression in columns.items():
        table = table.withColumn(name, F.expr(expression))
    # Cuts are few; but their frontiers must be the same everywhere, so an expression again.
    late = f"if(process = 0 and cut = {-1 if bad is None else bad}, {4 * BLOCK}, 0)"
    at = f"(cut + 1) * {max(rounds - BLOCK, 0)} div {cuts + 1}"
    jitter = f"pmod(xxhash64(cut, process, {seed}), {2 * BLOCK})"
    grid = spark.range(cuts * processes, numPartitions=1).selectExpr(
        f"id div {processes} cut", f"cast(id % {processes} as int) process"
    )
    frontier = f"cast(least(2 * ({at} + {late}) + {jitter}, {2 * rounds - 2}) as bigint) frontier"
    return Trace(
        table.select("id", "src", "dst", "sent", "received"),
        cuts=grid.selectExpr("cut", "process", frontier),
    )
