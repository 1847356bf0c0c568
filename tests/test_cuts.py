"""Cuts and their lattice, against the table of counts, brute force, and networkx."""

from __future__ import annotations

import math
import random
from collections import Counter

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    all_cuts,
    all_runs,
    all_to_all_3,
    bank_r9,
    barrier,
    broadcast,
    closed_cuts,
    computations,
    cross,
    cuts,
    cuts_along,
    figure_7,
    gather,
    happens_before_pairs,
    independent,
    one_message,
    ping_pong,
    pipeline,
    stream,
    token_ring,
)

from chandylamport import (
    Computation,
    Cut,
    Log,
    computation,
    consistent_cuts,
    count_consistent_cuts,
    count_runs,
    definitely,
    frontier,
    greatest_consistent_below,
    happens_before,
    in_transit,
    is_consistent,
    least_consistent_above,
    orphans,
    possibly,
    successors,
)

# --- the table of counts -------------------------------------------------------------------------

TABLE = [
    *zip(
        [independent(*nk) for nk in [(2, 1), (2, 2), (3, 2), (3, 3), (4, 2)]],
        [4, 9, 27, 64, 81],
        [2, 6, 90, 1680, 2520],
        strict=True,
    ),
    *zip(
        [
            one_message(*asbr)
            for asbr in [(1, 1, 1, 1), (2, 1, 2, 2), (2, 2, 2, 1), (3, 2, 3, 2), (4, 3, 5, 2)]
        ],
        [3, 8, 5, 12, 18],
        [1, 5, 1, 10, 21],
        strict=True,
    ),
    *zip(map(stream, range(1, 7)), [3, 6, 10, 15, 21, 28], [1, 2, 5, 14, 42, 132], strict=True),
    *((ping_pong(m), 2 * m + 1, 1) for m in range(1, 8)),
    *((token_ring(n), 2 * n + 1, 1) for n in range(2, 8)),
    *zip(map(cross, range(1, 6)), [7, 15, 23, 31, 39], [4, 24, 144, 864, 5184], strict=True),
    *zip(map(broadcast, range(1, 6)), [3, 7, 15, 31, 63], [1, 3, 15, 105, 945], strict=True),
    *zip(map(gather, range(1, 6)), [3, 7, 15, 31, 63], [1, 3, 15, 105, 945], strict=True),
    *zip(map(barrier, range(1, 5)), [5, 13, 29, 61], [1, 9, 225, 11025], strict=True),
    *zip(map(pipeline, range(1, 6)), [5, 14, 30, 55, 91], [1, 10, 190, 4925, 153415], strict=True),
    (all_to_all_3(), 74, 19656),
    (figure_7(), 5, 2),
    (bank_r9(), 7, 4),
]


@pytest.mark.parametrize(("c", "n_cuts", "n_runs"), TABLE)
def test_the_counts_of_cuts_and_runs_are_those_of_the_table(
    c: Computation, n_cuts: int, n_runs: int
):
    assert count_consistent_cuts(c) == n_cuts
    assert len(list(consistent_cuts(c))) == n_cuts
    assert count_runs(c) == n_runs


@pytest.mark.parametrize("n", range(1, 6))
def test_the_closed_forms_go_on_as_the_table_begins(n: int):
    assert count_consistent_cuts(independent(n, 3)) == 4**n
    assert count_runs(independent(2, n)) == math.comb(2 * n, n)
    assert count_consistent_cuts(stream(n)) == (n + 1) * (n + 2) // 2
    assert count_runs(stream(n)) == math.comb(2 * n, n) // (n + 1)
    assert count_consistent_cuts(cross(n)) == 8 * n - 1
    assert count_consistent_cuts(barrier(n)) == 2 ** (n + 2) - 3
    assert count_consistent_cuts(pipeline(n)) == (n + 1) * (n + 2) * (2 * n + 3) // 6


def test_figure_7_and_the_bank_have_the_bad_cuts_of_the_theory():
    def bad(c: Computation) -> list[tuple[int, ...]]:
        return [tuple(cut[p] for p in c.processes) for cut in all_cuts(c) if orphans(c, cut)]

    assert bad(figure_7()) == [(2, 0)]
    assert bad(bank_r9()) == [(0, 2), (2, 0)]


