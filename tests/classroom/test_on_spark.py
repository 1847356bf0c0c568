"""The exercises on Spark: what is told of a query or a sink, and what may not be used."""

from __future__ import annotations

from pathlib import Path

import pytest

import chandylamport as cl
from chandylamport.classroom import NotYet, check
from chandylamport.classroom.exercises.audits import frontiers, tables
from chandylamport.classroom.exercises.streams import (
    Batches,
    Crash,
    Disk,
    Folder,
    Steps,
    Stream,
    Writes,
    WritesOnly,
)
from chandylamport.classroom.trials import trials
from chandylamport.spark import audit, session

ROOT = Path(__file__).parents[2]
TRIALS = {trial.title: trial.answer for trial in trials(ROOT) if trial.notebook[:2] in ("11", "12")}
PAIR = cl.computation("p: m!\nq: m?")


@pytest.fixture(scope="module", autouse=True)
def spark():
    return session()


def refused(name, answer, *subjects):
    with pytest.raises(NotYet) as problem:
        check(name, answer, *subjects)
    return problem.value


# --- 12a -----------------------------------------------------------------------------------------


def test_every_cut_names_somebody_and_nobody_who_has_no_event_inside_but_then():
    assert frontiers(PAIR) == {1: {"p": 0}, 2: {"q": 1}, 3: {"p": 1}, 4: {"p": 1, "q": 1}}


def test_the_package_s_own_audit_is_refused_and_works_again_afterwards():
    words = "without the package's own spark.audit."
    assert words in str(refused("audit", audit, PAIR))
    assert words in str(refused("audit", lambda messages, cuts: audit(messages, cuts), PAIR))
    rows = {row.cut: row.orphans for row in audit(*tables(PAIR)).collect()}
    assert rows == {1: 0, 2: 1, 3: 0, 4: 0}


def right(messages, cuts):
    return TRIALS["in sql"](messages, cuts)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda m, c: None, "is a return missing?"),
        (lambda m, c: right(m, c).collect(), "gave a list, and should give a DataFrame of Spark"),
        (lambda m, c: right(m, c).drop("orphans"), "has no column orphans, but these: consistent"),
        (lambda m, c: right(m, c).selectExpr("*", "cut"), "has more than one column cut"),
        (
            lambda m, c: right(m, c).drop("consistent").selectExpr("*", "1 consistent"),
            "int",
        ),
        (lambda m, c: m.select("nothing"), "with AnalysisException: [UNRESOLVED_COLUMN"),
        (lambda m, c: right(m, c).union(right(m, c)), "Cut 1, which is p=0, q=0, has 2 rows"),
        (
            lambda m, c: right(m, c).union(right(m, c).selectExpr("consistent", "9 cut", "0", "0")),
            "There is a row for cut 9, which is not in cuts.",
        ),
    ],
)
def test_a_result_of_the_wrong_shape_is_told_as_such(answer, words):
    assert words in str(refused("audit", answer, PAIR))


def test_the_first_wrong_cut_is_told_drawn_and_handed_over_as_code():
    problem = refused("audit", TRIALS["wants empty channels"], PAIR)
    assert "Cut 3, which is p=1, q=0, has orphans 0, in transit 1, consistent False" in str(problem)
    assert problem.picture.alt == cl.draw(PAIR, cl.Cut.of(p=1, q=0)).alt
    space = {"cl": cl, "tables": tables, "audit": TRIALS["wants empty channels"]}
    exec(problem.about, space)
    assert space["cuts"].count() == 5


# --- 11a -----------------------------------------------------------------------------------------


def test_a_crash_cannot_be_caught_and_nothing_is_written_after_it():
    disk = Disk(Steps([1]))

    def stubborn():
        try:
            disk.append("x", ["a", "b"])
        except Exception:
            return
        finally:
            disk.append("x", ["c"])

    with pytest.raises(Crash):
        stubborn()
    assert disk.read("x") == ["a"]


@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_a_disk_writes_row_by_row_and_renames_in_one_step(kind, tmp_path):
    disk = Disk() if kind == "memory" else Folder(tmp_path / "disk")
    disk.write("_draft", ["a", "a"])
    assert disk.visible() == []
    disk.append("_draft", ["b"])
    disk.write("final", ["old"])
    disk.rename("_draft", "final")
    assert (disk.names(), disk.visible()) == (["final"], ["a", "a", "b"])
    disk.remove("final")
    with pytest.raises(FileNotFoundError, match="there is no file 'final'; there are: none"):
        disk.read("final")


def test_rows_that_arrive_while_the_engine_is_down_are_in_a_later_batch():
    play = Batches(TRIALS["first the old then the new"], "ab cd", 2)
    assert play.taken == {0: ["a", "b"], 1: ["c", "d"]}
    assert [what for _, _, what in play.steps.done] == [
        "plan 0 to 2",
        "batch 0: a b",
        "crash",
        "batch 0: a b",
        "commit 0",
        "plan 1 to 4",
        "batch 1: c d",
        "commit 1",
    ]


def test_a_failed_story_is_handed_over_as_code_that_shows_it_again():
    for name, title, kind in (
        ("run_batch", "commits too soon", Batches),
        ("write", "appends", Writes),
    ):
        answer = TRIALS[title]
        problem = refused(name, answer)
        code = problem.about.splitlines()[-1]
        again = eval(code, {kind.__name__: kind, answer.__name__: answer})
        assert again.alt == problem.picture.alt


def test_spark_and_the_miniature_agree_on_a_sink_that_appends():
    problem = refused("write", TRIALS["appends"], "('Spark', 'ab ca e')")
    assert problem.mistake == "appended"
    assert "On Spark, after a crash in the write of batch 1 and another behind it, a, c, c" in str(
        problem
    )
    assert sorted(WritesOnly(TRIALS["appends"], "ab ca e", 3, 2).got()) == sorted("abccacae")


def test_an_error_in_a_sink_on_spark_is_the_student_s_and_not_spark_s():
    def write(disk, batch, rows):
        if isinstance(disk, Folder):
            raise KeyError("mine")
        TRIALS["only if it is not there"](disk, batch, rows)

    assert "with KeyError: 'mine'" in str(refused("write", write, "('Spark', 'ab ca e')"))


def test_a_stream_that_crashes_runs_its_open_batch_again():
    stream, batches = Stream("ab c"), []

    def sink(batch, rows):
        batches.append((batch, rows))
        if len(batches) == 2:
            raise Crash

    assert not stream.run(sink)
    assert stream.logs() == {"offsets": [0, 1], "commits": [0]}
    assert stream.run(sink)
    assert batches == [(0, ["a", "b"]), (1, ["c"]), (1, ["c"])]
    assert sorted(stream.read("source")) == ["a", "b", "c"]
