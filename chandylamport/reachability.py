"""The theorem of 1985, executed: a recorded state lies on a way from the beginning to the end.

It knows the run and the recorded cut, and nothing of how the cut was found. An event is
prerecording if it is inside the cut, postrecording if not. Wherever a postrecording event stands
immediately before a prerecording one, the two can change places, and nobody notices. When none
does any more, all prerecording events come first, and the state between is the recorded one.

Chandy and Lamport 1985, Theorem 1. (Their text once says that the postrecording events "follow"
the prerecording ones to be swapped; they precede them, as in the paper's own Example 4.1.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from .cuts import Cut
from .recorder import Id
from .runs import Run, Schedule
from .simulator import Entry


@dataclass(frozen=True)
class Swap:
    """Two adjacent steps that change places, and why they may."""

    position: int  # of the first of the two, from 0
    post: str
    pre: str
    because: str


@dataclass(frozen=True, repr=False)
class Proof:
    """A run, and the legal swaps after which it passes through the state of the recorded cut."""

    run: Run
    original: Schedule  # the steps of the processes alone
    swaps: tuple[Swap, ...]
    boundary: int  # the number of prerecording events: the state of the cut comes after them

    def schedules(self) -> Iterator[Schedule]:
        """Give the schedule before the first swap, and after each."""
        steps = list(self.original)
        yield Schedule(steps)
        for swap in self.swaps:
            steps[swap.position : swap.position + 2] = [swap.pre, swap.post]
            yield Schedule(steps)

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule after the last swap: seq' in the paper."""
        *_, last = self.schedules()
        return last

    def __repr__(self) -> str:
        return f"<Proof: {len(self.swaps)} swaps, the snapshot after {self.boundary} events>"


def reorder(run: Run, id: Id | None = None) -> Proof:
    """Move all prerecording events before all postrecording ones, by legal adjacent swaps.

    >>> import chandylamport as cl
    >>> run = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)
    >>> proof = reorder(run)
    >>> [(swap.post, swap.pre) for swap in proof.swaps]
    [('p sends M to q', "q sends M' to p")]
    >>> cl.replay(run.system, proof.schedule)[proof.boundary] == run.snapshot
    True
    """
    cut = run.cut_of(id)
    steps, swaps, boundary = list(_events(run, cut)), list[Swap](), 0
    original = Schedule(step.text for step in steps)
    for i, step in enumerate(steps):
        if step.inside:
            for j in range(i, boundary, -1):  # all before it, down to the boundary, are outside
                post = steps[j - 1]
                swaps.append(Swap(j - 1, post.text, step.text, _lemma(post.entry, step.entry)))
                steps[j - 1], steps[j] = step, post
            boundary += 1
    return Proof(run, original, tuple(swaps), boundary)


class _Step(NamedTuple):
    text: str
    entry: Entry
    inside: bool


def _events(run: Run, cut: Cut) -> Iterator[_Step]:
    """The steps of the processes, each with whether it is inside the cut."""
    done: Counter[str] = Counter()
    before = len(run.trace) - len(run.schedule)  # what a restored system has sent already
    for number, entry in enumerate(run.trace):
        done[entry.process] += entry.is_event
        if entry.is_event and number >= before:
            inside = done[entry.process] <= cut[entry.process]
            yield _Step(run.schedule[number - before], entry, inside)


def _lemma(post: Entry, pre: Entry) -> str:
    """Say why a postrecording event and the prerecording one behind it may change places."""
    if shared := {name for name, _ in post.sends} & set(pre.receives):
        rule = "is received inside the cut and sent outside: no run passes through it"
        raise ValueError(f"{shared.pop()} {rule}")
    why = f"{post.process} and {pre.process} are different processes"
    if post.sends and pre.receives:
        return f"{why}, and what was sent outside the cut is not what was received inside"
    return f"{why}, and neither needs the other: no message goes from one to the other"
