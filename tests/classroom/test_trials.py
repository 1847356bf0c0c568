"""The exercises tell wrong answers from right ones, and say which mistake was made."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import nbformat
import pytest

from chandylamport.classroom import checking
from chandylamport.classroom.building import unsolved
from chandylamport.classroom.exercises import EXERCISES
from chandylamport.classroom.trials import Trial, print_table, refusals, trials

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "solutions").glob("*.ipynb"))
TRIALS = list(trials(ROOT))
WRONG = [trial for trial in TRIALS if trial.mistake is not None]
RIGHT = [trial for trial in TRIALS if trial.mistake is None]


def title(trial):
    return f"{trial.of}: {trial.title}"


def marks(source):
    notebook = nbformat.read(source, as_version=4)
    return [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]


def automatic(source):
    """The cells that give points by themselves; to a written answer a person does."""
    return [mark.grade_id for mark in marks(source) if mark.grade and not mark.solution]


def answers(source):
    """The names of the functions that a notebook asks for."""
    return [mark.grade_id for mark in marks(source) if mark.solution]


TESTED = [source for source in SOURCES if automatic(source)]
NOTEBOOK_OF = {name: source for source in TESTED for name in answers(source)}


@pytest.mark.parametrize("trial", WRONG, ids=title)
def test_a_wrong_answer_is_refused_by_the_name_of_its_mistake(trial):
    assert f"«{trial.mistake}»" in trial.outcome(ROOT)


@pytest.mark.parametrize("trial", RIGHT, ids=title)
def test_a_right_answer_in_another_style_is_accepted(trial):
    assert trial.outcome(ROOT) == "accepted"


def test_every_exercise_is_tried_by_five_wrong_and_two_right_answers():
    assert NOTEBOOK_OF.keys() == EXERCISES.keys()
    wrong, right = (Counter(trial.of for trial in kind) for kind in (WRONG, RIGHT))
    for name in EXERCISES:
        assert wrong[name] >= 5, name
        assert right[name] >= 2, name
    assert all(NOTEBOOK_OF[trial.of].stem == trial.notebook for trial in TRIALS)


@pytest.mark.slow
@pytest.mark.parametrize("source", TESTED, ids=lambda source: source.stem)
def test_some_wrong_answer_is_caught_by_a_hidden_test_only(source):
    wrong = [trial for trial in WRONG if trial.notebook == source.stem]
    assert [trial for trial in wrong if trial.outcome(ROOT, hidden=False) == "accepted"]


@pytest.mark.parametrize("source", TESTED, ids=lambda source: source.stem)
def test_every_test_fails_unsolved_and_passes_solved(source):
    failed = list(refusals(unsolved(source)))
    assert len(failed) == len(automatic(source)) >= 3
    assert all(words.endswith("is still to be written.") for words in failed)
    assert list(refusals(source.read_text(encoding="utf-8"))) == []


KNOWN = [
    pytest.param(name, text, id=f"{name}: {text.split(':')[0]}")
    for name, exercise in EXERCISES.items()
    for text in exercise.mistakes
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), KNOWN)
def test_a_known_mistake_is_refused_by_its_own_name(name, text, monkeypatch):
    # What stands for the mistake here may use the package's own answer, as no student may.
    monkeypatch.setattr(checking, "_own_work", lambda exercise: nullcontext())
    monkeypatch.setattr(checking, "_is_ours", lambda answer: False)
    mistake = EXERCISES[name].mistakes[text]
    trial = Trial(NOTEBOOK_OF[name].stem, name, "", text.split(": ")[0], mistake)
    assert f"«{trial.mistake}»" in trial.outcome(ROOT)


@pytest.mark.parametrize("name", EXERCISES)
def test_every_known_mistake_is_made_by_some_trial(name):
    known = {text.split(": ")[0] for text in EXERCISES[name].mistakes}
    assert known == {trial.mistake for trial in WRONG if trial.of == name}


# --- the tools -----------------------------------------------------------------------------------


def test_only_cells_with_marks_can_refuse():
    cell, notebook = nbformat.v4.new_code_cell, nbformat.v4.new_notebook
    marks = {"nbgrader": {"grade": True}}
    cells = [cell("1 // 0"), cell("print('hello'); {}['a']", metadata=marks), cell("x = 1")]
    text = nbformat.writes(notebook(cells=cells))
    assert list(refusals(text)) == ["KeyError('a')"]


@pytest.fixture
def small(tmp_path):
    """A course with one exercise."""
    for folder, suffix in (("solutions", ".ipynb"), ("solutions/trials", ".py")):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / folder / f"02c-counting{suffix}", tmp_path / folder)
    return tmp_path


def test_the_table_has_a_line_for_each_trial_and_says_which_need_hidden_tests(small, capsys):
    assert print_table(small) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "02c-counting: its solution passes; unsolved, 3 tests fail"
    mine = [trial for trial in TRIALS if trial.notebook == "02c-counting"]
    assert [line.startswith("✓ count_consistent_cuts") for line in lines[1:-2]] == [True] * len(
        mine
    )
    assert "✓ count_consistent_cuts multiplies the prefixes refused: «all cuts»" in lines
    hidden = "compares each line with the next refused: «neighbours only» (by a hidden test)"
    assert f"✓ count_consistent_cuts {hidden}" in lines
    assert "✓ count_consistent_cuts up from the empty cut accepted" in lines
    assert lines[-1] == "8 wrong answers refused by name, 3 right ones accepted, no surprises"


def test_the_table_shows_a_surprise_and_its_status_is_a_failure(small, capsys):
    file = small / "solutions" / "trials" / "02c-counting.py"
    text = file.read_text(encoding="utf-8")
    assert '"all cuts"' in text
    file.write_text(text.replace('"all cuts"', '"too many"'), encoding="utf-8")
    assert print_table(small) == 1
    out = capsys.readouterr().out
    assert "✗ count_consistent_cuts" in out
    assert "gave 48, and should give 14" in out
    assert out.endswith("7 wrong answers refused by name, 3 right ones accepted, 1 surprises\n")


def test_the_table_shows_a_solution_that_does_not_pass(small, capsys):
    source = small / "solutions" / "02c-counting.ipynb"
    text = source.read_text(encoding="utf-8")
    broken = text.replace("range(len(c.history(p)) + 1)", "range(len(c.history(p)))")
    assert broken != text
    source.write_text(broken, encoding="utf-8")
    assert print_table(small) == 1
    assert "its solution DOES NOT PASS" in capsys.readouterr().out


def test_the_table_leaves_written_answers_to_a_person_and_nothing_else(small, capsys):
    (solution,) = (small / "solutions").glob("*.ipynb")
    notebook = nbformat.read(solution, as_version=4)
    notebook.cells = [c for c in notebook.cells if not c.metadata.get("nbgrader", {}).get("grade")]
    nbformat.write(notebook, solution.with_name("02x-forgotten.ipynb"))  # nobody tries it
    shutil.copy(ROOT / "solutions" / "09d-in-your-own-words.ipynb", small / "solutions")
    assert print_table(small) == 1
    out = capsys.readouterr().out
    assert "09d-in-your-own-words: 6 written answers, for a person to mark\n" in out
    assert "02x-forgotten: its solution passes; PASSES UNSOLVED\n" in out
    assert out.endswith("accepted, 1 surprises\n")
