"""The runs that the course names R1 to R16: from scripted schedules, with what each must record."""

from __future__ import annotations

from itertools import combinations

import pytest
from strategies import all_runs, closed_cuts, cross, cuts_along

import chandylamport as cl
from chandylamport import broken


def performing(diagram, network=cl.Fifo, channels=None):
    c = cl.computation(diagram)
    return cl.System(cl.actors(c), network(channels or cl.complete(c.processes)))


ONE = performing("p: m!\nq: m?")
BACK = performing("p: m?\nq: m!")
MAIL = performing("p: m!\nq: m?", cl.Unordered)


def channels(run):
    return {str(channel): list(held) for channel, held in run.snapshot.channels.items()}


def counts(run):
    return run.cut["p"], run.cut["q"]


def test_r1_a_message_under_way_is_in_the_channel():
    script = """
        p sends m to q
        q records
        q receives m
        p receives marker from q
        q receives marker from p
    """
    run = cl.simulate(ONE, cl.ChandyLamport, schedule=script)
    assert (counts(run), channels(run), run.fault) == ((1, 0), {"p→q": ["m"]}, "")
    lost = cl.simulate(ONE, broken.NoLog, schedule=script)
    assert cl.is_consistent(lost.computation, lost.cut)
    assert channels(lost) == {}
    assert "p→q is recorded as [], and holds ['m']" in lost.fault


def test_r2_a_late_marker_makes_an_orphan():
    run = cl.simulate(
        ONE,
        broken.LateMarker,
        schedule="""
        p records
        p sends m to q
        p steps
        q receives m
        q receives marker from p
        q steps
        p receives marker from q
    """,
    )
    assert counts(run) == (0, 1)
    assert cl.orphans(run.computation, run.cut) == ("m",)
    assert run.fault == "m is received inside the cut and sent outside"


def test_r3_without_fifo_a_message_overtakes_the_marker():
    run = cl.simulate(
        MAIL,
        cl.ChandyLamport,
        schedule="""
        p records
        p sends m to q
        q receives m
        q receives marker from p
        p receives marker from q
    """,
    )
    assert counts(run) == (0, 1)
    assert cl.orphans(run.computation, run.cut) == ("m",)
    assert run.fault


def test_r4_without_fifo_the_marker_overtakes_a_message():
    run = cl.simulate(
        MAIL,
        cl.ChandyLamport,
        schedule="""
        p sends m to q
        p records
        q receives marker from p
        p receives marker from q
        q receives m
    """,
    )
    assert cl.is_consistent(run.computation, run.cut)
    assert channels(run) == {}
    assert run.in_transit() == {("p", "q"): ("m",)}
    assert run.fault


def test_r5_what_came_before_the_recording_is_in_the_state():
    script = """
        p sends m to q
        p records
        q receives m
        q receives marker from p
        p receives marker from q
    """
    run = cl.simulate(ONE, cl.ChandyLamport, schedule=script)
    assert (counts(run), channels(run), run.fault) == ((1, 1), {}, "")
    double = cl.simulate(ONE, broken.LogsFromTheBeginning, schedule=script)
    assert channels(double) == {"p→q": ["m"]}
    assert double.snapshot.states["q"] == 1
    assert double.fault


@pytest.mark.parametrize("wrong", [broken.LeavesTheFirstChannelOpen, broken.LogsBehindTheMarker])
def test_r6_what_comes_behind_the_marker_is_not_in_the_channel(wrong):
    script = """
        p records
        q receives marker from p
        p sends m to q
        q receives m
        p receives marker from q
    """
    run = cl.simulate(ONE, cl.ChandyLamport, schedule=script)
    assert (counts(run), channels(run), run.fault) == ((0, 0), {}, "")
    assert channels(cl.simulate(ONE, wrong, schedule=script)) == {"p→q": ["m"]}


R7 = """
    p records
    q sends m to p
    q receives marker from p
    p receives m
    p receives marker from q
"""


def test_r7_recording_again_counts_a_message_twice():
    run = cl.simulate(BACK, cl.ChandyLamport, schedule=R7)
    assert (counts(run), channels(run), run.fault) == ((0, 1), {"q→p": ["m"]}, "")
    twice = cl.simulate(BACK, broken.RecordsAtEveryMarker, schedule=R7)
    assert channels(twice) == {"q→p": ["m"]}
    assert twice.snapshot.states["p"] == 1  # m is in p's state as well
    assert twice.fault == "p is recorded in state 1, and was in 0 at its cut"


def test_r7_an_initiator_that_asks_for_the_first_marker_begins_anew():
    again = cl.simulate(BACK, broken.RecordsAtTheFirstMarkerSeen, schedule=R7)
    assert again.markers == 3  # p has sent a second one
    run = cl.simulate(
        ONE,
        broken.RecordsAtTheFirstMarkerSeen,
        schedule="""
        p records
        p sends m to q
        q receives marker from p
        p receives marker from q
        q receives m
        q receives marker from p
    """,
    )
    assert run.fault == "p is recorded in state 1, and was in 0 at its cut"


