"""Notebooks: what nbval leaves unchecked is checked here, and the checks are checked too."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_rules import (
    ALL,
    CHAPTER,
    WIDGET,
    faults,
    gaps,
    load,
    reading_minutes,
    title,
    words,
)

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "solutions").glob("*.ipynb"))
HOME = "/".join(["", "home", "ada"])


# --- the notebooks of the course -----------------------------------------------------------------


def test_there_are_notebooks_to_check():
    assert CHAPTERS
    assert SOLUTIONS


@pytest.mark.parametrize("path", CHAPTERS + SOLUTIONS, ids=lambda path: path.stem)
def test_nothing_that_nbval_cannot_see_is_wrong(path):
    assert faults(load(path), path, ALL) == []


@pytest.mark.parametrize("path", CHAPTERS[1:], ids=lambda path: path.stem)
def test_a_chapter_is_built_like_the_others(path):
    assert faults(load(path), path, CHAPTER) == []


def test_chapters_are_numbered_from_00_without_gaps():
    assert gaps([path.name for path in CHAPTERS]) == []


@pytest.mark.parametrize("path", CHAPTERS + SOLUTIONS, ids=lambda path: path.stem)
def test_a_notebook_begins_with_its_title(path):
    first = load(path)["cells"][0]
    assert first["cell_type"] == "markdown"
    assert "".join(first["source"]).startswith(f"# {title(path)}")
    assert title(path)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_title_of_a_chapter_has_its_number(path):
    assert title(path).startswith(path.name[:2])


# --- the rules themselves: a good notebook passes, and each defect alone is found ----------------


def good() -> dict:
    """A small notebook without a fault."""

    def svg(text):
        return new_output("display_data", {"image/svg+xml": "<svg/>", "text/plain": text})

    def stdout(text):
        return new_output("stream", name="stdout", text=text)

    widget = new_output("display_data", {WIDGET: {"model_id": "1"}, "text/plain": "a slider"})
    cells = [
        new_markdown_cell("# 01 · Small\n\nSee [the other](other.ipynb) and [above](#Where-to)."),
        new_code_cell("print(1)", execution_count=1, outputs=[stdout("1\n")]),
        new_code_cell("figure()", execution_count=2, outputs=[svg("a figure")]),
        new_markdown_cell("## Where to\n\nOn the web: [there](https://example.org/nothing)."),
        new_code_cell("widget()", execution_count=3, outputs=[widget]),
        new_markdown_cell("And so on."),
        new_code_cell("1 % 2  # time", execution_count=4, outputs=[]),
    ]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    notebook = new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})
    return json.loads(nbformat.writes(notebook))


def found(notebook: dict, tmp_path: Path) -> list[str]:
    (tmp_path / "other.ipynb").touch()
    return faults(notebook, tmp_path / "01-small.ipynb", ALL)


def test_a_good_notebook_has_no_faults(tmp_path):
    assert found(good(), tmp_path) == []


def change(number, **values):
    def defect(notebook):
        notebook["cells"][number].update(values)

    return defect


def output(number, **values):
    def defect(notebook):
        notebook["cells"][number]["outputs"].append(
            {"output_type": "display_data", "data": {}, "metadata": {}} | values
        )

    return defect


def tags(number, *names):
    return change(number, metadata={"tags": list(names)})


ERROR = {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}
DEFECTS = {
    "a cell that was never run": (change(1, execution_count=None), "was never run"),
    "a cell run twice": (change(2, execution_count=5), "has the number 5, not 2"),
    "a result of another run": (output(1, execution_count=7), "a result of another run"),
    "an error that is not meant": (output(6, **ERROR), "has no tag raises-exception"),
    "a tag without its error": (tags(6, "raises-exception"), "stores no error"),
    "a semicolon": (change(1, source="print(1);"), "ends with a semicolon"),
    "a semicolon and a comment": (change(1, source="print(1);  # quiet\n"), "a semicolon"),
    "a semicolon after a magic": (change(1, source="%matplotlib inline;"), "a semicolon"),
    "a PNG": (output(6, data={"image/png": "iVBO"}), "picture in pixels"),
    "a JPEG": (output(6, data={"image/jpeg": "/9j/"}), "picture in pixels"),
    "an NBVAL comment": (change(1, source="# NBVAL_IGNORE_OUTPUT\nf()"), "in a comment"),
    "an nbval comment": (change(1, source="f()  #nbval_skip"), "in a comment"),
    "an old comment": (change(1, source="#PYTEST_VALIDATE_IGNORE_OUTPUT"), "in a comment"),
    "a skipped cell": (tags(1, "nbval-skip"), "tag nbval-skip, and shows no widget"),
    "an ignored output": (tags(2, "nbval-ignore-output"), "tag nbval-ignore-output, and shows no"),
    "a timed cell": (change(1, source="%%time\nf()"), "how long it took"),
    "a timed line": (change(1, source="x = %timeit -o f()"), "how long it took"),
    "stderr": (output(1, output_type="stream", name="stderr", text="Warning"), "of stderr"),
    "a home directory": (output(1, text=[f"saved {HOME}/x.txt\n"]), f"shows {HOME}/x.txt"),
    "a path in a result": (output(1, data={"text/plain": "'/tmp/x'"}), "shows /tmp/x"),
    "a Windows path": (output(1, data={"text/plain": r"C:\Users\ada"}), r"shows C:\Users"),
    "a path in a traceback": (
        output(1, text="", traceback=["File /usr/lib/python3/x.py"]),
        "shows /usr/lib/python3/x.py",
    ),
    "a kernel's own file": (output(1, text="<ipykernel_42>"), "shows ipykernel_42"),
    "two cells with one id": (change(1, id="cell-0"), "2 cells have the id cell-0"),
    "timings": (change(1, metadata={"execution": {}}), "stores execution"),
    "a long cell": (change(1, source="\n".join(["f()"] * 26)), "has 26 lines, more than 25"),
    "a lost link": (change(5, source="[x](lost.ipynb)"), "no file for the link lost.ipynb"),
    "a lost image": (change(5, source="![x](img/a.svg)"), "no file for the link img/a.svg"),
    "a lost HTML image": (change(5, source='<img src="b.svg">'), "no file for the link b.svg"),
    "a lost heading": (change(5, source="[x](#Nowhere)"), "no heading for the link #Nowhere"),
}


@pytest.mark.parametrize(("defect", "words"), DEFECTS.values(), ids=DEFECTS)
def test_a_defect_is_found_and_nothing_else(defect, words, tmp_path):
    notebook = good()
    defect(notebook)
    (fault,) = found(notebook, tmp_path)
    assert words in fault


def test_a_cell_without_an_id_is_found(tmp_path):
    notebook = good()
    del notebook["cells"][2]["id"]
    assert found(notebook, tmp_path) == ["1 cells have no id"]


@pytest.mark.parametrize("key", ["widgets", "execution", "papermill"])
def test_metadata_of_a_tool_are_found(key, tmp_path):
    notebook = good()
    notebook["metadata"][key] = {}
    assert found(notebook, tmp_path) == [f"the notebook stores {key}"]


def test_a_widget_without_a_figure_before_it_is_found(tmp_path):
    notebook = good()
    notebook["cells"][2]["outputs"] = []
    (fault,) = found(notebook, tmp_path)
    assert "no figure stands before it" in fault


def test_every_widget_needs_a_figure_of_its_own(tmp_path):
    notebook = good()
    notebook["cells"][6]["outputs"] = notebook["cells"][4]["outputs"]
    (fault,) = found(notebook, tmp_path)
    assert fault.startswith("cell cell-6")
    assert "no figure stands before it" in fault


def test_three_code_cells_in_a_row_are_found(tmp_path):
    notebook = good()
    del notebook["cells"][3]
    notebook["cells"][0]["source"] = "# 01 · Small"
    (fault,) = found(notebook, tmp_path)
    assert fault.startswith("3 code cells in a row, from cell cell-1")


@pytest.mark.parametrize(
    "harmless",
    [
        tags(4, "nbval-ignore-output"),  # a widget
        change(1, source="print('%time; ')"),
        change(1, source="# x;\nprint('a;')"),
        change(1, source="text = '''\n;'''"),
        change(1, source="rest = ticks%time"),
        change(1, source="\n".join(["f()"] * 25)),
        output(1, data={"image/png": "iVBO", "image/svg+xml": "<svg/>"}),
        output(1, text="9/11/tmp and and/or/usr http://example.org/usr/x"),
        change(5, source="`[x](lost.ipynb)` and [m](mailto:a@example.org)"),
    ],
)
def test_what_only_looks_like_a_defect_is_left_alone(harmless, tmp_path):
    notebook = good()
    harmless(notebook)
    assert found(notebook, tmp_path) == []


# --- the rules for chapters ----------------------------------------------------------------------

FOLDED = "<details><summary>1. Why?</summary>\nBecause.\n</details>\n"
ENDING = f"## Summary\n\n- so\n\n## Questions\n\n{FOLDED}\n## Exercises\n\n## Further reading\n"


def chapter(filler: int = 2_000, ending: str = ENDING, code: str = "a\nb\n\nc") -> dict:
    notebook = good()
    notebook["cells"] = [
        new_markdown_cell("# 01 · Small\n\n" + "word " * filler),
        *(new_code_cell(code) for _ in range(3)),
        new_markdown_cell(ending),
    ]
    return notebook


def chapter_faults(**changes) -> list[str]:
    return faults(chapter(**changes), Path("01-small.ipynb"), CHAPTER)


def test_a_good_chapter_has_no_faults():
    assert chapter_faults() == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"filler": 1_400}, "words of prose; a chapter has 1500 to 3500"),
        ({"filler": 3_500}, "words of prose; a chapter has 1500 to 3500"),
        ({"ending": ENDING.replace("Exercises", "Tasks")}, "the last sections are"),
        ({"ending": ENDING.replace("## Summary", "Summary")}, "the last sections are"),
        ({"ending": ENDING + "## And more\n"}, "the last sections are"),
        ({"ending": ENDING.replace(FOLDED, "1. Why? Because.")}, "no question with an answer"),
        ({"ending": ENDING.replace("Because.", "")}, "a question or an answer is empty"),
        ({"ending": ENDING.replace(FOLDED, f"{FOLDED}2. And?")}, "a question without a folded"),
        ({"ending": ENDING.replace(FOLDED, f"{FOLDED}<details>")}, "<details> without its end"),
        ({"code": "a"}, "the median code cell has 1 lines, not 2 to 6"),
        ({"code": "a\n" * 7}, "the median code cell has 7 lines, not 2 to 6"),
    ],
)
def test_a_defect_of_a_chapter_is_found(changes, words):
    assert any(words in fault for fault in chapter_faults(**changes))


def test_gaps_in_the_numbers_are_found():
    assert gaps(["01-b.ipynb", "00-a.ipynb"]) == []
    assert gaps(["00-a.ipynb", "02-b.ipynb"]) == ["02-b.ipynb stands where 01-….ipynb is expected"]
    assert len(gaps(["01-a.ipynb"])) == 1
    assert len(gaps(["00-a.ipynb", "01 b.ipynb"])) == 1
    assert len(gaps(["00-a.ipynb", "01-b.ipynb", "01-c.ipynb"])) == 1


def test_words_are_what_a_reader_reads():
    assert words("# One two\n\nthree [four five](http://example.org/x) `six` don't") == 7
    assert words("one\n\n```python\nnot = counted\n```\n\ntwo <b>three</b> 3.5 well-known") == 5


def test_reading_takes_a_minute_for_180_words_or_10_lines_in_steps_of_five(tmp_path):
    path = tmp_path / "x.ipynb"

    def minutes(number_of_words, number_of_lines):
        prose, code = "word " * number_of_words, "x = 1\n" * number_of_lines
        cells = [new_markdown_cell(prose), new_code_cell(code)]
        path.write_text(nbformat.writes(new_notebook(cells=cells)), encoding="utf-8")
        return reading_minutes(path)

    assert minutes(1, 0) == 5
    assert minutes(900, 0) == 5
    assert minutes(901, 0) == 10
    assert minutes(900, 1) == 10
    assert minutes(0, 150) == 15


# --- nbval itself: it does fail when something stored is no longer true --------------------------


def test_nbval_fails_on_one_altered_character_in_print_or_figure(tmp_path):
    source = ['print("six times seven is", 6 * 7)', "import chandylamport as cl", "cl.draw(c)"]
    source[1] += '\nc = cl.computation("p: m!\\nq: m?")'
    notebook = new_notebook(cells=[new_code_cell(text) for text in source])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    printed, drawn = deepcopy(notebook), deepcopy(notebook)
    printed.cells[0].outputs[0].text = "six times seven is 43\n"
    svg = drawn.cells[2].outputs[0].data["image/svg+xml"]
    drawn.cells[2].outputs[0].data["image/svg+xml"] = svg.replace('cx="', 'cx="1', 1)
    assert svg != drawn.cells[2].outputs[0].data["image/svg+xml"]
    for name, version in {"true": notebook, "printed": printed, "drawn": drawn}.items():
        nbformat.write(version, tmp_path / f"{name}.ipynb")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-rA", "-q"]
    answer = subprocess.run(
        [*command, "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    verdicts = re.findall(r"^(PASSED|FAILED) (\w+)\.ipynb::Cell (\d)", answer.stdout, re.MULTILINE)
    failed = {(name, cell) for verdict, name, cell in verdicts if verdict == "FAILED"}
    assert len(verdicts) == 9, answer.stdout
    assert failed == {("printed", "0"), ("drawn", "2")}, answer.stdout