# --- random computations against the definitions -------------------------------------------------


@given(computations())
def test_a_cut_is_consistent_exactly_if_it_is_closed_under_happens_before(c: Computation):
    closed = set(closed_cuts(c))
    assert all(is_consistent(c, cut) == (cut in closed) for cut in all_cuts(c))


@given(computations())
def test_a_cut_is_consistent_exactly_if_it_has_no_orphans(c: Computation):
    assert all(is_consistent(c, cut) == (orphans(c, cut) == ()) for cut in all_cuts(c))


@given(computations())
def test_the_enumeration_is_complete_and_lexicographic(c: Computation):
    assert list(consistent_cuts(c)) == closed_cuts(c)


@given(computations(max_processes=5, max_events=12))
def test_there_are_as_many_consistent_cuts_as_antichains(c: Computation):
    order = nx.DiGraph()
    order.add_nodes_from(c)
    order.add_edges_from(happens_before_pairs(c))
    antichains = sum(1 for _ in nx.antichains(order))
    assert count_consistent_cuts(c) == antichains == len(list(consistent_cuts(c)))


@given(computations(max_events=7))
def test_there_are_as_many_runs_as_brute_force_finds(c: Computation):
    assert count_runs(c) == sum(1 for _ in all_runs(c))


@given(st.data())
def test_orphans_are_received_inside_and_sent_outside(data: st.DataObject):
    c = data.draw(computations())
    cut = data.draw(cuts(c))
    expected = {
        name for event in c if event in cut for name in event.receives if c[f"{name}!"] not in cut
    }
    assert set(orphans(c, cut)) == expected
    assert len(orphans(c, cut)) == len(expected)


@given(st.data())
def test_in_transit_is_sent_inside_and_not_received_inside_in_the_order_of_sending(
    data: st.DataObject,
):
    c = data.draw(computations())
    cut = data.draw(cuts(c))
    expected: dict[tuple[str, str], list[str]] = {}
    for history in c.histories:
        for name in (name for event in history if event in cut for name in event.sends):
            m = c.messages[name]
            if m.received is None or c[m.dst, m.received] not in cut:
                expected.setdefault((m.src, m.dst), []).append(name)
    assert in_transit(c, cut) == {channel: tuple(names) for channel, names in expected.items()}


@given(st.data())
def test_of_the_messages_sent_inside_each_is_received_inside_or_in_transit(data: st.DataObject):
    c = data.draw(computations())
    cut = data.draw(st.sampled_from(closed_cuts(c)))
    sent = Counter(name for event in c if event in cut for name in event.sends)
    received = Counter(name for event in c if event in cut for name in event.receives)
    flying = Counter(name for names in in_transit(c, cut).values() for name in names)
    assert sent == received + flying


@given(st.data())
def test_the_frontier_has_the_last_event_of_each_prefix(data: st.DataObject):
    c = data.draw(computations())
    cut = data.draw(cuts(c))
    inside = [event for event in c if event in cut]
    assert frontier(c, cut) == {
        p: max((e for e in inside if e.process == p), key=lambda e: e.position)
        for p in c.processes
        if any(e.process == p for e in inside)
    }


# --- the lattice ---------------------------------------------------------------------------------


@given(st.data())
def test_union_and_intersection_of_consistent_cuts_are_consistent(data: st.DataObject):
    c = data.draw(computations())
    one, two = (data.draw(st.sampled_from(closed_cuts(c))) for _ in range(2))
    assert is_consistent(c, one | two)
    assert is_consistent(c, one & two)
    assert one & two <= one <= one | two


@given(st.data())
def test_the_lattice_is_distributive(data: st.DataObject):
    c = data.draw(computations())
    x, y, z = (data.draw(cuts(c)) for _ in range(3))
    assert x & (y | z) == (x & y) | (x & z)
    assert x | (y & z) == (x | y) & (x | z)
    assert x & (x | y) == x == x | (x & y)


@given(st.data())
def test_a_cut_contains_the_events_of_its_union_and_intersection(data: st.DataObject):
    c = data.draw(computations())
    x, y = data.draw(cuts(c)), data.draw(cuts(c))
    for event in c:
        assert (event in x | y) == (event in x or event in y)
        assert (event in x & y) == (event in x and event in y)
    assert (x <= y) == all(event in y for event in c if event in x)


