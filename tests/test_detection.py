"""Stable properties on snapshots, over every schedule; halting; the end of a snapshot."""

from __future__ import annotations

from functools import cache

import pytest
from worlds import every_world, taken

from chandylamport import (
    AcknowledgedMarkers,
    ChandyLamport,
    Fifo,
    Snapshot,
    System,
    assemble,
    both_ways,
    breakpoint_at,
    complete,
    deadlocked,
    example_2_2,
    explore,
    garbage,
    letters,
    line,
    object_graph,
    reference_counts,
    replay,
    ring,
    servers,
    simulate,
    single_token,
    star,
    terminated,
    textbook_bank,
    three_process_bank,
    tokens,
    violations,
    work_pool,
)
from chandylamport.applications import Automaton

# --- stable: y(beginning) ⇒ y(snapshot) ⇒ y(end) --------------------------------------------------

SYSTEMS = {"work": work_pool(), "servers": servers(), "objects": object_graph()}
PROPERTIES = {
    "terminated": ("work", terminated),
    "deadlocked": ("servers", lambda s: bool(deadlocked(s))),
    "a and b are garbage": ("objects", lambda s: {"a", "b"} <= set(garbage(s, "pq"))),
    "c is garbage": ("objects", lambda s: "c" in garbage(s, "pq")),
}


@cache
def moments(name):
    """Wherever a snapshot is complete: the state where it began, the snapshot, the state now."""
    worlds = every_world(SYSTEMS[name], ChandyLamport, initiators=["p"])
    return {(began, taken(world), world.now()) for world, began in worlds if taken(world)}


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_stable_property_holds_at_the_beginning_then_in_the_snapshot_then_ever_after(name):
    system, holds = PROPERTIES[name]
    seen = {tuple(map(holds, states)) for states in moments(system)}
    # False, then True: all four ways, so that no implication holds for want of a premise
    assert seen == {(i > 2, i > 1, i > 0) for i in range(4)}


def test_one_token_in_every_snapshot_of_every_schedule():
    assert {tokens(s) for s in explore(single_token(4), ChandyLamport).snapshots} == {1}


# --- termination ----------------------------------------------------------------------------------

R16 = "p sends work to q; p does rest"


def test_asking_one_after_the_other_says_terminated_with_work_under_way():
    states = replay(work_pool(), R16)
    polled = {"q": states[0].states["q"], "p": states[2].states["p"]}
    assert terminated(Snapshot(polled, {}))
    assert not terminated(states[2])
    assert states[2].channels["p", "q"] == ("work",)


def test_a_snapshot_beginning_where_the_poll_began_is_not_deceived():
    markers = "p receives marker from q; q receives work; q receives marker from p"
    run = simulate(work_pool(), ChandyLamport, schedule=f"q records; {R16}; {markers}")
    assert run.snapshot.states == {"p": "passive", "q": "passive"}
    assert run.snapshot.channels["p", "q"] == ("work",)
    assert not terminated(run.snapshot)


def test_who_is_active_has_not_terminated():
    assert not terminated(Snapshot({"p": "active", "q": "passive"}, {}))
    assert terminated(Snapshot({"p": "passive", "q": "passive"}, {}))


# --- deadlock -------------------------------------------------------------------------------------

CROSSING = "p sends call to q; q sends call.2 to p"


def test_two_servers_that_call_each_other_wait_for_ever():
    end = replay(servers("pq"), f"{CROSSING}; q receives call; p receives call.2")[-1]
    assert deadlocked(end) == ("p", "q")
    assert end == simulate(System(servers("pq").processes, servers("pq").network, end)).final


def test_a_call_under_way_is_waited_for_already():
    state = replay(servers("pq"), CROSSING)[-1]
    assert state.channels["p", "q"] == state.channels["q", "p"] == ("call",)
    assert deadlocked(state) == ("p", "q")


def test_a_reply_under_way_breaks_the_cycle_that_the_states_show():
    way = "p sends call to q; q receives call; q sends reply to p; q sends call.2 to p"
    state = replay(servers("pq"), way)[-1]
    assert [state.states[p][0] for p in "pq"] == ["q", "p"]
    assert deadlocked(Snapshot(state.states, {})) == ("p", "q")
    assert deadlocked(state) == ()


def test_who_waits_for_a_cycle_is_not_in_it():
    waits = {"a": "b", "b": "d", "d": "c", "c": "b", "e": ""}
    states = {process: (other, (), ()) for process, other in waits.items()}
    assert deadlocked(Snapshot(states, {})) == ("b", "d", "c")


