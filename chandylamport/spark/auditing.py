"""The audit of a trace: cuts judged by the definition, in one pass over the messages.

It knows tables and the definition of an orphan. It runs no algorithm, and it calls no Python for
a row: all is written in Spark's own expressions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, pairwise
from operator import le, or_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, StringType

from .tables import checked as of_kind
from .tables import same_kind

Frontiers = dict[Any, int]
EXAMPLES = 3


@dataclass(frozen=True)
class Finding:
    """One kind of damage: how often it occurs, and some places."""

    kind: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind}: {self.count:,}, as in {'; '.join(self.examples)}"


class DamagedTrace(ValueError):
    """A trace that contradicts itself: no verdict on its cuts would mean anything."""

    def __init__(self, findings: list[Finding]) -> None:
        """Name every kind of damage, with its number and examples."""
        super().__init__("the trace is damaged: " + ". ".join(map(str, findings)))
        self.findings = findings


# --- the audit -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Chain:
    """Cuts that grow: each contains the one before."""

    cuts: list[tuple[Any, Frontiers]]

    def of(self, process: Any) -> list[int]:
        return [frontiers.get(process, 0) for _, frontiers in self.cuts]


def audit(
    messages: DataFrame, cuts: DataFrame, *, events: DataFrame | None = None, checked: bool = False
) -> DataFrame:
    """Count the orphans of each cut and its messages in transit; consistent is one without orphans.

    A trace that contradicts itself gets no verdict: `DamagedTrace` says what is wrong with it.
    Damage belongs to the trace, not to a cut; who has looked for it before, says `checked`.
    """
    if not checked and (found := damage(messages, events, cuts)):
        raise DamagedTrace(found)
    rows = []
    for chain, ranges in _ranges(messages, cuts):
        # In transit from cut a on, and no longer from b on: one up at a, one down at b.
        steps = ranges.selectExpr(
            "inline(array(struct(a as at, 1 as step), struct(b as at, -1 as step)))", "a < b as way"
        )
        counted = steps.groupBy("at", "way").agg(F.sum("step")).collect()
        change = {(at, way): step for at, way, step in counted}
        indices = range(len(chain.cuts))
        transit = accumulate(change.get((k, True), 0) for k in indices)
        orphaned = accumulate(-change.get((k, False), 0) for k in indices)
        names = (cut for cut, _ in chain.cuts)
        rows += [(c, o, t, o == 0) for c, o, t in zip(names, orphaned, transit, strict=True)]
    columns = ("cut", "orphans", "in_transit", "consistent")
    table = pa.table([*zip(*sorted(rows), strict=True)], names=columns)
    return messages.sparkSession.createDataFrame(table)


def orphans(messages: DataFrame, cuts: DataFrame) -> DataFrame:
    """List the messages received inside a cut and sent outside, for each cut that has any."""
    found = [_at_each_cut(c, r.filter("b < a"), "b", "a") for c, r in _ranges(messages, cuts)]
    table = reduce(DataFrame.unionByName, found)
    columns = ("cut", "id", "src", "dst", "sent", "received")
    return table.select(*columns).orderBy("cut", "src", "sent", "id")


def in_transit(messages: DataFrame, cuts: DataFrame) -> DataFrame:
    """List what is in each channel at each cut: sent inside, received outside, in order of sending.

    Messages that were sent in one event are in the order of their ids.
    """
    ordered = F.sort_array(F.collect_list(F.struct("sent", "id")))
    by_channel = _transit(messages, cuts).groupBy("cut", "src", "dst")
    table = by_channel.agg(ordered["id"].alias("messages"))
    return table.orderBy("cut", "src", "dst")


def conservation(messages: DataFrame, cuts: DataFrame, values: DataFrame) -> DataFrame:
    """Compare, at each cut, what processes hold and channels carry with the total at the start.

    Messages have an `amount`; `values` tells the `value` of a process after an event, position 0
    at the start. It is weak evidence: a wrong cut can conserve the total by chance.
    """
    of_kind(values, "values")
    same_kind(values, "process", cuts, "process")
    grid = cuts.select("cut").distinct().crossJoin(values.select("process").distinct())
    at = grid.join(cuts, ["cut", "process"], "left").fillna(0, ["frontier"])
    past = at.join(values, "process").filter("position <= frontier")
    last = past.groupBy("cut", "process").agg(F.max_by("value", "position").alias("value"))
    held = last.groupBy("cut").agg(F.sum("value").alias("held"))
    carried = _transit(messages, cuts).groupBy("cut").agg(F.sum("amount").alias("in_transit"))
    start = values.filter("position = 0").agg(F.sum("value").alias("start"))
    table = held.join(carried, "cut", "left").fillna(0, ["in_transit"]).crossJoin(start)
    total = table.withColumn("total", F.col("held") + F.col("in_transit"))
    return total.selectExpr(
        "cut", "held", "in_transit", "total", "total <=> start as conserved"
    ).orderBy("cut")


def _transit(messages: DataFrame, cuts: DataFrame) -> DataFrame:
    found = [_at_each_cut(c, r.filter("a < b"), "a", "b") for c, r in _ranges(messages, cuts)]
    return reduce(DataFrame.unionByName, found)


def _at_each_cut(chain: _Chain, ranges: DataFrame, first: str, end: str) -> DataFrame:
    """Write a message once for each cut between two indices."""
    names = F.array(*(F.lit(cut) for cut, _ in chain.cuts))
    span = F.slice(names, F.col(first) + 1, F.col(end) - F.col(first))
    return ranges.withColumn("cut", F.explode(span)).drop("a", "b")


def _ranges(messages: DataFrame, cuts: DataFrame) -> Iterator[tuple[_Chain, DataFrame]]:
    """Find for each message the index of the first cut that has its send (a), its receive (b).

    Where cuts grow, a message that is inside stays inside. So it is in transit at the cuts from a
    to b, or orphaned by those from b to a, and two binary searches serve all of them. Messages
    for which a is b matter to no cut, and are left out.
    """
    of_kind(messages, "messages"), of_kind(cuts, "cuts")
    for column in ("src", "dst"):
        same_kind(messages, column, cuts, "process")
    for chain in _chains(cuts):
        yield chain, _searched(messages, chain)


def _chains(cuts: DataFrame) -> list[_Chain]:
    """Share the cuts out among chains, as few as a greedy choice finds."""
    frontiers: dict[Any, Frontiers] = {}
    for cut, process, frontier in cuts.select("cut", "process", "frontier").collect():
        frontiers.setdefault(cut, {})[process] = frontier
    if not frontiers:
        raise ValueError("cuts: there is none to audit")
    processes = {p for of in frontiers.values() for p in of}
    rows = {cut: [of.get(p, 0) for p in processes] for cut, of in frontiers.items()}
    chains: list[_Chain] = []
    for cut in sorted(rows, key=lambda cut: (sum(rows[cut]), cut)):
        fits = (c for c in chains if all(map(le, rows[c.cuts[-1][0]], rows[cut])))
        chain = next(fits, None)
        if chain is None:
            chains.append(chain := _Chain([]))
        chain.cuts.append((cut, frontiers[cut]))
    return chains


def _searched(messages: DataFrame, chain: _Chain) -> DataFrame:
    processes = sorted({p for _, of in chain.cuts for p in of})
    frontiers = [chain.of(p) for p in processes]
    least, most = min(map(min, frontiers)), max(map(max, frontiers))
    near = messages.filter(_around(processes, least)).filter(
        f"sent <= {most} or received <= {most}"
    )
    # A position tells its bucket, and the bucket how many cuts lie before it for sure. Cuts that
    # lie evenly leave one or none to look at, and the search takes one step instead of ten.
    shift = max(most.bit_length() - (4 * len(chain.cuts)).bit_length(), 0)
    buckets = range(0, most + (2 << shift), 1 << shift)
    before = [[bisect_left(own, first) for first in buckets] for own in frontiers]
    left = max(b - a for own in before for a, b in pairwise(own))
    # From Arrow, the table is a part of the plan; from a list, it would cost a job of its own.
    rows = pa.table({"process": processes, "_frontiers": frontiers, "_before": before})
    table = F.broadcast(messages.sparkSession.createDataFrame(rows))
    for end, position, index in (("src", "sent", "a"), ("dst", "received", "b")):
        near = near.join(table.withColumnRenamed("process", end), end, "left")
        bucket = F.shiftright(F.col(position).cast("bigint"), shift)
        bucket = F.least(bucket, F.lit(len(buckets))).cast("int")
        # A position behind the last bucket, or null, is in no cut; nor is an unknown process.
        start = F.coalesce(F.get("_before", bucket), F.lit(len(chain.cuts)))
        near = _binary_search(near.withColumn(index, start), position, index, left)
        near = near.drop("_frontiers", "_before")
    return near.filter("a <> b").select(*messages.columns, "a", "b")


def _around(processes: list[Any], least: int) -> Column:
    """Leave out what all cuts contain, sent and received: while reading, where that is possible.

    Parquet knows the least and the greatest number of a block of rows, and skips it. An unknown
    process has 0 in all cuts, so what it sends or receives matters.
    """
    inside = F.col("src").isin(processes) & F.col("dst").isin(processes)
    first, last = processes[0], processes[-1]
    if isinstance(first, int) and last - first + 1 == len(processes):  # which parquet understands
        inside = F.col("src").between(first, last) & F.col("dst").between(first, last)
    return ~inside | F.expr(f"sent > {least} or received > {least} or received is null")


def _binary_search(table: DataFrame, position: str, index: str, left: int) -> DataFrame:
    """Count the cuts of a chain that do not have this position, `left` of them still in doubt."""
    at = F.col(index)
    for step in (1 << bit for bit in reversed(range(left.bit_length()))):
        outside = F.get("_frontiers", at + (step - 1)) < F.col(position)
        # One projection for each step: in one expression, each would contain the last one twice.
        table = table.withColumn(index, at + F.when(outside, step).otherwise(0))
    # Of a column that might depend on chance, Spark does not copy the expression into a filter.
    return table.withColumn(index, at + F.spark_partition_id() * 0)


# --- damage --------------------------------------------------------------------------------------


def damage(
    messages: DataFrame, events: DataFrame | None = None, cuts: DataFrame | None = None
) -> list[Finding]:
    """List what no run can have left behind: nulls, duplicates, receives without a send, gaps.

    Without the table of events, a gap cannot be told from local events, a misspelt process in a
    cut not from one that sent and received nothing, and the last position of a process is unknown;
    so none of these is looked for. If the table has `messages`, the number of messages that each
    event sends and receives, a lost message is noticed even where it leaves no gap. A receive
    before its send, in a circle through time, is seen by `check_clocks` alone.
    """
    found = _among(of_kind(messages, "messages"), MESSAGE_RULES)
    found += _repeated(messages, "duplicate message", "id")
    if events is not None:
        of_kind(events, "events")
        same_kind(events, "process", messages, "src")
        found += _among(events, EVENT_RULES)
        found += _repeated(events, "duplicate event", "process", "position")
        found += _gaps(_positions(messages, events)) + _lost(messages, events)
    if cuts is not None:
        of_kind(cuts, "cuts")
        for end in ("src", "dst"):
            same_kind(messages, end, cuts, "process")
        found += _among(cuts, CUT_RULES)
        found += _repeated(cuts, "duplicate process in a cut", "cut", "process")
        if events is not None:
            last = (
                _positions(messages, events).groupBy("process").agg(F.max("position").alias("last"))
            )
            judged = cuts.join(last, "process", "left")
            found += _among(judged, BEYOND_RULES)
        else:
            found += _strangers(messages, cuts)
    return found


MESSAGE_RULES = {
    "null in id, src or dst": "id is null or src is null or dst is null",
    "receive without a send": "sent is null and received is not null",
    "neither sent nor received": "sent is null and received is null",
    "position below 1": "sent < 1 or received < 1",
    "sent to itself": "src = dst",
}
EVENT_RULES = {
    "null in process or position of an event": "process is null or position is null",
    "event at a position below 1": "position < 1",
}
CUT_RULES = {
    "null in a cut": "cut is null or process is null or frontier is null",
    "negative frontier": "frontier < 0",
}
BEYOND_RULES = {
    # A process without any event may well be in a cut: it was silent.
    "cut with an unknown process": "last is null and process is not null and frontier > 0",
    "frontier beyond the last event": "frontier > last",
}


def _among(table: DataFrame, rules: dict[str, str]) -> list[Finding]:
    """Count in one pass the rows that break each rule; look for examples only where there are."""
    counts = table.agg(*(F.count_if(F.expr(rule)).alias(kind) for kind, rule in rules.items()))
    (row,) = counts.collect()
    return [
        Finding(kind, row[kind], _examples(table.filter(rule)))
        for kind, rule in rules.items()
        if row[kind]
    ]


def _repeated(table: DataFrame, kind: str, *key: str) -> list[Finding]:
    known = reduce(or_, (F.col(column).isNull() for column in key))
    several = table.filter(~known).groupBy(*key).count().filter("count > 1")
    (row,) = several.agg(F.count("*"), F.sum(F.col("count") - 1)).collect()
    return [Finding(kind, row[1], _examples(several.drop("count")))] if row[0] else []


def _positions(messages: DataFrame, events: DataFrame) -> DataFrame:
    """List each position of each process that an event, a send or a receive names."""
    sends = messages.selectExpr("src as process", "sent as position")
    receives = messages.selectExpr("dst as process", "received as position")
    named = events.select("process", "position").union(sends).union(receives)
    return named.filter("process is not null and position >= 1").distinct()


def _gaps(positions: DataFrame) -> list[Finding]:
    before = F.lag("position", 1, 0).over(Window.partitionBy("process").orderBy("position"))
    gaps = positions.select(
        "process", (before + 1).alias("first"), (F.col("position") - 1).alias("last")
    )
    gaps = gaps.filter("first <= last")
    (row,) = gaps.agg(F.sum(F.expr("last - first + 1"))).collect()
    return [Finding("gap in the positions", row[0], _examples(gaps))] if row[0] else []


def _lost(messages: DataFrame, events: DataFrame) -> list[Finding]:
    """Compare how many messages an event has with the rows that name it."""
    if "messages" not in events.columns:
        return []
    sends = messages.selectExpr("src as process", "sent as position")
    ends = sends.union(messages.selectExpr("dst as process", "received as position"))
    named = ends.groupBy("process", "position").count()
    judged = events.join(named, ["process", "position"], "left").fillna(0, ["count"])
    return _among(judged, {"event that lacks a message": "messages > count"})


def _strangers(messages: DataFrame, cuts: DataFrame) -> list[Finding]:
    """Notice cuts of another system: none of their processes sends or receives anything."""
    some = cuts.filter("frontier > 0").select("process").distinct()
    known = sorted(row.process for row in some.collect() if row.process is not None)
    named = messages.filter(F.col("src").isin(known) | F.col("dst").isin(known))
    if not known or not named.isEmpty() or messages.isEmpty():
        return []
    examples = tuple(map(str, known[:EXAMPLES]))
    return [Finding("process of a cut that no message names", len(known), examples)]


def _examples(table: DataFrame) -> tuple[str, ...]:
    plain = (StringType, IntegralType)
    shown = [f.name for f in table.schema if isinstance(f.dataType, plain) and "." not in f.name]
    rows = table.select(*shown).orderBy(*shown).limit(EXAMPLES).collect()
    return tuple(
        ", ".join(f"{name} {'null' if row[name] is None else row[name]}" for name in shown)
        for row in rows
    )


# --- clocks --------------------------------------------------------------------------------------


def check_clocks(messages: DataFrame, events: DataFrame) -> DataFrame:
    """List the events whose logged vector clock is wrong: by one join and one window.

    Right is: the own component is the position, the others are the greatest of the clock before
    and of the clocks that came with messages. Whoever hears of an event of its own that is still
    to come is in a circle, and listed. The table of events must be complete; where the clock of a
    send is not known, nothing is expected, and the event is listed.
    """
    of_kind(messages, "messages"), of_kind(events, "events")
    if "clock" not in events.columns:
        raise ValueError(
            f"events: there is no column clock (a map), only {', '.join(events.columns)}"
        )
    events = events.select("process", "position", "clock")
    sends = events.selectExpr("process as src", "position as sent", "clock as carried")
    came = messages.filter("received is not null").join(sends, ["src", "sent"], "left")
    came = came.groupBy(F.col("dst").alias("process"), F.col("received").alias("position")).agg(
        F.collect_list("carried").alias("carried"), F.count("*").alias("messages")
    )
    earlier = F.lag("clock").over(Window.partitionBy("process").orderBy("position"))
    table = events.withColumn("earlier", earlier).join(came, ["process", "position"], "left")
    kind = events.schema["clock"].dataType.simpleString()
    merged = f"""aggregate(
        concat(array(coalesce(earlier, cast(map() as {kind}))), coalesce(carried, array())),
        cast(map(process, position) as {kind}),
        (all, one) -> map_zip_with(all, one, (k, x, y) -> greatest(x, y)))"""
    merged = f"if(size(coalesce(carried, array())) = coalesce(messages, 0), {merged}, null)"
    here = f"cast(map(process, position) as {kind})"
    own = f"map_zip_with(merged, {here}, (k, x, y) -> coalesce(y, x))"
    table = table.withColumn("merged", F.expr(merged)).withColumn("expected", F.expr(own))
    entries = "array_sort(map_entries(map_filter({}, (k, n) -> n <> 0)))"
    both = f"{entries.format('clock')} = {entries.format('expected')}"
    right = f"{both} and {entries.format('merged')} = {entries.format('expected')}"
    wrong = table.filter(~F.coalesce(F.expr(right), F.lit(False)))
    return wrong.select("process", "position", "clock", "expected").orderBy("process", "position")