@given(st.data())
def test_there_is_a_least_consistent_cut_above_and_a_greatest_below(data: st.DataObject):
    c = data.draw(computations())
    cut = data.draw(cuts(c))
    closed = closed_cuts(c)
    above, below = least_consistent_above(c, cut), greatest_consistent_below(c, cut)
    assert cut <= above
    assert above in closed
    assert all(above <= other for other in closed if cut <= other)
    assert below <= cut
    assert below in closed
    assert all(other <= below for other in closed if other <= cut)


@given(computations())
def test_a_consistent_cut_is_its_own_neighbour_above_and_below(c: Computation):
    for cut in consistent_cuts(c):
        assert least_consistent_above(c, cut) == cut == greatest_consistent_below(c, cut)


@given(computations())
def test_the_successors_of_a_cut_have_one_event_more(c: Computation):
    closed = set(closed_cuts(c))
    for cut in closed:
        one_more = {cut | Cut({p: cut[p] + 1}) for p in c.processes}
        assert sorted(map(repr, successors(c, cut))) == sorted(map(repr, one_more & closed))


# --- counting without listing --------------------------------------------------------------------


def test_independent_processes_are_counted_without_listing():
    assert count_consistent_cuts(independent(40, 40)) == 41**40


@pytest.mark.parametrize("family", [broadcast, gather])
def test_a_star_is_counted_without_listing(family):
    assert count_consistent_cuts(family(60)) == 2**61 - 1


def test_a_barrier_is_counted_without_listing():
    assert count_consistent_cuts(barrier(60)) == 2**62 - 3


