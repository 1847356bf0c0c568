"""Judging answers that run: every schedule is taken, and a failure can be replayed."""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import chandylamport as cl
from chandylamport.classroom import NotYet, check
from chandylamport.classroom.building import unsolved
from chandylamport.classroom.trials import trials

ROOT = Path(__file__).parents[2]
TRIALS = {trial.title: trial.answer for trial in trials(ROOT) if trial.of == "MarkerRules"}
Rules = TRIALS["WithLists"]
NOTEBOOK = ROOT / "solutions" / "03b-marker-rules.ipynb"


def refused(answer, *systems, name="MarkerRules"):
    with pytest.raises(NotYet) as problem:
        check(name, answer, *systems)
    return problem.value


def written(body, **names):
    """A class as a student's cell defines it."""
    space = {"cl": cl, "Rules": Rules, **names}
    exec(compile(f"class MarkerRules(Rules):\n{body}", "cell", "exec"), space)
    return space["MarkerRules"]


# --- what is said --------------------------------------------------------------------------------


def test_a_right_class_is_told_on_how_many_systems_it_was_tried(capsys):
    check("MarkerRules", Rules)
    assert capsys.readouterr().out == "✓ MarkerRules: 4 systems, all right\n"


def test_a_wrong_class_is_told_what_goes_wrong_and_which_mistake_it_makes():
    problem = refused(TRIALS["StatesOnly"])
    assert str(problem) == (
        "On this system your class goes wrong: channel p→q is recorded as [], and holds ['m'] at "
        "the cut. This looks like «no log»: what arrives after the recording and before the marker "
        'was under way. If you are stuck: hint("MarkerRules").'
    )
    assert problem.mistake == "no log"


def test_a_failure_is_handed_over_as_code_that_shows_it_again():
    problem = refused(TRIALS["StatesOnly"])
    space = {"cl": cl, "StatesOnly": TRIALS["StatesOnly"]}
    exec(problem.about, space)
    assert space["run"].fault == "channel p→q is recorded as [], and holds ['m'] at the cut"
    assert "records" in problem.picture.alt
    assert problem.picture.alt == space["run"].draw().alt


def test_the_schedule_of_a_failure_is_the_shortest():
    found = cl.explore(cl.broken.ONE, cl.broken.NoLog, stop=True).counterexample
    assert refused(TRIALS["StatesOnly"]).about.count("\n") == len(found.schedule) + 3


def test_a_class_that_is_right_in_most_schedules_is_refused():
    seeds = range(50)
    answer, system = TRIALS["SendsMarkersAtTheNextArrival"], cl.textbook_bank()
    assert sum(not cl.simulate(system, answer, at=1, seed=seed).fault for seed in seeds) > 25
    assert refused(answer, "cl.textbook_bank()").mistake == "late markers"


def test_a_class_of_no_known_mistake_is_refused_without_a_name():
    always_seven = "    def on_message(self, port, channel, message):\n        pass\n"
    always_seven += "    def start(self, port):\n        super().start(port)\n"
    always_seven += "        self.logs = {c: [7] for c in port.inputs}\n"
    problem = refused(written(always_seven))
    assert problem.mistake == ""
    assert "goes wrong: channel p→q is recorded as [7], and holds [] at the cut" in str(problem)


def test_a_crash_is_told_with_its_line_and_the_schedule_that_leads_to_it():
    answer = written(
        "    def on_message(self, port, channel, message):\n        return {}[channel]\n"
    )
    problem = refused(answer)
    assert "your class stopped in line 3 of your cell with KeyError: ('p', 'q')" in str(problem)
    with pytest.raises(KeyError):
        exec(problem.about, {"cl": cl, "MarkerRules": answer})
    assert problem.picture.alt.splitlines()[1] == "p sends m to q"  # what happened before


def test_a_class_that_never_comes_to_an_end_is_refused():
    problem = refused(TRIALS["AnswersEachMarker"], "cl.textbook_bank()")
    assert "goes on and on, for more than 6000 steps" in str(problem)


def test_of_several_snapshots_the_one_that_is_complete_and_wrong_is_told():
    answer = next(trial.answer for trial in trials(ROOT) if trial.title == "StopsAfterOne")
    line = 'cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Fifo(cl.line("pq")))'
    problem = refused(answer, line, name="Snapshots")
    assert "goes wrong: snapshot 2: channel p→q is recorded as [], and holds ['m']" in str(problem)