def test_a_chain_of_waiting_is_no_deadlock():
    states = {process: (other, (), ()) for process, other in [("p", "q"), ("q", "r"), ("r", "")]}
    assert deadlocked(Snapshot(states, {})) == ()


def test_three_servers_deadlock_in_a_ring_or_not_at_all():
    found = {
        deadlocked(s) for s in explore(servers("pqr"), ChandyLamport, initiators=["p"]).snapshots
    }
    assert found == {(), ("p", "q", "r")}


# --- tokens ---------------------------------------------------------------------------------------


def test_the_two_failing_photographs_of_example_3_1():
    in_p, in_c = replay(single_token(), "p sends token to q")
    two = Snapshot({"p": in_p.states["p"], "q": in_c.states["q"]}, in_c.channels)
    none = Snapshot(in_c.states, in_p.channels)
    assert (tokens(in_p), tokens(in_c)) == (1, 1)
    assert (tokens(two), tokens(none)) == (2, 0)
    assert {two, none}.isdisjoint(explore(single_token(), ChandyLamport).snapshots)


# --- garbage --------------------------------------------------------------------------------------


def test_a_reference_in_a_channel_keeps_its_object_alive():
    start, _, dropped = replay(object_graph(), "p sends a to q; p does drop a")
    assert garbage(dropped, "pq") == ()
    polled = Snapshot({"q": start.states["q"], "p": dropped.states["p"]}, {})
    assert garbage(polled, "pq") == ("a", "b")


def test_counts_miss_a_cycle_and_find_a_single_object():
    end = replay(object_graph(), "p does drop a; q does drop c")[-1]
    assert garbage(end, "pq") == ("a", "b", "c")
    assert reference_counts(end) == {"a": 1, "b": 1, "c": 0}


def test_counts_include_the_references_under_way():
    end = replay(object_graph(), "q sends c to p; q does drop c")[-1]
    assert reference_counts(end) == {"a": 2, "b": 1, "c": 1}


def test_what_no_root_reaches_is_garbage_whoever_holds_it():
    start = object_graph().start
    assert garbage(start, roots="pq") == ()
    assert garbage(start, roots="q") == ("a", "b", "p")


def test_what_is_garbage_in_the_snapshot_is_garbage_ever_after():
    found = {tuple(frozenset(garbage(s, "pq")) for s in states) for states in moments("objects")}
    assert all(recorded <= now for _, recorded, now in found)
    assert any(set() < recorded < now for _, recorded, now in found)


# --- debugging ------------------------------------------------------------------------------------

INVARIANTS = {
    "one at a time": lambda s: [*s.states.values()].count("critical") <= 1,
    "nobody has failed": lambda s: "failed" not in s.states.values(),
}
RACE = Automaton("idle", {("idle", "enter"): "critical", ("critical", "leave"): "idle"}, limit=2)


def test_a_race_shows_in_the_snapshot_of_a_run_in_which_it_did_not_happen():
    system = System({"p": RACE, "q": RACE}, Fifo(complete("pq")))
    steps = "p does enter; p records; p does leave; q does enter; q receives marker from p"
    run = simulate(system, ChandyLamport, schedule=f"{steps}; p receives marker from q")
    assert violations(run.snapshot, INVARIANTS) == ("one at a time",)
    passed = replay(system, "p does enter; p does leave; q does enter")
    assert [violations(state, INVARIANTS) for state in passed] == [()] * 4
    assert violations(replay(system, "p does enter; q does enter")[-1], INVARIANTS)


def test_a_system_that_keeps_its_invariants_keeps_them_in_every_snapshot():
    money = {"800": lambda s: sum(s.states.values()) + sum(map(sum, s.channels.values())) == 800}
    snapshots = explore(textbook_bank(), ChandyLamport).snapshots
    assert {violations(s, money) for s in snapshots} == {()}


@pytest.mark.parametrize("seed", range(20))
def test_the_system_stood_in_the_state_of_the_breakpoint(seed):
    system = three_process_bank()
    run = breakpoint_at(system, {"Q": lambda balance: balance != 200}, seed=seed)
    assert run.fault == ""
    assert run.snapshot.states["Q"] != 200
    own = list(run.steps)
    assert run.snapshot in replay(system, own)


