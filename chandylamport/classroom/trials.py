"""Trying the exercises themselves: each must refuse known wrong answers and accept right ones.

The answers to try stand in solutions/trials/, one file for each notebook, written as students
write: marked `@wrong(of, mistake)` with the name that the message must give, or `@right(of)`.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

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
    answer: Answer | None

    def outcome(self, root: Path) -> str:
        """Run the notebook with this answer: "accepted", or the first reason for refusing it."""
        path = root / "solutions" / f"{self.notebook}.ipynb"
        refused = list(refusals(path.read_text(encoding="utf-8"), {self.of: self.answer}))
        return refused[0] if refused else "accepted"

    def as_expected(self, root: Path) -> bool:
        """Whether a right answer is accepted, and a wrong one refused with its mistake named."""
        outcome = self.outcome(root)
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


def refusals(notebook: str, replaced: Mapping[str, Answer | None]) -> Iterator[str]:
    """Run a notebook with some of its functions replaced; give the words of each failed test."""
    space: dict[str, Any] = {"__name__": "notebook"}
    for cell in nbformat.reads(notebook, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        try:
            exec(compile(cell.source, cell.id, "exec"), space)
        except NotYet as reason:
            yield str(reason)
        except NotImplementedError:
            yield "still to be written"
        space |= {name: answer for name, answer in replaced.items() if name in space and answer}


def print_table(root: Path) -> int:
    """Print how each exercise judges its trials; the number of surprises is the exit status."""
    surprises = 0
    for source in sorted((root / "solutions").glob("*.ipynb")):
        solved = not list(refusals(source.read_text(encoding="utf-8"), {}))
        fails = len(list(refusals(unsolved(source), {})))
        surprises += (not solved) + (fails == 0)
        print(f"\n{source.stem}: {'solved' if solved else 'NOT SOLVED'} by its solution,", end=" ")
        print(f"{fails} failed tests unsolved" if fails else "PASSES UNSOLVED")
        for trial in (t for t in trials(root) if t.notebook == source.stem):
            good = trial.as_expected(root)
            surprises += not good
            kind = "right" if trial.mistake is None else "wrong"
            print(f"  {'✓' if good else '✗'} {kind}  {trial.of}: {trial.title}")
            print(f"      {trial.outcome(root)}")
    print(f"\n{surprises} surprises" if surprises else "\neach exercise judges as it should")
    return min(surprises, 1)
