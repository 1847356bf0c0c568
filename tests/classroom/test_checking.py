"""Checking an answer: what a student is told, and that nobody passes by asking the package."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import nullcontext
from inspect import isfunction
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbgrader.utils import determine_grade

import chandylamport as cl
from chandylamport import spark
from chandylamport.classroom import NotYet, check, checking, hint
from chandylamport.classroom.building import unsolved
from chandylamport.classroom.exercises import EXERCISES
from chandylamport.classroom.exercises.ids import Several
from chandylamport.classroom.exercises.runs import RUNS, TO_BREAK
from chandylamport.classroom.exercises.termination import at_moment, begun

ROOT = Path(__file__).parents[2]


def written(text, name="happens_before"):
    """The function that a student's cell defines, in a namespace like a notebook's."""
    space = {"cl": cl}
    exec(compile(text, "cell", "exec"), space)
    return space[name]


def refused(function, *computations, name="happens_before"):
    with pytest.raises(NotYet) as problem:
        check(name, function, *computations)
    return problem.value


# --- what is said --------------------------------------------------------------------------------


def test_a_right_answer_is_told_how_much_was_tried(capsys):
    check("channel_state", lambda c, cut, src, dst: [], cl.computation("p: a\nq: b c"))
    assert capsys.readouterr().out == "✓ channel_state: 12 answers, all right\n"
    check("count_consistent_cuts", lambda c: 2, cl.computation("p: a"))
    assert capsys.readouterr().out == "✓ count_consistent_cuts: 1 answer, all right\n"


def test_a_wrong_answer_is_explained_by_its_reason_and_the_name_of_the_mistake():
    problem = refused(causality_of_one_step)
    assert str(problem) == (
        "happens_before(c, a, m?) gave False, and should give True: there is the chain "
        "a → m! → m?. Your answers are those of «no chains»: the relation is transitive, so "
        'one step may follow another. If you are stuck: hint("happens_before").'
    )
    assert problem.mistake == "no chains"


def causality_of_one_step(c, e, f):
    local = e.process == f.process and e.position < f.position
    return local or bool({*e.sends} & {*f.receives})


def test_the_picture_of_a_wrong_answer_shows_the_causal_past_in_its_own_words():
    picture = refused(causality_of_one_step).picture
    assert picture.alt.splitlines()[-1] == "Shaded: m? of q and all that happens before it."
    assert ">Shaded: m? of q and all that happens before it.</text>" in picture.svg
    assert "consistent" not in picture.svg


def test_an_answer_that_makes_no_known_mistake_is_refused_without_a_name():
    problem = refused(lambda c, e, f: (e.name, f.name) == ("a", "d"))
    assert problem.mistake == ""
    assert "should give" in str(problem)
    assert "«" not in str(problem)


def test_a_mistake_is_named_only_if_it_explains_every_answer():
    problem = refused(lambda c, e, f: causality_of_one_step(c, e, f) or (e.name, f.name) == "an")
    assert problem.mistake == "no chains"
    problem = refused(lambda c, e, f: causality_of_one_step(c, e, f) or e == f == c["e"])
    assert problem.mistake == ""


def test_a_crash_is_told_with_its_line_in_the_cell_and_a_picture():
    text = "def happens_before(c, e, f):\n    late = e.position > 1\n    return c.messages[late]\n"
    problem = refused(written(text))
    assert str(problem) == (
        "happens_before(c, a, a) stopped in line 3 of your cell with KeyError: False"
    )
    assert problem.picture is not None


def test_a_crash_below_the_cell_is_told_with_the_line_that_called():
    text = "def happens_before(c, e, f):\n    return (\n        cl.Cut.of(p=-1)\n    )\n"
    assert "stopped in line 3 of your cell with ValueError: p=-1" in str(refused(written(text)))


def test_a_decorated_answer_keeps_its_lines():
    text = "import functools\n@functools.cache\ndef happens_before(c, e, f):\n    return 1 // 0\n"
    assert "stopped in line 4 of your cell with ZeroDivisionError" in str(refused(written(text)))


def test_a_wrong_answer_is_told_before_a_later_crash():
    def answer(c, e, f):
        if f.name == "m!":
            raise RuntimeError
        return e == f

    assert "happens_before(c, a, a) gave True, and should give False" in str(refused(answer))


def test_a_list_that_grows_from_call_to_call_is_told_as_it_was_at_its_first_wrong_answer():
    text = (
        "def channel_state(c, cut, src, dst, state=[]):\n"
        "    for m in c.messages.values():\n"
        "        here = (m.src, m.dst) == (src, dst)\n"
        "        if here and m.sent <= cut[src] and m.received > cut[dst]:\n"
        "            state.append(m.payload)\n"
        "    return state\n"
    )
    c = cl.computation("p: m! n!\nq: m? n?", payloads={"m": 10, "n": 20})
    problem = refused(written(text, "channel_state"), c, name="channel_state")
    assert "channel_state(c, Cut.of(p=1, q=0), 'q', 'p') gave [10], and should give []" in str(
        problem
    )


def test_a_missing_return_is_told():
    problem = refused(lambda c, e, f: None)
    assert str(problem) == "happens_before(c, a, a) gave None: is a return missing?"


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_draws_what_went_wrong(name, monkeypatch):
    monkeypatch.setattr(checking, "_own_work", lambda exercise: nullcontext())
    answers = [next(iter(EXERCISES[name].mistakes.values()))]
    if EXERCISES[name].subject == "c":  # what runs is judged in other ways, see test_judging
        answers += [lambda *question: None, lambda *question: "?"]
    for answer in answers:
        assert refused(answer, name=name).picture.svg.startswith("<svg")


def test_an_answer_not_yet_written_is_told_so_without_a_picture():
    text = "def happens_before(c, e, f):\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"
    problem = refused(written(text))
    assert str(problem) == "happens_before is still to be written."
    assert problem.picture is None


def test_an_unknown_exercise_is_refused_with_the_names_of_all():
    with pytest.raises(LookupError, match="no exercise 'happen_before'; there are happens_before,"):
        check("happen_before", causality_of_one_step)


# --- own work ------------------------------------------------------------------------------------

BORROWED = {
    "the package": "def happens_before(c, e, f):\n    return cl.happens_before(c, e, f)",
    "its module": "def happens_before(c, e, f):\n    return cl.causality.happens_before(c, e, f)",
    "another name": (
        "from chandylamport import happens_before as hb\n"
        "def happens_before(c, e, f):\n    return hb(c, e, f)"
    ),
    "another name, cached": (
        "import functools\nfrom chandylamport import happens_before as hb\n"
        "@functools.cache\ndef happens_before(c, e, f):\n    return hb(c, e, f)"
    ),
    "a helper": (
        "def helper(c, e, f):\n    return cl.happens_before(c, e, f)\n"
        "def happens_before(c, e, f):\n    return helper(c, e, f)"
    ),
    "an import inside": (
        "def happens_before(c, e, f):\n    from chandylamport.causality import happens_before\n"
        "    return happens_before(c, e, f)"
    ),
    "a default": (
        "def happens_before(c, e, f, known=cl.happens_before):\n    return known(c, e, f)"
    ),
    "nothing but an import": "from chandylamport import happens_before",
    "an assignment": "happens_before = cl.happens_before",
}


@pytest.mark.parametrize("text", BORROWED.values(), ids=BORROWED.keys())
def test_the_package_s_own_answer_cannot_be_borrowed(text):
    problem = refused(written(text))
    assert str(problem) == "This is to be written without the package's own happens_before."


def test_concurrent_cannot_borrow_the_package_s_happens_before():
    problem = refused(lambda c, e, f: not cl.happens_before(c, e, f), name="concurrent")
    assert str(problem) == "This is to be written without the package's own happens_before."


PACKAGE_S_OWN = {  # where it has another name
    "channel_state": lambda c, cut, *ends: cl.in_transit(c, cut).get(ends, []),
    "MarkerRules": cl.ChandyLamport,
    "predict": lambda run: RUNS[run].run().snapshot,
    "will_complete": lambda system, group: bool(begun(system, group).snapshot),
    "is_complete": lambda *moment: bool(at_moment(*moment).snapshot),
    "cost": lambda system, group: begun(system, group).markers,
    "break_it": lambda name: cl.find_failure(TO_BREAK[name].system, TO_BREAK[name].algorithm),
    "Snapshots": Several,
    "Colours": cl.LaiYang,
    "Unaligned": cl.ChandyLamport,
    "Cyclic": cl.Aligned,
    "replayed": lambda system, snapshot, source: cl.simulate(cl.restore(system, snapshot)),
    "audit": spark.audit,
}
HAS_AN_ANSWER = [name for name, exercise in EXERCISES.items() if exercise.not_to_be_called]


@pytest.mark.parametrize("name", HAS_AN_ANSWER)
def test_no_exercise_lets_its_own_answer_through(name):
    answer = PACKAGE_S_OWN[name] if name in PACKAGE_S_OWN else getattr(cl, name)
    assert "without the package's own" in str(refused(answer, name=name))
    again = (
        (lambda *question: answer(*question)) if isfunction(answer) else type("A", (answer,), {})
    )
    assert "without the package's own" in str(refused(again, name=name))


class Interrupted(BaseException):
    """What is raised when a student stops the kernel."""


def crash(c, e, f):
    raise RuntimeError


def interrupt(c, e, f):
    raise Interrupted


def borrow(c, e, f):
    return cl.happens_before(c, e, f)


@pytest.mark.parametrize("answer", [causality_of_one_step, crash, borrow, interrupt])
def test_the_package_is_whole_again_after_any_answer(answer):
    c = cl.computation("p: a m!\nq: m? b")
    with pytest.raises((NotYet, Interrupted)):
        check("happens_before", answer)
    assert cl.happens_before(c, c["a"], c["b"])
    assert not cl.concurrent(c, c["a"], c["b"])


def test_generators_of_the_package_are_whole_again_too():
    c = cl.computation("p: a\nq: b")
    refused(lambda c: len(list(cl.consistent_cuts(c))), name="count_consistent_cuts")
    assert len(list(cl.consistent_cuts(c))) == cl.count_consistent_cuts(c) == 4


# --- hints ---------------------------------------------------------------------------------------


def test_hints_open_one_at_a_time_and_stay_at_the_last(capsys, monkeypatch):
    monkeypatch.setattr(checking, "_opened", Counter())
    lines = []
    for name in ("definitely", "definitely", "possibly", "definitely", "definitely"):
        hint(name)
        lines.append(capsys.readouterr().out.split(":")[0])
    again = "Hint 3 of 3 (there is no further one)"
    assert lines == ["Hint 1 of 3", "Hint 2 of 3", "Hint 1 of 2", "Hint 3 of 3", again]


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES.keys())
def test_every_exercise_has_hints_and_advice_for_every_known_mistake(exercise):
    assert len(set(exercise.hints)) == len(exercise.hints) >= 2
    assert len(exercise.mistakes) >= 5
    for text in exercise.mistakes:
        name, advice = text.split(": ", 1)
        assert name
        assert len(advice.split()) >= 4


# --- in a kernel ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kernel():
    """The first exercise with a wrong and an empty answer, run in a real kernel; cells by id."""
    notebook = nbformat.reads(
        unsolved(ROOT / "solutions" / "01a-happens-before.ipynb"), as_version=4
    )
    cells = {cell.id: cell for cell in notebook.cells}
    cells["happens_before"].source = (
        "def happens_before(c, e, f):\n"
        "    return e.process == f.process and e.position < f.position"
    )
    NotebookClient(notebook, timeout=60, allow_errors=True).execute()
    return cells


def test_a_kernel_shows_computation_drawing_and_sentence_and_no_traceback(kernel):
    pasted, drawing, error = kernel["happens_before_examples"].outputs
    space = {"cl": cl}
    exec(pasted.text, space)
    assert space["c"] == EXERCISES["happens_before"].examples[0]
    assert drawing.data["image/svg+xml"].startswith("<svg")
    assert "Space-time diagram" in drawing.data["text/plain"]
    assert error.ename == "NotYet"
    shown = " ".join(error.traceback)
    assert shown == f"Not yet. {error.evalue}"
    assert "«local order only»" in shown
    assert max(map(len, error.traceback)) <= 88


def test_a_kernel_says_of_an_empty_answer_only_that_it_is_empty(kernel):
    (error,) = kernel["concurrent_examples"].outputs
    assert error.traceback == ["Not yet. concurrent is still to be written."]


def test_wrong_and_empty_answers_earn_no_points(kernel):
    graded = [cell for cell in kernel.values() if cell.metadata.get("nbgrader", {}).get("grade")]
    assert len(graded) == 5
    assert {determine_grade(cell)[0] for cell in graded} == {0}


def test_an_object_that_equals_everything_is_refused():
    class Same:
        __eq__ = __ne__ = lambda self, other: True
        __hash__ = None

    for answer in (Same(), [Same()]):
        with pytest.raises(NotYet, match="which is not what is asked for"):
            check("is_consistent", lambda c, cut, answer=answer: answer)


def test_an_answer_that_leaves_python_is_refused():
    with pytest.raises(NotYet, match="does it come to an end"):
        check("is_consistent", lambda c, cut: sys.exit(0))


def test_the_right_answer_is_not_to_be_found_in_the_frames_of_the_checker():
    def peeks(c, cut):
        frame = sys._getframe()
        while frame is not None:
            for value in frame.f_locals.values():
                if isinstance(value, list) and value and isinstance(value[0], bool):
                    return value[0]
            frame = frame.f_back
        return True

    with pytest.raises(NotYet):
        check("is_consistent", peeks)


def test_an_answer_that_is_imported_from_the_package_is_refused():
    from chandylamport.classroom.exercises.recovery import Transactions

    with pytest.raises(NotYet, match="the package's own"):
        check("Sink", Transactions)
