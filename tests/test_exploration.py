"""The search through all schedules: complete, sound, pinned, and equal to brute force."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from strategies import all_cuts, closed_cuts, computations, cross, every_run, stream

import chandylamport as cl
from chandylamport.broken import BROKEN, NoLog
from chandylamport.exploration import TooManyStates, clone, frozen, shortened

TWO = cl.letters(p=[("q", "a"), ("q", "b")], q=[("p", "c"), ("p", "d")])
RING = cl.letters(p=[("q", "a")], q=[("r", "b")], r=[("p", "c")])
BOTH = cl.letters(p=[("q", "a")], q=[("p", "b")])
MARKERS, COLOURS = [cl.ChandyLamport], [cl.LaiYang, cl.Mattern]


def system(letters, network, channels):
    return cl.System(letters, network(channels))


def names(value):
    return getattr(value, "__name__", None) or str(value)


# --- no counterexample for the right algorithms, and how many states that took -------------------

PINNED = [
    # letters, channels, network, algorithms, ids: states, snapshots, cuts
    (TWO, cl.complete("pq"), cl.Fifo, MARKERS + COLOURS, 1, (1136, 36, 19)),
    (TWO, cl.complete("pq"), cl.Unordered, COLOURS, 1, (3788, 64, 19)),
    (RING, cl.ring("pqr"), cl.Fifo, MARKERS + COLOURS, 1, (1651, 27, 18)),
    (RING, cl.ring("pqr"), cl.Unordered, COLOURS, 1, (2475, 27, 18)),
    (BOTH, cl.complete("pq"), cl.Fifo, MARKERS, 2, (2868, 9, 7)),
    (BOTH, cl.complete("pq"), cl.Fifo, COLOURS, 2, (2931, 9, 7)),
    (BOTH, cl.complete("pq"), cl.Unordered, COLOURS, 2, (7128, 9, 7)),
]
CASES = [(*case, algorithm, *rest) for *case, several, ids, counts in PINNED
         for algorithm in several for rest in [(ids, counts)]]  # fmt: skip


@pytest.mark.parametrize(("letters", "channels", "network", "algorithm", "ids", "counts"), CASES)
def test_the_right_algorithms_have_no_counterexample(
    letters, channels, network, algorithm, ids, counts
):
    small = system(letters, network, channels)
    found = cl.explore(small, algorithm, **({"ids": (1, 2)} if ids == 2 else {}))
    assert found.counterexample is None
    assert (found.states, len(found.snapshots), len(found.cuts)) == counts


BANK = cl.three_process_bank()
MAIL = cl.System(BANK.processes, cl.Unordered(BANK.network.channels))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "algorithm", "states"),
    [
        (BANK, cl.ChandyLamport, 33_703),
        (BANK, cl.LaiYang, 33_703),
        (MAIL, cl.LaiYang, 90_399),
    ],
)
def test_three_processes_that_choose_four_payments_have_no_counterexample(
    system, algorithm, states
):
    found = cl.explore(system, algorithm, initiators=["P"], limit=100_000)
    assert found.counterexample is None
    assert (found.states, len(found.snapshots), len(found.cuts)) == (states, 132, 43)


R10 = cl.computation("P: c! b? d?\nQ: b! a?\nR: a! d! c?")


@pytest.mark.parametrize(
    ("network", "algorithm", "initiators", "states"),
    [
        (cl.Fifo, cl.ChandyLamport, ["P"], 3_753),
        (cl.Fifo, cl.ChandyLamport, None, 10_222),
        (cl.Unordered, cl.LaiYang, ["P"], 11_638),
        (cl.Unordered, cl.LaiYang, None, 22_869),
    ],
)
def test_the_four_payments_of_r10_have_no_counterexample(network, algorithm, initiators, states):
    performed = cl.System(cl.actors(R10), network(cl.complete("PQR")))
    found = cl.explore(performed, algorithm, initiators=initiators)
    assert found.counterexample is None
    assert found.cuts == set(closed_cuts(R10))
    assert (found.states, len(found.cuts)) == (states, 30)


def test_the_search_finds_what_all_schedules_one_by_one_find():
    for wrong in (cl.ChandyLamport, NoLog, BROKEN["LogsFromTheBeginning"].algorithm):
        for small in (cl.textbook_bank(), cl.example_2_2()):
            runs = list(every_run(small, wrong))
            found = cl.explore(small, wrong)
            assert (found.counterexample is not None) == any(run.fault for run in runs)
            if not found.counterexample:
                assert found.snapshots == {run.snapshot for run in runs}
                assert found.cuts == {run.cut for run in runs}


def test_no_shorter_schedule_goes_wrong():
    wrong = cl.System(BOTH, cl.Unordered(cl.complete("pq")))
    shortest = cl.explore(wrong, cl.ChandyLamport).counterexample
    ends = []
    for run in every_run(wrong, cl.ChandyLamport):
        for end in range(len(run.schedule)):
            cut_off = cl.simulate(
                wrong, cl.ChandyLamport, schedule=run.schedule[:end], snapshots={1: {}}
            )
            if cut_off.snapshot is not None:
                ends += [end] if cut_off.fault else []
                break
    assert min(ends) == len(shortest.schedule)


# --- which cuts can be recorded -------------------------------------------------------------------


def spans_from(root, c, cut):
    """Whether the channels that the cut leaves empty lead from the root to everybody."""
    full, reached = cl.in_transit(c, cut), {root}
    for _ in c.processes:
        reached |= {q for p, q in product(reached, c.processes) if p != q and (p, q) not in full}
    return reached == set(c.processes)


def recorded(c, initiators=None):
    performed = cl.System(cl.actors(c), cl.Fifo(cl.complete(c.processes)))
    return cl.explore(performed, cl.ChandyLamport, initiators=initiators).cuts


def test_the_recordable_cuts_of_the_exchange_and_of_the_stream():
    assert len(recorded(cross(1))) == 7
    assert [len(recorded(cross(1), [first])) for first in "pq"] == [4, 4]
    assert len(recorded(stream(2), ["p"])) == 3
    assert len(recorded(stream(2), ["q"])) == 6


def simple(c):
    """Whether each event does one thing, and no message stays in a channel in a marker's way."""
    one = all(len(e.receives) + bool(e.sends) <= 1 for e in c)
    return one and all(m.received for m in c.messages.values())


