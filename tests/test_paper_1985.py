"""Chandy and Lamport 1985, sentence by sentence: the model, the rules, the theorem, the examples.

Each test is one sentence of the paper in our own words, with its section. Where the paper says
"always", every schedule of a small system is tried.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
from strategies import every_run

import chandylamport as cl
from chandylamport.runs import Schedule

SYSTEMS = {
    "textbook bank": cl.textbook_bank(),
    "single token": cl.single_token(hops=3),
    "example 2.2": cl.example_2_2(),
}


@cache
def runs(name):
    return tuple(every_run(SYSTEMS[name], cl.ChandyLamport))


@cache
def all_of_them():
    return [run for name in SYSTEMS for run in runs(name)]


def events_of(run):
    """The steps of the processes, without those of the algorithm."""
    return list(run.steps)


def passed(run):
    """S0, S1, …: the global states of the computation as it happened."""
    return cl.replay(run.system, events_of(run))


def test_there_are_many_runs():
    assert {name: len(runs(name)) for name in SYSTEMS} == {
        "textbook bank": 876,
        "single token": 340,
        "example 2.2": 530,
    }


# --- 2. Model of a distributed system -------------------------------------------------------------


def test_a_system_is_a_finite_directed_graph_of_processes_and_channels():
    with pytest.raises(ValueError, match="channel p→r: there is no process r"):
        cl.System(cl.accounts(p=1, q=1), cl.Fifo([("p", "r")]))


def test_channels_deliver_in_the_order_sent():
    system = cl.System(cl.letters(p=[("q", "m"), ("q", "n")], q=[]), cl.Fifo([("p", "q")]))
    sent = ["p sends m to q", "p sends n to q"]
    assert cl.replay(system, [*sent, "q receives m", "q receives n"])
    with pytest.raises(
        ValueError, match=r"'q receives n', cannot happen now. What can: q receives m"
    ):
        cl.replay(system, [*sent, "q receives n"])


def test_the_delay_of_a_message_is_arbitrary_but_finite():
    waits = {
        run.schedule.index("B receives m1") - run.schedule.index("A sends m1 to B")
        for run in runs("textbook bank")
        if "B receives m1" in run.schedule
    }
    assert waits >= set(range(1, 6))
    assert all(not run.final.channels for run in runs("textbook bank"))


def test_the_state_of_a_channel_is_what_was_sent_without_what_was_received():
    system = cl.System(cl.letters(p=[("q", "m"), ("q", "n")], q=[]), cl.Fifo([("p", "q")]))
    states = cl.replay(system, "p sends m to q; p sends n to q; q receives m; q receives n")
    assert [s.channels["p", "q"] for s in states] == [(), ("m",), ("m", "n"), ("n",), ()]


def test_the_initial_state_of_each_channel_is_empty():
    assert all(not system.start.channels for system in SYSTEMS.values())


def test_an_event_changes_one_process_and_at_most_one_channel():
    for run in all_of_them()[::50]:
        for before, after in pairwise(passed(run)):
            changed = [p for p, state in after.states.items() if state != before.states[p]]
            channels = {*before.channels, *after.channels}
            touched = [c for c in channels if before.channels[c] != after.channels[c]]
            assert len(changed) <= 1
            assert len(touched) <= 1


def test_an_event_may_occur_only_in_the_state_that_allows_it():
    with pytest.raises(ValueError, match="cannot happen now"):
        cl.replay(cl.example_2_2(), "q sends M' to p; p receives M'")  # p is not in state B


def test_2_1_the_token_is_in_one_of_four_places():
    places = {
        (*s.states.values(), *(len(s.channels[c]) for c in (("p", "q"), ("q", "p"))))
        for run in runs("single token")
        for s in passed(run)
    }
    assert places == {
        ("s1", "s0", 0, 0),
        ("s0", "s0", 1, 0),
        ("s0", "s1", 0, 0),
        ("s0", "s0", 0, 1),
    }


def test_2_1_sending_receiving_and_sending_on_is_a_computation():
    script = "p sends token to q; q receives token; q sends token.2 to p"
    assert len(cl.replay(cl.single_token(), script)) == 4


def test_2_1_sending_by_p_and_then_by_q_is_not():
    with pytest.raises(ValueError, match=r"What can: q receives token"):
        cl.replay(cl.single_token(), "p sends token to q; q sends token.2 to p")


def test_2_2_two_events_may_occur_in_the_initial_state():
    world = cl.simulator.World(cl.example_2_2(), None)
    assert [o.text for o in world.options()] == ["p sends M to q", "q sends M' to p"]


# --- 3. The algorithm -----------------------------------------------------------------------------


def photograph(states_at, channels_at):
    """Put together what was seen at different moments of one run."""
    return cl.Snapshot(
        {p: s.states[p] for p, s in states_at.items()},
        {c: s.channels[c] for c, s in channels_at.items()},
    )


def tokens(snapshot):
    held = [state for state in snapshot.states.values() if state == "s1"]
    return len(held) + sum(map(len, snapshot.channels.values()))


def test_3_1_a_photograph_with_two_tokens():
    in_p, in_c = cl.replay(cl.single_token(), "p sends token to q")
    there, back = cl.Channel("p", "q"), cl.Channel("q", "p")
    assert tokens(photograph({"p": in_p, "q": in_c}, {there: in_c, back: in_c})) == 2


def test_3_1_a_photograph_without_a_token():
    in_p, in_c = cl.replay(cl.single_token(), "p sends token to q")
    there, back = cl.Channel("p", "q"), cl.Channel("q", "p")
    assert tokens(photograph({"p": in_c, "q": in_c}, {there: in_p, back: in_c})) == 0


def test_every_recorded_state_has_one_token():
    assert {tokens(run.snapshot) for run in runs("single token")} == {1}


def counted(run, channel):
    """n, n', m, m' of Section 3: sent and received before the states, and before the channel."""
    c, cut = run.computation, run.cut
    messages = [m for m in c.messages.values() if m.channel == channel]
    sent = sum(m.sent <= cut[m.src] for m in messages)
    received = sum(m.received is not None and m.received <= cut[m.dst] for m in messages)
    return sent, received


def test_as_many_messages_are_in_the_channel_as_were_sent_less_received():
    for run in all_of_them():
        for channel in run.system.network.channels:
            sent, received = counted(run, channel)
            assert sent >= received  # n >= m
            assert len(run.snapshot.channels[channel]) == sent - received  # so n = n', m = m'


def test_one_marker_is_sent_along_each_channel():
    assert {run.markers for run in all_of_them()} == {2}
    for run in all_of_them():
        sent = [(entry.process, dst) for entry in run.trace for _, dst in entry.controls]
        assert sorted(sent) == sorted(run.system.network.channels)


def test_the_marker_goes_out_after_recording_and_before_any_further_message():
    for run in all_of_them():
        done = dict.fromkeys(run.system.processes, 0)
        for entry in run.trace:
            done[entry.process] += entry.is_event
            if entry.controls:
                assert done[entry.process] == run.cut[entry.process]


def test_a_process_that_has_not_recorded_records_and_takes_the_channel_as_empty():
    seen = 0
    for run in all_of_them():
        for entry in run.trace:
            if entry.controls and entry.receives:  # it records because this marker comes
                (name,) = entry.receives
                (src,) = [e.process for e in run.trace for n, _ in e.controls if n == name]
                assert run.snapshot.channels[src, entry.process] == ()
                seen += 1
    assert seen


def test_otherwise_the_channel_is_what_came_after_recording_and_before_the_marker():
    seen = 0
    for run in all_of_them():
        recorded, logs = set(), {c: [] for c in run.system.network.channels}
        for entry in run.trace:
            for name in entry.receives:
                sender = next(e for e in run.trace if name in dict(e.sends + e.controls))
                channel = cl.Channel(sender.process, entry.process)
                if entry.is_event and entry.process in recorded and channel in logs:
                    logs[channel].append(run.payloads[name])
                elif not entry.is_event:
                    assert list(run.snapshot.channels[channel]) == logs.pop(channel)
                    seen += 1
            if entry.controls:
                recorded.add(entry.process)
    assert seen == 2 * len(all_of_them())


def test_recording_changes_nothing_in_the_computation():
    for run in all_of_them()[::20]:
        assert passed(run)[-1] == run.final
    alone = cl.explore(cl.textbook_bank(), cl.ChandyLamport)
    assert alone.counterexample is None


def test_any_process_may_begin_and_several_may():
    begun = {sum(step.endswith("records 1") for step in run.schedule) for run in all_of_them()}
    assert begun == {1, 2}
    assert {run.fault for run in all_of_them()} == {""}


@pytest.mark.parametrize("first", "pqr")
def test_with_one_initiator_a_strongly_connected_system_always_finishes(first):
    system = cl.System(cl.letters(p=[("q", "m")], q=[], r=[]), cl.Fifo(cl.ring("pqr")))
    found = cl.explore(system, cl.ChandyLamport, initiators=[first])
    assert found.counterexample is None


def test_a_process_records_if_a_path_leads_to_it_from_one_that_recorded():
    system = cl.System(cl.letters(p=[], q=[], r=[]), cl.Fifo(cl.line("pqr")))
    assert cl.explore(system, cl.ChandyLamport, initiators=["p"]).counterexample is None
    never = cl.explore(system, cl.ChandyLamport, initiators=["q"]).counterexample
    assert never.fault == "never complete: no channels lead from an initiator to p"


# --- 4. Properties of the recorded global state --------------------------------------------------


def window(run):
    """How many events come before the first recording, and before the snapshot is complete."""
    records = [i for i, entry in enumerate(run.trace) if entry.controls]
    markers = [i for i, e in enumerate(run.trace) if not e.is_event and e.receives]
    before = [sum(e.is_event for e in run.trace[:i]) for i in (min(records), max(markers))]
    return before[0], before[1]


def test_the_recorded_state_need_not_be_one_that_occurred():
    run = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)
    assert run.snapshot == cl.Snapshot({"p": "A", "q": "D"}, {("q", "p"): ("M'",)})
    assert run.snapshot not in passed(run)
    assert any(run.snapshot not in passed(run) for run in runs("example 2.2"))


def test_in_a_deterministic_system_it_did_occur():
    assert all(run.snapshot in passed(run) for run in runs("single token"))


def test_theorem_1_events_outside_the_window_stay_where_they_are():
    for run in all_of_them():
        before, after = events_of(run), cl.reorder(run).schedule
        start, end = window(run)
        assert list(after[:start]) == before[:start]
        assert list(after[end:]) == before[end:]


def test_theorem_1_inside_the_window_they_are_permuted():
    for run in all_of_them():
        start, end = window(run)
        assert sorted(cl.reorder(run).schedule[start:end]) == sorted(events_of(run)[start:end])


def test_theorem_1_the_states_before_and_after_the_window_are_the_same():
    for run in all_of_them()[::5]:
        start, end = window(run)
        was, now = passed(run), cl.replay(run.system, cl.reorder(run).schedule)
        assert now[: start + 1] == was[: start + 1]
        assert now[end:] == was[end:]


def test_theorem_1_the_recorded_state_is_one_of_those_between():
    for run in all_of_them():
        proof, (start, end) = cl.reorder(run), window(run)
        assert start <= proof.boundary <= end
        assert cl.replay(run.system, proof.schedule)[proof.boundary] == run.snapshot


def test_a_postrecording_event_just_before_a_prerecording_one_is_in_another_process():
    for run in all_of_them():
        for swap in cl.reorder(run).swaps:
            assert swap.post.split()[0] != swap.pre.split()[0]


def test_after_a_swap_the_sequence_is_still_a_computation_with_the_same_end():
    for run in all_of_them()[::5]:
        schedules = list(cl.reorder(run).schedules())
        for before, after in pairwise(schedules):
            was, now = cl.replay(run.system, before), cl.replay(run.system, after)
            assert len([1 for a, b in zip(was, now, strict=True) if a != b]) <= 1
            assert now[-1] == was[-1]


def test_swapping_ends_when_all_prerecording_events_come_first():
    for run in all_of_them():
        proof = cl.reorder(run)
        positions = {step: i for i, step in enumerate(events_of(run))}
        pre, post = proof.schedule[: proof.boundary], proof.schedule[proof.boundary :]
        inversions = sum(positions[a] > positions[b] for a in pre for b in post)
        assert len(proof.swaps) == inversions


def test_4_1_one_swap_turns_example_2_2_into_a_run_that_passes_through():
    run = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)
    proof = cl.reorder(run)
    (swap,) = proof.swaps
    assert (swap.post, swap.pre) == ("p sends M to q", "q sends M' to p")
    assert proof.schedule == Schedule("q sends M' to p; p sends M to q; p receives M'")
    assert cl.replay(run.system, proof.schedule)[1] == run.snapshot


# --- 5. Stability detection -----------------------------------------------------------------------


def settled(snapshot):
    """Both payments have been made and have arrived: from then on nothing changes."""
    return snapshot == cl.Snapshot({"A": 630, "B": 170}, {})


def test_a_stable_property_of_the_start_is_one_of_the_record_and_that_is_one_of_the_end():
    seen = set()
    for run in runs("textbook bank"):
        start, end = window(run)
        states = passed(run)
        first, recorded, last = map(settled, (states[start], run.snapshot, states[end]))
        assert not first or recorded
        assert not recorded or last
        seen.add((first, recorded, last))
    assert seen >= {(False, False, False), (True, True, True)}


def test_no_stable_property_in_the_record_says_only_that_there_was_none_at_the_start():
    ends = [
        settled(passed(run)[window(run)[1]])
        for run in runs("textbook bank")
        if not settled(run.snapshot)
    ]
    assert {True, False} == set(ends)
