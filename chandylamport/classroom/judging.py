"""Judging answers that run: an algorithm in every schedule of small systems, or a single schedule.

A student's algorithm is trusted with nothing: what it keeps, gives and raises is looked at, and
whatever is wrong is told with the shortest schedule that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..chandy_lamport import ChandyLamport
from ..exploration import TooManyStates, explore
from ..overlapping import Overlapping
from ..recorder import Id, LocalSnapshot
from ..runs import Run, Schedule, simulate
from ..simulator import NO_ID
from ..systems import System
from .checking import NotYet, Outcome, crash

METHODS = ("begin", "on_send", "on_receive", "result")
ENDLESS, LIMIT = "goes on and on", 6_000  # states
Groups = Iterable[Sequence[str] | None]  # who may begin; None: everybody


def in_every_schedule(
    *,
    ids: Sequence[Id] = NO_ID,
    begin: Callable[[System], Groups] = lambda system: [None],
    markers: bool = True,
) -> Callable[[Any, System], Outcome]:
    """Give the judge who lets everybody begin at any time, and takes every step that can be taken.

    With `begin`, one group after the other may begin instead of everybody. With `markers`, a
    snapshot must also cost one marker on each channel and no more.
    """

    def judge(answer: Any, system: System) -> Outcome:
        algorithm, run, steps = looked_at(answer), None, Schedule()
        enough = len(system.network.channels) * len(ids)
        try:
            search = partial(explore, system, algorithm, ids=ids, limit=LIMIT, stop=True)
            found = (search(initiators=group).counterexample for group in begin(system))
            run = next(filter(None, found), None)
            if run is not None:
                fault, steps = f"goes wrong: {first_fault(run)}", run.schedule
            elif None not in begin(system):
                return Outcome()
            else:
                all_begin = {id: dict.fromkeys(system.processes, 0) for id in ids}
                with endless():
                    run = simulate(system, algorithm, snapshots=all_begin, limit=LIMIT)
                if not begins_once(algorithm, run, all_begin):
                    raise NotYet("begin may be called again: who has recorded then does nothing.")
                if run.markers == enough or not markers:
                    return Outcome()
                fault, steps = f"sends {run.markers} markers, and needs {enough}", run.schedule
        except (NotYet, NotImplementedError):
            raise
        except TooManyStates:
            fault = f"{ENDLESS}, for more than {LIMIT} steps: what it sends makes others send"
        except Exception as error:
            fault = crash(error, answer)
            for note in getattr(error, "__notes__", ()):
                steps = Schedule(note)
                before = {id: dict[str, int]() for id in ids}
                run = simulate(system, algorithm, schedule=steps[:-1], snapshots=before)
        code = pasted(answer.__name__, steps)
        return Outcome(f"On this system your class {fault}.", steps, code=code, run=run)

    return judge


def begins_once(algorithm: Any, run: Run, begin: Mapping[Id, Mapping[str, int]]) -> bool:
    """Whether a run is as good, and as cheap, if each begin is called two times."""

    def two_times(self: Any, *arguments: Any) -> None:
        algorithm.begin(self, *arguments)
        algorithm.begin(self, *arguments)

    twice = type(algorithm.__name__, (algorithm,), {"begin": two_times})
    try:
        again = simulate(run.system, twice, snapshots=begin, limit=LIMIT)
    except Exception:
        return False
    return not again.faults and again.markers == run.markers


def first_fault(run: Run) -> str:
    """Say what is wrong with the snapshot that ends a run, and which it is if there are several."""
    complete = [id for id in run.faults if run.snapshots[id] is not None]
    id = next(iter([*complete, *run.faults]))
    return f"snapshot {id}: {run.faults[id]}" if len(run.snapshots) > 1 else run.faults[id]


@contextmanager
def endless() -> Iterator[None]:
    """Where no step can fail, a run that does not end is a search that does not end."""
    try:
        yield
    except RuntimeError as error:
        raise TooManyStates from error


def pasted(algorithm: str, schedule: Schedule) -> str:
    """Give the code that runs an algorithm along a schedule."""
    run = f'run = cl.simulate(system, {algorithm}, schedule="""\n{schedule}\n""")\nrun'
    return run if schedule else ""


def blame_the_system(outcome: Outcome, system: System, ids: Sequence[Id] = NO_ID) -> Outcome:
    """Refuse a system in which the right algorithm cannot be tried in every schedule either."""
    if ENDLESS in outcome.fault:
        try:
            explore(system, ChandyLamport, ids=ids, limit=LIMIT)
        except TooManyStates:
            size = f"This system has more than {LIMIT} states, too many to try every schedule"
            raise NotYet(f"{size}: take a smaller one.") from None
    return outcome


def is_a_class_with(methods: Sequence[str], answer: Any) -> None:
    """Refuse what is no class, lacks a method, or keeps in common what belongs to each object."""
    if not isinstance(answer, type):
        raise NotYet("Hand in the class itself, by its name and without brackets.")
    for method in methods:
        if not callable(getattr(answer, method, None)):
            raise NotYet(f"{answer.__name__} has no method {method}.")
    for name, value in vars(answer).items():
        if isinstance(value, list | dict | set) and not name.startswith("__"):
            shared = f"{name} belongs to the class, so all processes share it"
            raise NotYet(f"In {answer.__name__}, {shared}: make it in __init__, as self.{name}.")


def looked_at(answer: Any) -> Any:
    """Give the student's class with eyes on what is kept in it and what comes out of it."""
    is_a_class_with(METHODS, answer)
    unknown = ["of another snapshot"] if issubclass(answer, Overlapping) else []
    if answer().result(*unknown) is not None:
        raise NotYet("Before a process has recorded, result must give None.")

    def watched(method: str) -> Callable[..., object]:
        def call(self: Any, port: Any, *rest: Any) -> object:
            got: object = getattr(answer, method)(self, port, *rest)
            if any(kept is port for kept in vars(self).values()):
                raise NotYet(f"{answer.__name__}.{method} keeps the port: use it, and let it go.")
            return got

        return call

    def result(self: Any, *id: Id) -> object:
        part: Any = answer.result(self, *id)
        if part is None:
            return None
        if not isinstance(part, LocalSnapshot):
            given = f"result gave a {type(part).__name__}"
            raise NotYet(f"{given}, and should give a cl.LocalSnapshot, or None.")
        dicts = isinstance(part.channels, Mapping) and isinstance(part.owed, Mapping)
        if not dicts or isinstance(part.state, list | dict | set):
            raise NotYet("A cl.LocalSnapshot has the state that port.record() gave, and a dict.")
        return part

    methods = {method: watched(method) for method in METHODS[:-1]}
    return type(answer.__name__, (answer,), {**methods, "result": result})
