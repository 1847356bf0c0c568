"""Making exercises/ from solutions/, and running notebooks anew; the solutions are the only source.

The marks in the cells are nbgrader's, and so are the steps that take the answers out.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)
from nbgrader.utils import compute_checksum, is_solution

from ..checkout import CourseError

STEPS = (
    LockCells,
    ClearSolutions,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
)
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def build(root: Path, *, run: bool = False) -> list[Path]:
    """Write exercises/ from solutions/, all notebooks run anew first if asked; say what changed."""
    sources = sorted((root / "solutions").glob("*.ipynb"))
    changed = []
    if run:
        chapters = sorted((root / "notebooks").glob("*.ipynb"))
        changed += [path for path in chapters + sources if _write(path, executed(path))]
    for source in sources:
        target, text = root / "exercises" / source.name, unsolved(source)
        if target.exists() and answered(target) and target.read_text(encoding="utf-8") != text:
            changed.append(_keep(target))
        if _write(target, text):
            changed.append(target)
    names = {source.name for source in sources}
    strangers = [p for p in sorted((root / "exercises").glob("*.ipynb")) if p.name not in names]
    return changed + [_keep(stranger) for stranger in strangers]


def answered(exercise: Path) -> bool:
    """Decide whether somebody has begun to solve an exercise: run a cell, or filled one in."""
    cells = _read(exercise).cells
    places = [(cell, cell.metadata.nbgrader) for cell in cells if is_solution(cell)]
    filled = any(compute_checksum(cell) != mark.get("checksum") for cell, mark in places)
    return filled or any(cell.get("execution_count") for cell in cells)


def _keep(path: Path) -> Path:
    """Move somebody's work out of the way: nothing that was typed is lost."""
    kept = path.parent / "kept"
    kept.mkdir(exist_ok=True)
    places = (kept / f"{path.stem}-{number}.ipynb" for number in count(1))
    return path.rename(next(place for place in places if not place.exists()))


def unsolved(source: Path) -> str:
    """Give the notebook that a student gets: answers, hidden tests, guides, outputs taken out."""
    notebook = _read(source)
    resources = {"nbgrader": {"language": "python"}, "unique_key": source.stem}
    for step in STEPS:
        notebook, resources = step().preprocess(notebook, resources)
    return _text(notebook)


def executed(path: Path) -> str:
    """Give the notebook with the outputs of a run from top to bottom in a fresh kernel."""
    notebook = _read(path)
    client = NotebookClient(
        notebook,
        timeout=600,
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise CourseError(f"{path} cannot be run: {error.ename}: {error.evalue}") from None
    for output in (o for cell in notebook.cells for o in cell.get("outputs", ())):
        # Without its kernel a widget cannot be shown, so its words stand for it.
        output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    return _text(notebook)


def _read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def _text(notebook: Any) -> str:
    """The same notebook, the same bytes: nothing of the machine that wrote it stays in it."""
    notebook.metadata = NotebookNode(kernelspec=KERNEL, language_info={"name": "python"})
    return f"{nbformat.writes(notebook)}\n"


def _write(path: Path, text: str) -> bool:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True
