"""The theorem executed: legal adjacent swaps, as many as inversions, each replayed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chandylamport as cl
from chandylamport import broken

FIFO = cl.System(cl.accounts(p=40, q=40, r=40, transfers=4), cl.Fifo(cl.complete("pqr")))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_every_schedule_on_the_way_is_a_run_with_the_same_end(seed):
    run = cl.simulate(FIFO, cl.ChandyLamport, at=seed % 11, seed=seed)
    proof = cl.reorder(run)
    for schedule in proof.schedules():
        states = cl.replay(FIFO, schedule)
        assert (states[0], states[-1]) == (FIFO.start, run.final)
    assert states[proof.boundary] == run.snapshot


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_there_are_as_many_swaps_as_inversions(seed):
    run = cl.simulate(FIFO, cl.ChandyLamport, at=seed % 11, seed=seed)
    inside = [event in run.cut for event in run.order]
    inversions = sum(inside[j] and not inside[i] for j in range(len(inside)) for i in range(j))
    assert len(cl.reorder(run).swaps) == inversions


def test_a_swap_changes_one_state_only():
    run = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)
    before, after = (cl.replay(run.system, s) for s in cl.reorder(run).schedules())
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True, True]


def test_each_swap_is_justified():
    bank = cl.simulate(FIFO, cl.ChandyLamport, at=5, seed=3)
    reasons = {swap.because for swap in cl.reorder(bank).swaps}
    assert all("are different processes" in reason for reason in reasons)
    assert any(
        "what was sent outside the cut is not what was received inside" in r for r in reasons
    )


def test_a_cut_with_an_orphan_has_no_such_proof():
    wrong = broken.BROKEN["LateMarker"].explore().counterexample
    with pytest.raises(ValueError, match="m is received inside the cut and sent outside: no run"):
        cl.reorder(wrong)


def test_there_is_no_proof_without_a_snapshot():
    run = cl.simulate(FIFO, cl.ChandyLamport, schedule="p records")
    with pytest.raises(ValueError, match="no cut was recorded: not complete"):
        cl.reorder(run)


def test_an_unknown_snapshot_has_no_proof():
    run = cl.simulate(FIFO, cl.ChandyLamport, seed=1)
    with pytest.raises(ValueError, match="no cut was recorded: there is no such snapshot"):
        cl.reorder(run, 5)
    with pytest.raises(ValueError, match="no cut was recorded: nobody took a snapshot"):
        cl.reorder(cl.simulate(FIFO, seed=1))


def test_each_of_several_snapshots_has_its_own_proof():
    run = cl.simulate(FIFO, cl.ChandyLamport, snapshots={1: {"p": 3}, 2: {"q": 9}}, seed=4)
    for id in (1, 2):
        proof = cl.reorder(run, id)
        assert cl.replay(FIFO, proof.schedule)[proof.boundary] == run.snapshots[id]


def test_the_state_never_occurs_in_most_runs_of_three_processes():
    never = 0
    for seed in range(200):
        run = cl.simulate(FIFO, cl.ChandyLamport, at=seed % 11, seed=seed)
        never += run.snapshot not in cl.replay(FIFO, run.steps)
    assert never > 100
