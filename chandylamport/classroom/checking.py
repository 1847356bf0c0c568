"""Checking an answer: compare it with the course's own, and explain the first difference.

An exercise asks many small questions about each computation it is given. The first one that is
answered wrongly is told in a sentence and a drawing, and if the answers are those of a known
mistake, the mistake is named.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from inspect import isgeneratorfunction, unwrap
from textwrap import wrap
from typing import Any

from ..drawing import Picture
from ..events import Computation

Question = tuple[Any, ...]  # the arguments that follow the computation
Tried = tuple[Computation, Question, object, object]  # with the right and the given answer


@dataclass(frozen=True)
class Exercise:
    """A function to be written, the questions that try it, and what there is to say about them."""

    name: str
    answer: Callable[..., object]
    questions: Callable[[Computation], Iterable[Question]]
    because: Callable[..., str]  # why the right answer to a question is right
    picture: Callable[..., Picture]
    mistakes: Mapping[str, Callable[..., object]]  # "name: advice", and what it answers
    hints: tuple[str, ...]
    examples: tuple[Computation, ...]
    not_to_be_called: tuple[str, ...]  # what the package has of the answer itself


class NotYet(Exception):
    """An answer that is not right yet, with the reason in words and the drawing that shows it."""

    def __init__(
        self,
        sentence: str,
        drawn: Callable[[], Picture] | None = None,
        mistake: str = "",
        about: Computation | None = None,
    ) -> None:
        """Keep the parts; the sentence is what is printed, the picture is drawn if looked at."""
        super().__init__(sentence)
        self._drawn = drawn
        self.mistake = mistake
        self.about = about

    @property
    def picture(self) -> Picture | None:
        """The drawing, if there is something to see."""
        return self._drawn() if self._drawn else None

    def _render_traceback_(self) -> list[str]:
        """Let IPython print the sentence alone: a traceback through the checker helps nobody."""
        return wrap(f"Not yet. {self}", 88)


def check(name: str, function: Callable[..., object], *computations: Computation) -> None:
    """Try a function on every question of its exercise; raise NotYet at the first wrong answer.

    >>> import chandylamport as cl
    >>> check("happens_before", lambda c, e, f: e.position < f.position)
    Traceback (most recent call last):
    ...
    chandylamport.classroom.checking.NotYet: happens_before(c, a, m?) gave False, and should give...
    """
    exercise = _find(name)
    tried: list[Tried] = []
    stopped: NotYet | None = None
    for computation in computations or exercise.examples:
        questions, given = list(exercise.questions(computation)), list[object]()
        try:
            with _own_work(exercise):
                for question in questions:
                    given.append(_ask(exercise, function, computation, question))
        except NotYet as problem:
            stopped = problem
        for question, got in zip(questions, given, strict=False):
            tried.append((computation, question, exercise.answer(computation, *question), got))
        if stopped:
            break
    verdict = _judge(exercise, tried) or stopped  # a wrong answer comes before a later crash
    if verdict is not None:
        _show(verdict)
        raise verdict
    # Printed, not returned: nbgrader takes the value of a test cell for a number of points.
    print(f"✓ {name}: {len(tried)} {'answer' if len(tried) == 1 else 'answers'}, all right")


def hint(name: str) -> None:
    """Open the next hint of an exercise, one at each call.

    >>> hint("concurrent")
    Hint 1 of 2: say in words when two events are NOT concurrent. There are three cases.
    """
    hints = _find(name).hints
    _opened[name] = min(_opened[name] + 1, len(hints))
    print(f"Hint {_opened[name]} of {len(hints)}: {hints[_opened[name] - 1]}")


_opened: Counter[str] = Counter()


def _find(name: str) -> Exercise:
    from .exercises import EXERCISES

    if name not in EXERCISES:
        raise LookupError(f"there is no exercise {name!r}; there are {', '.join(EXERCISES)}")
    return EXERCISES[name]


def _ask(
    exercise: Exercise, function: Callable[..., object], c: Computation, q: Question
) -> object:
    try:
        got = function(c, *q)
    except NotImplementedError:
        raise NotYet(f"{exercise.name} is still to be written.") from None
    except NotYet:
        raise
    except (KeyboardInterrupt, SystemExit):
        raise NotYet(f"{_call(exercise, q)} was stopped: does it come to an end?") from None
    except Exception as error:
        line = _line_of(error, function)
        cause = f"{type(error).__name__}: {error}"
        sentence = f"{_call(exercise, q)} stopped{line} with {cause}"
        raise NotYet(sentence, partial(exercise.picture, c, *q), about=c) from error
    if got is None:
        sentence = f"{_call(exercise, q)} gave None: is a return missing?"
        raise NotYet(sentence, partial(exercise.picture, c, *q), about=c)
    return _plain(_call(exercise, q), got)


def _plain(call: str, value: Any) -> object:
    """Give a copy in Python's own types: a list that is kept may grow, an object may lie."""
    if type(value) in (list, tuple):
        return [_plain(call, part) for part in value]
    if hasattr(value, "item"):  # numpy's numbers and truth values
        value = value.item()
    if type(value) not in (bool, int, float, str, set, frozenset, dict, type(None)):
        raise NotYet(f"{call} gave a {type(value).__name__}, which is not what is asked for.")
    return value