@settings(max_examples=60, deadline=None)
@given(computations(max_processes=3, max_events=4, fifo=True).filter(simple))
def test_exactly_the_consistent_cuts_can_be_recorded(c):
    assert recorded(c) == set(closed_cuts(c))


@settings(max_examples=60, deadline=None)
@given(computations(max_processes=3, max_events=4, fifo=True).filter(simple))
def test_one_initiator_records_the_cuts_whose_empty_channels_span_from_it(c):
    root = c.processes[0]
    spanned = {cut for cut in closed_cuts(c) if spans_from(root, c, cut)}
    assert recorded(c, [root]) == spanned


def test_colours_record_exactly_the_consistent_cuts_without_fifo():
    for c in (cross(1), stream(2)):
        mail = cl.System(cl.actors(c), cl.Unordered(cl.complete(c.processes)))
        assert cl.explore(mail, cl.LaiYang).cuts == set(closed_cuts(c))
        assert len(closed_cuts(c)) < len(list(all_cuts(c)))


def test_what_was_in_transit_is_a_part_of_the_state():
    """A wrong log may be the same for two histories that differ in the channel it came from."""

    class OneLog(cl.ChandyLamport):
        def on_receive(self, port, channel, wire):
            if wire is not cl.MARKER and channel in self.open:
                self.logged[port.inputs[0]] += (wire,)
                return wire
            return super().on_receive(port, channel, wire)

    join = cl.Fifo([("p", "q"), ("r", "q")])
    accounts = cl.bank({"p": 100, "q": 50, "r": 100}, ("p", "q", 20), ("r", "q", 20))
    found = cl.explore(cl.System(accounts, join), OneLog)
    assert found.counterexample is not None
    assert found.states == 245  # 237 without it


