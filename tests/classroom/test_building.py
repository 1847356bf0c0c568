"""Making exercises/ from solutions/: always the same bytes, and nothing in them that tells."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import ValidationError
from nbgrader.preprocessors import CheckCellMetadata, OverwriteCells, SaveCells
from nbgrader.utils import determine_grade, is_grade

import chandylamport as cl
from chandylamport import broken
from chandylamport.classroom.building import STEPS, answered, build, unsolved
from chandylamport.classroom.trials import refusals

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "solutions").glob("*.ipynb"))
NAMES = [source.stem for source in SOURCES]
SECRET = re.compile(r"### BEGIN (SOLUTION|HIDDEN TESTS|MARK SCHEME)\n(.*?)### END \1", re.DOTALL)
STUBS = {"SOLUTION": "YOUR ANSWER HERE", "MARK SCHEME": ""}  # instead of what is hidden in prose


def read(path):
    return nbformat.read(path, as_version=4)


def cells(path, kind):
    """The cells of a notebook that nbgrader has marked in one way."""
    return [cell for cell in read(path).cells if cell.metadata.get("nbgrader", {}).get(kind)]


def automatic(path):
    """The cells that give points by themselves."""
    return [cell for cell in cells(path, "grade") if not cell.metadata.nbgrader.solution]


def written(path):
    """The answers to which a person gives points."""
    return [cell for cell in cells(path, "grade") if cell.metadata.nbgrader.solution]


def named(sources):
    return pytest.mark.parametrize("source", sources, ids=lambda source: source.stem)


TESTED = [source for source in SOURCES if automatic(source)]
BY_HAND = [source for source in SOURCES if not automatic(source)]


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
    edited.write_bytes(original.replace(b"**Goal.**", b"**Aim.**"))
    assert edited.read_bytes() != original
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


@named(BY_HAND)
def test_build_keeps_an_answer_that_is_written_below_the_place_for_it(source, copy):
    build(copy)
    begun = copy / "exercises" / source.name
    work = begun.read_text().replace("YOUR ANSWER HERE", "YOUR ANSWER HERE\\n\\nThe marker", 1)
    begun.write_text(work)
    kept = copy / "exercises" / "kept" / f"{source.stem}-1.ipynb"
    assert build(copy) == [kept, begun]
    assert kept.read_text() == work


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
    for cell, shown in zip(before, after, strict=True):
        if cell.cell_type == "markdown":
            open_part = SECRET.sub(lambda part: STUBS[part[1]], cell.source)
            assert open_part.strip() == shown.source.strip()


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_an_exercise_says_its_goal_its_time_and_how_it_is_marked(source):
    prose = "\n".join(cell.source for cell in read(source).cells if cell.cell_type == "markdown")
    for word in (
        "**Goal.**",
        "**Time.** About",
        "**Allowed:**",
        "**Not allowed:**",
        "hidden tests" if source in TESTED else "a person reads your answers",
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


@named(TESTED)
def test_every_answer_is_tried_by_an_open_cell_and_by_a_cell_with_hidden_tests(source):
    assert all(test.metadata.nbgrader.locked for test in automatic(source))
    for answer in cells(source, "solution"):
        name = answer.metadata.nbgrader.grade_id
        mine = [test.source for test in automatic(source) if f'check("{name}"' in test.source]
        shown = [SECRET.sub("", text) for text in mine]
        assert all(f'check("{name}", {name}' in text for text in shown)
        assert [text for text in mine if "HIDDEN" not in text]
        assert [text for text in mine if "HIDDEN" in text]


@named(TESTED)
def test_the_stored_run_of_a_solution_earns_all_points(source):
    for test in automatic(source):
        assert test.execution_count is not None
        # A value would be read as a number of points.
        assert [output.output_type for output in test.outputs] == ["stream"]
        got, most = determine_grade(test)
        assert got == most > 0


@pytest.fixture
def for_marking(tmp_path, monkeypatch):
    """What nbgrader makes of a notebook that is handed in, before it is marked."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")  # for alembic
    database = f"sqlite:///{tmp_path / 'gradebook.db'}"
    names = {"notebook": "n", "assignment": "a", "db_url": database, "language": "python"}
    with Gradebook(database) as gradebook:
        gradebook.add_assignment("a")

    def restored(source, handed_in):
        notebook, resources = read(source), {"nbgrader": names}
        for step in (*STEPS[: STEPS.index(CheckCellMetadata) + 2], SaveCells):
            notebook, resources = step().preprocess(notebook, resources)
        return OverwriteCells().preprocess(handed_in, resources)[0]

    return restored


def test_a_test_cell_that_a_student_has_changed_is_restored(for_marking):
    source = ROOT / "solutions" / "02c-counting.ipynb"
    handed_in = nbformat.reads(unsolved(source), as_version=4)
    for cell in handed_in.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            cell.source = "pass"
        elif cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = "def count_consistent_cuts(c):\n    return 14"
    assert list(refusals(nbformat.writes(handed_in))) == []
    marked = for_marking(source, handed_in)
    assert len(list(refusals(nbformat.writes(marked)))) == 3
    restored = [c.source for c in marked.cells if c.metadata.get("nbgrader", {}).get("grade")]
    assert restored == [cell.source for cell in automatic(source)]