def _line_of(error: Exception, function: Callable[..., object]) -> str:
    file = getattr(getattr(unwrap(function), "__code__", None), "co_filename", None)
    trace, line = error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = f" in line {trace.tb_lineno} of your cell"
        trace = trace.tb_next
    return line


def _judge(exercise: Exercise, tried: Sequence[Tried]) -> NotYet | None:
    """Explain the first wrong answer, and name the known mistake that gives all the answers."""
    wrong = next((t for t in tried if t[2] != t[3]), None)
    if wrong is None:
        return None
    c, question, right, given = wrong
    sentence = f"{_call(exercise, question)} gave {given!r}, and should give {right!r}: "
    sentence += exercise.because(c, *question) + "."
    if isinstance(right, list) and not isinstance(given, list):
        sentence += f" A list is asked for, not a {type(given).__name__}."
    named = ""
    for text, answer in exercise.mistakes.items():
        if all(answer(c, *q) == given for c, q, _, given in tried):
            named, advice = text.split(": ", 1)
            sentence += f" Your answers are those of «{named}»: {advice}."
            break
    sentence += f' If you are stuck: hint("{exercise.name}").'
    return NotYet(sentence, partial(exercise.picture, c, *question), named, c)


def _show(problem: NotYet) -> None:
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython():
        from IPython.display import display

        if problem.about:
            print(f'c = cl.computation("""\n{problem.about}\n""")')  # to be pasted and tried
        with suppress(ValueError):  # a lattice that is too large to draw
            display(*filter(None, [problem.picture]))


def _call(exercise: Exercise, question: Question) -> str:
    words = ", ".join(["c", *(getattr(part, "name", None) or repr(part) for part in question)])
    return f"{exercise.name}({words})"


@contextmanager
def _own_work(exercise: Exercise) -> Iterator[None]:
    """While an answer is tried, the package's own answer is not to be had, by whatever name."""
    import chandylamport

    originals = [getattr(chandylamport, name) for name in exercise.not_to_be_called]
    codes = [original.__code__ for original in originals]
    for original in originals:
        stand_in = _refuse_to_list if isgeneratorfunction(original) else _refuse
        original.__code__ = stand_in.__code__.replace(co_name=original.__name__)
    try:
        yield
    finally:
        for original, code in zip(originals, codes, strict=True):
            original.__code__ = code


# These two run in the place of functions of other modules, so they bring along what they need.
def _refuse(*_: object, **__: object) -> object:
    from chandylamport.classroom.checking import _refusal

    raise _refusal()


def _refuse_to_list(*_: object, **__: object) -> Iterator[object]:
    from chandylamport.classroom.checking import _refusal

    raise _refusal()
    yield


def _refusal() -> NotYet:
    name = sys._getframe(1).f_code.co_name
    return NotYet(f"This is to be written without the package's own {name}.")
