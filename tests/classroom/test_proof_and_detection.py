"""The exercises of chapters 04 and 06: what is told of a schedule, of orders and of a state."""

from __future__ import annotations

import pytest

import chandylamport as cl
from chandylamport.classroom import NotYet, check
from chandylamport.classroom.exercises.detection import SHOWN, meaning
from chandylamport.classroom.exercises.proof import PAPER, occurred_at, right_orders

RIGHT = "A records; A sends m to B; B sends n to A; B receives marker from A; A receives n; "
RIGHT += "A receives marker from B"


def refused(name, answer, *subjects):
    with pytest.raises(NotYet) as problem:
        check(name, answer, *subjects)
    return problem.value


# --- 04a -----------------------------------------------------------------------------------------


def test_a_schedule_is_played_as_far_as_it_goes_and_what_stops_it_is_told():
    problem = refused("pass_by", lambda system: RIGHT.replace("B receives marker from A; ", ""))
    assert str(problem).startswith(
        "In your schedule, step 5, 'A receives marker from B', cannot happen now. What can: "
    )
    space = {"cl": cl}
    exec(problem.about, space)
    assert space["run"].schedule == (*RIGHT.split("; ")[:3], "A receives n")
    assert problem.picture.alt == space["run"].draw().alt


def test_a_state_that_occurred_is_told_with_the_number_of_events_before_it():
    early = RIGHT.replace("B sends n to A", "B records").replace("A receives n; ", "")
    problem = refused("pass_by", lambda system: early, "cl.textbook_bank()")
    assert problem.mistake == "the start"
    assert "S* did occur: after 0 of 1 events the run was in it" in str(problem)


def test_a_schedule_may_come_in_any_form(capsys):
    for given in (RIGHT, RIGHT.split("; "), cl.Schedule(RIGHT)):
        check("pass_by", lambda system, given=given: given, "cl.textbook_bank()")
    assert refused("pass_by", lambda system: None).args == (
        "pass_by(system) gave None: is a return missing?",
    )


def test_the_systems_of_04a_can_be_passed_by_and_a_single_token_cannot():
    found = cl.explore(cl.single_token(4), cl.ChandyLamport).snapshots
    steps = ["p sends token to q", "q receives token", "q sends token.2 to p", "p receives token.2"]
    steps += ["p sends token.3 to q", "q receives token.3", "q sends token.4 to p"]
    assert found == {*cl.replay(cl.single_token(4), steps)}


# --- 04b -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda run: list(run.order), "should give a list of orders"),
        (lambda run: [0], "should give a list of orders"),
        (lambda run: [], "Order 0 is not the order of the run"),
        (lambda run: [["m!"]], "Order 0 does not have each event of the run once"),
        (lambda run: [run.order, run.order[1:]], "Order 1 does not have each event of the run"),
        (lambda run: [run.order, run.order[::-1]], "Order 1 differs from order 0 in 2 places"),
    ],
)
def test_what_is_no_list_of_orders_is_refused(answer, words):
    assert words in str(refused("reorder", answer))


def test_an_order_that_could_not_have_happened_is_told_with_the_step_that_cannot():
    def last_two(run):
        first, second, third = run.order
        return [run.order, [first, third, second]]

    problem = refused("reorder", last_two)
    assert problem.mistake == "backwards"
    assert 'no run: step 2, "p receives M\'", cannot happen now' in str(problem)
    space = {"cl": cl}
    exec(problem.about, space)
    with pytest.raises(ValueError, match="step 2"):
        cl.replay(space["run"].system, space["order"])


def test_swaps_that_are_accepted_lead_to_the_snapshot_and_each_order_is_a_run():
    run = eval(PAPER, {"cl": cl})
    check("reorder", lambda run: right_orders(run), PAPER)  # a student's, not the package's
    names = dict(zip(run.order, cl.reorder(run).original, strict=True))
    for order in right_orders(run):
        states = cl.replay(run.system, [names[event] for event in order])
    assert states[cl.reorder(run).boundary] == run.snapshot
    assert occurred_at(run) == []


# --- 06a -----------------------------------------------------------------------------------------

HOLDS = {  # the properties that the reasons speak of
    (True, True): cl.terminated,
    (True, False): cl.terminated,
    (False, True): lambda s: bool(s.channels["q", "p"]) and not s.channels["p", "q"],
    (False, False): lambda s: s.states["p"] == "s1",
}


@pytest.mark.parametrize("case", SHOWN)
def test_the_run_that_is_shown_refutes_what_nobody_can_know(case):
    run = eval(SHOWN[case][0], {"cl": cl})
    own = list(run.steps)
    began = [entry.is_event for entry in run.trace].index(False)
    passed = [HOLDS[case](state) for state in cl.replay(run.system, own)]
    at_the_ends = passed[began], passed[-1]  # the last step of each is the last marker
    assert HOLDS[case](run.snapshot) is case[1]
    for known, is_true in zip(meaning(*case), at_the_ends, strict=True):
        assert known in (None, is_true)
    if case == (False, True):
        assert not any(passed)
    else:
        assert case[1] not in [
            t for t, known in zip(at_the_ends, meaning(*case), strict=True) if known is None
        ]


def test_a_wrong_verdict_on_a_state_is_drawn_with_what_is_under_way():
    problem = refused(
        "deadlocked",
        lambda snapshot: [],
        "cl.replay(cl.servers(), 'p sends call to q; q sends call.2 to p')[-1]",
    )
    assert "p→q: call." in problem.picture.alt
    assert "should give ['p', 'q']: p waits for q, q waits for p" in str(problem)
