"""Systems and networks: what they refuse, with the cause and the remedy."""

from __future__ import annotations

import pytest

import chandylamport as cl

ACCOUNTS = cl.accounts(p=5, q=5, transfers=1)
BANK = cl.System(ACCOUNTS, cl.Fifo(cl.complete("pq")))


class Sloppy:
    """Changes its state in place, and so changes what was recorded of it."""

    initial = ()
    limit = 1

    def enabled(self, state):
        return [cl.Action("m", (("q", self.content),))]

    def step(self, state, action):
        return ["sent"]

    def receive(self, state, channel, message):
        return state

    content = "m"


class Empty(Sloppy):
    content = None

    def step(self, state, action):
        return ("sent",)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cl.Fifo([("p", "q"), ("p", "q")]), "channel p→q is there twice"),
        (lambda: cl.Fifo([("p", "p")]), "a channel joins two processes"),
        (lambda: cl.Fifo("pq"), "a channel joins two processes"),
        (lambda: cl.Fifo([("p", "q", 3)]), "a channel joins two processes"),
        (lambda: cl.Fifo([("p", "q")], delays={("p", "q"): -1}), "is before sending"),
        (lambda: cl.Fifo([("p", "q")], delays={("q", "p"): 1}), "and is not a channel"),
        (lambda: cl.System({}, cl.Fifo([])), "a system needs a process"),
        (lambda: cl.System(ACCOUNTS, cl.Fifo([("p", "r")])), "there is no process r"),
        (lambda: cl.System(ACCOUNTS, cl.complete("pq")), "as Fifo(…) or Unordered(…)"),
        (lambda: cl.System({"p": Sloppy}, cl.Fifo([])), "a process is an object that has initial"),
        (lambda: cl.System({"p": 7}, cl.Fifo([])), "a process is an object that has initial"),
        (lambda: cl.bank({"p": 1}, ("z", "p", 5)), "a payment of z, who has no balance"),
        (lambda: cl.bank({"p": 1, "q": 1}, *2 * [("p", "q", 5)]), "one amount for each channel"),
    ],
)
def test_what_cannot_be_a_system_is_refused(make, words):
    with pytest.raises((ValueError, TypeError)) as error:
        make()
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"algorithm": cl.ChandyLamport()}, "give the class ChandyLamport itself"),
        ({"initiators": "pq"}, "a list of processes is needed: ['p', 'q']"),
        ({"initiators": "p"}, "a list of processes is needed: ['p']"),
        ({"initiators": ["x"]}, "there is no process x to begin a snapshot, only p, q"),
        ({"snapshots": {1: {"x": 3}}}, "there is no process x to begin a snapshot, only p, q"),
        ({"snapshots": {1: {"p": 3}, "1": {"q": 3}}}, "look the same"),
        ({"initiators": ["p"], "schedule": "p records"}, "without a schedule or snapshots"),
        ({"initiators": ["p"], "algorithm": None}, "initiators go with an algorithm"),
        ({"algorithm": None, "schedule": "p records"}, "cannot happen now"),
    ],
)
def test_what_cannot_be_simulated_is_refused(arguments, words):
    with pytest.raises((ValueError, TypeError)) as error:
        cl.simulate(BANK, **{"algorithm": cl.ChandyLamport, **arguments})
    assert words in str(error.value)


@pytest.mark.parametrize("search", [cl.explore, cl.find_failure])
def test_a_search_refuses_unknown_initiators_too(search):
    with pytest.raises(ValueError, match="there is no process x to begin a snapshot, only p, q"):
        search(BANK, cl.ChandyLamport, initiators=["x"])
    with pytest.raises(TypeError, match="a list of processes is needed"):
        search(BANK, cl.ChandyLamport, initiators="p")


def test_initiators_may_be_any_collection():
    once = (p for p in "qp")
    runs = [cl.simulate(BANK, cl.ChandyLamport, initiators=i) for i in ({"q", "p"}, ["p", "q"])]
    assert runs[0] == runs[1]
    found = cl.explore(BANK, cl.ChandyLamport, initiators=once, ids=(1, 2))
    assert found == cl.explore(BANK, cl.ChandyLamport, initiators=["q", "p"], ids=(1, 2))


