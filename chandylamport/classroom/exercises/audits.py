"""An exercise on traces as tables: the verdict on every cut, by one query in Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...cuts import Cut, in_transit, is_consistent, orphans
from ...diagrams import computation
from ...drawing import Picture, draw
from ...events import Computation, Message
from ..checking import Exercise, NotYet, Outcome, crash
from .causality import CHAIN
from .cuts import all_cuts, why_consistent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = ("cut", "orphans", "in_transit", "consistent")
MESSAGES = "id string, src string, dst string, sent int, received int"
CUTS = "cut int, process string, frontier int"
NEWS = computation("p: a news(m!,n!) k!r\nq: m? x!\nr: n? x?")

Frontiers = Mapping[int, Mapping[str, int]]  # for each cut, the processes that it names
Row = tuple[Any, ...]  # orphans, in transit, consistent
Rows = dict[int, list[Row]]  # for each cut, what an answer says of it: one row, if it is right


def frontiers(c: Computation) -> Frontiers:
    """Number all cuts from 1 on; what holds no event is not named, but each cut names somebody."""
    first = c.processes[0]
    return {
        number: {p: cut[p] for p in cut if cut[p]} or {first: 0}
        for number, cut in enumerate(all_cuts(c), 1)
    }


def tables(c: Computation) -> tuple[DataFrame, DataFrame]:
    """Give the messages of a computation and all its cuts, as two tables in Spark."""
    from ...spark import session

    sent = [(m.name, m.src, m.dst, m.sent, m.received) for m in c.messages.values()]
    cuts = [(id, *each) for id, named in frontiers(c).items() for each in named.items()]
    spark = session()
    return spark.createDataFrame(sent, MESSAGES), spark.createDataFrame(cuts, CUTS)


# --- asking and judging ---------------------------------------------------------------------------


def in_one_query(answer: Callable[..., Any], c: Computation) -> Rows:
    """Ask about all cuts of a computation at once; a known mistake is asked without Spark."""
    if getattr(answer, "__module__", "") == __name__:
        told: Rows = answer(list(c.messages.values()), frontiers(c))
        return told
    try:
        return rows_of(answer(*tables(c)))
    except (NotYet, NotImplementedError):
        raise
    except Exception as error:  # what Spark says is long: its first line tells
        words = crash(error, answer).splitlines()[0]
        raise NotYet(f"audit(messages, cuts) {words}", lambda: draw(c)) from error


def rows_of(frame: Any) -> Rows:
    """Read what a query gives, in whatever order; columns besides the four do not matter."""
    from pyspark.sql import DataFrame

    if frame is None:
        raise NotYet("audit(messages, cuts) gave None: is a return missing?")
    if not isinstance(frame, DataFrame):
        gave = f"audit(messages, cuts) gave a {type(frame).__name__}"
        raise NotYet(f"{gave}, and should give a DataFrame of Spark: do not collect its rows.")
    columns = ", ".join(frame.columns)
    for column in COLUMNS:
        if frame.columns.count(column) != 1:
            number = "no" if column not in frame.columns else "more than one"
            raise NotYet(f"The table has {number} column {column}, but these: {columns}.")
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    if kinds["consistent"] != "boolean":
        raise NotYet(f"Column consistent is of type {kinds['consistent']}, and should be boolean.")
    rows: Rows = {}
    for cut, *row in frame.select(*COLUMNS).collect():
        rows.setdefault(cut, []).append(tuple(row))
    return rows


@dataclass(frozen=True)
class Audited(Outcome):
    """How a query has fared: what it said of every cut, and the first cut that it got wrong."""

    rows: tuple[tuple[object, tuple[Row, ...]], ...] = ()
    c: Computation | None = field(default=None, compare=False)
    cut: Cut | None = field(default=None, compare=False)

    def picture(self) -> Picture | None:
        """The cut across the messages."""
        return draw(self.c, self.cut) if self.c else None


def verdict(c: Computation, cut: Cut) -> Row:
    """What is to be said of a cut, by definition."""
    held = sum(map(len, in_transit(c, cut).values()))
    return len(orphans(c, cut)), held, is_consistent(c, cut)


def told(row: Row) -> str:
    """The words for a row."""
    values = ("null" if value is None else str(value) for value in row)
    return ", ".join(map("{} {}".format, ("orphans", "in transit", "consistent"), values))


def explained(c: Computation, cut: Cut) -> str:
    """Why the verdict on a cut is right."""
    held = [f"{name} on {k}" for k, names in in_transit(c, cut).items() for name in names]
    lost = orphans(c, cut)
    words = [f"{', '.join(lost)} received inside and sent outside"] if lost else []
    words += [f"{', '.join(held)} sent inside and not received inside"] if held else []
    return "; ".join(words) or why_consistent(c, cut)


def judged(rows: Rows, c: Computation) -> Outcome:
    """Tell the first cut whose row is wrong, missing or there twice."""
    every = tuple((cut, tuple(sorted(rows[cut], key=str))) for cut in sorted(rows, key=str))
    for number, cut in enumerate(all_cuts(c), 1):
        right, given = verdict(c, cut), rows.get(number, [])
        if given == [right]:
            continue
        where = ", ".join(f"{p}={cut[p]}" for p in c.processes)
        fault = f"Cut {number}, which is {where}, "
        if len(given) == 1:
            fault += f"has {told(given[0])}, and should have {told(right)}"
        else:
            fault += f"has {len(given) or 'no'} rows, and should have one: {told(right)}"
        fault += f": {explained(c, cut)}."
        code = "messages, cuts = tables(computation)\n"
        code += f'audit(messages, cuts).where("cut = {number}").show()'
        return Audited(fault, code=code, rows=every, c=c, cut=cut)
    strangers = [cut for cut in rows if cut not in frontiers(c)]
    if strangers:
        return Audited(f"There is a row for cut {strangers[0]}, which is not in cuts.", rows=every)
    return Outcome()


# --- known mistakes, as they come out -------------------------------------------------------------

Inside = Callable[[Message, Mapping[str, int]], Any]  # True, False, or None for null


def sent(m: Message, at: Mapping[str, int]) -> bool:
    """Whether a message is sent inside."""
    return m.sent <= at.get(m.src, 0)


def received(m: Message, at: Mapping[str, int]) -> bool:
    """Whether a message is received inside."""
    return m.received is not None and m.received <= at.get(m.dst, 0)


def named(m: Message, at: Mapping[str, int]) -> bool:
    """Whether a cut names both processes of a message."""
    return m.src in at and m.dst in at


def counted(messages: Sequence[Message], at: Mapping[str, int], s: Inside, r: Inside) -> Row:
    """Count orphans and messages in transit, with somebody's notion of inside."""
    lost = sum(r(m, at) and not s(m, at) for m in messages)
    held = sum(s(m, at) and not r(m, at) for m in messages)
    return lost, held, lost == 0


