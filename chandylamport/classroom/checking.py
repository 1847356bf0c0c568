"""Checking an answer: compare it with the course's own, and explain the first difference.

An exercise asks many small questions about each computation or system it is given. The first one
that is answered wrongly is told in a sentence and a drawing, and if the answers are those of a
known mistake, the mistake is named. What runs, an algorithm or a schedule, is judged by `judging`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from inspect import isfunction, isgeneratorfunction, unwrap
from pkgutil import resolve_name
from textwrap import wrap
from typing import Any

from ..drawing import Picture
from ..events import Computation
from ..runs import Run

Subject = Any  # what questions are about; a text is the code that makes it
Question = tuple[Any, ...]  # the arguments that follow the subject
Tried = tuple[Subject, Question, object, object]  # with the right and the given answer


@dataclass(frozen=True)
class Outcome:
    """How an answer that was run has fared; if it did well, there is nothing to say."""

    fault: str = ""  # a sentence
    schedule: tuple[str, ...] = ()  # that leads to it
    mistake: str = ""  # "name: advice", where it is seen at once
    code: str = field(default="", compare=False)  # that shows it again
    run: Run | None = field(default=None, compare=False)

    def picture(self) -> Picture | None:
        """What happened."""
        return self.run.draw() if self.run else None


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """Something to be written, the questions that try it, and what there is to say about them."""

    name: str
    mistakes: Mapping[str, Callable[..., object]]  # "name: advice", and an answer that makes it
    hints: tuple[str, ...]
    examples: tuple[Subject, ...]
    not_to_be_called: tuple[str, ...]  # what the package has of the answer itself, as "spark.audit"
    subject: str = "c"  # what the subject is called
    questions: Callable[[Any], Iterable[Question]] = lambda subject: [()]
    ask: Callable[..., object] = lambda answer, subject, *question: answer(subject, *question)
    weigh: Callable[..., object] = lambda given, subject, *question: given  # or its Outcome
    answer: Callable[..., object] = lambda subject, *question: Outcome()  # the right one
    tells: bool = True  # whether a refusal may say the right answer
    because: Callable[..., str] = lambda subject, *question: ""  # why the right answer is right
    picture: Callable[..., Picture | None] = lambda subject, *question: None


class NotYet(Exception):
    """An answer that is not right yet, with the reason in words and the drawing that shows it."""

    def __init__(
        self,
        sentence: str,
        drawn: Callable[[], Picture | None] | None = None,
        mistake: str = "",
        about: str = "",
    ) -> None:
        """Keep the parts; the sentence is what is printed, the picture is drawn if looked at."""
        super().__init__(sentence)
        self._drawn = drawn
        self.mistake = mistake
        self.about = about  # code to be pasted and tried

    @property
    def picture(self) -> Picture | None:
        """The drawing, if there is something to see."""
        return self._drawn() if self._drawn else None

    def _render_traceback_(self) -> list[str]:
        """Let IPython print the sentence alone: a traceback through the checker helps nobody."""
        return wrap(f"Not yet. {self}", 88)


def check(name: str, function: Callable[..., object], *subjects: Subject) -> None:
    """Try an answer on every question of its exercise; raise NotYet at the first wrong one.

    >>> import chandylamport as cl
    >>> check("happens_before", lambda c, e, f: e.position < f.position)
    Traceback (most recent call last):
    ...
    chandylamport.classroom.checking.NotYet: happens_before(c, a, m?) gave False, and should give...
    """
    exercise = _find(name)
    tried: list[Tried] = []
    stopped: NotYet | None = None
    for subject in subjects or exercise.examples:
        questions, given = list(exercise.questions(made(subject))), list[object]()
        try:
            with _own_work(exercise):
                for question in questions:
                    given.append(_ask(exercise, function, subject, question))
        except NotYet as problem:
            stopped = problem
        for question, got in zip(questions, given, strict=False):
            right = exercise.answer(made(subject), *question)
            outcome = exercise.weigh(got, made(subject), *question)
            tried.append((subject, question, right, outcome))
        if stopped:
            break
    verdict = _judge(exercise, tried) or stopped  # a wrong answer comes before a later crash
    if verdict is None and _is_ours(function):
        verdict = NotYet(f"{name} is right, and it is the package's own: write one yourself.")
    if verdict is not None:
        _show(verdict)
        raise verdict
    # Printed, not returned: nbgrader takes the value of a test cell for a number of points.
    what = exercise.subject if isinstance(tried[0][3], Outcome) else "answer"
    print(f"✓ {name}: {len(tried)} {what}{'' if len(tried) == 1 else 's'}, all right")


def hint(name: str) -> None:
    """Open the next hint of an exercise, one at each call.

    >>> hint("concurrent")
    Hint 1 of 2: say in words when two events are NOT concurrent. There are three cases.
    """
    hints = _find(name).hints
    _opened[name] += 1
    number = min(_opened[name], len(hints))
    again = "" if number == _opened[name] else " (there is no further one)"
    print(f"Hint {number} of {len(hints)}{again}: {hints[number - 1]}")


_opened: Counter[str] = Counter()


def _find(name: str) -> Exercise:
    from .exercises import EXERCISES

    if name not in EXERCISES:
        raise LookupError(f"there is no exercise {name!r}; there are {', '.join(EXERCISES)}")
    return EXERCISES[name]


def _is_ours(answer: object) -> bool:
    return str(getattr(answer, "__module__", "")).startswith("chandylamport.")


def made(subject: Subject) -> Any:
    """Give what a text makes; anything else is there already."""
    return _evaluated(subject) if isinstance(subject, str) else subject


@cache
def _evaluated(code: str) -> Any:
    import chandylamport

    return eval(code, {"cl": chandylamport})


def _ask(exercise: Exercise, function: Callable[..., object], s: Subject, q: Question) -> object:
    c = made(s)
    drawn, about = partial(exercise.picture, c, *q), _pasted(exercise, s)
    try:
        got = exercise.ask(function, c, *q)
    except NotImplementedError:
        raise NotYet(f"{exercise.name} is still to be written.") from None
    except NotYet:
        raise
    except (KeyboardInterrupt, SystemExit):
        raise NotYet(f"{_call(exercise, s, q)} was stopped: does it come to an end?") from None
    except Exception as error:
        sentence = f"{_call(exercise, s, q)} {crash(error, function)}"
        raise NotYet(sentence, drawn, about=about) from error
    if got is None:
        sentence = f"{_call(exercise, s, q)} gave None: is a return missing?"
        raise NotYet(sentence, drawn, about=about)
    return got if isinstance(got, Outcome) else _plain(_call(exercise, s, q), got)


def _plain(call: str, value: Any) -> object:
    """Give a copy in Python's own types: a list that is kept may grow, an object may lie."""
    if type(value) in (list, tuple):
        return [_plain(call, part) for part in value]
    if hasattr(value, "item"):  # numpy's numbers and truth values
        value = value.item()
    if type(value) not in (bool, int, float, str, set, frozenset, dict, type(None)):
        raise NotYet(f"{call} gave a {type(value).__name__}, which is not what is asked for.")
    return value


