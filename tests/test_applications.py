"""The systems to be photographed: each does what its docstring says, over every schedule."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import all_runs, computations, cross, stream
from worlds import every_world

from chandylamport import (
    EXAMPLE_2_2,
    ChandyLamport,
    Channel,
    Fifo,
    Log,
    MalformedComputation,
    System,
    Unordered,
    accounts,
    actors,
    bank,
    complete,
    computation,
    count_consistent_cuts,
    example_2_2,
    explore,
    letters,
    line,
    object_graph,
    replay,
    servers,
    simulate,
    single_token,
    textbook_bank,
    three_process_bank,
    work_pool,
)
from chandylamport.applications import Automaton


def every_state(system):
    """The global states that the system can be in, without any snapshot."""
    return {world.now() for world, _ in every_world(system, None, [])}


def final_states(system):
    return {w.now() for w, _ in every_world(system, None, []) if not w.options()}


def money(state):
    return sum(state.states.values()) + sum(map(sum, state.channels.values()))


# --- processes that follow a text -----------------------------------------------------------------


def performers(c, network=Fifo):
    return System(actors(c), network(complete(c.processes)))


def one_thing_at_a_time(c):
    return all(len(e.receives) + bool(e.sends) <= 1 for h in c.histories for e in h)


@pytest.mark.parametrize(
    "c", [stream(2), cross(1), cross(2)], ids=["stream 2", "cross 1", "cross 2"]
)
def test_actors_pass_through_exactly_the_consistent_cuts(c):
    states = every_state(performers(c))
    assert len(states) == count_consistent_cuts(c)
    assert {tuple(s.states.values()) for s in final_states(performers(c))} == {
        tuple(map(len, c.histories))
    }


@given(computations(max_processes=3, max_events=7).filter(one_thing_at_a_time), st.integers(0, 9))
def test_actors_perform_their_computation_whatever_the_order_of_choice(c, seed):
    run = simulate(performers(c, Unordered), seed=seed)
    assert run.computation.processes == c.processes
    assert [len(h) for h in run.computation.histories] == [len(h) for h in c.histories]
    sent = {m.name: (m.src, m.sent, m.dst, m.received) for m in c.messages.values()}
    assert {
        run.payloads[m.name]: (m.src, m.sent, m.dst, m.received)
        for m in run.computation.messages.values()
    } == sent


def test_actors_can_take_every_run_of_their_computation():
    c = cross(1)
    for run in all_runs(c):
        steps = [
            f"{e.process} sends {e.sends[0]} to {c.messages[e.sends[0]].dst}"
            if e.sends
            else f"{e.process} receives {e.receives[0]}"
            for e in run
        ]
        assert replay(performers(c), steps)[-1].states == {"p": 2, "q": 2}


def test_an_actor_does_its_internal_events_too():
    assert replay(performers(computation("p: a b\nq: d")), "q does d; p does a")[-1].states == {
        "p": 1,
        "q": 1,
    }


def test_an_actor_refuses_an_event_that_receives_and_sends():
    log = Log("pqr")
    log.event("p", sends={"m": "q"})
    log.event("q", sends={"k": "r"}, receives=["m"])
    with pytest.raises(MalformedComputation, match="an actor receives one message, or sends"):
        actors(log.computation())


def test_letters_are_sent_in_order_and_received_at_any_time():
    system = System(letters(p=[("q", "m"), ("q", "n")], q=[("p", "k")]), Fifo(complete("pq")))
    assert {s.states["q"] for s in final_states(system)} == {(1, ("m", "n"))}
    assert {s.states["p"] for s in every_state(system)} == {
        (sent, got) for sent in range(3) for got in [(), ("k",)]
    }


def test_letters_arrive_in_any_order_where_the_network_has_none():
    system = System(letters(p=[("q", "m"), ("q", "n")], q=[]), Unordered(line("pq")))
    assert {s.states["q"][1] for s in final_states(system)} == {("m", "n"), ("n", "m")}


def test_an_automaton_takes_the_transitions_of_its_table_and_no_others():
    light = Automaton("red", {("red", "go"): "green", ("green", "M!q"): "red"}, limit=3)
    ear = Automaton("deaf", {("deaf", "listen"): "open", ("open", "M?"): "deaf"}, limit=1)
    system = System({"p": light, "q": ear}, Fifo(line("pq")))
    with pytest.raises(ValueError, match="What can: p does go; q does listen"):
        replay(system, "p sends M to q")
    with pytest.raises(ValueError, match="'q receives M', cannot happen now"):
        replay(system, "p does go; p sends M to q; q receives M")
    end = replay(system, "p does go; p sends M to q; q does listen; q receives M; p does go")[-1]
    assert end.states == {"p": "green", "q": "deaf"}
    assert {s.states["p"] for s in final_states(system)} == {"green"}  # after three actions


# --- banks ----------------------------------------------------------------------------------------


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 4), st.integers(0, 9))
def test_accounts_keep_the_money_together_and_stop_after_their_transfers(p, q, transfers, seed):
    system = System(accounts(p=p, q=q, transfers=transfers), Fifo(complete("pq")))
    run = simulate(system, seed=seed)
    assert money(run.final) == p + q
    assert run.final.channels == {}
    assert all(balance >= 0 for balance in run.final.states.values())
    sent = [m.src for m in run.computation.messages.values()]
    assert all(sent.count(name) <= transfers for name in "pq")


def test_a_rich_account_makes_all_its_transfers():
    run = simulate(System(accounts(p=900, q=900, transfers=5), Fifo(complete("pq"))))
    assert len(run.computation.messages) == 10


def balances(*payments, **start):
    system = System(bank(start, *payments), Fifo(complete(start)))
    return {tuple(state.states.values()) for state in final_states(system)}


def test_a_bank_makes_each_given_payment_once_as_soon_as_the_money_is_there():
    assert balances(("p", "q", 4), ("q", "p", 3), p=10, q=0) == {(9, 1)}


def test_a_bank_lends_no_money():
    assert balances(("p", "q", 4), p=3, q=0) == {(3, 0)}


@pytest.mark.parametrize(("system", "total"), [(textbook_bank(), 800), (three_process_bank(), 600)])
def test_no_state_of_a_bank_has_lost_or_made_money(system, total):
    assert {money(state) for state in every_state(system)} == {total}


def test_the_textbook_bank_ends_in_one_way_whatever_the_order():
    assert [state.states for state in final_states(textbook_bank())] == [{"A": 630, "B": 170}]


def test_the_three_process_bank_can_make_its_four_payments():
    pay = "R sends 30 to Q; Q sends 20 to P; P sends 10 to R; R sends 5 to P"
    take = "Q receives 30; P receives 20; R receives 10; P receives 5"
    assert replay(three_process_bank(), f"{pay}; {take}")[-1].states == {
        "P": 115,
        "Q": 210,
        "R": 275,
    }


def test_the_textbook_bank_passes_through_the_textbook_states():
    steps = "A sends m to B; B sends n to A; A receives n; B receives m"
    seen = [
        (s.states["A"], s.states["B"], sum(s.channels["A", "B"]), sum(s.channels["B", "A"]))
        for s in replay(textbook_bank(), steps)
    ]
    assert seen == [
        (600, 200, 0, 0),
        (550, 200, 50, 0),
        (550, 120, 50, 80),
        (630, 120, 50, 0),
        (630, 170, 0, 0),
    ]


# --- the paper's examples -------------------------------------------------------------------------


def test_the_token_is_in_one_of_four_places_and_goes_round():
    places = [
        (s.states["p"], len(s.channels["p", "q"]), s.states["q"], len(s.channels["q", "p"]))
        for s in replay(single_token(3), simulate(single_token(3)).schedule)
    ]
    around = [("s1", 0, "s0", 0), ("s0", 1, "s0", 0), ("s0", 0, "s1", 0), ("s0", 0, "s0", 1)]
    assert places == [*around, *around[:3]]


def test_nobody_sends_a_token_that_he_does_not_have():
    with pytest.raises(ValueError, match="What can: p sends token to q"):
        replay(single_token(), "q sends token to p")


def test_the_token_system_is_deterministic_and_each_snapshot_is_a_state_of_its_one_run():
    found = explore(single_token(4), ChandyLamport)
    assert found.counterexample is None
    assert found.snapshots <= set(replay(single_token(4), simulate(single_token(4)).schedule))


def test_example_2_2_records_a_state_that_did_not_occur():
    run = simulate(example_2_2(), ChandyLamport, schedule=EXAMPLE_2_2)
    assert run.fault == ""
    assert run.snapshot.states == {"p": "A", "q": "D"}
    assert run.snapshot.channels == {("q", "p"): ("M'",)}
    passed = replay(example_2_2(), "p sends M to q; q sends M' to p; p receives M'")
    assert ["".join(s.states.values()) for s in passed] == ["AC", "BC", "BD", "AD"]
    assert [s.channels["p", "q"] for s in passed] == [(), ("M",), ("M",), ("M",)]
    assert run.snapshot not in passed


def test_example_2_2_can_be_in_the_state_that_it_records():
    run = simulate(example_2_2(), ChandyLamport, schedule=EXAMPLE_2_2)
    assert run.snapshot in every_state(example_2_2())


# --- systems with a stable property ---------------------------------------------------------------

STABLE = {"work pool": work_pool(), "servers": servers(), "object graph": object_graph()}


@pytest.mark.parametrize("name", STABLE)
def test_no_schedule_makes_markers_record_a_wrong_state_of(name):
    assert explore(STABLE[name], ChandyLamport).counterexample is None


@pytest.mark.parametrize("name", STABLE)
def test_every_state_is_plain_json(name):
    def listed(value):
        return [*map(listed, value)] if isinstance(value, tuple) else value

    for state in every_state(STABLE[name]):
        for value in (*state.states.values(), *state.channels.values()):
            assert json.loads(json.dumps(value)) == listed(value)


def test_who_is_passive_does_nothing_until_work_comes():
    with pytest.raises(ValueError, match="What can: p does rest; p sends work to q"):
        replay(work_pool(), "q sends work to p")
    end = replay(work_pool(), "p sends work to q; p does rest; q receives work; q does rest")[-1]
    assert end.states == {"p": "passive", "q": "passive"}


def test_work_may_come_to_one_who_is_active():
    steps = "p sends work to q; q receives work; q sends work.2 to p; p receives work.2"
    assert replay(work_pool(), steps)[-1].states == {"p": "active", "q": "active"}


def test_in_a_larger_pool_work_may_go_from_anybody_to_anybody():
    used = {channel for state in every_state(work_pool("pqr")) for channel in state.channels}
    assert used == set(complete("pqr"))


def test_a_server_that_waits_replies_to_nobody():
    steps = "p sends call to q; q sends call.2 to p; p receives call.2; q receives call"
    end = replay(servers(), steps)[-1]
    assert end.states == {"p": ("q", ("q",), ()), "q": ("p", ("p",), ())}
    assert end in final_states(servers())


def test_calls_that_do_not_cross_are_answered():
    assert {s.states["p"][0] for s in final_states(servers())} == {"", "q"}
    steps = "p sends call to q; q receives call; q sends reply to p; p receives reply"
    assert replay(servers(), steps)[-1].states == {"p": ("", (), ()), "q": ("", (), ("p",))}


def test_the_oldest_call_is_answered_first():
    q = servers("pqr").processes["q"]
    state = q.initial
    for caller in "rp":
        state = q.receive(state, Channel(caller, "q"), "call")
    assert [action.sends for action in q.enabled(state)] == [(("r", "reply"),), (("r", "call"),)]
    reply, _ = q.enabled(state)
    assert q.step(state, reply) == ("", ("p",), ("r",))


def test_a_reference_is_copied_when_it_is_sent_and_gone_when_it_is_dropped():
    _, sent, dropped, received = replay(
        object_graph(), "p sends a to q; p does drop a; q receives a"
    )
    assert dict(sent.states["p"])["p"] == ("a",)
    assert dict(dropped.states["p"])["p"] == ()
    assert dict(received.states["q"])["q"] == ("a", "c")


def test_a_program_sends_and_drops_only_what_its_variables_hold():
    programs = object_graph().processes
    for state in every_state(object_graph()):
        for name, own in state.states.items():
            actions = list(programs[name].enabled(own))
            assert {a.sends[0][1] for a in actions if a.sends} == set(dict(own)[name])
            assert {a.then for a in actions if not a.sends} == set(dict(own)[name])


def test_objects_stay_where_they_are_with_what_they_hold():
    for state in every_state(object_graph()):
        p, q = (dict(state.states[name]) for name in "pq")
        assert (p.keys(), q.keys()) == ({"a", "p"}, {"b", "c", "q"})
        assert (p["a"], q["b"], q["c"]) == (("b",), ("a",), ())