def test_more_than_one_marker_on_a_channel_is_refused():
    twice = "    def tell(self, port):\n        super().tell(port)\n        super().tell(port)\n"
    twice += "    def on_marker(self, port, channel):\n"
    twice += "        if self.waiting is None or channel in self.waiting:\n"
    twice += "            super().on_marker(port, channel)\n"
    assert "your class sends 4 markers, and needs 2" in str(refused(written(twice)))


# --- what is no algorithm ------------------------------------------------------------------------


def test_an_object_in_the_place_of_its_class_is_refused():
    assert str(refused(Rules())) == "Hand in the class itself, by its name and without brackets."


def test_a_missing_method_is_named():
    class Half:
        begin = on_send = result = lambda self, *rest: None

    assert str(refused(Half)) == "Half has no method on_receive."


def test_what_the_class_itself_holds_is_refused():
    shared = refused(written("    logs = {}\n"))
    assert str(shared) == (
        "In MarkerRules, logs belongs to the class, so all processes share it: make it in "
        "__init__, as self.logs."
    )


def test_a_port_that_is_kept_is_refused():
    keeps = "    def tell(self, port):\n        super().tell(port)\n        self.port = port\n"
    assert str(refused(written(keeps))) == (
        "MarkerRules.begin keeps the port: use it, and let it go."
    )


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("self.state, self.logs", "result gave a tuple, and should give a cl.LocalSnapshot"),
        ("cl.LocalSnapshot(self.state, [])", "the state that port.record() gave, and a dict"),
        ("cl.LocalSnapshot([self.state], {})", "the state that port.record() gave, and a dict"),
    ],
)
def test_a_result_that_is_no_part_of_a_snapshot_is_refused(part, words):
    assert words in str(refused(written(f"    def part(self):\n        return {part}\n")))


# --- what the search must not overlook -----------------------------------------------------------


def test_one_list_under_two_names_stays_one():
    both = [1]
    first, second = cl.exploration.clone({"a": both, "b": both, "c": deque(both)}), {"a": both}
    first["a"].append(2)
    assert first == {"a": [1, 2], "b": [1, 2], "c": deque([1])}
    assert second == {"a": [1]}


def test_the_simulator_needs_nothing_that_is_switched_off():
    with pytest.raises(NotYet):
        check("MarkerRules", TRIALS["StatesOnly"])
    assert cl.simulate(cl.textbook_bank(), cl.ChandyLamport, at=1).fault == ""


def test_a_kernel_shows_code_drawing_and_sentence_of_a_failed_run():
    notebook = nbformat.reads(unsolved(NOTEBOOK), as_version=4)
    cells = {cell.id: cell for cell in notebook.cells}
    (logging,) = re.findall(
        r"        if channel in self.open:\n.*\n", solved := answer_cell().source
    )
    cells["MarkerRules"].source = solved.replace(logging, "")
    NotebookClient(notebook, timeout=60, allow_errors=True).execute()
    pasted, drawing, error = cells["markers_examples"].outputs
    assert "run = cl.simulate(system, MarkerRules, schedule=" in pasted.text
    assert drawing.data["image/svg+xml"].startswith("<svg")
    assert "«no log»" in error.evalue


def answer_cell():
    return next(c for c in nbformat.read(NOTEBOOK, as_version=4).cells if c.id == "MarkerRules")


# --- what the search alone does not see ----------------------------------------------------------


class DoneBeforeAnything(Rules):
    """Has a part as long as nothing is open, recorded or not."""

    def result(self):
        return super().result() or cl.LocalSnapshot(None, {})


def test_begin_must_have_no_effect_once_a_process_has_recorded():
    again = written("    def begin(self, port):\n        self.start(port)\n")
    words = "begin may be called again: who has recorded then does nothing."
    assert str(refused(again)) == words


def test_there_is_no_result_before_anything_is_recorded():
    words = "Before a process has recorded, result must give None."
    assert str(refused(DoneBeforeAnything)) == words


def test_a_system_that_is_too_large_is_not_the_students_fault():
    problem = refused(Rules, "cl.three_process_bank()")
    assert str(problem).endswith("too many to try every schedule: take a smaller one.")
    assert not problem.mistake


def test_a_class_that_does_not_replace_overlapping_is_told_how_to_begin():
    class Snapshots:
        pass

    problem = refused(Snapshots, name="Snapshots")
    assert str(problem) == "Begin with class Snapshots(cl.Overlapping): and write its methods."


def test_a_wrong_prediction_is_not_told_the_right_one():
    problem = refused(lambda run: ({"p": 0, "q": 0}, {}), name="predict")
    assert "should give" not in str(problem)
    assert problem.picture.alt.endswith("The run, without its snapshot.")
    assert "holds" not in problem.picture.alt