def crash(error: Exception, answer: Callable[..., object]) -> str:
    """Say what stopped an answer, and in which line of the student's cell."""
    files = {function.__code__.co_filename for function in _functions(unwrap(answer))}
    trace, line = error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            line = f" in line {trace.tb_lineno} of your cell"
        trace = trace.tb_next
    return f"stopped{line} with {type(error).__name__}: {error}"


def _functions(answer: Any) -> list[Any]:
    """The functions of a class, or the function itself."""
    return list(filter(isfunction, vars(answer).values() if isinstance(answer, type) else [answer]))


def _judge(exercise: Exercise, tried: Sequence[Tried]) -> NotYet | None:
    """Explain the first wrong answer, and name the known mistake that gives all the answers."""
    wrong = next((t for t in tried if t[2] != t[3]), None)
    if wrong is None:
        return None
    subject, question, right, given = wrong
    about = _pasted(exercise, subject)
    drawn: Callable[[], Picture | None] = partial(exercise.picture, made(subject), *question)
    if isinstance(given, Outcome):
        sentence, drawn, about = given.fault, given.picture, f"{about}\n{given.code}"
    else:
        sentence = f"{_call(exercise, subject, question)} gave {given!r}"
        sentence += f", and should give {right!r}: " if exercise.tells else ": "
        sentence += exercise.because(made(subject), *question) + "."
        if isinstance(right, list) and not isinstance(given, list):
            sentence += f" A list is asked for, not a {type(given).__name__}."
    named, _, advice = _mistake(exercise, tried, given).partition(": ")
    if named:
        yours = "This looks like" if isinstance(given, Outcome) else "Your answers are those of"
        sentence += f" {yours} «{named}»: {advice}."
    sentence += f' If you are stuck: hint("{exercise.name}").'
    return NotYet(sentence, drawn, named, about)