@named(TESTED)
def test_a_test_cell_binds_no_name_that_a_student_may_use(source):
    for cell in automatic(source):
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


# --- written answers -----------------------------------------------------------------------------


def guide(source):
    """The one cell that says how to mark: what students read of it, and what they do not."""
    (task,) = cells(source, "task")
    (scheme,) = [text for kind, text in SECRET.findall(task.source) if kind == "MARK SCHEME"]
    return task, scheme


def asked(source):
    """Each question, and the answer that follows it."""
    return [(q, a) for q, a in pairwise(read(source).cells) if a in written(source)]


def heading(text, level):
    """The title of a section, and the points that it promises."""
    return re.match(rf"{level} (.+) \((\d+) points\)\n", text).groups()


@named(BY_HAND)
def test_without_tests_there_are_written_answers_a_guide_and_nothing_else_to_try(source):
    assert len(written(source)) >= 3
    assert guide(source)[0].metadata.nbgrader.locked  # if not, autograding fails for everybody
    assert not [cell for cell in read(source).cells if "check(" in cell.source]
    assert not (source.parent / "trials" / f"{source.stem}.py").exists()
    behind = {before.id: cell for before, cell in pairwise(read(source).cells)}
    runs = [cell for cell in cells(source, "solution") if cell.cell_type == "code"]
    assert runs == [behind[answer.id] for answer in written(source)]
    assert not [run for run in runs if run.metadata.nbgrader.grade]


@named(BY_HAND)
def test_a_question_says_how_many_points_each_of_its_parts_carries(source):
    for question, answer in asked(source):
        _, promised = heading(question.source, "##")
        parts = re.findall(r"\*\((\d) points?\)\*", question.source)
        assert answer.cell_type == "markdown"
        assert answer.metadata.nbgrader.points == int(promised) == sum(map(int, parts))
    total = sum(answer.metadata.nbgrader.points for _, answer in asked(source))
    task, _ = guide(source)
    assert f"The {len(written(source))} questions carry {total} points" in task.source


@named(BY_HAND)
def test_the_guide_says_for_each_question_what_earns_its_points_and_what_costs(source):
    task, scheme = guide(source)
    whole, *sections = re.findall(r"(?s)#### .+?(?=#### |\Z)", scheme)
    assert heading(whole, "####") == ("The whole", str(task.metadata.nbgrader.points))
    questions = [heading(question.source, "##") for question, _ in asked(source)]
    assert [heading(section, "####") for section in sections] == questions
    for section in (whole, *sections):
        earned = re.findall(r"(?m)^- \*\*\+(\d)\*\* ", section)
        assert sum(map(int, earned)) == int(heading(section, "####")[1])
        assert section is whole or len(re.findall(r"(?m)^- \*\*−1\*\* ", section)) >= 3


@named(BY_HAND)
def test_a_written_answer_waits_for_a_person_and_an_empty_one_gets_nothing(source, for_marking):
    empty = for_marking(source, nbformat.reads(unsolved(source), as_version=4))
    filled = nbformat.reads(unsolved(source), as_version=4)
    for cell in filled.cells:
        if cell.source == "YOUR ANSWER HERE":
            cell.source = "A barrier."
    graded = [
        {determine_grade(cell)[0] for cell in notebook.cells if is_grade(cell)}
        for notebook in (empty, for_marking(source, filled))
    ]
    assert graded == [{0}, {None}]


@named(BY_HAND)
def test_whoever_marks_sees_the_guide_again_and_the_words_of_the_student(source, for_marking):
    handed_in = nbformat.reads(unsolved(source), as_version=4)
    for cell in handed_in.cells:
        cell.source = f"{cell.source}\nMy words."
    marked = for_marking(source, handed_in).cells
    task, _ = guide(source)
    assert [cell.source for cell in marked if cell.id == task.id] == [task.source]
    answers = {answer.id for answer in written(source)}
    assert all(cell.source.endswith("My words.") for cell in marked if cell.id in answers)


def test_a_guide_shows_by_a_run_that_a_logged_message_was_sent_before_its_sender_recorded():
    _, scheme = guide(ROOT / "solutions" / "09d-in-your-own-words.ipynb")
    (schedule,) = re.findall(r"`(p sends m to q; .+?)`", scheme)
    pair = cl.System(cl.actors(cl.computation("p: m!\nq: m?")), cl.Fifo(cl.complete("pq")))
    run = cl.simulate(pair, cl.ChandyLamport, schedule=schedule)
    assert run.snapshot.channels == {("p", "q"): ("m",)}
    assert run.cut == cl.Cut.of(p=1, q=0)  # p has sent m when it records
    steps = list(run.schedule)
    assert steps.index("p receives marker from q") - steps.index("p sends m to q") == 3
    lost = cl.simulate(pair, broken.NoLog, schedule=schedule)
    assert (lost.cut, lost.snapshot.channels) == (run.cut, {})
