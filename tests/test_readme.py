"""The README: its code runs, its links lead somewhere, its table and its picture are true."""

from __future__ import annotations

import argparse
import doctest
import re
from pathlib import Path

import pytest
from notebook_rules import links, reading_minutes, title

import chandylamport as cl
from chandylamport.__main__ import parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def python_blocks(text: str) -> list[str]:
    return re.findall(r"(?ms)^```python\n(.*?)^```", text)


def failures(blocks: list[str]) -> list[str]:
    """Run blocks one after another, those with >>> as doctests; they share their names."""
    names: dict[str, object] = {"__name__": "readme"}
    found: list[str] = []
    for number, block in enumerate(blocks, start=1):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", None, 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
            runner.run(test, out=found.append, clear_globs=False)
            names |= test.globs
        else:
            try:
                exec(compile(block, f"block {number}", "exec"), names)
            except Exception as error:
                found.append(f"block {number}: {error!r}")
    return found


def commands_mentioned(text: str) -> set[tuple[str, str]]:
    """The verbs after `./course` and `chandylamport` in code that is not Python, with an option."""
    text = re.sub(r"(?ms)^```python\n.*?^```", "", text)
    code = re.findall(r"(?ms)^```\w*\n(.*?)^```|^ {4}(.*?)$|`([^`\n]+)`", text)
    command = r"(?:\./course|(?<![\w./\[-])chandylamport) +([a-z]+)(?: +(--[a-z-]+))?"
    return {c for groups in code for c in re.findall(command, "".join(groups))}


def verbs_mentioned(text: str) -> set[str]:
    return {verb for verb, _ in commands_mentioned(text)}


def verbs_known() -> dict[str, argparse.ArgumentParser]:
    (actions,) = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(actions.choices)


def lost_links(text: str, root: Path) -> list[str]:
    headings = re.findall(r"(?m)^#+ (.+)$", text)
    slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
    lost = []
    for target in links(text):
        file, _, anchor = target.partition("#")
        if (file and not (root / file).exists()) or (not file and anchor not in slugs):
            lost.append(target)
    return lost


def table(text: str) -> list[tuple[str, str, int]]:
    """The table of notebooks: title, file, minutes."""
    row = r"(?m)^\| *\[([^\]]+)\]\(notebooks/([^)]+\.ipynb)\) *\|.*\| *(\d+)[^|]*\| *$"
    return [(name, file, int(minutes)) for name, file, minutes in re.findall(row, text)]


def pictures(text: str) -> list[tuple[str, str]]:
    """Each picture, with what draws it."""
    return re.findall(r"<!-- drawn by: (.*?) -->\s*!\[[^\]]+\]\(([^)\s]+)\)", text, re.DOTALL)


# --- the README of the course --------------------------------------------------------------------


def test_its_python_runs_and_prints_what_it_says():
    assert python_blocks(README)
    assert failures(python_blocks(README)) == []


def test_its_links_and_images_exist():
    assert links(README)
    assert lost_links(README, ROOT) == []


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_every_verb_it_names_is_one_of_the_command_line(text):
    assert "test" in verbs_mentioned(text)
    assert verbs_mentioned(text) - verbs_known().keys() == set()


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_every_option_it_names_is_one_of_its_verb(text):
    options = [(verb, option) for verb, option in commands_mentioned(text) if option]
    assert ("test", "--fast") in options
    for verb, option in options:
        assert option in verbs_known()[verb]._option_string_actions


def test_its_table_lists_the_notebooks_in_their_order():
    files = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert [file for _, file, _ in table(README)] == files


@pytest.mark.parametrize(("name", "file", "minutes"), table(README))
def test_its_table_has_the_title_and_the_reading_time_of_a_notebook(name, file, minutes):
    path = ROOT / "notebooks" / file
    assert (name, minutes) == (title(path), reading_minutes(path))


def test_the_map_in_the_first_chapter_lists_the_others():
    first, *others = sorted((ROOT / "notebooks").glob("*.ipynb"))
    for other in others:
        assert f"({other.name})" in first.read_text(encoding="utf-8")


def test_it_shows_a_picture_that_the_package_draws():
    shown = re.findall(r"!\[[^\]]*\]\(([^)\s]+\.svg)\)", README)
    assert shown
    assert [file for _, file in pictures(README)] == shown


@pytest.mark.parametrize(("drawing", "file"), pictures(README))
def test_its_picture_is_what_the_package_draws_today(drawing, file):
    picture = eval(drawing, {"cl": cl})
    assert (ROOT / file).read_text(encoding="utf-8") == f"{picture.svg}\n"


def test_the_newest_version_in_the_changelog_is_this_one():
    versions = re.findall(r"(?m)^## \[?v?(\d+\.\d+\.\d+)", CHANGELOG)
    assert versions
    assert versions[0] == cl.__version__


# --- the checks themselves can fail --------------------------------------------------------------


def test_a_wrong_answer_and_an_error_are_found():
    wrong, raises, right = ">>> x = 6 * 7\n>>> x\n43\n", "1 / 0\n", "y = 1\nassert y == 1\n"
    assert len(failures([wrong, raises, right])) == 2
    assert failures([">>> x = 1\n", "assert x == 1\n", ">>> x\n1\n"]) == []


def test_lost_links_and_headings_are_found(tmp_path):
    (tmp_path / "here.md").touch()
    text = "# To be, or not\n[a](here.md) [b](lost.md) ![c](lost.svg) [d](#to-be-or-not) [e](#no)"
    assert lost_links(text, tmp_path) == ["lost.md", "lost.svg", "#no"]


def test_verbs_are_found_in_code_and_not_in_prose():
    text = (
        "Of course chandylamport means `./course test -k x` or\n\n    ./course lab --port 1\n\n"
        "```\nchandylamport doctor\npip install chandylamport\n```\n"
        "```python\nimport chandylamport as cl\n```\n"
        "[x](https://example.org/chandylamport) `pip install 'chandylamport[lab]' now`"
    )
    assert verbs_mentioned(text) == {"test", "lab", "doctor"}


def test_the_table_is_read_in_its_order():
    text = "| a | b |\n|---|---|\n| [T](notebooks/01-t.ipynb) | what, | 25 min |\n"
    assert table(text) == [("T", "01-t.ipynb", 25)]


def test_a_picture_is_found_with_what_draws_it():
    text = '<!-- drawn by: cl.draw(cl.computation("p: a")) -->\n![one event](a.svg)\n![b](b.svg)'
    assert pictures(text) == [('cl.draw(cl.computation("p: a"))', "a.svg")]
