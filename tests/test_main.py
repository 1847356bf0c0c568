"""The command line: which verb does what, and what a person sees if it cannot."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from chandylamport import __main__ as command_line
from chandylamport import checkout
from chandylamport.classroom import building, trials

ROOT = Path(__file__).parents[1]


@pytest.fixture
def calls(monkeypatch):
    """Record the calls of the verbs instead of making them."""
    made = []

    def record(name):
        def verb(*arguments, **options):
            made.append((name, *arguments[1:], options))
            return 3

        return verb

    for name in ("lab", "check_everything", "check_notebooks", "bench"):
        monkeypatch.setattr(checkout, name, record(name))
    return made


@pytest.mark.parametrize(
    ("argv", "call"),
    [
        ("lab --no-browser --port 9999", ("lab", ["--no-browser", "--port", "9999"], {})),
        ("test -k cuts", ("check_everything", ["-k", "cuts"], {"fast": False})),
        ("test --fast tests -x", ("check_everything", ["tests", "-x"], {"fast": True})),
        ("check 01.ipynb -x", ("check_notebooks", ["01.ipynb", "-x"], {})),
        ("bench clocks", ("bench", ["clocks"], {})),
    ],
)
def test_arguments_that_are_not_ours_are_forwarded_in_their_order(argv, call, calls):
    assert command_line.main(argv.split()) == 3
    assert calls == [call]


def test_a_verb_without_a_tool_refuses_further_arguments(capsys):
    with pytest.raises(SystemExit) as end:
        command_line.main(["doctor", "--port", "9999"])
    assert end.value.code == 2
    assert "doctor does not take --port 9999" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [[], ["lba"]])
def test_a_missing_or_unknown_verb_is_refused_with_the_usage(argv, capsys):
    with pytest.raises(SystemExit) as end:
        command_line.main(argv)
    assert end.value.code == 2
    assert "usage: chandylamport" in capsys.readouterr().err


def test_an_error_is_one_line_with_cause_and_remedy(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(checkout, "__file__", str(tmp_path / "site" / "chandylamport" / "x.py"))
    monkeypatch.chdir(tmp_path)
    assert command_line.main(["check"]) == 1
    output = capsys.readouterr()
    assert output.err == (
        "chandylamport: this needs the checkout of the course: git clone it, then cd into it\n"
    )
    assert output.out == ""


def test_an_interruption_ends_quietly(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(checkout, "check_notebooks", interrupted)
    assert command_line.main(["check"]) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("option", "status"), [([], 0), (["--check"], 1)])
def test_build_names_what_changed(option, status, monkeypatch, capsys):
    monkeypatch.setattr(building, "build", lambda root, run: [root / "exercises" / "x.ipynb"])
    assert command_line.main(["build", *option]) == status
    assert capsys.readouterr().out == f"{ROOT / 'exercises' / 'x.ipynb'}\n1 files changed.\n"


@pytest.mark.parametrize("run", [True, False])
def test_build_runs_the_notebooks_only_if_asked(run, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(building, "build", lambda root, run: asked.append((root, run)) or [])
    assert command_line.main(["build", "--check", *(["--run"] if run else [])]) == 0
    assert asked == [(ROOT, run)]
    assert capsys.readouterr().out == "Everything was up to date.\n"


def test_exercises_gives_the_status_of_the_table(monkeypatch):
    monkeypatch.setattr(trials, "print_table", lambda root: 5 if root == ROOT else 0)
    assert command_line.main(["exercises"]) == 5


@pytest.mark.parametrize("verb", ["build", "exercises"])
def test_making_exercises_needs_the_extra_for_teachers(verb, monkeypatch, capsys):
    monkeypatch.setattr(checkout.importlib.util, "find_spec", lambda name: None)
    assert command_line.main([verb]) == 1
    assert "nbgrader is missing: pip install 'chandylamport[teach]'" in capsys.readouterr().err


# --- the audit -----------------------------------------------------------------------------------

MESSAGE = '{"id": "m", "src": "p", "dst": "q", "sent": 2, "received": 1}\n'
GOOD, BAD = '"good": {"p": 2, "q": 1}', '"bad": {"p": 1, "q": 1}'


@pytest.mark.parametrize(
    ("messages", "cuts", "status", "out", "err"),
    [
        (MESSAGE, f"{{{GOOD}}}", 0, ["good", "0", "0", "consistent"], ""),
        (MESSAGE, f"{{{GOOD}, {BAD}}}", 1, ["bad", "1", "0", "INCONSISTENT"], ""),
        (2 * MESSAGE, f"{{{GOOD}}}", 2, [], "duplicate message: 1, as in id m"),
        ("nothing", f"{{{GOOD}}}", 2, [], "cannot be read as JSON lines"),
        (MESSAGE, f'{{"none": {{}}, {GOOD}}}', 2, [], "cut none names no process"),
        (MESSAGE, '{"huge": {"p": 100000000000000000000}}', 2, [], "its frontier an integer"),
        (MESSAGE, '{"other": {"P": 1, "Q": 1}}', 2, [], "process of a cut that no message names"),
        (MESSAGE, '{"good": {"p": "two"}}', 2, [], "cut good: p: 'two'"),
        (MESSAGE, '{"cut": 1, "process": "p"}', 2, [], "no column frontier"),
    ],
)
def test_the_status_of_an_audit_is_its_verdict(messages, cuts, status, out, err, tmp_path, capsys):
    (tmp_path / "messages.json").write_text(messages)
    (tmp_path / "wanted").write_text(cuts)
    assert command_line.main(["audit", str(tmp_path), str(tmp_path / "wanted")]) == status
    output = capsys.readouterr()
    assert err in output.err
    assert output.err.count("\n") == bool(err)  # one line, and no traceback
    assert [line.split() for line in output.out.splitlines()][1:2] == [out][: bool(out)]


def test_an_audit_shows_its_progress_on_a_terminal_only(capsys, monkeypatch):
    from chandylamport.spark import reporting

    class Tracker:
        def getActiveStageIds(self):
            return [1]

        def getStageInfo(self, stage):
            return SimpleNamespace(numTasks=4, numCompletedTasks=2)

    context = SimpleNamespace(statusTracker=Tracker)
    spark = SimpleNamespace(sparkContext=context)
    with reporting.progress(spark):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(reporting, "PAUSE", 0.01)
    drawn = threading.Event()
    monkeypatch.setattr(Tracker, "getActiveStageIds", lambda self: drawn.set() or [1])
    with reporting.progress(spark):
        assert drawn.wait(10)
    assert f"{'█' * 15}{'·' * 15} 2/4 tasks" in capsys.readouterr().err