# --- failures and limits --------------------------------------------------------------------------


def test_a_snapshot_that_never_completes_is_a_counterexample():
    line = cl.System(cl.letters(x=[], y=[]), cl.Fifo(cl.line("xy")))
    found = cl.explore(line, cl.ChandyLamport, initiators=["y"]).counterexample
    assert found.fault == "never complete: no channels lead from an initiator to x"
    assert found.schedule == ("y records",)


def test_too_many_states_are_refused_with_a_remedy():
    with pytest.raises(TooManyStates, match="more than 50 states: take a smaller system"):
        cl.explore(cl.textbook_bank(), cl.ChandyLamport, limit=50)


def test_in_a_larger_system_a_failure_is_found_by_chance_and_cut_short():
    accounts = cl.accounts(p=100, q=50, r=0, transfers=20)
    mail = cl.System(accounts, cl.Unordered(cl.complete("pqr")))
    found = cl.find_failure(mail, cl.ChandyLamport)
    assert found.fault
    assert len(found.schedule) <= 10
    assert cl.simulate(mail, cl.ChandyLamport, schedule=str(found.schedule)) == found
    assert shortened(found) == found


def test_no_failure_is_found_where_there_is_none():
    bank = cl.System(cl.accounts(p=9, q=9, r=9, transfers=5), cl.Fifo(cl.complete("pqr")))
    assert cl.find_failure(bank, cl.ChandyLamport, limit=500, seeds=50) is None
    assert cl.find_failure(cl.textbook_bank(), cl.ChandyLamport) is None


# --- copies and keys ------------------------------------------------------------------------------


def test_a_clone_shares_nothing_that_changes():
    recorder = cl.LaiYang()
    recorder.owed["x"] = 2
    other = clone(recorder)
    assert frozen(other) == frozen(recorder)
    other.owed["x"] += 1
    other.logged[cl.Channel("p", "q")] = ("m",)
    assert recorder.owed == {"x": 2}
    assert recorder.logged == {}
    assert frozen(other) != frozen(recorder)


def test_what_cannot_be_copied_is_refused():
    class Slotted(cl.ChandyLamport):
        __slots__ = ("more",)

    with pytest.raises(TypeError, match="a Slotted cannot be copied: do without __slots__"):
        cl.explore(cl.textbook_bank(), Slotted)


def test_functions_and_classes_are_kept_as_they_are():
    class Box:
        def __init__(self):
            self.function, self.kind = len, dict

    assert vars(clone(Box())) == {"function": len, "kind": dict}
    assert frozen(Box()) == frozen(Box())


def test_a_part_that_a_recorder_keeps_is_cloned_too():
    class KeepsItsPart(cl.ChandyLamport):
        part = None

        def result(self):
            self.part = super().result()
            return self.part

    p, q = cl.Channel("p", "q"), cl.Channel("q", "p")
    part = cl.LocalSnapshot("s", {p: ()})
    other = clone(part)
    other.channels[q] = ("m",)
    assert part == cl.LocalSnapshot("s", {p: ()})
    assert frozen(other) != frozen(part) == frozen(clone(part))
    pair = system(BOTH, cl.Fifo, cl.complete("pq"))
    assert cl.explore(pair, KeepsItsPart).counterexample is None


def test_objects_inside_objects_are_cloned_too():
    class Box:
        def __init__(self):
            self.inside = [{1}, {"a": [2]}]

    box = Box()
    other = clone(box)
    other.inside[1]["a"].append(3)
    other.inside[0].add(4)
    assert box.inside == [{1}, {"a": [2]}]
