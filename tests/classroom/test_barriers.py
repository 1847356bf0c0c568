"""The exercises on barriers: what is told of a checkpoint, and what may not be used."""

from __future__ import annotations

from pathlib import Path

import pytest

import chandylamport as cl
from chandylamport.classroom import NotYet, check
from chandylamport.classroom.exercises.barriers import ALIGNED
from chandylamport.classroom.trials import trials

ROOT = Path(__file__).parents[2]
TRIALS = {trial.title: trial.answer for trial in trials(ROOT) if trial.notebook[:2] == "09"}


def refused(name, answer, *subjects):
    with pytest.raises(NotYet) as problem:
        check(name, answer, *subjects)
    return problem.value


# --- 09a -----------------------------------------------------------------------------------------


def test_the_classes_of_the_package_are_refused_even_below_a_student_s():
    assert "the package's own A" in str(refused("Aligned", cl.Aligned))
    mine = type("Mine", (cl.Aligned,), {})
    assert "the package's own A" in str(refused("Aligned", mine))
    assert "the package's own ChandyLamport" in str(refused("Unaligned", cl.ChandyLamport))
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