def test_r8_example_2_2_records_a_state_that_never_occurred():
    run = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)
    assert run.snapshot.states == {"p": "A", "q": "D"}
    assert run.snapshot.channels == {("q", "p"): ("M'",)}
    assert never_occurs(run)
    proof = cl.reorder(run)
    assert len(proof.swaps) == 1
    assert proof.schedule == ("q sends M' to p", "p sends M to q", "p receives M'")
    assert proof.boundary == 1


def never_occurs(run):
    return run.snapshot not in cl.replay(run.system, run.steps)


BANK_RUNS = {
    "A records after its payment": (
        """
        A sends x to B
        A records
        B sends y to A
        A receives y
        B receives x
        B receives marker from A
        A receives marker from B
        """,
        {"A": 550, "B": 170},
    ),
    "A records before its payment": (
        """
        A records
        A sends x to B
        B sends y to A
        B receives marker from A
        A receives y
        B receives x
        A receives marker from B
        """,
        {"A": 600, "B": 120},
    ),
}


@pytest.mark.parametrize(("script", "states"), BANK_RUNS.values(), ids=BANK_RUNS)
def test_r9_the_textbook_bank(script, states):
    run = cl.simulate(cl.textbook_bank(), cl.ChandyLamport, schedule=script)
    assert (run.snapshot.states, channels(run)) == (states, {"B→A": [80]})
    assert sum(states.values()) + 80 == 800
    assert run.final.states == {"A": 630, "B": 170}
    assert never_occurs(run)
    proof = cl.reorder(run)
    assert len(proof.swaps) == 1
    assert cl.replay(run.system, proof.schedule)[proof.boundary] == run.snapshot


def test_r9_a_naive_photograph_of_the_bank_shows_850():
    steps = ["A sends x to B", "B sends y to A", "A receives y", "B receives x"]
    t0, _, t2, *_ = cl.replay(cl.textbook_bank(), steps)
    wires = sum(sum(held) for held in t2.channels.values())
    assert t0.states["A"] + t2.states["B"] + wires == 850


R10 = """
    R sends thirty to Q
    P records
    Q sends twenty to P
    Q receives marker from P
    Q receives thirty
    P sends ten to R
    R sends five to P
    P receives twenty
    R receives marker from P
    R receives ten
    R receives marker from Q
    Q receives marker from R
    P receives marker from Q
    P receives five
    P receives marker from R
"""


def test_r10_three_processes_and_three_messages_in_transit():
    run = cl.simulate(cl.three_process_bank(), cl.ChandyLamport, schedule=R10)
    assert run.snapshot.states == {"P": 100, "Q": 180, "R": 265}
    assert channels(run) == {"R→Q": [30], "Q→P": [20], "R→P": [5]}
    assert 100 + 180 + 265 + 30 + 20 + 5 == 600
    assert run.final.states == {"P": 115, "Q": 210, "R": 275}
    assert run.fault == ""
    assert never_occurs(run)
    proof = cl.reorder(run)
    assert len(proof.swaps) == 2
    assert [step.split()[2] for step in proof.schedule] == [
        *("thirty", "twenty", "five"),
        *("thirty", "ten", "twenty", "ten", "five"),
    ]
    assert proof.boundary == 3
    assert cl.replay(run.system, proof.schedule)[3] == run.snapshot


JOIN = cl.System(
    cl.letters(a=[("op", "a1"), ("op", "a2")], b=[("op", "b1"), ("op", "b2")], op=[]),
    cl.Fifo([("a", "op"), ("b", "op")]),
)
EMIT = [
    *("a sends a1 to op", "a records", "a sends a2 to op"),
    *("b sends b1 to op", "b records", "b sends b2 to op"),
]


def arriving(*what):
    return EMIT + [f"op receives {each}" for each in what]


AS_THEY_COME = arriving("a1", "marker from a", "a2", "b1", "marker from b", "b2")
HELD_BACK = arriving("a1", "marker from a", "b1", "marker from b", "a2", "b2")


def received(run):
    return run.snapshot.states["op"][1]


def test_r11_a_two_input_operator_behind_two_barriers():
    unaligned = cl.simulate(JOIN, cl.ChandyLamport, schedule=AS_THEY_COME)
    assert (received(unaligned), channels(unaligned)) == (("a1",), {"b→op": ["b1"]})
    assert unaligned.fault == ""
    lost = cl.simulate(JOIN, broken.NoLog, schedule=AS_THEY_COME)
    assert (received(lost), channels(lost)) == (("a1",), {})  # b1 is nowhere
    twice = cl.simulate(JOIN, broken.RecordsAtTheLastMarker, schedule=AS_THEY_COME)
    assert received(twice) == ("a1", "a2", "b1")  # a2 is sent again after a restart
    assert twice.fault == "a2 is received inside the cut and sent outside"
    aligned = cl.simulate(JOIN, broken.RecordsAtTheLastMarker, schedule=HELD_BACK)
    assert (received(aligned), channels(aligned)) == (("a1", "b1"), {})
    assert aligned.fault == ""


