"""Colours instead of markers: equal to the difference of histories, counted to the end."""

from __future__ import annotations

from collections import Counter

import pytest
from strategies import every_run

import chandylamport as cl
from chandylamport.recorder import LocalSnapshot

BOTH = cl.System(cl.letters(p=[("q", "a")], q=[("p", "b")]), cl.Unordered(cl.complete("pq")))
BUSY = cl.System(cl.accounts(p=20, q=20, r=20, transfers=3), cl.Unordered(cl.complete("pqr")))


class Histories(cl.LaiYang):
    """The paper's own way: keep all white messages, sent and received before recording."""

    def __init__(self):
        super().__init__()
        self.sent, self.received = [], []

    def on_send(self, port, channel, message):
        wire = super().on_send(port, channel, message)
        if not wire.red:
            self.sent.append((channel, message))
        return wire

    def on_receive(self, port, channel, wire):
        message = super().on_receive(port, channel, wire)
        if not wire.red and not self.red:
            self.received.append((channel, message))
        return message

    def result(self):
        part = super().result()
        return part and LocalSnapshot(
            (part.state, tuple(self.sent), tuple(self.received)), part.channels, part.owed
        )


def differences(snapshot):
    """White messages sent less white messages received, for each channel."""
    total = Counter()
    for _, sent, received in snapshot.states.values():
        total.update(sent)
        total.subtract(received)
    assert all(number >= 0 for number in total.values())
    return sorted(total.elements())


def logged(snapshot):
    return sorted((channel, m) for channel, held in snapshot.channels.items() for m in held)


def test_what_is_logged_is_the_difference_of_the_histories():
    seen = set()
    for run in every_run(BOTH, Histories):
        assert differences(run.snapshot) == logged(run.snapshot)
        seen.add(len(logged(run.snapshot)))
    assert seen == {0, 1, 2}


@pytest.mark.parametrize("seed", range(30))
def test_so_it_is_in_busier_systems(seed):
    run = cl.simulate(BUSY, Histories, initiators=["q"], at=seed % 9, seed=seed)
    assert differences(run.snapshot) == logged(run.snapshot)
    held = [(channel, m) for channel, ms in run.in_transit().items() for m in ms]
    assert differences(run.snapshot) == sorted(held)


def test_colours_and_counters_record_the_same():
    for seed in range(30):
        begin = {"initiators": ["p"], "at": seed % 9, "seed": seed}
        one, other = (cl.simulate(BUSY, a, **begin) for a in (cl.LaiYang, cl.Mattern))
        assert (one.snapshot, one.cut) == (other.snapshot, other.cut)


def owed(run, algorithm):
    """What each process owes at the end of a run."""
    world = cl.simulator.World(run.system, algorithm, run.snapshots)
    for option in cl.runs.by_script(world, run.schedule):
        world.take(option)
    ids = list(run.snapshots)
    return {
        p: dict(own.result(ids[0]).owed) for p, own in world.recorders.items() if own.result(ids[0])
    }


SENT = "p sends a to q; q receives a; p records; q records; p receives red from q"


def test_a_single_counter_may_be_negative_and_the_sum_counts_what_is_under_way():
    run = cl.simulate(BOTH, cl.Mattern, schedule=SENT)
    assert owed(run, cl.Mattern) == {"p": {"white messages": 1}, "q": {"white messages": -1}}
    flying = cl.simulate(BOTH, cl.Mattern, schedule="p sends a to q; p records; q records")
    numbers = [n for part in owed(flying, cl.Mattern).values() for n in part.values()]
    assert sum(numbers) == 1
    assert flying.snapshot is None


def test_one_counter_is_enough_however_many_channels_there_are():
    names = "pqrstu"
    system = cl.System(
        cl.accounts(transfers=4, **dict.fromkeys(names, 9)), cl.Unordered(cl.complete(names))
    )
    run = cl.simulate(system, cl.Mattern, at=10, seed=2)
    assert {len(part) for part in owed(run, cl.Mattern).values()} == {1}
    assert max(len(part) for part in owed(run, cl.LaiYang).values()) > 3


def test_a_message_has_the_colour_of_its_sender():
    world = cl.simulator.World(BOTH, cl.LaiYang)
    for option in cl.runs.by_script(
        world, cl.Schedule("p sends a to q; q records; q sends b to p")
    ):
        world.take(option)
    (white,), (told, red) = world.channels["p", "q"], world.channels["q", "p"]
    assert (str(white.wire.plain), dict(white.wire.stamps)) == ("white", {})
    assert [str(wire) for wire in dict(red.wire.stamps).values()] == ["red"]
    assert str(told.wire.control) == "red"


def test_a_silent_process_is_told_by_a_red_message_without_content():
    quiet = cl.System(cl.letters(p=[], q=[], r=[]), cl.Unordered(cl.ring("pqr")))
    run = cl.simulate(quiet, cl.LaiYang, initiators=["p"])
    assert run.fault == ""
    assert run.markers == 3
