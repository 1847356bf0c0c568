"""Happens-before and its clocks, against the definition and against networkx."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from strategies import all_to_all_3, computations, happens_before_pairs, independent, token_ring

from chandylamport import (
    Computation,
    Event,
    Log,
    computation,
    concurrent,
    happens_before,
    lamport_clocks,
    vector_clocks,
)


def graph(c: Computation) -> nx.DiGraph:
    """The generators of happens-before: next event of a process, and send to receive."""
    edges = nx.DiGraph()
    edges.add_nodes_from(c)
    for history in c.histories:
        edges.add_edges_from(pairwise(history))
    for m in c.messages.values():
        if m.received is not None:
            edges.add_edge(c[m.src, m.sent], c[m.dst, m.received])
    return edges


@given(computations(max_events=14))
def test_happens_before_is_the_closure_of_local_order_and_messages(c: Computation):
    pairs = happens_before_pairs(c)
    assert {(e, f) for e in c for f in c if happens_before(c, e, f)} == pairs


@given(computations(max_events=14))
def test_happens_before_is_reachability_in_networkx(c: Computation):
    edges = graph(c)
    for e in c:
        assert {f for f in c if happens_before(c, e, f)} == nx.descendants(edges, e)


@given(computations())
def test_happens_before_is_irreflexive_and_transitive(c: Computation):
    assert not any(happens_before(c, e, e) for e in c)
    after = {e: {f for f in c if happens_before(c, e, f)} for e in c}
    assert all(after[f] <= after[e] for e in c for f in after[e])


@given(computations())
def test_two_different_events_are_ordered_one_way_or_the_other_or_concurrent(c: Computation):
    for e in c:
        for f in c:
            ways = happens_before(c, e, f) + happens_before(c, f, e) + concurrent(c, e, f)
            assert ways == (e != f)


def test_events_of_processes_that_never_meet_are_concurrent():
    c = independent(3, 2)
    assert all(concurrent(c, e, f) == (e.process != f.process) for e in c for f in c if e != f)


def test_nothing_is_concurrent_where_one_token_goes_round():
    c = token_ring(5)
    assert not any(concurrent(c, e, f) for e in c for f in c)


def test_an_event_that_receives_and_sends_passes_its_causes_on():
    c = computation("p: a m!\nq: m?,n!\nr: n? b")
    assert happens_before(c, c["a"], c["b"])


def test_a_message_that_never_arrives_orders_nothing():
    c = computation("p: m!q\nq: a b")
    assert concurrent(c, c["m!"], c["b"])


# --- vector clocks -------------------------------------------------------------------------------


@given(computations())
def test_a_vector_clock_counts_the_causal_past_process_by_process(c: Computation):
    pairs = happens_before_pairs(c)
    for f in c:
        past = [e for e in c if (e, f) in pairs or e == f]
        expected = {p: sum(e.process == p for e in past) for p in c.processes}
        assert vector_clocks(c)[f] == expected


@given(computations())
def test_vector_clocks_are_ordered_exactly_as_their_events(c: Computation):
    clock = vector_clocks(c)
    for e in c:
        for f in c:
            below = clock[e] != clock[f] and all(clock[e][p] <= clock[f][p] for p in c.processes)
            assert below == happens_before(c, e, f)


def test_vector_clocks_of_the_example_in_the_contract():
    c = computation("p: a m! n?\nq: m? b n!")
    assert {e.name: clock for e, clock in vector_clocks(c).items()} == {
        "a": {"p": 1, "q": 0},
        "m!": {"p": 2, "q": 0},
        "m?": {"p": 2, "q": 1},
        "b": {"p": 2, "q": 2},
        "n!": {"p": 2, "q": 3},
        "n?": {"p": 3, "q": 3},
    }


def test_a_computation_has_a_clock_for_each_event_and_makes_them_once():
    c = all_to_all_3()
    assert vector_clocks(c) is vector_clocks(c)
    assert set(vector_clocks(c)) == set(c)
    assert len(vector_clocks(c)) == len(c) == 12


# --- Lamport's clocks ----------------------------------------------------------------------------


@given(computations())
def test_lamport_clocks_satisfy_the_clock_condition(c: Computation):
    clock = lamport_clocks(c)
    assert all(clock[e] < clock[f] for e, f in happens_before_pairs(c))


def test_the_converse_of_the_clock_condition_is_false():
    c = computation("p: a\nq: b d")
    clock = lamport_clocks(c)
    assert clock[c["a"]] < clock[c["d"]]
    assert concurrent(c, c["a"], c["d"])


@given(computations())
def test_a_lamport_clock_is_the_length_of_the_longest_chain_that_ends_there(c: Computation):
    edges = graph(c)
    for event in c:
        past = edges.subgraph({event} | nx.ancestors(edges, event))
        assert lamport_clocks(c)[event] == nx.dag_longest_path_length(past) + 1


# --- foreign events ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "foreign", [Event("p", 1, "b"), Event("p", 2, "a"), Event("z", 1, "a"), Event("p", 0, "a")]
)
def test_an_event_of_another_computation_is_refused(foreign: Event):
    c = computation("p: a\nq: d")
    for ask in (
        lambda: happens_before(c, c["d"], foreign),
        lambda: happens_before(c, foreign, c["d"]),
        lambda: concurrent(c, foreign, c["d"]),
        lambda: vector_clocks(c)[foreign],
    ):
        with pytest.raises(KeyError):
            ask()


def test_a_name_instead_of_an_event_is_refused_with_what_to_write():
    c = computation("p: a\nq: b")
    with pytest.raises(TypeError, match=r"write c\['a'\]"):
        happens_before(c, "a", c["b"])  # type: ignore[arg-type]


# --- length --------------------------------------------------------------------------------------


def ping_pong_log(messages: int) -> Computation:
    """One message at a time, to and fro: a chain of twice as many events."""
    log = Log("pq")
    for i in range(messages):
        src, dst = "pq" if i % 2 == 0 else "qp"
        log.event(src, sends={f"m{i}": dst})
        log.event(dst, receives=[f"m{i}"])
    return log.computation()


def test_a_chain_of_100_000_events_is_followed_to_its_end():
    c = ping_pong_log(50_000)
    first, last = c["m0!"], c["m49999?"]
    assert happens_before(c, first, last)
    assert not happens_before(c, last, first)
    assert lamport_clocks(c)[last] == 100_000
    assert vector_clocks(c)[last] == {"p": 50_000, "q": 50_000}


@pytest.mark.slow
def test_a_million_events_answer_like_a_short_chain():
    c = ping_pong_log(500_000)
    for k in range(0, 500_000, 499):
        send, receive = c[f"m{k}!"], c[f"m{k}?"]
        assert happens_before(c, send, receive)
        assert not happens_before(c, receive, send)
        assert vector_clocks(c)[receive] == dict.fromkeys("pq", k + 1)
