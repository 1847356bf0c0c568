"""Making exercises/ from solutions/: always the same bytes, and nothing in them that tells."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import ValidationError
from nbgrader.preprocessors import CheckCellMetadata, OverwriteCells, SaveCells
from nbgrader.utils import determine_grade

from chandylamport.classroom.building import STEPS, answered, build, unsolved
from chandylamport.classroom.trials import refusals

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "solutions").glob("*.ipynb"))
NAMES = [source.stem for source in SOURCES]
SECRET = re.compile(r"### BEGIN (SOLUTION|HIDDEN TESTS)\n(.*?)### END \1", re.DOTALL)


def read(path):
    return nbformat.read(path, as_version=4)


def cells(path, kind):
    """The cells of a notebook that nbgrader has marked in one way."""
    return [cell for cell in read(path).cells if cell.metadata.get("nbgrader", {}).get(kind)]


@pytest.fixture
def copy(tmp_path):
    """A course with the solutions only."""
    shutil.copytree(ROOT / "solutions", tmp_path / "solutions")
    (tmp_path / "notebooks").mkdir()
    return tmp_path


# --- the same bytes ------------------------------------------------------------------------------


def stored(path):
    """An exercise as it is handed out; of one that a student has solved, the committed version."""
    if not answered(path):
        return path.read_text(encoding="utf-8")
    show = ["git", "show", f"HEAD:./exercises/{path.name}"]
    return subprocess.run(show, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_committed_exercises_are_what_build_makes():
    made = {source.name: unsolved(source) for source in SOURCES}
    assert made.keys() == {path.name for path in (ROOT / "exercises").glob("*.ipynb")}
    for name, text in made.items():
        fault = f"{name} is not built from its solution: run ./course build"
        assert stored(ROOT / "exercises" / name) == text, fault


def test_building_anew_changes_nothing(copy):
    made = build(copy)
    assert [path.name for path in made] == [source.name for source in SOURCES]
    first = {path: path.read_bytes() for path in made}
    assert build(copy) == []
    shutil.rmtree(copy / "exercises")
    assert {path: path.read_bytes() for path in build(copy)} == first


def test_build_mends_an_edited_exercise_and_names_it(copy):
    edited = build(copy)[1]
    original = edited.read_bytes()
    edited.write_bytes(original.replace(b"consistent", b"persistent"))
    assert build(copy) == [edited]
    assert edited.read_bytes() == original


def test_build_moves_an_exercise_without_a_solution_away(copy):
    build(copy)
    orphan = copy / "exercises" / "99z-nobody.ipynb"
    orphan.write_bytes((copy / "exercises" / SOURCES[0].name).read_bytes())
    assert build(copy) == [copy / "exercises" / "kept" / "99z-nobody-1.ipynb"]
    assert not orphan.exists()


def test_build_keeps_what_somebody_has_solved(copy):
    build(copy)
    solved = copy / "exercises" / SOURCES[0].name
    for attempt in (1, 2):
        work = solved.read_text().replace("raise NotImplementedError()", f"return {attempt}")
        solved.write_text(work)
        kept = copy / "exercises" / "kept" / f"{SOURCES[0].stem}-{attempt}.ipynb"
        assert build(copy) == [kept, solved]
        assert kept.read_text() == work
        assert not answered(solved)


# --- what a student gets -------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_an_exercise_holds_no_answer_no_hidden_test_and_no_output(source):
    secrets, told = set(), set()
    for cell in read(source).cells:
        secrets |= {line for _, text in SECRET.findall(cell.source) for line in text.split("\n")}
        told |= {*SECRET.sub("", cell.source).split("\n")}
    secrets = {line.strip() for line in secrets if len(line.strip()) > 8} - {*map(str.strip, told)}
    assert len(secrets) > 10
    exercise = nbformat.reads(unsolved(source), as_version=4)
    shown = {line.strip() for cell in exercise.cells for line in cell.source.split("\n")}
    assert not secrets & shown
    assert not [line for line in shown if "### BEGIN" in line or "### END" in line]
    code = [cell for cell in exercise.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_an_exercise_keeps_its_cells_their_ids_and_its_text(source):
    before, after = read(source).cells, nbformat.reads(unsolved(source), as_version=4).cells
    assert [cell.id for cell in before] == [cell.id for cell in after]
    assert len({cell.id for cell in after}) == len(after)
    prose = [[c.source for c in cells if c.cell_type == "markdown"] for cells in (before, after)]
    assert prose[0] == prose[1]


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_an_exercise_says_its_goal_its_time_and_that_there_are_hidden_tests(source):
    prose = "\n".join(cell.source for cell in read(source).cells if cell.cell_type == "markdown")
    for word in (
        "**Goal.**",
        "**Time.** About",
        "**Allowed:**",
        "**Not allowed:**",
        "hidden tests",
    ):
        assert word in prose
    assert prose.startswith(f"# {source.stem[:3]} · ")


# --- nbgrader's side -----------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_nbgrader_accepts_the_cells_of_an_exercise_and_no_doubled_one(source, caplog):
    exercise = nbformat.reads(unsolved(source), as_version=4)
    CheckCellMetadata().preprocess(exercise, {})
    marked = [cell for cell in exercise.cells if "nbgrader" in cell.metadata]
    marked[1].metadata.nbgrader.grade_id = marked[0].metadata.nbgrader.grade_id
    with pytest.raises(ValidationError):
        CheckCellMetadata().preprocess(exercise, {})
    assert f"Duplicate grade id: {marked[0].metadata.nbgrader.grade_id}" in caplog.text


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_every_answer_is_tried_by_an_open_cell_and_by_a_cell_with_hidden_tests(source):
    tests = cells(source, "grade")
    assert all(test.metadata.nbgrader.locked for test in tests)
    for answer in cells(source, "solution"):
        name = answer.metadata.nbgrader.grade_id
        mine = [test.source for test in tests if f'check("{name}"' in test.source]
        shown = [SECRET.sub("", text) for text in mine]
        assert all(f'check("{name}", {name}' in text for text in shown)
        assert [text for text in mine if "HIDDEN" not in text]
        assert [text for text in mine if "HIDDEN" in text]


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_the_stored_run_of_a_solution_earns_all_points(source):
    for test in cells(source, "grade"):
        assert test.execution_count is not None
        # A value would be read as a number of points.
        assert [output.output_type for output in test.outputs] == ["stream"]
        got, most = determine_grade(test)
        assert got == most > 0


def test_a_test_cell_that_a_student_has_changed_is_restored(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")  # for alembic
    database = f"sqlite:///{tmp_path / 'gradebook.db'}"
    names = {"notebook": "n", "assignment": "a", "db_url": database, "language": "python"}
    resources = {"nbgrader": names}
    with Gradebook(database) as gradebook:
        gradebook.add_assignment("a")
    source = ROOT / "solutions" / "02c-counting.ipynb"
    notebook = read(source)
    for step in (*STEPS[: STEPS.index(CheckCellMetadata) + 2], SaveCells):
        notebook, resources = step().preprocess(notebook, resources)

    handed_in = nbformat.reads(unsolved(source), as_version=4)
    for cell in handed_in.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            cell.source = "pass"
        elif cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = "def count_consistent_cuts(c):\n    return 14"
    assert list(refusals(nbformat.writes(handed_in))) == []
    marked, _ = OverwriteCells().preprocess(handed_in, resources)
    assert len(list(refusals(nbformat.writes(marked)))) == 3
    tests = [cell.source for cell in marked.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert tests == [cell.source for cell in cells(source, "grade")]


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_a_test_cell_binds_no_name_that_a_student_may_use(source):
    for cell in cells(source, "grade"):
        names = {
            node.id
            for node in ast.walk(ast.parse(cell.source))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        assert all(name.startswith("_") for name in names), (cell.id, names)


def test_build_never_writes_over_what_it_has_kept(copy):
    build(copy)
    solved = copy / "exercises" / SOURCES[0].name
    kept = []
    for attempt in (1, 2, 3):
        work = solved.read_text().replace("raise NotImplementedError()", f"return {attempt}")
        solved.write_text(work)
        kept.append(build(copy)[0])
        if attempt == 2:
            kept[0].unlink()  # a gap in the numbers
    assert "return 2" in kept[1].read_text()
    assert "return 3" in kept[2].read_text()


def test_build_keeps_an_exercise_in_which_somebody_has_run_a_cell(copy):
    build(copy)
    begun = copy / "exercises" / SOURCES[0].name
    begun.write_text(begun.read_text().replace('"execution_count": null', '"execution_count": 1'))
    kept = copy / "exercises" / "kept" / f"{SOURCES[0].stem}-1.ipynb"
    assert build(copy) == [kept, begun]
