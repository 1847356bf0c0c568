"""Structured Streaming on a bank: a source that can be asked again, a memory, and two sinks.

It knows nothing of markers, and neither does Spark in micro-batch mode: each batch reads a stretch
of the input that was written down beforehand, works it off completely, and is then marked as done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from shutil import rmtree
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple
from uuid import uuid4

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from .sessions import PREFIX

TRANSFER = "branch string, number bigint, payer string, payee string, amount bigint"
LEG = "branch string, number bigint, account string, amount bigint, balance bigint"
Offset = Mapping[str, int]  # by branch, how many of its transfers have been read; absent: none


# --- the input -----------------------------------------------------------------------------------


class Transfer(NamedTuple):
    """An amount that goes from one account to another."""

    payer: str
    payee: str
    amount: int


class Leg(NamedTuple):
    """One of the two sides of a transfer, which is known by its branch and its number there."""

    branch: str
    number: int
    account: str
    amount: int


@dataclass(frozen=True)
class Ledger:
    """The whole input: opening balances, and the transfers of each branch in their order.

    >>> ledger = Ledger({"p": 10, "q": 0}, {"north": (Transfer("p", "q", 3),)})
    >>> ledger.balances()
    {'p': 7, 'q': 3}
    >>> [leg.amount for leg in ledger.legs()]
    [-3, 3]
    """

    opening: Mapping[str, int]
    branches: Mapping[str, Sequence[Transfer]]

    @property
    def end(self) -> Offset:
        """The offset behind the last transfer of each branch."""
        return {branch: len(transfers) for branch, transfers in self.branches.items()}

    def legs(self, end: Offset | None = None, start: Offset | None = None) -> list[Leg]:
        """Both sides of every transfer between two offsets."""
        start, end = start or {}, self.end if end is None else end
        found = []
        for branch, transfers in self.branches.items():
            for number in range(start.get(branch, 0), end.get(branch, 0)):
                payer, payee, amount = transfers[number]
                found += [Leg(branch, number, payer, -amount), Leg(branch, number, payee, amount)]
        return found

    def balances(self, end: Offset | None = None) -> dict[str, int]:
        """The balances that the input up to an offset produces: the definition."""
        balances = dict(self.opening)
        for leg in self.legs(end):
            balances[leg.account] += leg.amount
        return balances

    def write(self, path: str | Path) -> Path:
        """Write it to a file, from which it can be read again and again."""
        Path(path).write_text(json.dumps(asdict(self)))
        return Path(path)

    @classmethod
    def read(cls, path: str | Path) -> Ledger:
        """Read what `write` wrote."""
        try:
            data = json.loads(Path(path).read_text())
            branches = {
                name: tuple(Transfer(*each) for each in transfers)
                for name, transfers in data["branches"].items()
            }
            return cls(data["opening"], branches)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{path} is no ledger ({error}): write one with Ledger.write"
            ) from None


def transfers(number: int, *, seed: int = 0, **opening: int) -> Ledger:
    """A stream of transfers between accounts, which two branches of a bank take in, in turn.

    >>> transfers(4, seed=1, p=100, q=100).end
    {'north': 2, 'south': 2}
    """
    random, made = Random(seed), []
    for _ in range(number):
        payer, payee = random.sample(sorted(opening), 2)
        made.append(Transfer(payer, payee, random.randint(1, 9)))
    return Ledger(opening, {"north": tuple(made[0::2]), "south": tuple(made[1::2])})


def batch_balances(spark: SparkSession, ledger: Ledger) -> dict[str, int]:
    """The balances as a plain batch query gives them: no stream, no batches, no state."""
    opening = spark.createDataFrame([*ledger.opening.items()], "account string, amount bigint")
    legs = spark.createDataFrame(ledger.legs()).select("account", "amount")
    totals = opening.union(legs).groupBy("account").agg(f.sum("amount").alias("balance"))
    return {row.account: row.balance for row in totals.orderBy("account").collect()}


# --- the source ----------------------------------------------------------------------------------


@dataclass
class Stretch(InputPartition):
    """The transfers of one branch that belong to a batch: one task reads them."""

    branch: str
    start: int
    end: int


class TransferReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a ledger from any offset on, and gives the same each time.

    It remembers nothing about what it has read: Spark does, in its checkpoint.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.path, self.rows = options["path"], int(options["rows"])

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that this query will read."""
        self.target = Ledger.read(self.path).end

    def getDefaultReadLimit(self) -> ReadLimit:
        """Ask for small batches."""
        return ReadMaxRows(self.rows)

    def initialOffset(self) -> dict[str, int]:
        """Begin at the beginning."""
        return dict.fromkeys(Ledger.read(self.path).branches, 0)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """Where the next batch ends: as far as the limit allows, divided among the branches."""
        self._must_have(start)
        share = max(1, self.rows // len(self.target))
        return {
            branch: min(start.get(branch, 0) + share, there)
            for branch, there in self.target.items()
        }

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Stretch]:
        """One task for each branch with something new."""
        self._must_have(end)
        stretches = (Stretch(branch, start.get(branch, 0), end[branch]) for branch in end)
        return [each for each in stretches if each.start < each.end]

    def _must_have(self, offset: Offset) -> None:
        there = Ledger.read(self.path).end
        for branch, read in offset.items():
            if read > there.get(branch, 0):
                raise ValueError(
                    f"{self.path} has {there.get(branch, 0)} transfers of {branch}, and the "
                    f"checkpoint is at {read}: put back the ledger that was read"
                )

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Read a stretch, today or after a crash: offsets say which transfers are in it."""
        assert isinstance(partition, Stretch)
        found = Ledger.read(self.path).branches[partition.branch]
        for number in range(partition.start, partition.end):
            yield (partition.branch, number, *found[number])


class Transfers(DataSource):
    """A replayable source of transfers, with explicit offsets: `{"north": 3, "south": 2}`."""

    reads: type[TransferReader] = TransferReader

    def schema(self) -> str:
        """One row for each transfer."""
        return TRANSFER

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        """Made anew in each process that needs one."""
        return self.reads(self.options)


# --- the operator --------------------------------------------------------------------------------


class RunningBalances(StatefulProcessor):
    """Keeps the balance of each account in Spark's state store, and tells it after each leg."""

    def __init__(self, opening: Mapping[str, int]) -> None:
        self.opening = dict(opening)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: one number for each account."""
        self.balance = handle.getValueState("balance", "balance bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        """Work off one account's legs of a batch, in an order that is the same each time."""
        (account,) = key
        state = self.balance.get()
        balance = self.opening[account] if state is None else state[0]
        for leg in sorted(rows, key=lambda leg: (leg.number, leg.branch)):
            balance += leg.amount
            yield Row(**leg.asDict(), balance=balance)
        self.balance.update((balance,))


