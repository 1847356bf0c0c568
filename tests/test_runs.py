"""Runs by chance, by script and again: schedules are words that a person can edit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chandylamport as cl
from chandylamport.runs import Schedule

BANK = cl.System(cl.accounts(p=100, q=50, r=0, transfers=20), cl.Fifo(cl.complete("pqr")))
MAIL = cl.System(cl.accounts(p=100, q=50, r=0, transfers=20), cl.Unordered(cl.complete("pqr")))


# --- schedules ------------------------------------------------------------------------------------


def test_a_schedule_reads_lines_semicolons_and_comments():
    text = "p records  # first\n\n  p sends m to q; q receives m\n"
    assert Schedule(text) == ("p records", "p sends m to q", "q receives m")
    assert Schedule(str(Schedule(text))) == Schedule(text)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([cl.LaiYang, cl.Mattern, cl.ChandyLamport]))
def test_the_schedule_of_a_run_by_chance_replays_it(seed, algorithm):
    run = cl.simulate(MAIL, algorithm, initiators=["q"], at=seed % 40, seed=seed)
    again = cl.simulate(MAIL, algorithm, schedule=str(run.schedule))
    assert again == run == cl.simulate(MAIL, algorithm, schedule=run)


def test_so_does_that_of_overlapping_snapshots():
    plan = {1: {"p": 8}, 2: {"q": 9, "r": 12}, "last": {"r": 30}}
    run = cl.simulate(BANK, cl.ChandyLamport, snapshots=plan, seed=7)
    assert run.faults == {}
    assert run.snapshots.keys() == plan.keys()
    assert cl.simulate(BANK, cl.ChandyLamport, schedule=str(run.schedule)) == run


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    runs = [cl.simulate(BANK, cl.ChandyLamport, at=8, seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0].schedule != runs[2].schedule


def test_a_script_names_its_messages_itself():
    script = """
        A sends rent to B
        B sends refund to A
        A receives refund
        B receives rent
    """
    run = cl.simulate(cl.textbook_bank(), schedule=script)
    assert run.payloads == {"rent": 50, "refund": 80}
    assert [event.name for event in run.order] == ["rent!", "refund!", "refund?", "rent?"]


def test_one_event_may_send_several_messages():
    c = cl.computation("p: both(m!,n!)\nq: m?\nr: n?")
    system = cl.System(cl.actors(c), cl.Fifo(cl.complete("pqr")))
    run = cl.simulate(system, schedule="p sends x to q, y to r; r receives y; q receives x")
    assert len(run.computation) == 3
    assert run.computation["p", 1].sends == ("x", "y")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("q receives m1", "step 1, 'q receives m1', cannot happen now. What can: p records; q rec"),
        ("p records; p records", "step 2, 'p records', cannot happen now"),
        ("p dances", "What can: p records; q records; r records; p sends m1 to q"),
        ("q receives marker from p", "cannot happen now"),
    ],
)
def test_a_step_that_cannot_happen_is_refused_with_what_can(script, words):
    with pytest.raises(ValueError, match="cannot happen now") as error:
        cl.simulate(BANK, cl.ChandyLamport, schedule=script)
    assert words in str(error.value)


def test_two_actions_with_the_same_words_are_told_apart_by_what_they_carry():
    class Gambler:
        initial = 10
        limit = 1

        def enabled(self, state):
            return [cl.Action("", (("q", stake),)) for stake in (1, 5)]

        def step(self, state, action):
            return state - action.sends[0][1]

        def receive(self, state, channel, message):
            return state + message

    system = cl.System({"p": Gambler(), "q": Gambler()}, cl.Fifo([("p", "q")]))
    run = cl.simulate(system, schedule="p sends m1 to q, carrying 5; q receives m1")
    assert run.final.states == {"p": 5, "q": 15}
    chosen = {cl.simulate(system, seed=seed).schedule[0] for seed in range(20)}
    assert chosen == {"p sends m1 to q", "p sends m1 to q, carrying 5"}


# --- what a run carries ---------------------------------------------------------------------------


def test_a_run_carries_its_computation_cut_snapshot_and_cost():
    run = cl.simulate(BANK, cl.ChandyLamport, initiators=["p"], at=8, seed=7)
    assert cl.is_consistent(run.computation, run.cut)
    assert run.snapshot.channels == run.in_transit()
    assert run.markers == 6
    assert len(run.order) == len(run.computation)
    assert run.peak >= sum(map(len, run.snapshot.channels.values()))
    assert sum(run.final.states.values()) == 150
    assert not run.final.channels
    assert (
        repr(run)
        == f"<Run of {len(run.schedule)} steps, {len(run.order)} events; the snapshot: right>"
    )


def test_the_peak_counts_what_is_logged_at_one_time():
    system = cl.System(cl.letters(p=[("q", "a"), ("q", "b")], q=[]), cl.Fifo(cl.complete("pq")))
    quiet = "p records; q receives marker from p; p receives marker from q"
    assert cl.simulate(system, cl.ChandyLamport, schedule=quiet).peak == 0
    busy = """
        p sends a to q; p sends b to q; q records; q receives a; q receives b
        p receives marker from q; q receives marker from p
    """
    assert cl.simulate(system, cl.ChandyLamport, schedule=busy).peak == 2


def test_without_an_algorithm_nothing_is_recorded():
    run = cl.simulate(BANK, seed=3)
    assert run.snapshots == {}
    assert run.markers == 0


def test_a_snapshot_begins_even_if_the_system_is_at_rest_by_then():
    run = cl.simulate(cl.textbook_bank(), cl.ChandyLamport, initiators=["A"], at=1000)
    assert run.snapshot == run.final


def test_an_unknown_initiator_is_refused():
    with pytest.raises(ValueError, match="there is no process x to begin a snapshot, only p, q, r"):
        cl.simulate(BANK, cl.ChandyLamport, initiators=["x"])


def test_a_system_that_never_rests_is_not_a_hang():
    class Restless:
        initial = 0

        def enabled(self, state):
            return [cl.Action("tick")]

        def step(self, state, action):
            return state + 1

        def receive(self, state, channel, message):
            return state

    system = cl.System({"p": Restless()}, cl.Fifo([]))
    with pytest.raises(RuntimeError, match="still running after 20 steps, the last: p does tick"):
        cl.simulate(system, limit=20)


def test_a_run_whose_snapshot_is_not_complete_says_why():
    cut_off = cl.simulate(BANK, cl.ChandyLamport, schedule="p records; p sends m1 to q")
    assert cut_off.snapshot is None
    assert cut_off.cut is None
    assert cut_off.fault == "not complete: q, r did not record"
    with pytest.raises(ValueError, match="no cut was recorded: not complete: q, r did not record"):
        cut_off.in_transit()
    waiting = cl.simulate(
        cl.textbook_bank(), cl.ChandyLamport, schedule="A records; B receives marker from A"
    )
    assert waiting.fault == "not complete: no result yet from A"
    nothing = cl.simulate(BANK, cl.ChandyLamport, schedule="p sends m1 to q")
    assert nothing.fault == "not complete: nobody has recorded"


def test_white_messages_that_are_still_owed_are_named_as_the_reason():
    system = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Unordered(cl.complete("pq")))
    run = cl.simulate(
        system, cl.LaiYang, schedule="p sends m to q; p records; q receives red from p"
    )
    assert run.fault == "not complete: messages are still owed"
    assert cl.simulate(system, cl.LaiYang, schedule=[*run.schedule, "q receives m"]).fault == ""


# --- going on from a snapshot ---------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [cl.ChandyLamport, cl.LaiYang, cl.Mattern])
def test_a_restored_system_goes_on_and_can_be_photographed_again(algorithm):
    run = cl.simulate(BANK, cl.ChandyLamport, initiators=["p"], at=8, seed=7)
    assert run.snapshot.channels
    restored = cl.restore(BANK, run.snapshot)
    second = cl.simulate(restored, algorithm, initiators=["q"], at=3, seed=1)
    assert second.faults == {}
    assert second.snapshot.channels == second.in_transit()
    assert sum(second.final.states.values()) == 150
    proof = cl.reorder(second)
    assert cl.replay(restored, proof.schedule)[proof.boundary] == second.snapshot
    assert cl.simulate(restored, algorithm, schedule=str(second.schedule)) == second


def test_a_restored_system_starts_in_the_snapshot():
    run = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)
    restored = cl.restore(run.system, run.snapshot)
    assert cl.replay(restored, []) == [run.snapshot]
    states = cl.replay(restored, "p sends M to q; p receives m1")  # the message has a new name
    assert states[-1] == run.final


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        (cl.Snapshot({"p": 1}, {}), "the processes differ"),
        (cl.Snapshot({"A": 1, "B": 2}, {("A", "C"): (1,)}), "no channel A→C"),
    ],
)
def test_a_snapshot_of_another_system_is_refused(snapshot, words):
    with pytest.raises(ValueError, match=words):
        cl.restore(cl.textbook_bank(), snapshot)


# --- time -----------------------------------------------------------------------------------------


def unit_delays(channels):
    return cl.Fifo(channels, delays=dict.fromkeys(channels, 1))


@pytest.mark.parametrize(
    ("channels", "first", "time"),
    [
        (cl.ring("abcde"), "a", 5),
        (cl.complete("abcde"), "a", 2),
        (cl.both_ways(cl.line("abcde")), "a", 5),
        (cl.both_ways(cl.line("abcde")), "c", 3),
        (cl.star("abcde"), "a", 2),
        (cl.star("abcde"), "b", 3),
    ],
)
def test_a_snapshot_takes_the_eccentricity_of_its_initiator_and_one(channels, first, time):
    quiet = cl.letters(**{name: [] for name in "abcde"})
    run = cl.simulate(cl.System(quiet, unit_delays(channels)), cl.ChandyLamport, initiators=[first])
    assert run.fault == ""
    assert run.time == time
    assert run.markers == len(channels)


def test_a_slow_channel_delays_its_messages_only():
    slow = cl.Fifo(cl.complete("pq"), delays={("p", "q"): 50})
    system = cl.System(cl.letters(p=[("q", "m")], q=[("p", "n")]), slow)
    orders = {cl.simulate(system, seed=seed).schedule[-1] for seed in range(10)}
    assert orders == {"q receives m"}
    with pytest.raises(ValueError, match="p→r has a delay or capacity, and is not a channel"):
        cl.Fifo(cl.complete("pq"), delays={("p", "r"): 1})


def test_a_script_may_not_use_a_name_twice():
    script = "A sends x to B; B sends x to A"
    with pytest.raises(ValueError, match="step 2, 'B sends x to A': there is a message x already"):
        cl.simulate(cl.textbook_bank(), schedule=script)


def test_a_message_with_a_name_of_its_own_keeps_it():
    system = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Fifo([("p", "q")]))
    with pytest.raises(ValueError, match="What can: p records; q records; p sends m to q"):
        cl.simulate(system, cl.ChandyLamport, schedule="p sends something to q")
