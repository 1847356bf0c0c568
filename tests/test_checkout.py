"""The checkout and its tools: what is started where, and what is said when it fails."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from chandylamport import checkout
from chandylamport.checkout import CourseError

ROOT = Path(__file__).parents[1]


def write_notebook(path, printed):
    """Store a notebook that prints 4 and claims to have printed something."""
    output = nbformat.v4.new_output("stream", name="stdout", text=f"{printed}\n")
    cell = nbformat.v4.new_code_cell("print(2 + 2)", execution_count=1, outputs=[output])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
    nbformat.write(notebook, path)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A small checkout, with the package's own file outside of it."""
    root = tmp_path / "root"
    for folder in ("notebooks", "solutions", "tests", "chandylamport", "benchmarks"):
        (root / folder).mkdir(parents=True)
    for file in ("course", "pyproject.toml", "tests/test_notebooks.py", "benchmarks/clocks.py"):
        (root / file).touch()
    write_notebook(root / "notebooks" / "01.ipynb", 4)
    monkeypatch.setattr(checkout, "__file__", str(tmp_path / "site" / "chandylamport" / "x.py"))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def commands(monkeypatch):
    """Record the commands instead of running them; `status` says how each would end."""

    class Commands(dict):
        status = 0

    ran = Commands()

    def run(command, cwd):
        ran[" ".join(command[2:4])] = command[3:]
        return ran.status.get(command[2], 0) if isinstance(ran.status, dict) else ran.status

    monkeypatch.setattr(checkout, "run", run)
    return ran


def test_the_checkout_is_around_the_package():
    assert checkout.course_root() == ROOT


def test_the_checkout_is_else_around_the_working_directory(root, monkeypatch):
    monkeypatch.chdir(root / "notebooks")
    assert checkout.course_root() == root


def test_another_project_with_notebooks_is_not_the_checkout(root, monkeypatch):
    (root / "course").unlink()
    with pytest.raises(CourseError, match="git clone"):
        checkout.course_root()


def test_a_missing_tool_is_named_with_its_extra(root, monkeypatch):
    monkeypatch.setattr(checkout.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CourseError, match=re.escape("pip install 'chandylamport[lab]'")):
        checkout.lab(root, [])
    with pytest.raises(CourseError, match=re.escape("pip install 'chandylamport[dev]'")):
        checkout.check_everything(root, [], fast=False)


# lab


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Record the command that `lab` becomes; what it signs goes into a directory of its own."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "mine")
    programs = []
    monkeypatch.setattr(os, "execv", lambda program, command: programs.append(command))
    return programs


def test_lab_serves_the_checkout_with_the_persons_arguments_last(root, started):
    checkout.lab(root, ["--no-browser", "--port", "9999"])
    assert started[0][:4] == [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}"]
    assert started[0][-3:] == ["--no-browser", "--port", "9999"]


@pytest.mark.parametrize("option", ["--notebook-dir", "--ServerApp.root_dir"])
def test_lab_leaves_another_directory_to_the_person(root, started, option):
    checkout.lab(root, [f"{option}=elsewhere"])
    assert [word for word in started[0] if "dir" in word] == [f"{option}=elsewhere"]


@pytest.mark.parametrize("user", [0, 1000])
def test_lab_allows_root_only_to_root(root, started, monkeypatch, user):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    checkout.lab(root, [])
    assert ("--allow-root" in started[0]) == (user == 0)


def test_lab_signs_the_notebooks_so_that_their_figures_show(root, started):
    path = root / "notebooks" / "01.ipynb"
    (root / "notebooks" / "damaged.ipynb").write_text("{")
    assert not NotebookNotary().check_signature(nbformat.read(path, 4))
    checkout.lab(root, [])
    assert NotebookNotary().check_signature(nbformat.read(path, 4))


def test_lab_adds_its_settings_to_the_persons(root, started):
    checkout.lab(root, [])
    ours, theirs = os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert theirs == "mine"
    assert Path(ours).name == "jupyter"


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_lab_opens_the_start_page_and_asks_about_no_news(tmp_path):
    surroundings = {**os.environ, "HOME": str(tmp_path), "JUPYTER_DATA_DIR": str(tmp_path)}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "chandylamport", "lab", "--no-browser", f"--port={port}"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=surroundings)
    try:
        lines = iter(server.stderr.readline, "")
        url = next(found[0] for line in lines if (found := re.search(r"http://\S+token=\w+", line)))
        fetch = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
        while not listens(port) and server.poll() is None:  # it prints its address before that
            time.sleep(0.1)
        with fetch(url) as answer:
            page = answer.read().decode()
        with fetch(url.replace("/lab/tree/", "/api/contents/") + "&content=0") as answer:
            assert json.load(answer)["path"] == "notebooks/00-start-here.ipynb"
    finally:
        server.terminate()
        server.communicate()
    (config,) = re.findall(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.DOTALL)
    settings = json.loads(config)
    assert "@jupyterlab/apputils-extension:announcements" in settings["disabledExtensions"]
    assert settings["news"] == {"disabled": True}
    assert settings["extensionManager"]["can_install"] is False


# test