def _legs(transfers: DataFrame) -> DataFrame:
    """Two rows for each transfer: the payer's and the payee's."""
    sides = f.array(
        f.struct(f.col("payer").alias("account"), (-f.col("amount")).alias("amount")),
        f.struct(f.col("payee").alias("account"), f.col("amount")),
    )
    return transfers.select("branch", "number", f.inline(sides))


# --- the sinks -----------------------------------------------------------------------------------


class AppendingWriter(DataSourceStreamWriter):
    """Shows every row at once, in the one file of its directory."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.directory = Path(options["path"])
        self.directory.mkdir(parents=True, exist_ok=True)

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        """Append row after row; there is no way back."""
        with (self.directory / "rows.jsonl").open("a", buffering=1) as file:
            for row in iterator:
                file.write(json.dumps(row.asDict()) + "\n")
        return WriterCommitMessage()


@dataclass
class Staged(WriterCommitMessage):
    """What a task says when it has set its part aside."""

    file: str


class TransactionalWriter(AppendingWriter):
    """Sets rows aside, and shows a whole batch in one step, under the batch's own name.

    A batch that is run again replaces itself. What nobody has committed is never seen.
    """

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        """Write the rows of one task where no reader looks."""
        aside = self.directory / "staged"
        aside.mkdir(exist_ok=True)
        path = aside / f"{uuid4()}.jsonl"
        path.write_text("".join(json.dumps(row.asDict()) + "\n" for row in iterator))
        return Staged(str(path))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """All tasks have succeeded: publish the batch, then tidy up what was set aside."""
        files = [Path(message.file) for message in messages if isinstance(message, Staged)]
        lines = sorted(line for file in files for line in file.read_text().splitlines())
        whole = self.directory / "staged" / "whole"
        whole.write_text("".join(f"{line}\n" for line in lines))
        whole.replace(self.directory / f"batch-{batchId:06}.jsonl")
        self.abort(messages, batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing has been shown, so there is nothing to take back: throw away what is aside."""
        rmtree(self.directory / "staged", ignore_errors=True)


