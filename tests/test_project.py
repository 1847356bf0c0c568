"""The files around the package agree with one another."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import chandylamport
from chandylamport.checkout import CORE, CORE_BUDGET, PACKAGE_BUDGET, count_lines

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
ENVIRONMENT = (ROOT / "environment.yml").read_text()


def pins():
    own = [f"chandylamport[{','.join(name for name in EXTRAS if name != 'dev')}]"]
    return [pin for extra in EXTRAS.values() for pin in extra if pin not in own]


def test_every_extra_is_pinned_exactly():
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", pin) for pin in pins())


def test_dev_installs_all_extras():
    assert "chandylamport[spark,lab,teach]" in EXTRAS["dev"]
    assert set(EXTRAS) == {"spark", "lab", "teach", "dev"}


def test_the_package_alone_needs_nothing_but_python():
    assert PROJECT["dependencies"] == []


def test_conda_gets_the_pins_of_pyproject():
    _, pip_section = ENVIRONMENT.split("- pip:\n")
    assert re.findall(r"- (\S+)", pip_section) == pins()


def test_conda_gets_an_exact_python_and_java():
    conda_section, _ = ENVIRONMENT.split("- pip:\n")
    exact = dict(re.findall(r"- (\w+)=(\d+\.\d+\.\d+)\n", conda_section))
    assert exact.keys() == {"python", "openjdk"}
    assert exact["python"].startswith("3.11.")
    assert exact["openjdk"].startswith("17.")


def test_pyproject_and_package_have_the_same_version():
    assert PROJECT["version"] == chandylamport.__version__


def test_the_changelog_knows_the_version():
    assert f"## [{PROJECT['version']}]" in (ROOT / "CHANGELOG.md").read_text()


def test_binder_reads_the_same_environment():
    link = ROOT / "binder" / "environment.yml"
    assert link.is_symlink()
    assert link.resolve() == ROOT / "environment.yml"
    assert "pip install" in (ROOT / "binder" / "postBuild").read_text()


@pytest.mark.parametrize("name", ["course", ".ci/run", "binder/postBuild"])
def test_what_is_started_by_name_is_executable(name):
    assert os.access(ROOT / name, os.X_OK)


@pytest.mark.parametrize("name", [".ci/run", ".github/workflows/test.yml"])
def test_continuous_integration_calls_the_test_command(name):
    assert re.search(r"^\s*(exec|- run:) \./course test\b", (ROOT / name).read_text(), re.MULTILINE)


def test_no_file_names_a_home_directory_or_a_package_host():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    private = re.compile(r"/(?:root|home/\w|Users/\w)|[p]ypi\.org|[p]ythonhosted|[c]onda\.anaconda")
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        file = ROOT / name
        if file.is_file():
            text = file.read_bytes().decode("utf-8", errors="replace")
            found += [f"{name}: {hit}" for hit in private.findall(text)]
    assert found == []


def test_the_package_is_within_its_budget():
    core, package, exercises, written = count_lines(ROOT)
    assert 0 < core <= CORE_BUDGET
    assert core < package <= PACKAGE_BUDGET
    assert package + exercises < written


def test_the_core_is_the_chapters_in_reading_order():
    missing = [name for name in CORE if not (ROOT / "chandylamport" / f"{name}.py").exists()]
    assert missing == []


def test_the_budget_counts_every_line_of_code_of_every_module(tmp_path):
    package = tmp_path / "chandylamport"
    (package / "spark").mkdir(parents=True)
    code = '"""A docstring\n\nof three lines."""\n\nx = [  # one\n    1,\n]\n'
    code += '\n# why\ny = """two\nlines"""\n'
    (package / f"{CORE[0]}.py").write_text(code)
    (package / "spark" / f"{CORE[0]}.py").write_text("not_the_core = 1\n")
    (package / "formats.py").write_text('def f():\n    """Give 1."""\n    return 1\n')
    (package / "data.json").write_text("{}\n")
    (package / "classroom" / "exercises").mkdir(parents=True)
    (package / "classroom" / "exercises" / "cuts.py").write_text("question = 1\n")
    assert count_lines(tmp_path) == (5, 8, 1, 16)