def test_a_long_stream_is_counted_without_listing():
    assert count_consistent_cuts(stream(2000)) == 2001 * 2002 // 2


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_long_pipeline_is_counted_without_listing(shuffled: bool):
    items, stages = 30, 30
    sent = [1] * (items + 1)  # ways to place the stages so far, by how many items the last sent
    for _ in range(stages - 2):
        ways = [0] * (items + 1)
        for position in range(2 * items + 1):  # receive, send, receive, send, …
            ways[position // 2] += sum(sent[(position + 1) // 2 :])
        sent = ways
    expected = sum(sum(sent[received:]) for received in range(items + 1))
    lines = str(pipeline(items, stages)).split("\n")
    if shuffled:
        random.Random(0).shuffle(lines)
    assert count_consistent_cuts(computation("\n".join(lines))) == expected


def test_groups_that_never_meet_are_counted_apart():
    crosses = "\n".join(f"p{i}: a{i}! b{i}?\nq{i}: b{i}! a{i}?" for i in range(50))
    assert count_consistent_cuts(computation(crosses)) == 7**50


# --- possibly and definitely ---------------------------------------------------------------------


def test_two_pulses_may_coincide_and_need_not():
    pulse = (0, 1, 0)  # the value of x after none, one, two events of its process
    c = independent(2, 2)
    both = lambda cut: pulse[cut["p0"]] == pulse[cut["p1"]] == 1  # noqa: E731
    assert possibly(c, both)
    assert not definitely(c, both)


def test_two_independent_steps_definitely_pass_through_exactly_one_done():
    assert definitely(independent(2, 1), lambda cut: cut["p0"] + cut["p1"] == 1)


def test_in_a_cross_both_channels_are_definitely_full_at_once():
    c = cross(1)
    assert definitely(c, lambda cut: len(in_transit(c, cut)) == 2)


def test_in_a_cross_one_channel_alone_is_possibly_full_and_not_definitely():
    c = cross(1)
    alone = lambda cut: set(in_transit(c, cut)) == {("p", "q")}  # noqa: E731
    assert possibly(c, alone)
    assert not definitely(c, alone)


def test_only_consistent_cuts_are_possible():
    c = stream(1)
    assert not possibly(c, lambda cut: cut == Cut.of(p=0, q=1))


@given(st.data())
def test_possibly_and_definitely_are_what_they_are_over_all_runs(data: st.DataObject):
    c = data.draw(computations(max_events=6))
    closed = closed_cuts(c)
    good = set(data.draw(st.lists(st.sampled_from(closed))))
    runs = [set(cuts_along(c, run)) for run in all_runs(c)]
    assert possibly(c, good.__contains__) == any(run & good for run in runs)
    assert definitely(c, good.__contains__) == all(run & good for run in runs)


@given(computations())
def test_every_run_starts_at_the_empty_cut_and_ends_at_the_full_one(c: Computation):
    full = Cut({p: len(c.history(p)) for p in c.processes})
    assert definitely(c, lambda cut: cut == Cut.of())
    assert definitely(c, lambda cut: cut == full)
    assert not possibly(c, lambda cut: False)


# --- cuts as values ------------------------------------------------------------------------------


def test_the_example_of_the_contract():
    c = computation("p: a m! n?\nq: m? b n!")
    assert orphans(c, Cut.of(p=1, q=1)) == ("m",)
    assert not is_consistent(c, Cut.of(p=1, q=1))
    assert in_transit(c, Cut.of(p=2, q=0)) == {("p", "q"): ("m",)}


def test_an_absent_process_has_no_events_inside():
    assert Cut.of(p=1) == Cut.of(p=1, q=0) == Cut({"p": 1, "q": 0})
    assert hash(Cut.of(p=1)) == hash(Cut.of(p=1, q=0))
    assert Cut.of(p=1)["q"] == 0
    assert Cut.of() == Cut.of(p=0)


def test_cuts_differ_if_one_number_differs():
    assert Cut.of(p=1) != Cut.of(p=2)
    assert Cut.of(p=1) != Cut.of(q=1)
    assert Cut.of(p=1) != {"p": 1}
    assert len({Cut.of(p=1), Cut.of(p=1, q=0), Cut.of(q=1)}) == 2


def test_incomparable_cuts_are_below_neither():
    one, two = Cut.of(p=1), Cut.of(q=1)
    assert not one <= two
    assert not two <= one


def test_a_cut_does_not_follow_the_mapping_it_was_made_from():
    counts = {"p": 1}
    cut = Cut(counts)
    counts["p"] = 2
    assert cut == Cut.of(p=1)


@pytest.mark.parametrize(
    "cut",
    [Cut.of(p=1, q=0), Cut.of(), Cut({"node-1": 3}), Cut({"class": 1}), Cut({"cls": 1, "self": 2})],
)
def test_a_cut_prints_as_what_makes_it(cut: Cut):
    assert eval(repr(cut)) == cut
    assert list(eval(repr(cut))) == list(cut)


@pytest.mark.parametrize("count", [-1, 1.0, "1", None, True])
def test_a_cut_counts_events(count):
    with pytest.raises(ValueError, match=r"^p=.*: a cut counts events, so 0, 1, 2, …$"):
        Cut.of(p=count)


@pytest.mark.parametrize(
    ("cut", "error"),
    [
        (Cut.of(p=3), "Cut.of(p=3): p has only 2 events"),
        (Cut.of(p=1, z=0), "Cut.of(p=1, z=0): there is no process z, only p, q"),
    ],
)
@pytest.mark.parametrize(
    "ask",
    [
        is_consistent,
        orphans,
        in_transit,
        frontier,
        successors,
        least_consistent_above,
        greatest_consistent_below,
    ],
)
def test_a_cut_that_does_not_fit_the_computation_is_refused(ask, cut: Cut, error: str):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 the message is compared below
        ask(computation("p: a b\nq: d"), cut)
    assert str(caught.value) == error


# --- length --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_million_events_are_asked_and_cut_like_a_few():
    k = 500_000
    log = Log("pq")
    for i in range(k):
        log.event("p", sends={f"m{i}": "q"})
        log.event("q", receives=[f"m{i}"])
    c = log.computation(fifo=True)
    pick = random.Random(7)
    for _ in range(1000):
        p, q = pick.randint(1, k), pick.randint(1, k)
        cut = Cut.of(p=p, q=q)
        assert happens_before(c, c["p", p], c["q", q]) == (p <= q)
        assert not happens_before(c, c["q", q], c["p", p])
        assert is_consistent(c, cut) == (q <= p)
        assert least_consistent_above(c, cut) == Cut.of(p=max(p, q), q=q)
        assert greatest_consistent_below(c, cut) == Cut.of(p=p, q=min(p, q))
    assert len(orphans(c, Cut.of(q=k))) == k
    assert len(in_transit(c, Cut.of(p=k))["p", "q"]) == k