def test_everything_is_tested(root, commands, capsys):
    assert checkout.check_everything(root, [], fast=False) == 0
    assert list(commands) == ["ruff check", "ruff format", "mypy --strict", "pytest -n"]
    assert commands["ruff check"][1:] == [
        *("chandylamport", "tests", "benchmarks", "solutions", "course"),
    ]
    assert {"--doctest-modules", "--nbval", "--nbval-cell-timeout=300"} < {*commands["pytest -n"]}
    assert "not slow" not in commands["pytest -n"]
    assert commands["pytest -n"][-3:] == ["chandylamport", "tests", "notebooks"]
    assert capsys.readouterr().out.endswith("\nEverything passed.\n")


def test_a_folder_is_tested_once_it_has_notebooks(root, commands):
    write_notebook(root / "solutions" / "01.ipynb", 4)
    checkout.check_everything(root, [], fast=False)
    assert commands["pytest -n"][-2:] == ["notebooks", "solutions"]


def test_fast_leaves_out_the_slow_tests(root, commands):
    checkout.check_everything(root, [], fast=True)
    assert "-m not slow" in " ".join(commands["pytest -n"])


def test_the_persons_paths_replace_ours(root, commands, monkeypatch):
    monkeypatch.chdir(root / "tests")
    checkout.check_everything(root, ["-x", "test_notebooks.py::test_it"], fast=False)
    assert commands["pytest -n"][-2:] == ["-x", f"{root}/tests/test_notebooks.py::test_it"]


def test_a_word_to_select_by_is_not_a_path(root, commands):
    (root / "cuts").mkdir()
    checkout.check_everything(root, ["-k", "cuts"], fast=False)
    assert commands["pytest -n"][-5:] == ["-k", "cuts", "chandylamport", "tests", "notebooks"]


def test_a_failure_does_not_stop_the_rest_and_is_repeated_at_the_end(root, commands, capsys):
    commands.status = {"ruff": 1, "pytest": 1}
    assert checkout.check_everything(root, [], fast=False) == 1
    assert len(commands) == 4
    verdict = capsys.readouterr().out.split("\nFAILED: ")[1]
    assert verdict.startswith("ruff check, ruff format, pytest. ")
    assert "-m ruff format chandylamport" in verdict
    assert "./course test --lf" in verdict


def test_testing_nothing_is_a_failure(root, commands, capsys):
    commands.status = {"pytest": checkout.NOTHING_COLLECTED}
    assert checkout.check_everything(root, ["-k", "cutz"], fast=False) == 1
    assert "no test fits -k cutz: nothing has been tested" in capsys.readouterr().out


@pytest.mark.parametrize("budget", ["CORE_BUDGET", "PACKAGE_BUDGET"])
def test_over_budget_is_a_failure(root, commands, capsys, monkeypatch, budget):
    (root / "chandylamport" / "events.py").write_text("one = 1\ntwo = 2\n")
    monkeypatch.setattr(checkout, budget, 1)
    assert checkout.check_everything(root, [], fast=False) == 1
    assert "FAILED: line budget" in capsys.readouterr().out


# check


def test_all_notebooks_are_checked_with_the_test_of_blind_spots(root, commands):
    assert checkout.check_notebooks(root, ["-x"]) == 0
    words = commands["pytest -n"]
    assert "--nbval" in words
    assert words[-3:] == ["-x", "notebooks", "tests/test_notebooks.py"]


def test_a_named_notebook_is_meant_from_where_the_person_stands(root, commands, monkeypatch):
    monkeypatch.chdir(root / "notebooks")
    checkout.check_notebooks(root, ["01.ipynb"])
    assert commands["pytest -n"][-1] == str(root / "notebooks" / "01.ipynb")
    assert "tests/test_notebooks.py" not in commands["pytest -n"]


def test_a_notebook_that_is_not_there_is_named(root, commands):
    with pytest.raises(CourseError, match=r"no file 09\.ipynb in "):
        checkout.check_notebooks(root, ["09.ipynb"])
    assert commands == {}


def test_a_checkout_without_notebooks_is_not_checked(root, commands):
    (root / "notebooks" / "01.ipynb").unlink()
    (root / "tests" / "test_notebooks.py").unlink()
    with pytest.raises(CourseError, match="no notebooks in"):
        checkout.check_notebooks(root, [])


@pytest.mark.parametrize(("printed", "status"), [(4, 0), (5, 1)])
def test_check_tells_a_true_output_from_a_false_one(printed, status, tmp_path, capfd):
    write_notebook(tmp_path / "sum.ipynb", printed)
    assert checkout.check_notebooks(ROOT, [str(tmp_path / "sum.ipynb")]) == status
    assert ("no longer true" in capfd.readouterr().out) == (status == 1)


# bench


def test_benchmarks_run_by_name_or_all(root, monkeypatch):
    (root / "benchmarks" / "audit.py").touch()
    ran = []
    monkeypatch.setattr(checkout, "run", lambda command, _: ran.append(Path(command[1]).stem) or 0)
    checkout.bench(root, [])
    checkout.bench(root, ["clocks"])
    assert ran == ["audit", "clocks", "clocks"]


def test_an_unknown_benchmark_is_refused_before_any_runs(root, commands):
    with pytest.raises(CourseError, match="no benchmark clock; there is clocks"):
        checkout.bench(root, ["clocks", "clock"])
    assert commands == {}