def query(
    s: Inside = sent,
    r: Inside = received,
    *,
    among: Inside = lambda m, at: True,
    times: Callable[[Mapping[str, int]], int] = lambda at: 1,
    finish: Callable[[Row], Row] = lambda row: row,
    keep: Callable[[Row, Sequence[Message]], object] = lambda row, left: True,
) -> Callable[[Sequence[Message], Frontiers], Rows]:
    """Give a query with a slip in one of its parts."""

    def audit(messages: Sequence[Message], cuts: Frontiers) -> Rows:
        rows: Rows = {}
        for number, at in cuts.items():
            left = [m for m in messages if among(m, at)] * times(at)
            row = counted(left, at, s, r)
            if keep(row, left):
                rows[number] = [finish(row)]
        return rows

    return audit


def mixed(messages: Sequence[Message], cuts: Frontiers) -> Rows:
    """The send from one cut, the receive from every cut that names the receiver."""
    rows: Rows = {}
    for number, at in cuts.items():
        pairs = [
            ({m.src: at[m.src], m.dst: other[m.dst]}, m)
            for m in messages
            for other in cuts.values()
            if m.src in at and m.dst in other
        ]
        lost = sum(received(m, both) and not sent(m, both) for both, m in pairs)
        held = sum(sent(m, both) and not received(m, both) for both, m in pairs)
        if pairs:
            rows[number] = [(lost, held, lost == 0)]
    return rows


AUDIT = Exercise(
    name="audit",
    subject="computation",
    ask=in_one_query,
    weigh=judged,
    examples=(CHAIN, NEWS),
    not_to_be_called=("spark.audit", "spark.orphans", "spark.in_transit", "spark.conservation"),
    mistakes={
        "the wrong way round: an orphan is received inside and sent outside": (
            query(finish=lambda row: (row[1], row[0], row[1] == 0))
        ),
        "a cut without a row: a cut has one even if there are no messages at all": (
            query(keep=lambda row, left: left)
        ),
        "who is not named is lost: join from the left, and a frontier that is null is 0": (
            query(among=named, keep=lambda row, left: left)
        ),
        "who is not named is lost: a frontier that is null is 0, and null <= 1 is null": (
            query(among=named)
        ),
        "who is not named is lost: also a sender whose frontier is null has sent outside": (
            query(among=lambda m, at: m.src in at)
        ),
        "never received, so not counted: null > 3 is null, and where the condition is null, "
        "nothing is counted": query(among=lambda m, at: m.received is not None or not sent(m, at)),
        "never received, so received at 0: only the frontiers that are null are 0": (
            query(r=lambda m, at: (m.received or 0) <= at.get(m.dst, 0))
        ),
        "off by one: what is sent at position k is inside if k <= frontier": (
            query(s=lambda m, at: m.sent < at.get(m.src, 0))
        ),
        "off by one: what is received at position k is inside if k <= frontier": (
            query(r=lambda m, at: received(m, at) and m.received != at[m.dst])
        ),
        "off by one: the event at position k is inside if k <= frontier": query(
            s=lambda m, at: m.sent < at.get(m.src, 0),
            r=lambda m, at: received(m, at) and m.received != at[m.dst],
        ),
        "in transit refused: a consistent cut has no orphans, and may have messages in transit": (
            query(finish=lambda row: (*row[:2], row[:2] == (0, 0)))
        ),
        "a cut without a row: count under a condition, do not filter before you group": (
            query(keep=lambda row, left: any(row[:2]))
        ),
        "null for none: a sum over nothing is null, a count is 0": query(
            finish=lambda row: (row[0] or None, row[1] or None, False if row[0] else None)
        ),
        "counted several times: cuts has several rows for a cut, so take distinct ids": (
            query(times=len)
        ),
        "cuts mixed up: both frontiers must be those of one cut, so join on cut as well": mixed,
    },
    hints=(
        "first make a table with a row for each cut and each message: the distinct ids of the "
        'cuts, joined with the messages: ids.join(messages, how="left").',
        "then join cuts to it two times, from the left: once for the frontier of src, once for "
        'that of dst. Rename the columns before: cuts.withColumnRenamed("process", "src").',
        "null is neither true nor false, and so is ~null. Say what null means before you compare: "
        "F.coalesce(column, F.lit(0)) for a frontier, F.coalesce(condition, F.lit(False)).",
        'count under a condition: .groupBy("cut").agg(F.count_if(condition).alias("orphans")).',
    ),
)
