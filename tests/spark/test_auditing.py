"""The audit equals the definition, and no verdict is given on a trace that is damaged."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import computations, cuts

import chandylamport as cl
from chandylamport import spark as cls

MESSAGES = "id string, src string, dst string, sent bigint, received bigint"
CUTS = "cut bigint, process string, frontier bigint"
EVENTS = "process string, position bigint, label string"


@pytest.fixture(scope="module")
def spark():
    yield cls.session()
    cls.stop()


def many_cases() -> list[tuple[cl.Computation, list[cl.Cut]]]:
    """Random computations, each with arbitrary cuts, drawn by Hypothesis without a test in it."""
    found = []

    @settings(max_examples=40, database=None)
    @given(st.data())
    def collect(data):
        c = data.draw(computations(max_processes=4, max_events=12))
        found.append((c, data.draw(st.lists(cuts(c), min_size=1, max_size=4))))

    collect()
    return found


def tables(spark, cases):
    """All cases in one trace: a case has processes of its own, and cuts only of them."""
    messages, frontiers, expected = [], [], {}
    for number, (c, some) in enumerate(cases):
        for m in c.messages.values():
            ends = f"{number}.{m.src}", f"{number}.{m.dst}"
            messages.append((f"{number}.{m.name}", *ends, m.sent, m.received))
        for cut in some:
            id = len(expected)
            frontiers += [(id, f"{number}.{p}", cut[p]) for p in cut]
            expected[id] = number, c, cut
    return spark.createDataFrame(messages, MESSAGES), frontiers, expected


def defined(number, c, cut):
    """What the definition says, with the names of the tables."""
    channels = {
        (f"{number}.{src}", f"{number}.{dst}"): sorted(
            (c.messages[name].sent, f"{number}.{name}") for name in names
        )
        for (src, dst), names in cl.in_transit(c, cut).items()
    }
    transit = {channel: [name for _, name in names] for channel, names in channels.items()}
    return {f"{number}.{name}" for name in cl.orphans(c, cut)}, transit


def test_every_answer_equals_the_definition_on_random_computations_and_arbitrary_cuts(spark):
    cases = many_cases()
    assert sum(len(c.messages) for c, _ in cases) > 40
    messages, frontiers, expected = tables(spark, cases)
    table = spark.createDataFrame(frontiers, CUTS)
    lost, carried = {id: set() for id in expected}, {id: {} for id in expected}
    for row in cls.orphans(messages, table).collect():
        lost[row.cut].add(row.id)
    for row in cls.in_transit(messages, table).collect():
        carried[row.cut][row.src, row.dst] = row.messages
    audited = {row.cut: row for row in cls.audit(messages, table).collect()}
    assert [*audited] == sorted(audited)
    both = set()
    for id, (number, c, cut) in expected.items():
        orphans, transit = defined(number, c, cut)
        assert (lost[id], carried[id]) == (orphans, transit)
        row, verdict = audited[id], cl.is_consistent(c, cut)
        held = sum(map(len, transit.values()))
        assert (row.orphans, row.in_transit, row.consistent) == (len(orphans), held, verdict)
        both.add(verdict)
    assert both == {True, False}


@pytest.mark.parametrize("names", [True, False], ids=["names", "numbers"])
def test_long_chains_and_single_cuts_give_what_counting_gives(spark, names):
    pick = Random(1985)
    name = (lambda p: f"p{p}") if names else (lambda p: p)
    kind = "string" if names else "int"
    rows = []
    for id in range(400):
        src, dst = pick.sample(range(5), 2)  # process 4 is in no cut: nothing of it is inside
        received = None if pick.random() < 0.1 else pick.randint(1, 60)
        rows.append((id, name(src), name(dst), pick.randint(1, 60), received))
    growing = [[k + pick.randint(0, 1) for _ in range(4)] for k in range(0, 60, 2)]
    anything = [[pick.randint(0, 60) for _ in range(4)] for _ in range(3)]
    frontiers = dict(enumerate(growing + anything))
    messages = spark.createDataFrame(
        rows, f"id int, src {kind}, dst {kind}, sent bigint, received bigint"
    )
    table = spark.createDataFrame(
        [(k, name(p), n) for k, cut in frontiers.items() for p, n in enumerate(cut)],
        f"cut int, process {kind}, frontier bigint",
    )
    for part in (table, table.filter("cut = 7")):
        for row in cls.audit(messages, part, checked=True).collect():
            at = {name(p): n for p, n in enumerate(frontiers[row.cut])}
            sent = [s <= at.get(src, 0) for _, src, _, s, _ in rows]
            came = [r is not None and r <= at.get(dst, 0) for _, _, dst, _, r in rows]
            ends = list(zip(sent, came, strict=True))
            assert (row.orphans, row.in_transit) == (
                ends.count((False, True)),
                ends.count((True, False)),
            )


def one(spark, sent, received, **frontiers):
    messages = spark.createDataFrame([("m", "p", "q", sent, received)], MESSAGES)
    table = spark.createDataFrame([(1, p, n) for p, n in frontiers.items()], CUTS)
    (row,) = cls.audit(messages, table, checked=True).collect()
    return row.orphans, row.in_transit, row.consistent


@pytest.mark.parametrize(
    ("ends", "frontiers", "verdict"),
    [
        ((2, 3), {"p": 2, "q": 3}, (0, 0, True)),  # the frontier itself is inside
        ((2, 3), {"p": 1, "q": 3}, (1, 0, False)),
        ((2, 3), {"p": 2, "q": 2}, (0, 1, True)),
        ((2, None), {"p": 2, "q": 9}, (0, 1, True)),  # never received: in transit for ever
        ((2, None), {"p": 1, "q": 9}, (0, 0, True)),
        ((2, 3), {"q": 3}, (1, 0, False)),  # a process that is absent has nothing inside
        ((2, 3), {"p": 2}, (0, 1, True)),
        ((2, 3), {"r": 5}, (0, 0, True)),
    ],
)
def test_the_definition_in_eight_lines(spark, ends, frontiers, verdict):
    assert one(spark, *ends, **frontiers) == verdict


DAMAGE = {
    "null in id, src or dst": [("x", None, "q", 1, 1)],
    "receive without a send": [("x", "p", "q", None, 4)],
    "position below 1": [("x", "p", "q", 0, 4)],
    "duplicate message": [("m1", "p", "q", 3, 4)],
    "sent to itself": [("x", "p", "p", 3, 4)],
}
SOUND = [("m1", "p", "q", 1, 1), ("m2", "p", "q", 2, None)]


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_counted_and_shown_instead_of_a_verdict(spark, kind):
    messages = spark.createDataFrame(SOUND + DAMAGE[kind], MESSAGES)
    table = spark.createDataFrame([(1, "p", 1)], CUTS)
    (finding,) = cls.damage(messages)
    assert (finding.kind, finding.count, len(finding.examples)) == (kind, 1, 1)
    with pytest.raises(cls.DamagedTrace, match=f"{kind}: 1, as in ") as raised:
        cls.audit(messages, table)
    assert raised.value.findings == [finding]


def test_there_are_three_examples_however_much_is_damaged(spark):
    rows = [(f"x{n}", "p", "q", -n, None) for n in range(9)]
    (finding,) = cls.damage(spark.createDataFrame(rows, MESSAGES))
    assert (finding.count, len(finding.examples)) == (9, 3)


def test_gaps_and_cuts_that_do_not_fit_are_found_where_events_are_known(spark):
    messages = spark.createDataFrame(SOUND, MESSAGES)
    events = spark.createDataFrame([("p", 5, "a"), ("q", 2, "b"), ("q", 2, "b")], EVENTS)
    rows = [(1, "p", 6), (1, "q", -1), (1, "r", 1), (2, "p", 1), (2, "p", 1), (3, "p", None)]
    rows.append((2, "silent", 0))  # which is no damage
    table = spark.createDataFrame(rows, CUTS)
    assert cls.damage(messages) == []
    found = {finding.kind: finding for finding in cls.damage(messages, events, table)}
    assert {kind: finding.count for kind, finding in found.items()} == {
        "duplicate event": 1,
        "gap in the positions": 2,
        "null in a cut": 1,
        "negative frontier": 1,
        "duplicate process in a cut": 1,
        "cut with an unknown process": 1,
        "frontier beyond the last event": 1,
    }
    assert found["gap in the positions"].examples == ("process p, first 3, last 4",)


@pytest.fixture(scope="module")
def bank():
    system = cl.System(cl.accounts(p=100, q=50, r=0, transfers=12), cl.Fifo(cl.complete("pqr")))
    return cl.simulate(system, cl.ChandyLamport, initiators=["p"], at=8, seed=7)


def test_clocks_of_ours_are_right_and_each_wrong_one_is_found(spark, bank):
    tables = cls.trace(bank)
    assert cls.check_clocks(tables.messages, tables.events).collect() == []
    receive = max(bank.computation, key=lambda e: (len(e.receives), e.position))
    mine = (receive.process, receive.position)
    for change in ("map_from_arrays(map_keys(clock), transform(map_values(clock), n -> n + 1))",
                   f"map_filter(clock, (k, n) -> k = '{receive.process}')", "null"):  # fmt: skip
        here = f"process = '{mine[0]}' and position = {mine[1]}"
        events = tables.events.selectExpr(
            "process", "position", f"if({here}, {change}, clock) clock"
        )
        wrong = cls.check_clocks(tables.messages, events).collect()
        assert mine in [(row.process, row.position) for row in wrong]
        (row,) = [row for row in wrong if (row.process, row.position) == mine]
        right = cl.vector_clocks(bank.computation)[receive]
        assert {k: n for k, n in row.expected.items() if n} == {k: n for k, n in right.items() if n}


def test_a_clock_that_forgets_a_message_is_wrong(spark):
    messages = spark.createDataFrame([("m", "p", "q", 1, 1)], MESSAGES)
    rows = [("p", 1, {"p": 1}), ("q", 1, {"q": 1}), ("q", 2, {"p": 1, "q": 2})]
    schema = "process string, position bigint, clock map<string, bigint>"
    (row,) = cls.check_clocks(messages, spark.createDataFrame(rows[:2], schema)).collect()
    assert (row.process, row.position, row.expected) == ("q", 1, {"p": 1, "q": 1})


def test_money_is_conserved_at_the_recorded_cut_and_not_at_a_wrong_one(spark):
    rows = [("m", "p", "q", 1, 1, 30)]
    messages = spark.createDataFrame(rows, f"{MESSAGES}, amount bigint")
    values = spark.createDataFrame(
        [("p", 0, 100), ("p", 1, 70), ("q", 0, 50), ("q", 1, 80)],
        "process string, position bigint, value bigint",
    )
    cuts = {0: (0, 0), 1: (1, 0), 2: (1, 1), 3: (0, 1)}
    table = spark.createDataFrame(
        [(k, p, n) for k, cut in cuts.items() for p, n in zip("pq", cut, strict=True)], CUTS
    )
    found = [tuple(row) for row in cls.conservation(messages, table, values).collect()]
    assert found == [
        (0, 150, 0, 150, True),
        (1, 120, 30, 150, True),
        (2, 150, 0, 150, True),
        (3, 180, 0, 180, False),
    ]


def test_a_synthetic_trace_is_sound_and_only_its_bad_cut_is_not(spark):
    made = cls.synthetic(spark, 20_000, processes=8, cuts=9, bad=4, seed=3)
    again = cls.synthetic(spark, 20_000, processes=8, cuts=9, bad=4, seed=3)
    assert made.messages.collect() == again.messages.collect()
    assert cls.damage(made.messages, None, made.cuts) == []
    ends = made.messages.groupBy("dst", "received").count().filter("received is not null")
    assert ends.filter("count > 1").isEmpty()  # nobody receives two at once
    rows = cls.audit(made.messages, made.cuts, checked=True).collect()
    assert [row.cut for row in rows if not row.consistent] == [4]
    assert all(row.in_transit for row in rows)
    (bad,) = [row for row in rows if row.cut == 4]
    assert cls.orphans(made.messages, made.cuts).count() == bad.orphans


def test_names_and_numbers_are_not_compared(spark):
    messages = spark.createDataFrame(SOUND, MESSAGES)
    table = spark.createDataFrame([(1, 1, 1)], "cut int, process int, frontier int")
    with pytest.raises(cls.MalformedTrace, match="src is string and process is int"):
        cls.audit(messages, table, checked=True)


def test_no_cut_is_no_audit(spark):
    messages = spark.createDataFrame(SOUND, MESSAGES)
    with pytest.raises(ValueError, match="there is none to audit"):
        cls.audit(messages, spark.createDataFrame([], CUTS))


def test_a_lost_message_is_noticed_even_where_it_leaves_no_gap(spark):
    log = cls.trace(cl.computation("p: a m! n?\nq: m? b n!"), {1: cl.Cut.of(p=1, q=1)}, spark)
    assert cls.damage(log.messages, log.events, log.cuts) == []
    lost = log.messages.filter("id <> 'm'")
    (finding,) = cls.damage(lost, log.events)
    assert (finding.kind, finding.count) == ("event that lacks a message", 2)
    with pytest.raises(cls.DamagedTrace, match="lacks a message: 2, as in process p, position 2"):
        cls.audit(lost, log.cuts, events=log.events)


def test_a_circle_through_time_is_listed_by_its_clocks(spark):
    messages = spark.createDataFrame([("m", "q", "p", 2, 1), ("n", "p", "q", 2, 1)], MESSAGES)
    for own in (1, 2):  # with the position as own component, and with the greatest that came
        rows = [
            ("p", 1, {"p": own, "q": 2}),
            ("p", 2, {"p": 2, "q": 2}),
            ("q", 1, {"p": 2, "q": own}),
            ("q", 2, {"p": 2, "q": 2}),
        ]
        events = spark.createDataFrame(
            rows, "process string, position bigint, clock map<string, bigint>"
        )
        wrong = cls.check_clocks(messages, events).collect()
        assert ("p", 1) in [(row.process, row.position) for row in wrong]


def test_clocks_of_numbered_processes_may_have_names_for_keys(spark):
    messages = spark.createDataFrame(
        [("m", 0, 1, 1, 1)], "id string, src int, dst int, sent bigint, received bigint"
    )
    rows = [(0, 1, {"0": 1}), (1, 1, {"0": 1, "1": 1}), (1, 2, {"1": 2})]
    events = spark.createDataFrame(rows, "process int, position bigint, clock map<string, bigint>")
    (row,) = cls.check_clocks(messages, events).collect()
    assert (row.process, row.position, row.expected) == (1, 2, {"0": 1, "1": 2})


@pytest.mark.parametrize(("sent", "frontier"), [(5, 2**34), (2**31 + 5, 3), (2**40, 2**41)])
def test_large_positions_and_frontiers_are_numbers_like_others(spark, sent, frontier):
    kind = "int" if sent < 2**31 else "bigint"
    schema = f"id string, src string, dst string, sent {kind}, received {kind}"
    messages = spark.createDataFrame([("m", "p", "q", sent, 1)], schema)
    both = spark.createDataFrame([(1, "q", 1), (2, "q", 1), (2, "p", frontier)], CUTS)
    rows = cls.audit(messages, both, checked=True).collect()
    assert [row.orphans for row in rows] == [1, int(sent > frontier)]


@pytest.mark.parametrize("first", [-3, 0, 1, 10**6])
def test_processes_may_have_any_numbers(spark, first):
    schema = "id string, src bigint, dst bigint, sent bigint, received bigint"
    rows = [("m", first, first + 1, 5, 1), ("n", first + 1, first, 9, 9), ("x", 77, first, 1, 2)]
    cut = [(1, first, 4), (1, first + 1, 4)]
    table = spark.createDataFrame(cut, "cut bigint, process bigint, frontier bigint")
    found = cls.orphans(spark.createDataFrame(rows, schema), table).collect()
    assert sorted(row.id for row in found) == ["m", "x"]


def test_cuts_of_another_system_are_no_cuts_of_this_one(spark):
    messages = spark.createDataFrame(SOUND, MESSAGES)
    foreign = spark.createDataFrame([(1, "P", 1), (1, "Q", 1)], CUTS)
    with pytest.raises(cls.DamagedTrace, match="process of a cut that no message names: 2"):
        cls.audit(messages, foreign)
    assert cls.damage(messages, cuts=spark.createDataFrame([(1, "P", 0)], CUTS)) == []
