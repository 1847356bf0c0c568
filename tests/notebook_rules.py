"""Rules for notebooks that nbval does not know: each gives the faults it finds, in words.

nbval runs a notebook and compares outputs. It is blind to cells that were never run, to PNG and
JPEG, to cells that ask not to be compared; and it does not care how a chapter is built.
"""

from __future__ import annotations

import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

Notebook = dict[str, Any]
Cell = dict[str, Any]
Rule = Callable[[Notebook, Path], Iterator[str]]

RERUN = "choose Kernel → Restart Kernel and Run All Cells, then save"
SVG, WIDGET = "image/svg+xml", "application/vnd.jupyter.widget-view+json"
ANSWER = re.compile(r"### BEGIN SOLUTION.*?### END SOLUTION", re.DOTALL)
LONGEST_CELL, MOST_CODE_IN_A_ROW = 25, 2
WORDS_OF_A_CHAPTER, MEDIAN_CELL = range(1_500, 3_501), (2, 6)
LAST_SECTIONS = ["Summary", "Questions", "Exercises", "Further reading"]


def load(path: Path) -> Notebook:
    """Read a notebook as it is on the disk: nbformat would repair it while reading."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def source(cell: Cell) -> str:
    return "".join(cell["source"])


def code_cells(notebook: Notebook) -> list[Cell]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def prose(notebook: Notebook) -> str:
    return "\n\n".join(source(c) for c in notebook["cells"] if c["cell_type"] == "markdown")


def lines(cell: Cell) -> int:
    """The lines of a cell that are not blank."""
    return sum(bool(line.strip()) for line in source(cell).splitlines())


def words(markdown: str) -> int:
    """Count the words that a reader reads: no addresses, no tags, no blocks of code."""
    text = re.sub(r"^(```|~~~).*?^\1", " ", markdown, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"<[^>\n]+>|https?://\S+", " ", text)
    return len(re.findall(r"\w+(?:['’.,-]\w+)*", text))


def title(path: Path) -> str:
    """The first heading of a notebook."""
    heading = re.search(r"^# (.+)$", prose(load(path)), re.MULTILINE)
    return heading[1].strip() if heading else ""


def reading_minutes(path: Path) -> int:
    """How long a notebook takes: 180 words or 10 lines of code a minute, in steps of five."""
    notebook = load(path)
    minutes = words(prose(notebook)) / 180 + sum(map(lines, code_cells(notebook))) / 10
    return 5 * ceil(minutes / 5)


def _name(cell: Cell) -> str:
    first = (source(cell).strip().splitlines() or [""])[0]
    return f"cell {cell.get('id', '?')} ({first[:40]!r})"


def _outputs(notebook: Notebook) -> Iterator[tuple[Cell, dict[str, Any]]]:
    return ((cell, output) for cell in code_cells(notebook) for output in cell["outputs"])


def _shows(cell: Cell, kind: str) -> bool:
    return any(kind in output.get("data", {}) for output in cell["outputs"])


def _tags(cell: Cell) -> set[str]:
    return set(cell["metadata"].get("tags", ()))


# --- what nbval does not see ---------------------------------------------------------------------


def every_cell_was_run(notebook: Notebook, path: Path) -> Iterator[str]:
    for cell in code_cells(notebook):
        if cell["execution_count"] is None:
            yield f"{_name(cell)} was never run, so nbval does not compare it"


def cells_were_run_from_top_to_bottom(notebook: Notebook, path: Path) -> Iterator[str]:
    for number, cell in enumerate(code_cells(notebook), start=1):
        if cell["execution_count"] not in (None, number):
            yield f"{_name(cell)} has the number {cell['execution_count']}, not {number}: {RERUN}"
        for output in cell["outputs"]:
            if output.get("execution_count", number) != number:
                yield f"{_name(cell)} has a result of another run"


def errors_are_meant(notebook: Notebook, path: Path) -> Iterator[str]:
    for cell in code_cells(notebook):
        raised = any(output["output_type"] == "error" for output in cell["outputs"])
        if raised and "raises-exception" not in _tags(cell):
            yield f"{_name(cell)} stores an error, and has no tag raises-exception"
        if not raised and "raises-exception" in _tags(cell):
            yield f"{_name(cell)} has the tag raises-exception, and stores no error"


def no_cell_ends_with_a_semicolon(notebook: Notebook, path: Path) -> Iterator[str]:
    for cell in code_cells(notebook):
        if _last_token(source(cell)) == ";":
            yield f"{_name(cell)} ends with a semicolon, which nbval does not honour"


def _last_token(code: str) -> str:
    last = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.string.strip() and token.type != tokenize.COMMENT:
                last = token.string
    except (tokenize.TokenError, SyntaxError):  # a magic, not Python
        return code.rstrip()[-1:]
    return last


def figures_are_svg(notebook: Notebook, path: Path) -> Iterator[str]:
    for cell, output in _outputs(notebook):
        kinds = output.get("data", {}).keys()
        if kinds & {"image/png", "image/jpeg"} and SVG not in kinds:
            yield f"{_name(cell)} shows a picture in pixels, which nbval never compares"


def comments_do_not_switch_the_check_off(notebook: Notebook, path: Path) -> Iterator[str]:
    for cell in code_cells(notebook):
        if re.search(r"#\s*(NBVAL_|PYTEST_VALIDATE)", source(cell), re.IGNORECASE):
            yield f"{_name(cell)} switches nbval in a comment; use a tag, where it is needed"


def only_widgets_are_left_unchecked(notebook: Notebook, path: Path) -> Iterator[str]:
    for cell in code_cells(notebook):
        off = _tags(cell) & {"nbval-skip", "nbval-ignore-output"}
        if off and not _shows(cell, WIDGET):
            yield f"{_name(cell)} has the tag {', '.join(sorted(off))}, and shows no widget"


def nothing_measures_time(notebook: Notebook, path: Path) -> Iterator[str]:
    for cell in code_cells(notebook):
        if re.search(r"(?m)^\s*(?:[\w, ]+=\s*)?%%?(time|timeit|prun|lprun)\b", source(cell)):
            yield f"{_name(cell)} prints how long it took, which is never the same"


def nothing_is_written_to_stderr(notebook: Notebook, path: Path) -> Iterator[str]:
    for cell, output in _outputs(notebook):
        if output.get("name") == "stderr":
            yield f"{_name(cell)} stores a warning or another text of stderr"


def outputs_know_no_machine(notebook: Notebook, path: Path) -> Iterator[str]:
    root = r"(?:home|Users|root|tmp|usr|var|opt|mnt|private|work|srv)"
    private = (
        rf"(?<![\w.:/~-])/{root}\b[/\w.-]*|\b[A-Z]:\\\w+|file://\S*|ipykernel_\d+|site-packages"
    )
    for cell, output in _outputs(notebook):
        data = {k: v for k, v in output.get("data", {}).items() if k != WIDGET}
        text = json.dumps([output.get("text"), data, output.get("traceback")], ensure_ascii=False)
        for place in sorted(set(re.findall(private, text.replace(r"\\", "\\")))):
            yield f"{_name(cell)} shows {place}, which is a place on one machine"


# --- how a notebook is stored --------------------------------------------------------------------


def every_cell_has_an_id_of_its_own(notebook: Notebook, path: Path) -> Iterator[str]:
    ids = Counter(cell.get("id") for cell in notebook["cells"])
    for name, number in ids.items():
        if not name:
            yield f"{number} cells have no id"
        elif number > 1:
            yield f"{number} cells have the id {name}"


def nothing_else_is_stored(notebook: Notebook, path: Path) -> Iterator[str]:
    for key in sorted(notebook["metadata"].keys() - {"kernelspec", "language_info"}):
        yield f"the notebook stores {key}"
    for cell in notebook["cells"]:
        for key in sorted(cell["metadata"].keys() - {"tags", "nbgrader"}):
            yield f"{_name(cell)} stores {key}"


# --- how it reads --------------------------------------------------------------------------------


def a_static_figure_stands_before_a_widget(notebook: Notebook, path: Path) -> Iterator[str]:
    figure = False
    for cell in code_cells(notebook):
        if _shows(cell, WIDGET) or "chandylamport.widgets" in source(cell):
            if not figure:
                yield f"{_name(cell)} shows a widget, and no figure stands before it"
            figure = False
        figure |= _shows(cell, SVG)


def cells_are_short(notebook: Notebook, path: Path) -> Iterator[str]:
    for cell in code_cells(notebook):
        handed_out = ANSWER.sub("", source(cell))  # an answer is as long as it has to be
        if (length := len(handed_out.splitlines())) > LONGEST_CELL:
            yield f"{_name(cell)} has {length} lines, more than {LONGEST_CELL}"


def prose_stands_between_code(notebook: Notebook, path: Path) -> Iterator[str]:
    for kind, group in groupby(notebook["cells"], key=lambda cell: cell["cell_type"]):
        cells = list(group)
        if kind == "code" and len(cells) > MOST_CODE_IN_A_ROW:
            yield f"{len(cells)} code cells in a row, from {_name(cells[0])}"


def links_lead_somewhere(notebook: Notebook, path: Path) -> Iterator[str]:
    text = prose(notebook)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {"#" + heading.strip().replace(" ", "-") for heading in headings}
    for target in links(text):
        file, *anchor = target.partition("#")
        if not file and "".join(anchor) not in anchors:
            yield f"there is no heading for the link {target}"
        if file and not (path.parent / file).exists():
            yield f"there is no file for the link {target}"


def links(markdown: str) -> list[str]:
    """The targets of links and images that are not addresses on the web."""
    text = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", markdown)
    found = re.findall(r"\]\(<?([^)\s>]+)>?(?:\s+[^)]*)?\)", text)
    found += re.findall(r"(?:src|href)=[\"']([^\"']+)[\"']", text)
    found += re.findall(r"(?m)^\[[^\]]+\]:\s*(\S+)", text)
    return [target for target in found if not re.match(r"[a-z]+:", target)]


ALL: list[Rule] = [
    every_cell_was_run,
    cells_were_run_from_top_to_bottom,
    errors_are_meant,
    no_cell_ends_with_a_semicolon,
    figures_are_svg,
    comments_do_not_switch_the_check_off,
    only_widgets_are_left_unchecked,
    nothing_measures_time,
    nothing_is_written_to_stderr,
    outputs_know_no_machine,
    every_cell_has_an_id_of_its_own,
    nothing_else_is_stored,
    a_static_figure_stands_before_a_widget,
    cells_are_short,
    prose_stands_between_code,
    links_lead_somewhere,
]


# --- how a chapter is built ----------------------------------------------------------------------


def a_chapter_has_the_right_length(notebook: Notebook, path: Path) -> Iterator[str]:
    if (length := words(prose(notebook))) not in WORDS_OF_A_CHAPTER:
        limits = f"{WORDS_OF_A_CHAPTER[0]} to {WORDS_OF_A_CHAPTER[-1]}"
        yield f"{length} words of prose; a chapter has {limits}"


def a_chapter_ends_with_its_four_sections(notebook: Notebook, path: Path) -> Iterator[str]:
    sections = re.findall(r"^## (.+)$", prose(notebook), re.MULTILINE)
    if sections[-4:] != LAST_SECTIONS:
        yield f"the last sections are {sections[-4:]}, not {LAST_SECTIONS}"


def answers_are_folded_away(notebook: Notebook, path: Path) -> Iterator[str]:
    section = re.search(r"(?ms)^## Questions$(.*?)(?=^## |\Z)", prose(notebook))
    text = section[1] if section else ""
    answer = r"<details>\s*<summary>(?P<question>.+?)</summary>(?P<answer>.+?)</details>"
    answers = re.findall(answer, text, re.DOTALL)
    if not answers:
        yield "there is no question with an answer in <details>"
    if any(not question.strip() or not answer.strip() for question, answer in answers):
        yield "a question or an answer is empty"
    if rest := re.sub(answer, "", text, flags=re.DOTALL).strip():
        if re.search(r"</?(details|summary)", rest):
            yield f"<details> without its end: {rest[:40]!r}"
        elif re.search(r"(?m)^\s*\d+\.", rest):
            yield f"a question without a folded answer: {rest[:40]!r}"


def the_usual_cell_is_small(notebook: Notebook, path: Path) -> Iterator[str]:
    low, high = MEDIAN_CELL
    if not low <= (usual := median(map(lines, code_cells(notebook)))) <= high:
        yield f"the median code cell has {usual} lines, not {low} to {high}"


CHAPTER: list[Rule] = [
    a_chapter_has_the_right_length,
    a_chapter_ends_with_its_four_sections,
    answers_are_folded_away,
    the_usual_cell_is_small,
]


def faults(notebook: Notebook, path: Path, rules: list[Rule]) -> list[str]:
    return [fault for rule in rules for fault in rule(notebook, path)]


def gaps(names: list[str]) -> list[str]:
    """The names that are not the next number, from 00 on."""
    return [
        f"{name} stands where {number:02d}-….ipynb is expected"
        for number, name in enumerate(sorted(names))
        if not re.fullmatch(rf"{number:02d}-[a-z0-9-]+\.ipynb", name)
    ]
