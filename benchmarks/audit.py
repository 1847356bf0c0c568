"""What does an audit cost, beside a scan of the same columns, and beside DuckDB and Polars?

    python benchmarks/audit.py [messages]

The default is 50 million messages on 64 processes, as parquet in a temporary directory, and then
100 million in a JVM of 4 GB. Each figure is the best of several, all of them in one run. The first
execution of a query is slower: Spark compiles it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from chandylamport import spark as cls

COLUMNS = ("src", "dst", "sent", "received")
MOST_FOR_ONE, MOST_FOR_A_THOUSAND = 1.25, 20


def best(work: Callable[[], object], times: int = 5) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def peak_gigabytes() -> float:
    """The most memory that the JVM has had, as Linux counts it."""
    from pyspark import SparkContext

    status = Path(f"/proc/{SparkContext._gateway.proc.pid}/task")  # the launcher, or Java itself
    family = [int(p) for t in status.iterdir() for p in (t / "children").read_text().split()]
    peaks = [
        int(line.split()[1])
        for pid in [SparkContext._gateway.proc.pid, *family]
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    ]
    return max(peaks) / 2**20


def make(messages: int, cuts: int, bad: int, place: Path) -> cls.Trace:
    spark = cls.session(conf={"spark.driver.memory": "4g"})
    made = cls.synthetic(spark, messages, cuts=cuts, bad=bad)
    made.messages.write.mode("overwrite").parquet(str(place))  # it is made in the order of sending
    return cls.Trace(spark.read.parquet(str(place)), cuts=made.cuts.cache())


def one_cut(trace: cls.Trace, cut: int) -> DataFrame:
    assert trace.cuts is not None
    return trace.cuts.filter(F.col("cut") == cut)


def verdicts(trace: cls.Trace, cuts: DataFrame) -> list[tuple[int, int]]:
    rows = cls.audit(trace.messages, cuts, checked=True).collect()
    return [(row.orphans, row.in_transit) for row in rows]


def with_spark(messages: int, place: Path) -> tuple[dict[str, float], tuple[int, int]]:
    trace = make(messages, 1000, 500, place)
    middle = one_cut(trace, 500)
    scan = trace.messages.agg
    times = {
        "scan": best(lambda: scan(*(F.max(c) for c in COLUMNS)).collect()),
        "one cut": best(lambda: verdicts(trace, middle)),
        "a thousand cuts": best(lambda: verdicts(trace, trace.cuts), 2),
        "look for damage": best(lambda: cls.damage(trace.messages), 2),
    }
    answer, every = verdicts(trace, middle)[0], verdicts(trace, trace.cuts)
    assert answer == every[500]
    assert [k for k, (orphans, _) in enumerate(every) if orphans] == [500]
    frontiers = {row.process: row.frontier for row in middle.collect()}
    (place.parent / "cut.json").write_text(json.dumps([frontiers[p] for p in range(64)]))
    cls.stop()
    return times, answer


ORPHAN = "received <= {dst} and sent > {src}"
TRANSIT = "sent <= {src} and (received > {dst} or received is null)"


def with_duckdb(files: str, frontiers: list[int]) -> tuple[dict[str, float], tuple[int, int]]:
    db = duckdb.connect()
    ends = {end: f"({frontiers}::bigint[])[{end} + 1]" for end in ("src", "dst")}
    bounds = f"received <= {max(frontiers)} and sent > {min(frontiers)}"
    near = f"sent <= {max(frontiers)} and (received > {min(frontiers)} or received is null)"

    def count(*rules: str) -> int:
        where = " and ".join(f"({rule.format(**ends)})" for rule in rules)
        return db.sql(f"select count(*) from '{files}' where {where}").fetchall()[0][0]

    columns = ", ".join(f"max({c})" for c in COLUMNS)
    times = {
        "scan": best(lambda: db.sql(f"select {columns} from '{files}'").fetchall()),
        "consistency": best(lambda: count(bounds, ORPHAN)),
        "in transit": best(lambda: count(near, TRANSIT)),
    }
    return times, (count(bounds, ORPHAN), count(near, TRANSIT))


def with_polars(files: str, frontiers: list[int]) -> tuple[dict[str, float], tuple[int, int]]:
    table = pl.scan_parquet(files)
    numbers = range(len(frontiers))
    src, dst = (
        pl.col(end).replace_strict(list(numbers), frontiers, return_dtype=pl.Int64)
        for end in ("src", "dst")
    )
    sent, received, low, high = pl.col("sent"), pl.col("received"), min(frontiers), max(frontiers)
    orphan = (received <= high) & (sent > low) & (received <= dst) & (sent > src)
    late = (received > low) & (received > dst)
    transit = (sent <= high) & (sent <= src) & (received.is_null() | late)

    def count(rule: pl.Expr) -> int:
        return table.filter(rule).select(pl.len()).collect(engine="streaming").item()

    columns = [pl.col(c).max() for c in COLUMNS]
    times = {
        "scan": best(lambda: table.select(columns).collect(engine="streaming")),
        "consistency": best(lambda: count(orphan)),
        "in transit": best(lambda: count(transit)),
    }
    return times, (count(orphan), count(transit))


def report(messages: int) -> None:
    with TemporaryDirectory(prefix="audit-") as directory:
        place = Path(directory) / "messages"
        spark, answer = with_spark(messages, place)
        frontiers = json.loads((place.parent / "cut.json").read_text())
        print(f"{messages:,} messages, 64 processes; best of several, in seconds\n")
        for what, taken in spark.items():
            print(f"Spark   {what:18}{taken:8.2f}{taken / spark['scan']:8.2f} of its scan")
        for name, work in (("DuckDB", with_duckdb), ("Polars", with_polars)):
            times, theirs = work(f"{place}/*.parquet", frontiers)
            assert theirs == answer, (name, theirs, answer)
            for what, taken in times.items():
                print(f"{name:8}{what:18}{taken:8.2f}{taken / times['scan']:8.2f} of its scan")
    one, thousand = (
        spark["one cut"] / spark["scan"],
        spark["a thousand cuts"] / spark["one cut"],
    )
    print(f"\nOne cut costs {one:.2f} of the scan (at most {MOST_FOR_ONE}),")
    print(f"a thousand cuts {thousand:.1f} times one cut (at most {MOST_FOR_A_THOUSAND}).")
    subprocess.run([sys.executable, __file__, "--large", str(2 * messages)], check=True)
    if one > MOST_FOR_ONE or thousand > MOST_FOR_A_THOUSAND:
        sys.exit("A limit is exceeded. Was the machine busy?")


def large(messages: int) -> None:
    """Audit a hundred cuts, with the search for damage, in a JVM of 4 GB."""
    with TemporaryDirectory(prefix="audit-") as directory:
        trace = make(messages, 100, 50, Path(directory) / "messages")
        start = time.perf_counter()
        rows = cls.audit(trace.messages, trace.cuts).collect()
        assert [row.cut for row in rows if not row.consistent] == [50]
        print(f"{messages:,} messages, 100 cuts, damage looked for, heap of 4 GB:", end=" ")
        taken, peak = time.perf_counter() - start, peak_gigabytes()
        print(f"{taken:.0f} s, the JVM had {peak:.1f} GB at most.")
        cls.stop()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--large"]:
        large(int(sys.argv[2]))
    else:
        report(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000_000)
