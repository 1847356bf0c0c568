"""Many snapshots at once: each id is a snapshot of its own, and the algorithm knows of none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chandylamport as cl
from chandylamport.overlapping import Stamped

FIFO = cl.System(cl.accounts(p=40, q=40, r=40, transfers=6), cl.Fifo(cl.complete("pqr")))
MAIL = cl.System(cl.accounts(p=40, q=40, r=40, transfers=6), cl.Unordered(cl.complete("pqr")))
plans = st.dictionaries(
    st.integers(1, 9),
    st.dictionaries(st.sampled_from("pqr"), st.integers(0, 40), min_size=1),
    min_size=1,
    max_size=5,
)


@settings(max_examples=80, deadline=None)
@given(plans, st.integers(0, 10**6), st.sampled_from([cl.ChandyLamport, cl.LaiYang, cl.Mattern]))
def test_every_one_of_several_snapshots_is_right(plan, seed, algorithm):
    system = FIFO if algorithm is cl.ChandyLamport else MAIL
    run = cl.simulate(system, algorithm, snapshots=plan, seed=seed)
    assert run.faults == {}, run.schedule
    for id in plan:
        assert run.snapshots[id].channels == run.in_transit(id)
        assert run.controls[id] == 6


def test_a_snapshot_that_begins_after_another_has_ended_contains_it():
    run = cl.simulate(FIFO, cl.ChandyLamport, snapshots={1: {"p": 2}, 2: {"r": 40}}, seed=3)
    steps = list(run.schedule)
    last = max(i for i, step in enumerate(steps) if "marker 1" in step)
    assert last < steps.index("r records 2")
    assert run.cuts[1] <= run.cuts[2]


def test_the_second_snapshot_counts_white_messages_from_the_start():
    """A message sent before anybody heard of snapshot 2 is white for it, and must be counted."""
    script = """
        p sends m to q
        q records 2
        p records 1
        q receives m
        p receives red 2 from q
        q receives red 1 from p
        p receives red 1 from q
        q receives red 2 from p
    """
    system = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Unordered(cl.complete("pq")))
    run = cl.simulate(system, cl.LaiYang, schedule=script)
    assert run.faults == {}
    assert run.snapshots[2].channels == {("p", "q"): ("m",)}
    assert run.snapshots[1].channels == {}  # q had received it before it recorded 1


def test_a_message_is_stamped_only_for_the_snapshots_that_its_sender_has_recorded():
    script = "p records 1; p sends m to q"
    system = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Unordered(cl.complete("pq")))
    world = cl.simulator.World(system, cl.LaiYang, [1, 2])
    for option in cl.runs.by_script(world, cl.Schedule(script)):
        world.take(option)
    _, message = world.channels["p", "q"]
    assert isinstance(message.wire, Stamped)
    assert [id for id, _ in message.wire.stamps] == [1]


def test_markers_need_no_stamp_on_messages():
    world = cl.simulator.World(FIFO, cl.ChandyLamport, [1, 2])
    for option in cl.runs.by_script(world, cl.Schedule("p records 1; p records 2; p sends m to q")):
        world.take(option)
    assert world.channels["p", "q"][-1].wire.stamps == ()


@pytest.mark.parametrize("algorithm", [cl.ChandyLamport, cl.LaiYang])
def test_the_class_of_the_algorithm_knows_no_ids(algorithm):
    import inspect

    assert " id" not in inspect.getsource(algorithm).replace(" idea", "")
