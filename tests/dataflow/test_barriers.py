"""Barriers: R11 and R12 by the dataflow's own recorders, and every schedule of small flows."""

from collections import Counter
from itertools import combinations

import pytest

import chandylamport as cl
from chandylamport import broken
from chandylamport.coordinator import Latest
from chandylamport.overlapping import Tagged
from chandylamport.simulator import World

A, B = "source-1", "source-2"


def two_inputs():
    letters = cl.source(["a1", "a2"], ["b1", "b2"])
    return letters >> cl.key_by(lambda letter: "all", into=1) >> cl.count() >> cl.sink()


def take(world, wanted, ids=()):
    """Take the first of the wanted steps that can be taken now; say whether there was one."""
    options = {option.text: option for option in world.options(ids)}
    for text in wanted:
        if text in options:
            world.take(options[text])
            return True
    return False


def to_the_end(world):
    while options := world.options():
        world.take(options[0])
    return world


ORDERS = [
    [f"count receives {next(left if i in where else right)}" for i in range(6)]
    for where in combinations(range(6), 3)
    for left in [iter(["m1", f"marker from {A}", "m2"])]
    for right in [iter(["m3", f"marker from {B}", "m4"])]
]


def photographed(barriers, order):
    """Let everything be under way, then arrive in this order; give the world when it is over."""
    deployment = cl.deploy(two_inputs(), barriers)
    world = World(deployment.system, deployment.algorithm)
    for source, names in [(A, ("m1", "m2")), (B, ("m3", "m4"))]:
        for step in (f"sends {names[0]} to count", "records", f"sends {names[1]} to count"):
            assert take(world, [f"{source} {step}"], [(world.ids[0], source)])
    waiting = list(order)
    while waiting:  # what is held comes as soon as it can, and what has come is worked on first
        works = [option for option in world.options() if option.text.startswith("count sends")]
        if works:
            world.take(works[0])
        else:
            ready = [option.text for option in world.options()]
            first = next(text for text in waiting if text in ready)
            assert take(world, [first])
            waiting.remove(first)
    return to_the_end(world)


def counted_after_recovery(world):
    (snapshot,) = world.complete.values()
    recovered = to_the_end(World(cl.restore(world.system, snapshot), None, ()))
    return recovered.states["count"][0]["all"]


@pytest.mark.parametrize(
    ("barriers", "counted"),
    [
        ("aligned", {4: 20}),
        ("unaligned", {4: 20}),
        ("at_least_once", {4: 12, 5: 8}),
        (broken.NoLog, {4: 12, 3: 8}),
    ],
)
def test_r11_all_twenty_interleavings_and_what_is_counted_after_recovery(barriers, counted):
    assert len(ORDERS) == 20
    seen = Counter(counted_after_recovery(photographed(barriers, order)) for order in ORDERS)
    assert seen == counted


@pytest.mark.parametrize("order", ORDERS)
def test_an_aligned_checkpoint_records_no_channel(order):
    world = photographed("aligned", order)
    (snapshot,) = world.complete.values()
    assert not snapshot.channels
    assert not world.faults
    assert not world.held


def test_unaligned_stores_what_the_barrier_has_overtaken():
    as_they_come = ["m1", f"marker from {A}", "m2", "m3", f"marker from {B}", "m4"]
    order = [f"count receives {what}" for what in as_they_come]
    world = photographed("unaligned", order)
    (snapshot,) = world.complete.values()
    assert snapshot.channels == {(B, "count"): (("all", "b1"),)}
    assert not world.faults


# --- every schedule ------------------------------------------------------------------------------


def small(records=("a", "b")):
    one, two = records
    return cl.source([one], [two]) >> cl.key_by(lambda r: r, into=1) >> cl.count() >> cl.sink()


@pytest.mark.parametrize(
    ("barriers", "capacity", "states"),
    [
        ("aligned", None, 3_801),
        ("aligned", 1, 2_093),
        pytest.param("unaligned", None, 43_253, marks=pytest.mark.slow),
        pytest.param("unaligned", 1, 14_229, marks=pytest.mark.slow),
    ],
)
def test_no_schedule_of_a_small_flow_goes_wrong(barriers, capacity, states):
    deployment = cl.deploy(small(), barriers, capacity=capacity)
    found = cl.explore(deployment.system, deployment.algorithm, initiators=deployment.sources)
    assert (found.counterexample, found.states) == (None, states)


def test_at_least_once_goes_wrong_in_some_schedule():
    deployment = cl.deploy(small(), "at_least_once")
    wrong = cl.find_failure(
        deployment.system, deployment.algorithm, initiators=deployment.sources, limit=20_000
    )
    assert "received inside the cut and sent outside" in wrong.fault