def _mistake(exercise: Exercise, tried: Sequence[Tried], wrong: object) -> str:
    if isinstance(wrong, Outcome) and wrong.mistake:
        return wrong.mistake
    for text in exercise.mistakes:
        if all(_told(exercise, text, s, q) == given for s, q, _, given in tried):
            return text
    return ""


def _told(exercise: Exercise, mistake: str, subject: Subject, question: Question) -> object:
    """What somebody who makes a mistake answers; of a text it is known after the first time."""
    key = exercise.name, mistake, subject, question
    if isinstance(subject, str) and key in _known:
        return _known[key]
    c = made(subject)
    answer = exercise.ask(exercise.mistakes[mistake], c, *question)
    told = exercise.weigh(answer, c, *question)
    if isinstance(subject, str):
        _known[key] = told
    return told


_known: dict[tuple[object, ...], object] = {}


def _show(problem: NotYet) -> None:
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython():
        from IPython.display import display

        if problem.about:
            print(problem.about)
        with suppress(ValueError):  # a lattice that is too large to draw
            display(*filter(None, [problem.picture]))


def _call(exercise: Exercise, subject: Subject, question: Question) -> str:
    first = repr(subject.name) if hasattr(subject, "name") else exercise.subject
    words = [getattr(part, "name", None) or repr(part) for part in question]
    return f"{exercise.name}({', '.join([first, *words])})"


def _pasted(exercise: Exercise, subject: Subject) -> str:
    is_drawn = isinstance(subject, Computation)
    code = f'cl.computation("""\n{subject}\n""")' if is_drawn else str(subject)
    return f"{exercise.subject} = {code}"


@contextmanager
def _own_work(exercise: Exercise) -> Iterator[None]:
    """While an answer is tried, the package's own answer is not to be had, by whatever name."""
    found = {name: resolve_name(f"chandylamport.{name}") for name in exercise.not_to_be_called}
    originals = [(name, f) for name, ours in found.items() for f in _functions(ours)]
    codes = [original.__code__ for _, original in originals]
    for name, original in originals:
        stand_in = _refuse_to_list if isgeneratorfunction(original) else _refuse
        free = original.__code__.co_freevars  # those of a method that calls super()
        original.__code__ = stand_in.__code__.replace(co_name=name, co_freevars=free)
    try:
        yield
    finally:
        for (_, original), code in zip(originals, codes, strict=True):
            original.__code__ = code


# These two run in the place of functions of other modules, so they bring along what they need.
def _refuse(*_: object, **__: object) -> object:
    from chandylamport.classroom.checking import _refusal

    raise _refusal(_)


def _refuse_to_list(*_: object, **__: object) -> Iterator[object]:
    from chandylamport.classroom.checking import _refusal

    raise _refusal(_)
    yield


def _refusal(arguments: tuple[object, ...]) -> NotYet:
    import chandylamport

    name = sys._getframe(1).f_code.co_name
    classes = type(arguments[0]).__mro__ if arguments else ()
    ours = [c.__name__ for c in classes if vars(chandylamport).get(c.__name__) is c]
    if name in ours:  # a method: name the class that was used, not that which has the method
        name = ours[0]
    return NotYet(f"This is to be written without the package's own {name}.")