def test_a_state_that_can_change_is_refused():
    system = cl.System({"p": Sloppy(), "q": Sloppy()}, cl.Fifo([("p", "q")]))
    with pytest.raises(
        TypeError, match=r"p has the state \['sent'\]: take a value that does not change"
    ):
        cl.simulate(system, cl.ChandyLamport)


def test_a_message_without_content_is_refused():
    system = cl.System({"p": Empty(), "q": Empty()}, cl.Fifo([("p", "q")]))
    with pytest.raises(ValueError, match="p sends None to q: a message must have a content"):
        cl.simulate(system, cl.ChandyLamport)


def test_two_actions_with_one_name_are_refused():
    class Twins(Sloppy):
        def enabled(self, state):
            return [cl.Action("a"), cl.Action("a")]

    class Nameless(Sloppy):
        def enabled(self, state):
            return [cl.Action()]

    for process in (Twins(), Nameless()):
        with pytest.raises(ValueError, match="an action of p needs a name of its own"):
            cl.simulate(cl.System({"p": process}, cl.Fifo([])))


def test_actions_come_in_a_list():
    class Lonely(Sloppy):
        def enabled(self, state):
            return cl.Action("a")

    with pytest.raises(TypeError, match="p: enabled must give a list of actions, not Action"):
        cl.simulate(cl.System({"p": Lonely()}, cl.Fifo([])))


def test_control_goes_out_on_ones_own_channels_only():
    class Forger(cl.ChandyLamport):
        def marker_sending_rule(self, port):
            self.record(port)
            for channel in port.inputs:
                port.send(channel, cl.MARKER)

    with pytest.raises(ValueError, match="p cannot send on q→p: it is not one of its outputs"):
        cl.simulate(BANK, Forger)


def test_a_fifo_channel_delivers_its_first_packet_and_an_unordered_one_any():
    channels, packets = [("p", "q")], ["a", "b", "c"]
    assert list(cl.Fifo(channels).next_from(packets)) == [0]
    assert list(cl.Unordered(channels).next_from(packets)) == [0, 1, 2]
    assert cl.Fifo(channels).contents(["b", "a"]) == ("b", "a")
    assert cl.Unordered(channels).contents(["b", "a"]) == ("a", "b")


SLOW = cl.Fifo(cl.complete("pqr"), delays={("p", "q"): 7, ("q", "r"): 2, ("r", "p"): 30})
SLOW_BANK = cl.System(cl.accounts(p=20, q=20, r=20, transfers=4), SLOW)


@pytest.mark.parametrize("seed", range(20))
def test_a_run_with_delays_is_right_and_replays(seed):
    run = cl.simulate(SLOW_BANK, cl.ChandyLamport, at=seed, seed=seed)
    assert run.fault == ""
    assert cl.simulate(SLOW_BANK, cl.ChandyLamport, schedule=str(run.schedule)) == run
    assert len(list(run.moments())) == len(run.schedule) + 1


def test_a_search_takes_every_delay():
    slow = cl.Fifo(cl.complete("pq"), delays={("p", "q"): 9})
    with_delays = cl.explore(cl.System(ACCOUNTS, slow), cl.ChandyLamport)
    assert with_delays.counterexample is None
    assert with_delays == cl.explore(BANK, cl.ChandyLamport)


def test_a_limit_of_actions_counts_anew_after_a_restart():
    done = cl.simulate(BANK)
    assert len(done.order) == 4
    assert len(cl.simulate(cl.restore(BANK, done.final)).order) == 4


def test_a_capacity_is_of_a_channel_and_at_least_one():
    with pytest.raises(ValueError, match="p→r has a delay or capacity, and is not a channel"):
        cl.Fifo([("p", "q")], capacities={("p", "r"): 1})
    with pytest.raises(ValueError, match="p→q: nothing fits into it"):
        cl.Fifo([("p", "q")], capacities={("p", "q"): 0})
