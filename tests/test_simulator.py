"""The world of the simulator: what it lets happen, and the truth that it keeps."""

from __future__ import annotations

import pytest

import chandylamport as cl
from chandylamport.simulator import World

ONE = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Fifo(cl.complete("pq")))


def world_after(system, algorithm, script, **ids):
    world = World(system, algorithm, **ids)
    for option in cl.runs.by_script(world, cl.Schedule(script)):
        world.take(option)
    return world


def texts(world, *may_begin):
    return [option.text for option in world.options(may_begin)]


def test_the_options_are_all_that_can_happen():
    world = World(ONE, cl.ChandyLamport)
    (id,) = world.ids
    assert texts(world) == ["p sends m to q"]
    assert texts(world, (id, "q")) == ["q records", "p sends m to q"]
    world = world_after(ONE, cl.ChandyLamport, "p sends m to q; p records")
    assert texts(world, (id, "p")) == ["q receives m"]  # in order: the marker is behind it


def test_the_algorithm_sees_a_receive_before_the_state_changes():
    class Watcher(cl.ChandyLamport):
        def on_receive(self, port, channel, wire):
            port.report(("receive", port.record()))
            return super().on_receive(port, channel, wire)

    script = "q records; p sends m to q; q receives m"
    reports = world_after(ONE, Watcher, script).reports
    assert ("q", ("receive", (0, ()))) in reports


def test_the_algorithm_sees_a_send_after_the_state_has_changed():
    class Watcher(cl.ChandyLamport):
        def on_send(self, port, channel, message):
            port.report(("send", port.record()))
            return super().on_send(port, channel, message)

    reports = world_after(ONE, Watcher, "p records; p sends m to q").reports
    assert ("p", ("send", (1, ()))) in reports


def test_the_cut_is_where_a_process_records_first():
    class Twice(cl.ChandyLamport):
        def on_send(self, port, channel, message):
            port.record()
            return message

    world = world_after(ONE, Twice, "p records; p sends m to q")
    assert world.truth[world.ids[0]].cut == {"p": 0}


def test_a_port_shows_the_channels_of_its_process_only():
    seen = []

    class Curious(cl.ChandyLamport):
        def record(self, port):
            seen.append((port.name, port.inputs, port.outputs))
            super().record(port)

    cl.simulate(ONE, Curious, initiators=["p"])
    assert ("p", (("q", "p"),), (("p", "q"),)) in seen


def test_an_algorithm_that_alters_a_message_is_found_out():
    class Thief(cl.ChandyLamport):
        def on_receive(self, port, channel, wire):
            message = super().on_receive(port, channel, wire)
            return None if message is None else "something else"

    run = cl.simulate(ONE, Thief, at=9)
    assert run.fault == "the algorithm gives q 'something else', not 'm'"


def test_an_algorithm_that_takes_control_for_a_message_is_found_out():
    class Loud(cl.ChandyLamport):
        def on_receive(self, port, channel, wire):
            super().on_receive(port, channel, wire)
            return str(wire)

    run = cl.simulate(ONE, Loud, initiators=["p"])
    assert run.fault == "the algorithm gives q 'marker' for a message, and it is marker"
    assert repr(run)
    assert run.draw()


@pytest.mark.parametrize("fault", ["states", "channels"])
def test_a_wrong_state_and_a_wrong_channel_are_found_out(fault):
    class Liar(cl.ChandyLamport):
        def result(self):
            part = super().result()
            if part is None:
                return None
            lie = dict.fromkeys(part.channels, ("x",)) if fault == "channels" else part.channels
            return cl.LocalSnapshot("lie" if fault == "states" else part.state, lie)

    words = {
        "states": "p is recorded in state 'lie'",
        "channels": "is recorded as ['x'], and holds []",
    }
    assert words[fault] in cl.simulate(ONE, Liar).fault


def test_what_is_still_in_a_channel_belongs_to_the_cut():
    """Markers may finish while a message that was sent inside the cut has yet to arrive."""
    mail = cl.System(ONE.processes, cl.Unordered(ONE.network.channels))
    script = "p sends m to q; p records; q receives marker from p; p receives marker from q"
    world = world_after(mail, cl.ChandyLamport, script)
    (id,) = world.ids
    assert cl.truth.state_at_cut(world, id).channels == {("p", "q"): ("m",)}
    assert world.faults


def test_a_copy_can_take_another_step():
    world = World(ONE, cl.ChandyLamport)
    other = world.copy()
    other.take(other.options()[0])
    assert (world.done, other.done) == ({"p": 0, "q": 0}, {"p": 1, "q": 0})
    assert world.channels["p", "q"] == ()
    assert world.trace == []


def test_the_state_now_is_what_nobody_inside_can_see():
    world = world_after(ONE, None, "p sends m to q")
    assert world.now() == cl.Snapshot({"p": (1, ()), "q": (0, ())}, {("p", "q"): ("m",)})