def test_left_running_markers_may_record_where_the_system_never_stood():
    steps = """
        p records; p sends M to q; q sends M' to p; p receives M'
        q receives marker from p; p receives marker from q
    """
    run = simulate(example_2_2(), ChandyLamport, schedule=steps)
    assert run.snapshot not in replay(
        example_2_2(), "p sends M to q; q sends M' to p; p receives M'"
    )


def pulses():
    pulse = Automaton("0", {("0", "up"): "1", ("1", "down"): "2"}, limit=2)
    return System({"p": pulse, "q": pulse}, Fifo(complete("pq")))


def test_halting_meets_conditions_that_the_run_left_alone_does_not_meet_together():
    at_1 = dict.fromkeys("pq", lambda state: state == "1")
    halted = {
        tuple(breakpoint_at(pulses(), at_1, seed=s).snapshot.states.values()) for s in range(9)
    }
    assert ("1", "1") in halted
    alone = replay(pulses(), "p does up; p does down; q does up; q does down")
    assert all(state.states != {"p": "1", "q": "1"} for state in alone)


def test_one_condition_halts_the_others_where_the_marker_finds_them():
    at_1 = {"p": lambda state: state == "1"}
    halted = {
        tuple(breakpoint_at(pulses(), at_1, seed=s).snapshot.states.values()) for s in range(30)
    }
    assert halted == {("1", "0"), ("1", "1"), ("1", "2")}


def test_a_condition_that_is_never_met_halts_nobody():
    run = breakpoint_at(pulses(), {"p": lambda state: state == "3"})
    assert (run.snapshot, run.cut, run.markers) == (None, None, 0)
    assert run.final.states == {"p": "2", "q": "2"}


def test_a_process_that_no_marker_reaches_is_not_halted():
    system = System(pulses().processes, Fifo(line("qp")))
    run = breakpoint_at(system, {"p": lambda state: state == "1"})
    assert "no channels lead from an initiator to q" in run.fault
    assert run.final.states == {"p": "1", "q": "2"}


# --- knowing that a snapshot is complete ----------------------------------------------------------

BOTH_WAYS = {
    "two": textbook_bank(),
    "line": System(letters(p=[("q", "m")], q=[("r", "n")], r=[]), Fifo(both_ways(line("pqr")))),
    "star": System(letters(p=[("q", "m")], q=[("p", "n")], r=[]), Fifo(star("pqr"))),
    "complete": System(letters(p=[("q", "m")], q=[], r=[]), Fifo(complete("pqr"))),
}


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_the_report_comes_once_and_never_before_the_snapshot_is_complete(name):
    system = BOTH_WAYS[name]
    first = next(iter(system.processes))
    unreported = 0
    for world, _ in every_world(system, AcknowledgedMarkers, [first]):
        [id] = world.ids
        parts = {process: own.result(id) for process, own in world.recorders.items()}
        assert world.reports in [(), ((first, "complete"),)]
        if world.reports:
            assert assemble(parts) is not None
        elif assemble(parts) is not None:
            unreported += 1  # the coordinator that collects knows it earlier
        if not world.options([(id, first)]):
            assert world.reports
    assert unreported


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_acknowledgements_leave_the_algorithm_as_it_is(name):
    plain, acknowledged = (
        explore(BOTH_WAYS[name], a) for a in (ChandyLamport, AcknowledgedMarkers)
    )
    assert acknowledged.counterexample is None
    assert acknowledged.snapshots == plain.snapshots


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_as_many_acknowledgements_as_markers(name):
    system = BOTH_WAYS[name]
    run = simulate(system, AcknowledgedMarkers)
    assert run.markers == 2 * len(system.network.channels)
    received = [step.split()[2] for step in run.schedule if " from " in step]
    assert received.count("ack") == received.count("marker") == len(system.network.channels)


def test_with_two_initiators_one_may_report_too_early_and_all_together_do_not():
    early = 0
    for world, _ in every_world(BOTH_WAYS["complete"], AcknowledgedMarkers, "pq"):
        [id] = world.ids
        parts = [own.recorders[id] for own in world.recorders.values() if id in own.recorders]
        roots = sum(part.recorded and part.parent is None for part in parts)
        early += bool(world.reports) and not world.complete
        assert world.complete or len(world.reports) < max(roots, 1)
    assert early


def test_acknowledgements_are_refused_where_no_channel_leads_back():
    one_way = System(letters(p=[], q=[], r=[]), Fifo(ring("pqr")))
    with pytest.raises(ValueError, match="channels both ways between p and q, r"):
        simulate(one_way, AcknowledgedMarkers)
