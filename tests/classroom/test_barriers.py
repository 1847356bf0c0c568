"""The exercises on barriers: what is told of a checkpoint, and what may not be used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import chandylamport as cl
from chandylamport.classroom import NotYet, check
from chandylamport.classroom.exercises.barriers import ALIGNED, R11, R12, back_edges
from chandylamport.classroom.exercises.recovery import Job, Outside, Story, crashes
from chandylamport.classroom.trials import trials

ROOT = Path(__file__).parents[2]
TRIALS = {trial.title: trial.answer for trial in trials(ROOT) if trial.notebook[:2] == "09"}


def refused(name, answer, *subjects):
    with pytest.raises(NotYet) as problem:
        check(name, answer, *subjects)
    return problem.value


# --- 09a -----------------------------------------------------------------------------------------


def test_the_classes_of_the_package_are_refused_even_below_a_student_s():
    for name, used in (
        ("Aligned", cl.Aligned),
        ("Aligned", cl.AtLeastOnce),
        ("Unaligned", cl.ChandyLamport),
    ):
        mine = type("Mine", (used,), {})
        for answer in (used, mine):
            assert f"the package's own {used.__name__}." in str(refused(name, answer))
    # And afterwards they work as before.
    system = eval(ALIGNED.examples[0], {"cl": cl})
    for recorder in (cl.Aligned, cl.ChandyLamport):
        assert cl.explore(system, recorder, initiators=["a", "b"]).counterexample is None


@pytest.mark.parametrize(
    ("title", "words"),
    [("HoldsNothing", "op gets a1 twice"), ("RecordsAtOnceAndGoesOn", "op never gets b1")],
)
def test_a_wrong_checkpoint_is_told_with_what_comes_of_it_after_a_restart(title, words):
    problem = refused("Aligned", TRIALS[title])
    assert f"After a restart from this checkpoint, {words}." in str(problem)
    space = {"cl": cl, **TRIALS}
    exec(problem.about, space)
    assert space["run"].fault
    assert problem.picture.alt == space["run"].draw().alt


def test_an_input_that_is_never_released_is_shown_by_a_run_in_which_a_record_waits():
    problem = refused("Aligned", TRIALS["ForgetsToRelease"])
    assert "lets a1 wait for ever" in str(problem)
    space = {"cl": cl, **TRIALS}
    exec(problem.about, space)
    assert space["run"].snapshot is not None
    assert space["run"].final.channels["a", "op"][0] == "a1"


def test_a_state_from_which_nobody_can_start_is_refused_all_the_same():
    class RecordsNonsense(TRIALS["WithAList"]):
        def record(self, port):
            super().record(port)
            self.state = "nonsense"

    assert "is recorded in state 'nonsense'" in str(refused("Aligned", RecordsNonsense))


@pytest.mark.parametrize("name", ["Aligned", "Unaligned", "Cyclic"])
def test_a_forgotten_return_is_told_as_such(name):
    right = {"Aligned": "WithAList", "Unaligned": "WithListsForEachInput"}

    class ForgetsToReturn(TRIALS[right.get(name, "WithListsForEachBackEdge")]):
        def on_receive(self, port, channel, wire):
            super().on_receive(port, channel, wire)

    record = "m1" if name == "Cyclic" else "[ab]1"
    sentence = f"goes wrong: on_receive returned None for the record {record}: return it\\."
    assert re.search(sentence, str(refused(name, ForgetsToReturn)))


def test_a_class_that_logs_rightly_may_not_hold_an_input_either():
    sentence = "your class calls port.hold, and here nothing is to wait."
    for title in ("LogsRightlyAndHolds", "AlignsAfterAll"):
        assert sentence in str(refused("Unaligned", TRIALS[title]))


# --- 09c -----------------------------------------------------------------------------------------

TWO = """cl.System(cl.letters(a=[], b=[("h", "b1")], h=[], w=[("h", "x"), ("h", "y")]),
    cl.Fifo([("a", "h"), ("b", "h"), ("h", "w"), ("w", "h")]))"""


def test_the_back_edges_are_those_that_lead_back_to_where_a_way_has_been():
    assert back_edges(eval(R12, {"cl": cl})) == {("body", "head")}
    assert back_edges(eval(TWO, {"cl": cl})) == {("w", "h")}
    assert back_edges(eval(ALIGNED.examples[0], {"cl": cl})) == set()


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("WaitsForEverybody", "not complete: head, body, sink did not record"),
        ("ForgetsWhatGoesRound", "sink never gets ('r1', 2)"),
        ("LogsOnWhenItHasReturned", "sink gets ('r1', 2) twice"),
    ],
)
def test_a_failure_in_a_cycle_is_handed_over_as_code_that_tells_the_back_edges(title, words):
    problem = refused("Cyclic", TRIALS[title])
    assert words in str(problem)
    space = {"cl": cl, **TRIALS}
    exec(problem.about, space)
    assert space["run"].fault
    assert space[title].back == {("body", "head")}


def test_barriers_that_go_round_for_ever_are_refused():
    class PassesEachBarrierOn(TRIALS["WithListsForEachBackEdge"]):
        def on_barrier(self, port, channel):
            known = self.recorded
            super().on_barrier(port, channel)
            if known:
                self.pass_on(port)

    assert "goes on and on" in str(refused("Cyclic", PassesEachBarrierOn, TWO))


# --- 09b -----------------------------------------------------------------------------------------


def test_a_job_crashes_with_no_one_and_two_complete_checkpoints_and_with_records_in_flight():
    found = list(crashes(eval(R11, {"cl": cl})))
    complete = [sum(s is not None for s in crash.checkpoints.values()) for crash in found]
    assert {*complete} == {0, 1, 2}
    assert any(crash.checkpoints.get(2) is None and crash.last for crash in found)
    assert any(crash.last and crash.last.channels for crash in found)


def test_a_job_refuses_what_it_does_not_have():
    system = eval(R11, {"cl": cl})
    job = Job(system, next(crashes(system)))
    for call in (
        lambda: job.set_state("a", (0, ())),
        lambda: job.put(("op", "a"), ["x"]),
        lambda: job.start("op", 0),
        lambda: job.start("a", (0, ())),
    ):
        with pytest.raises(ValueError, match=r"there is no|is no operator|start takes a source"):
            call()


def test_a_single_record_is_not_taken_for_a_list_of_its_letters():
    system = eval(R11, {"cl": cl})
    job, outside = Job(system, next(crashes(system))), Outside()
    for call in (
        lambda: job.put(("b", "op"), "b2"),
        lambda: outside.show("b2"),
        lambda: outside.stage(1, "b2"),
    ):
        with pytest.raises(ValueError, match=r"such as \['b2'\], not 'b2'"):
            call()


def test_a_recovery_that_stops_is_told_with_its_crash_and_its_checkpoints():
    problem = refused("recover", lambda job, checkpoints: checkpoints[max(checkpoints)])
    assert "before the first step, checkpoints was empty, and recover(job" in str(problem)

    def takes_the_newest(job, checkpoints):
        TRIALS["step by step"](job, checkpoints)
        return checkpoints and checkpoints[max(checkpoints)].states

    problem = refused("recover", takes_the_newest)
    assert "'a records 1', checkpoints was 1: None, and recover(job" in str(problem)


def test_a_failed_recovery_is_told_with_its_crash_and_drawn_as_it_goes_on():
    problem = refused("recover", TRIALS["restores states and offsets"])
    assert str(problem).startswith("After a crash behind step ")
    assert problem.picture is not None
    space = {"cl": cl}
    exec(problem.about, space)
    assert any(space["run"].snapshots.values())


def test_a_story_goes_on_behind_the_last_complete_checkpoint_and_decides_it_once():
    story = Story(TRIALS["WithTuples"], "a | b + c ! | + !")
    assert story.play((4,)) == ""  # behind the decision, before the sink hears of it
    wrote = [line for line in story.lines if "write" in line]
    assert wrote == [f"sink.write('{record}')" for record in "abbc"]
    assert [line for line in story.lines if "is complete" in line] == [
        "# the coordinator: checkpoint 1 is complete",
        "# the coordinator: checkpoint 2 is complete",
    ]
    assert story.outside.visible == ["a", "b", "c"]


def test_a_failed_sink_is_handed_over_as_code_that_shows_it_again():
    problem = refused("Sink", TRIALS["BeginsWithNothing"])
    space = {"Outside": Outside, "Sink": TRIALS["BeginsWithNothing"]}
    exec(problem.about, space)
    assert space["outside"].visible == ["b", "c"]


def test_a_sink_without_a_method_is_refused():
    three = dict.fromkeys(("write", "on_barrier", "on_complete"), print)
    assert "has no method recover" in str(refused("Sink", type("Three", (), three)))