def test_r11_all_twenty_interleavings():
    """Arrivals of a1 | a2 and b1 | b2 in every order: who is exact, who loses, who repeats."""
    outcome = {"unaligned": 0, "first barrier, no log": 0, "last barrier": 0, "aligned": 0}
    first, second = ["a1", "marker from a", "a2"], ["b1", "marker from b", "b2"]
    for places in combinations(range(6), 3):
        from_a, from_b = iter(first), iter(second)
        arrivals = [next(from_a if i in places else from_b) for i in range(6)]
        script = arriving(*arrivals)
        for name, algorithm in {
            "unaligned": cl.ChandyLamport,
            "first barrier, no log": broken.NoLog,
            "last barrier": broken.RecordsAtTheLastMarker,
        }.items():
            outcome[name] += not cl.simulate(JOIN, algorithm, schedule=script).fault
        held = sorted(arrivals, key=lambda what: what in ("a2", "b2"))  # what is behind a barrier
        run = cl.simulate(JOIN, broken.RecordsAtTheLastMarker, schedule=arriving(*held))
        outcome["aligned"] += not run.fault and not run.snapshot.channels
    assert outcome == {
        "unaligned": 20,
        "first barrier, no log": 12,
        "last barrier": 12,
        "aligned": 20,
    }


LOOP = performing(
    "s: r1!  \nh: r1? x1! y1?\nb: x1? y1!", channels=[("s", "h"), ("h", "b"), ("b", "h")]
)


def test_r12_in_a_cycle_waiting_for_every_barrier_waits_for_ever():
    script = """
        s sends r1 to h
        s records
        h receives r1
        h sends x1 to b
        b receives x1
        b sends y1 to h
        h receives marker from s
    """
    waiting = cl.simulate(LOOP, broken.RecordsAtTheLastMarker, schedule=f"{script}; h receives y1")
    assert waiting.snapshot is None
    assert waiting.fault == "not complete: h, b did not record"
    rest = "h receives y1; b receives marker from h; h receives marker from b"
    logged = cl.simulate(LOOP, cl.ChandyLamport, schedule=f"{script}; {rest}")
    assert (channels(logged), logged.fault) == ({"b→h": ["y1"]}, "")


def test_r13_who_is_not_reached_never_records():
    system = performing("x: a\ny: b\nz: d", channels=cl.line("xyz"))
    stuck = cl.simulate(system, cl.ChandyLamport, initiators=["y"])
    assert stuck.snapshot is None
    assert stuck.fault == "never complete: no channels lead from an initiator to x"
    assert cl.simulate(system, cl.ChandyLamport, initiators=["x"]).snapshot is not None


def test_r14_halting_one_after_the_other_is_consistent_and_recording_is_not():
    c = cross(1)
    halted, recorded = set(), set()
    for run in all_runs(c):
        passed = cuts_along(c, run)
        for i, first in enumerate(passed):
            for second in passed[i:]:
                recorded.add(cl.Cut({"p": first["p"], "q": second["q"]}))
        for i in range(len(run) + 1):  # p halts here, and q goes on as long as it can
            cut = passed[i]
            halted.add(cut)
            for event in run[i:]:
                more = cut | cl.Cut({event.process: event.position})
                if event.process == "q" and more in cl.successors(c, cut):
                    cut = more
                    halted.add(cut)
    assert halted == set(closed_cuts(c))
    assert cl.Cut.of(p=0, q=2) in recorded
    assert not cl.is_consistent(c, cl.Cut.of(p=0, q=2))


def test_r15_two_snapshots_need_not_be_ordered():
    system = performing("p: a\nq: b")
    run = cl.simulate(
        system,
        cl.ChandyLamport,
        schedule="""
        p records 1
        q records 2
        p does a
        q does b
        q receives marker 1 from p
        p receives marker 2 from q
        p receives marker 1 from q
        q receives marker 2 from p
    """,
    )
    assert run.faults == {}
    assert (run.cuts[1], run.cuts[2]) == (cl.Cut.of(p=0, q=1), cl.Cut.of(p=1, q=0))
    assert not run.cuts[1] <= run.cuts[2]
    assert not run.cuts[2] <= run.cuts[1]


def test_r16_asking_one_after_the_other_overlooks_a_message():
    system = performing("p: m! passive\nq: m?")
    asked_q = system.start.states["q"]
    *_, later = cl.replay(system, ["p sends m to q", "p does passive"])
    assert (asked_q, later.states["p"]) == (0, 2)  # both seemed to have nothing to do
    assert later.channels == {("p", "q"): ("m",)}
    run = cl.simulate(
        system,
        cl.ChandyLamport,
        schedule="""
        q records
        p sends m to q
        p does passive
        p receives marker from q
        q receives m
        q receives marker from p
    """,
    )
    assert channels(run) == {"p→q": ["m"]}  # the snapshot shows the work that is under way