def test_unaligned_is_the_marker_algorithm_itself():
    assert cl.deploy(small(), "unaligned").algorithm is cl.ChandyLamport


def test_a_single_input_is_exact_even_without_holding():
    flow = cl.source(["a", "b"]) >> cl.key_by(lambda r: r, into=1) >> cl.count() >> cl.sink()
    deployment = cl.deploy(flow, "at_least_once")
    found = cl.explore(deployment.system, deployment.algorithm, initiators=deployment.sources)
    assert found.counterexample is None


# --- cycles: R12 ---------------------------------------------------------------------------------


def round_and_round():
    again = cl.loop(lambda r: (r[0], r[1] + 1), again=lambda r: r[1] < 3)
    return cl.source([("r1", 0)]) >> again >> cl.sink()


def test_r12_waiting_for_the_back_edge_waits_for_ever():
    with pytest.raises(cl.SnapshotsFail, match="nothing from head, body, sink"):
        cl.execute(round_and_round(), barriers=cl.Aligned, every=2, seed=1)


def test_r12_the_back_edge_is_logged():
    deployment = cl.deploy(round_and_round(), "aligned")
    run = cl.simulate(
        deployment.system,
        deployment.algorithm,
        schedule="""
            source sends m1 to head
            source records
            head receives m1
            head sends m2 to body
            body receives m2
            body sends m3 to head
            head receives marker from source
            head receives m3
            head sends m4 to body
            body receives marker from head
            head receives marker from body
            body receives m4
            sink receives marker from body
        """,
    )
    assert run.fault == ""
    assert run.snapshot.channels == {("body", "head"): (("r1", 1),)}


@pytest.mark.parametrize("barriers", ["aligned", "unaligned"])
def test_no_schedule_of_a_cycle_goes_wrong(barriers):
    deployment = cl.deploy(round_and_round(), barriers)
    found = cl.explore(deployment.system, deployment.algorithm, initiators=deployment.sources)
    assert found.counterexample is None
    logged = {snapshot.channels["body", "head"] for snapshot in found.snapshots}
    assert (("r1", 1),) in logged


# --- a newer barrier, and cancellation -----------------------------------------------------------


class HandPort:
    """A port that is worked by hand."""

    name, inputs, outputs = "op", (cl.Channel("a", "op"), cl.Channel("b", "op")), ()

    def __init__(self):
        self.held, self.records = set(), 0

    def record(self):
        self.records += 1
        return self.records

    def send(self, channel, control):
        raise AssertionError("there is no output")

    def report(self, value):
        raise AssertionError(value)

    def hold(self, channel):
        self.held.add(channel)

    def release(self, channel):
        self.held.discard(channel)


def test_the_barrier_of_a_newer_checkpoint_aborts_the_older_one():
    ports = {1: HandPort(), 2: HandPort(), None: HandPort()}
    a, b = HandPort.inputs
    own = Latest(cl.Aligned)
    own.on_receive(ports.get, a, Tagged(1, cl.MARKER))
    assert ports[1].held == {a}
    own.on_receive(ports.get, b, Tagged(2, cl.MARKER))  # b never sent the barrier of 1
    assert (ports[1].held, ports[2].held) == (set(), {b})
    own.on_receive(ports.get, a, Tagged(2, cl.MARKER))
    assert own.result(2).state == 1
    assert own.result(1) is None
    assert ports[2].held == set()
    own.on_receive(ports.get, b, Tagged(1, cl.MARKER))  # too late, and ignored
    assert ports[1].held == set()


def test_a_cancelled_checkpoint_holds_nothing_any_more():
    ports = {1: HandPort(), None: HandPort()}
    own = Latest(cl.Aligned)
    own.on_receive(ports.get, HandPort.inputs[0], Tagged(1, cl.MARKER))
    own.end(ports.get, 1)
    assert ports[1].held == set()
    own.on_receive(ports.get, HandPort.inputs[1], Tagged(1, cl.MARKER))
    assert own.result(1) is None


@pytest.mark.parametrize("barriers", ["aligned", "unaligned", "at_least_once"])
def test_an_input_that_has_ended_blocks_no_checkpoint(barriers):
    flow = cl.source(["a"], range(30)) >> cl.key_by(str, into=1) >> cl.count() >> cl.sink()
    execution = cl.execute(flow, barriers=barriers, every=10, capacity=2, seed=2)
    ended = [s for s in execution.checkpoints.values() if A in s.states["count"][2]]
    running = [s for s in ended if B not in s.states["count"][2]]
    assert len(running) > 1