class AppendingSink(DataSource):
    """A plain sink: a batch that is run again shows twice."""

    writes: type[AppendingWriter] = AppendingWriter

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        """Made anew in each process that needs one."""
        return self.writes(self.options)


class TransactionalSink(AppendingSink):
    """A sink that shows each batch once, however often it is run."""

    writes = TransactionalWriter


def shown(directory: str | Path) -> list[dict[str, Any]]:
    """What somebody who reads a sink's directory sees: its rows, file by file."""
    files = sorted(Path(directory).glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def legs_of(rows: Iterable[Mapping[str, Any]]) -> list[Leg]:
    """Which legs the rows of a sink tell about."""
    return [Leg(row["branch"], row["number"], row["account"], row["amount"]) for row in rows]


# --- the query -----------------------------------------------------------------------------------


def start(
    spark: SparkSession,
    source: str | Path,
    into: str | Path,
    *,
    checkpoint: str | Path,
    sink: type[DataSource] = TransactionalSink,
    rows: int = 6,
    reader: type[DataSource] = Transfers,
    operator: type[RunningBalances] = RunningBalances,
) -> StreamingQuery:
    """Start a query that keeps the balances of all transfers that are there now, and then ends."""
    for each in (reader, sink):
        spark.dataSource.register(each)
    stream = spark.readStream.format(reader.name()).option("rows", rows).load(str(source))
    processor = operator(Ledger.read(source).opening)
    told = _legs(stream).groupBy("account").transformWithState(processor, LEG, "Append", "None")
    writer = told.writeStream.format(sink.name()).outputMode("append")
    writer = writer.option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start(str(into))


def balances(spark: SparkSession, source: str | Path, into: str | Path, **how: Any) -> None:
    """Run the query of `start` to its end."""
    start(spark, source, into, **how).awaitTermination()


# --- without batches -----------------------------------------------------------------------------


def run_continuously(
    spark: SparkSession,
    checkpoint: str | Path,
    epochs: int = 3,
    past: int = -1,
    patience: float = 60,
) -> list[int]:
    """Run numbers through a map in continuous mode, and give those that have been through it.

    Each task of the source puts an epoch marker behind what it has read so far; when it has come to
    the sink in all tasks, the epoch is committed. The query is stopped when so many epochs have
    moved on past a number, in both partitions: the even numbers, and the odd ones.
    """
    known, until = _epochs(checkpoint, "offsets"), monotonic() + patience

    def moved() -> int:
        new = sorted(_epochs(checkpoint, "commits") - known)[-50:]  # old ones are cleaned away
        files = [Path(checkpoint, "offsets", str(epoch)) for epoch in new]
        ends = [json.loads(file.read_text().splitlines()[-1]) for file in files]
        # While tasks still start, epochs pass in which nothing is read: their ends are the same.
        places = [{end[parity]["value"] for end in ends} for parity in "01"]
        return min(len({place for place in each if place > past}) for each in places)

    with TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as notes:

        @f.udf(returnType="bigint", useArrow=False)
        def note(number: int) -> int:
            with Path(notes, str(number % 2)).open("a") as file:
                file.write(f"{number}\n")
            return number

        numbers = spark.readStream.format("rate").option("rowsPerSecond", 200)
        noted = numbers.option("numPartitions", 2).load().select(note("value"))
        writer = noted.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        query = writer.trigger(continuous="200 milliseconds").start()
        try:
            while moved() < epochs:
                if query.awaitTermination(0.05):  # type: ignore[arg-type]
                    raise RuntimeError("the query has ended by itself: somebody has stopped it")
                if monotonic() > until:
                    raise TimeoutError(
                        f"{moved()} of {epochs} epochs have moved on in {patience} seconds: give "
                        "it more patience, or a computer that is less busy"
                    )
        finally:
            query.stop()
        return sorted(int(line) for file in Path(notes).iterdir() for line in file.open())


def _epochs(checkpoint: str | Path, log: str) -> set[int]:
    """The numbers in a log of a checkpoint."""
    return {int(file.name) for file in Path(checkpoint, log).glob("[0-9]*")}
