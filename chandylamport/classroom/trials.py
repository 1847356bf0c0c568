"""Trying the exercises themselves: each must refuse known wrong answers and accept right ones.

The answers to try stand in solutions/trials/, one file for each notebook, written as students
write: marked `@wrong(of, mistake)` with the name that the message must give, or `@right(of)`.
"""

from __future__ import annotations

import runpy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.preprocessors import ClearHiddenTests
from nbgrader.utils import is_grade, is_solution

from .building import unsolved
from .checking import NotYet

Answer = Callable[..., object]


@dataclass(frozen=True)
class Trial:
    """One answer to one exercise of a notebook, and the mistake that must be named, if any."""

    notebook: str
    of: str
    title: str
    mistake: str | None
    answer: Answer

    def outcome(self, root: Path, *, hidden: bool = True) -> str:
        """Run the notebook with this answer: "accepted", or the first reason for refusing it."""
        text = (root / "solutions" / f"{self.notebook}.ipynb").read_text(encoding="utf-8")
        return next(refusals(text, {self.of: self.answer}, hidden=hidden), "accepted")

    def as_expected(self, outcome: str) -> bool:
        """Whether a right answer is accepted, and a wrong one refused with its mistake named."""
        return outcome == "accepted" if self.mistake is None else f"«{self.mistake}»" in outcome


def wrong(of: str, mistake: str) -> Callable[[Answer], Answer]:
    """Mark an answer that must be refused, with the mistake that the message must name."""
    return lambda answer: _mark(answer, of, mistake)


def right(of: str) -> Callable[[Answer], Answer]:
    """Mark an answer in another style that must be accepted."""
    return lambda answer: _mark(answer, of, None)


def _mark(answer: Answer, of: str, mistake: str | None) -> Answer:
    answer.trial = of, mistake  # type: ignore[attr-defined]
    return answer


def trials(root: Path) -> Iterator[Trial]:
    """Give all answers that stand in solutions/trials/."""
    for file in sorted((root / "solutions" / "trials").glob("*.py")):
        for title, answer in runpy.run_path(str(file)).items():
            if hasattr(answer, "trial"):
                of, mistake = answer.trial
                yield Trial(file.stem, of, title.replace("_", " "), mistake, answer)


def refusals(
    text: str, replaced: Mapping[str, Answer] | None = None, *, hidden: bool = True
) -> Iterator[str]:
    """Run a notebook with some of its functions replaced; give the words of each failed test."""
    notebook: Any = nbformat.reads(text, as_version=4)
    if not hidden:
        notebook, _ = ClearHiddenTests().preprocess(notebook, {})
    space: dict[str, Any] = {"__name__": "notebook"}
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        try:
            with redirect_stdout(StringIO()):
                exec(compile(cell.source, cell.id, "exec"), space)
        except Exception as reason:  # where there are no marks, a wrong answer may well crash
            if cell.metadata.get("nbgrader", {}).get("grade"):
                yield str(reason) if isinstance(reason, NotYet) else repr(reason)
        space |= {name: answer for name, answer in (replaced or {}).items() if name in space}


def print_table(root: Path) -> int:
    """Print how each exercise judges its trials; the exit status is 1 if one is a surprise."""
    told: Counter[str] = Counter()
    tried = list(trials(root))
    for source in sorted((root / "solutions").glob("*.ipynb")):
        marked = [cell for cell in nbformat.read(source, as_version=4).cells if is_grade(cell)]
        if marked and all(map(is_solution, marked)):
            print(f"{source.stem}: {len(marked)} written answers, for a person to mark\n")
            continue
        solved = not list(refusals(source.read_text(encoding="utf-8")))
        fails = len(list(refusals(unsolved(source))))
        told["surprises"] += (not solved) + (fails == 0)
        print(f"{source.stem}: its solution {'passes' if solved else 'DOES NOT PASS'};", end=" ")
        print(f"unsolved, {fails} tests fail" if fails else "PASSES UNSOLVED")
        for trial in (t for t in tried if t.notebook == source.stem):
            outcome = trial.outcome(root)
            good = trial.as_expected(outcome)
            verdict = outcome if not good else f"refused: «{trial.mistake}»"
            if good and trial.outcome(root, hidden=False) == "accepted":
                verdict = "accepted" if trial.mistake is None else f"{verdict} (by a hidden test)"
            print(f"  {'✓' if good else '✗'} {trial.of:22} {trial.title:42} {verdict}")
            told[verdict.split(":")[0] if good else "surprises"] += 1
        print()
    print(
        f"{told['refused']} wrong answers refused by name, {told['accepted']} right ones", end=" "
    )
    print(f"accepted, {told['surprises'] or 'no'} surprises")
    return min(told["surprises"], 1)
