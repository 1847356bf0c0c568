"""`./course`: the one entry point, tried on copies of itself that need no network."""

import ast
import fcntl
import os
import runpy
import shutil
import subprocess
import sys
import venv
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import SimpleNamespace

import pytest

from chandylamport.__main__ import parser

ROOT = Path(__file__).parents[1]

# What stands for .venv/bin/python: it knows its version, and shows how it was called.
STAND_IN = """#!/bin/sh
[ "$1" = -I ] && { echo "Python 3.11"; exit; }
pwd
echo "$PATH"
printf '%s\\n' "$@"
exit 7
"""


def load(directory):
    loader = SourceFileLoader("course", str(directory / "course"))
    module = module_from_spec(spec_from_loader("course", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def course(tmp_path):
    """A copy of the script beside a copy of the pins, in a directory with a space in its name."""
    directory = tmp_path / "a course"
    directory.mkdir()
    for name in ("course", "pyproject.toml"):
        shutil.copy(ROOT / name, directory / name)
    return load(directory)


def make_environment(course, *, stamped=True):
    course.PYTHON.parent.mkdir(parents=True)
    course.PYTHON.write_text(STAND_IN)
    course.PYTHON.chmod(0o755)
    if stamped:
        course.STAMP.write_text(f"{course.identity()}\n{course.pins()}")


def edit_pyproject(course, old, new):
    file = course.ROOT / "pyproject.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def start(course, *arguments, **options):
    command = [sys.executable, str(course.ROOT / "course"), *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"], ["help"]])
def test_help_names_the_verbs_and_installs_nothing(course, arguments):
    process = start(course, *arguments)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert all(f"./course {verb}" in out for verb in ("lab", "test", "check", "doctor"))
    assert not course.VENV.exists()


def test_the_script_and_the_package_have_the_same_verbs(course):
    (verbs,) = (action.choices for action in parser()._actions if action.dest == "verb")
    assert list(verbs) == course.VERBS


def test_an_unknown_verb_is_refused_before_anything_is_installed(course):
    with pytest.raises(SystemExit, match=r"no \./course lba; there is lab, test"):
        course.main(["lba"])
    assert not course.VENV.exists()


def test_an_old_python_can_read_the_script():
    ast.parse((ROOT / "course").read_text(), feature_version=(3, 6))


def test_an_old_python_is_told_which_one_is_needed(course, monkeypatch):
    old = SimpleNamespace(version_info=(3, 8, 18), argv=["./course"], exit=sys.exit)
    monkeypatch.setattr(course, "sys", old)
    with pytest.raises(SystemExit, match=r"3\.11 or newer, and this is Python 3\.8\.18") as refusal:
        course.main(["test", "-k", "a or b"])
    assert "python3.11 ./course test -k 'a or b'" in str(refusal.value)


def test_pins_do_not_depend_on_the_settings_of_tools(course):
    before = course.pins()
    edit_pyproject(course, "line-length = 100", "line-length = 99")
    assert course.pins() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [("pyspark==4.3.0", "pyspark==4.3.1"), ("flit_core==4.2.0", "flit_core==4.2.1")],
)
def test_pins_change_with_every_pinned_version(course, old, new):
    before = course.pins()
    edit_pyproject(course, old, new)
    assert course.pins() != before


def test_a_finished_environment_is_ready(course):
    make_environment(course)
    assert course.state() == "ready"


def test_changed_pins_make_an_environment_outdated(course):
    make_environment(course)
    edit_pyproject(course, "ruff==", "ruff==0.0.")
    assert course.state() == "outdated"


def test_an_unfinished_environment_counts_as_absent(course):
    make_environment(course, stamped=False)
    assert course.state() == "absent"


def test_an_environment_whose_python_vanished_counts_as_absent(course):
    make_environment(course)
    course.PYTHON.unlink()
    course.PYTHON.symlink_to("/nonexistent/python3")
    assert course.state() == "absent"


def test_an_environment_whose_python_became_another_counts_as_absent(course):
    make_environment(course)
    course.PYTHON.write_text(STAND_IN.replace("3.11", "3.12"))
    assert course.state() == "absent"


def test_a_copied_environment_counts_as_absent(course, tmp_path):
    make_environment(course)
    shutil.copytree(course.ROOT, tmp_path / "copy")
    assert load(tmp_path / "copy").state() == "absent"


@pytest.fixture
def steps(course, monkeypatch):
    """Record what would be done, none of it under the protection of a stamp."""
    done = []

    def create(directory, **options):
        done.append(("venv", options["clear"]))
        make_environment(course, stamped=False)

    def check_call(command, **_):
        done.append(("pip", command[-1]))
        assert not course.STAMP.exists()

    monkeypatch.setattr(venv, "create", create)
    monkeypatch.setattr(course.subprocess, "check_call", check_call)
    return done


def test_the_first_run_makes_the_environment_then_installs_then_stamps(course, steps, capsys):
    course.install("./course lab")
    assert steps == [("venv", True), ("pip", ".[dev]")]
    assert course.state() == "ready"
    assert "800 MB to download, 1.7 GB on disk" in capsys.readouterr().out


def test_changed_pins_are_installed_into_the_same_environment(course, steps):
    make_environment(course)
    edit_pyproject(course, "ruff==", "ruff==0.0.")
    course.install("./course lab")
    assert steps == [("pip", ".[dev]")]
    assert course.state() == "ready"


def test_a_python_without_ensurepip_names_the_package_to_install(course, monkeypatch):
    monkeypatch.setattr(course.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="apt install python3-venv") as refusal:
        course.install("./course lab")
    assert "python{}.{}-venv".format(*sys.version_info) in str(refusal.value)
    assert not course.VENV.exists()


def test_a_failed_installation_says_what_to_do_and_leaves_no_stamp(course, monkeypatch):
    def no_space(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(venv, "create", no_space)
    with pytest.raises(SystemExit) as refusal:
        course.install("./course test -k cuts")
    advice = str(refusal.value)
    assert "did not succeed: no space left on device" in advice
    assert f"delete {course.VENV}" in advice
    assert "proxy" in advice
    assert "GB are free" in advice
    assert advice.endswith("Then repeat:  ./course test -k cuts")
    assert not course.STAMP.exists()


def test_a_failure_of_pip_leaves_an_environment_that_is_made_anew(course, steps, monkeypatch):
    def refuse(command, **_):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(course.subprocess, "check_call", refuse)
    with pytest.raises(SystemExit, match="returned non-zero exit status 1"):
        course.install("./course lab")
    assert course.state() == "absent"


def test_an_interruption_prints_no_traceback(course, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(venv, "create", interrupted)
    monkeypatch.setattr(sys, "argv", ["./course", "lab"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(course.ROOT / "course"), run_name="__main__")
    assert end.value.code == 130
    assert "Repeat the command" in capsys.readouterr().err


def test_arguments_working_directory_and_exit_status_pass_through(course, tmp_path):
    make_environment(course)
    process = start(course, "check", "01.ipynb", "-k", "a or b", cwd=tmp_path)
    out, err = process.communicate()
    where, path, *arguments = out.splitlines()
    assert Path(where) == tmp_path
    assert path.split(os.pathsep)[0] == str(course.PYTHON.parent)
    assert arguments == ["-m", "chandylamport", "check", "01.ipynb", "-k", "a or b"]
    assert (process.returncode, err) == (7, "")


def test_a_second_course_waits_for_the_first_and_uses_its_work(course):
    make_environment(course, stamped=False)
    with (course.ROOT / "pyproject.toml").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = start(course, "doctor")
        assert "Waiting for another ./course" in second.stdout.readline()
        course.STAMP.write_text(f"{course.identity()}\n{course.pins()}")
    out, _ = second.communicate()
    assert out.splitlines()[-3:] == ["-m", "chandylamport", "doctor"]
    assert second.returncode == 7


def test_an_environment_that_is_a_link_is_not_emptied(course, tmp_path):
    precious = tmp_path / "elsewhere"
    precious.mkdir()
    (precious / "file").write_text("precious")
    course.VENV.symlink_to(precious)
    with pytest.raises(SystemExit, match="is a link: remove it"):
        course.install("./course test")
    assert (precious / "file").read_text() == "precious"
