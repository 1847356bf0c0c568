"""Exercises on the proof: states that never occurred, and the swaps that lead to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

from ...chandy_lamport import ChandyLamport
from ...events import Event
from ...recorder import Snapshot
from ...runs import Run, Schedule, replay, simulate
from ...simulator import Algorithm
from ...systems import System
from ..checking import Exercise, NotYet, Outcome
from ..judging import pasted

RECORDED = "cl.simulate({}, cl.ChandyLamport, schedule={!r})"
AT_THE_START = "p records; q records; p sends m to q; p receives marker from q; "
AT_THE_START += "q receives marker from p; q receives m"
AT_THE_END = "p sends work to q; p does rest; q receives work; q records; "
AT_THE_END += "p receives marker from q; q receives marker from p"
LATE = "A sends m to B; A records; B receives m; B sends n to A; B receives marker from A; "
LATE += "A receives n; A receives marker from B"
UNDER_WAY = "p sends work to q; q records; p receives marker from q; q receives work; "
UNDER_WAY += "q receives marker from p"
ONE = 'cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Fifo(cl.complete("pq")))'
PAPER = "cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)"


def where(run: Run, same: Callable[[Snapshot], bool]) -> list[int]:
    """After how many events the run was in such a state."""
    return [i for i, state in enumerate(replay(run.system, run.steps)) if same(state)]


def occurred_at(run: Run) -> list[int]:
    """After how many events the run was in the recorded state."""
    return where(run, lambda state: state == run.snapshot)


def cut_met_at(run: Run) -> list[int]:
    """After how many events exactly those inside the cut had happened."""
    inside = [run.cut is not None and event in run.cut for event in run.order]
    number = sum(inside)
    return [number] if all(inside[:number]) else []


def why_it_occurred(run: Run) -> str:
    """Which events the recorded state has, and when it was there."""
    cut = run.cut_of(None)
    inside = [step for step, e in zip(run.steps, run.order, strict=True) if e in cut]
    words = f"inside the cut: {', '.join(inside) or 'nothing'}"
    times = " and ".join(map(str, occurred_at(run)))
    return f"{words}; the run was {f'there after {times} events' if times else 'never there'}"


OCCURRED_AT = Exercise(
    name="occurred_at",
    subject="run",
    answer=occurred_at,
    because=why_it_occurred,
    picture=Run.draw,
    examples=(
        PAPER,
        RECORDED.format(ONE, AT_THE_START),
        RECORDED.format("cl.work_pool()", AT_THE_END),
        RECORDED.format("cl.textbook_bank()", LATE),
        RECORDED.format("cl.work_pool()", UNDER_WAY),
    ),
    not_to_be_called=(),
    mistakes={
        "never: it need not occur, but it may": lambda run: [],
        "states of processes only: what is under way belongs to the state": (
            lambda run: where(run, lambda s: s.states == run.snapshot.states)
        ),
        "the start forgotten: the run is in a state before its first event": (
            lambda run: [i for i in occurred_at(run) if i]
        ),
        "the end forgotten: after the last event the run is in a state, too": (
            lambda run: [i for i in occurred_at(run) if i < len(run.order)]
        ),
        "the moment when it began: the processes record one after the other": (
            lambda run: [[entry.is_event for entry in run.trace].index(False)]
        ),
        "markers counted: recordings and markers are no events of the computation": (
            lambda run: [
                i
                for i, n in enumerate(accumulate((e.is_event for e in run.trace), initial=0))
                if n in occurred_at(run)
            ]
        ),
        "the first time only: a state may come back": lambda run: occurred_at(run)[:1],
        "cuts compared: two cuts may have the same state": cut_met_at,
    },
    hints=(
        "run.schedule has the steps of the processes and those of the algorithm. Leave out every "
        "step with the word records or marker.",
        "cl.replay(run.system, steps) gives the states, the one at the start included.",
        "a global state has processes and channels, and == compares both.",
    ),
)


def played(system: System, steps: Any, algorithm: Algorithm | None = None) -> tuple[Run, str]:
    """What happens along a schedule as far as it goes, and what stops it."""
    script, stopped = Schedule(steps), ""
    for number in range(len(script), 0, -1):
        try:
            return simulate(system, algorithm, schedule=script[:number]), stopped
        except ValueError as error:
            stopped = str(error)
    return simulate(system, algorithm, schedule=()), stopped


IMPOSSIBLE = "an impossible step: every line must be something that can happen then"
UNFINISHED = "an unfinished snapshot: go on until all have recorded and all markers have come"
START = "the start: nothing is inside the cut, so somebody must move before it records"
END = "the end: nothing is outside the cut, so somebody must move after it has recorded"
INSTANT = "an instant: a process that has recorded must move before one that has not"
CUT_ONLY = "the cut avoided only: another cut on the way had the same state"


def passed_by(given: str, system: System) -> Outcome:
    """Whether a schedule is a run with a snapshot that shows none of its states."""
    run, fault = played(system, given, ChandyLamport)
    met = occurred_at(run)
    if fault:
        mistake = IMPOSSIBLE
    elif run.snapshot is None:
        fault, mistake = f"the snapshot is {run.fault}", UNFINISHED
    elif met:
        fault = f"S* did occur: after {met[0]} of {len(run.order)} events the run was in it"
        kinds = {(): CUT_ONLY, (len(run.order),): END, (0,): START}
        mistake = kinds.get(tuple(cut_met_at(run)), INSTANT)
    else:
        return Outcome()
    code = pasted("cl.ChandyLamport", run.schedule)
    return Outcome(f"In your schedule, {fault}.", run.schedule, mistake, code, run)


def by_chance(mistake: str, system: System) -> Run:
    """A run that makes a mistake, or else a right one."""
    found = dict[str, Run]()
    for seed in range(400):
        first = [*system.processes][seed % len(system.processes)]
        run = simulate(system, ChandyLamport, initiators=[first], at=seed % 5, seed=seed)
        found.setdefault(passed_by(str(run.schedule), system).mistake, run)
        if mistake in found:
            break
    return found.get(mistake) or found[""]


def as_text(given: Any) -> str | None:
    """A schedule in whatever form it comes."""
    script = given.schedule if isinstance(given, Run) else given
    return None if script is None else str(Schedule(script))


PASS_BY = Exercise(
    name="pass_by",
    subject="system",
    ask=lambda answer, system: as_text(answer(system)),
    weigh=passed_by,
    examples=("cl.textbook_bank()", "cl.example_2_2()"),
    not_to_be_called=(),
    mistakes={
        **{text: partial(by_chance, text) for text in (START, END, INSTANT, CUT_ONLY)},
        IMPOSSIBLE: lambda system: "somebody records",
        UNFINISHED: lambda system: f"{next(iter(system.processes))} records",
    },
    hints=(
        "by hand: let p record and then move, and let q move before p's marker reaches it. Then "
        "the move of q is inside the cut, and the earlier move of p is not.",
        "cl.simulate(system, cl.ChandyLamport, at=2, seed=5) is a run by chance, and its schedule "
        "is run.schedule. Another seed, another run.",
        "try one seed after the other until your own occurred_at gives []. Let everybody have a "
        "turn as initiator: initiators=[p].",
    ),
)


# --- reordering -----------------------------------------------------------------------------------

Orders = list[list[int]]  # of events, each as its place in the run
AT_ONCE = "sorted at once: one swap exchanges two neighbours, and each swap has its order"
ONE_LIST = "one list many times: put a copy into the result, or all orders change together"
OWN_ORDER = "the run itself forgotten: the first order is that of the run"
TWICE = "an order twice: a new order belongs to a swap"
BACKWARDS = "backwards: a postrecording event moves behind a prerecording one, not before it"
ALIKE = "two of a kind: events on the same side of the cut keep their order"
EARLY = "too early: go on until no postrecording event stands before a prerecording one"
RECEIVE = "a receive left behind: it may move ahead of all that it does not need"


def by_swaps(run: Run, may: Callable[[Event, Event], bool], most: int = 50) -> list[list[Event]]:
    """All orders on the way, if neighbours that may change places do."""
    orders = [list(run.order)]
    while len(orders) <= most:
        order = orders[-1]
        i = next((i for i, two in enumerate(pairwise(order)) if may(*two)), None)
        if i is None:
            break
        orders.append([*order[:i], order[i + 1], order[i], *order[i + 2 :]])
    return orders


def inverted(run: Run) -> Callable[[Event, Event], bool]:
    """Whether of two events the first is postrecording, and the second prerecording."""
    cut = run.cut_of(None)
    return lambda e, f: e not in cut and f in cut


def right_orders(run: Run) -> list[list[Event]]:
    """The orders on the way to the recorded state."""
    return by_swaps(run, inverted(run))


def as_numbers(given: Any, run: Run) -> Orders | None:
    """A student's orders, with the place of each event in the run; -1 for anything else."""
    orders = None if given is None else list(given)
    if orders and not isinstance(orders[0], list | tuple):
        raise NotYet("reorder(run) should give a list of orders, and each is a list of events.")
    place = {event: i for i, event in enumerate(run.order)}
    return orders and [[place.get(event, -1) for event in order] for order in orders]


def swapped(orders: Orders, run: Run) -> Outcome:
    """Whether orders lead to the recorded state, each from the one before by a legal swap."""
    steps, events = run.steps, run.order

    def refused(number: int, fault: str, mistake: str = "") -> Outcome:
        order = Schedule(steps[i] for i in (orders or [[]])[number] if i >= 0)
        stopped = played(run.system, order)[1]
        fault += f". And it is no run: {stopped}" if stopped else ""
        code = f'order = cl.Schedule("""\n{order}\n""")'
        return Outcome(f"Order {number} {fault}.", order, mistake, code, run)

    own = [*range(len(events))]
    for number, order in enumerate(orders):
        if sorted(order) != own:
            return refused(number, "does not have each event of the run once, and nothing else")
    if orders[:1] != [own]:
        same = len(orders) > 1 and orders == orders[:1] * len(orders)
        return refused(0, "is not the order of the run", ONE_LIST if same else OWN_ORDER)
    for number, (before, after) in enumerate(pairwise(orders), 1):
        changed = [i for i, two in enumerate(zip(before, after, strict=True)) if two[0] != two[1]]
        if len(changed) != 2 or changed[1] != changed[0] + 1:
            fault = f"differs from order {number - 1} in {len(changed)} places"
            return refused(number, fault, AT_ONCE if changed else TWICE)
        e, f = (before[i] for i in changed)
        if not inverted(run)(events[e], events[f]):
            mistake = BACKWARDS if inverted(run)(events[f], events[e]) else ALIKE
            return refused(number, f"lets {steps[f]!r} go ahead of {steps[e]!r}", mistake)
    left = [(e, f) for e, f in pairwise(orders[-1]) if inverted(run)(events[e], events[f])]
    for e, f in left:
        kind = RECEIVE if all(events[pre].receives for _, pre in left) else EARLY
        fault = f"is the last, and in it {steps[e]!r} (postrecording) still stands before"
        return refused(len(orders) - 1, f"{fault} {steps[f]!r} (prerecording)", kind)
    return Outcome()


REORDER = Exercise(
    name="reorder",
    subject="run",
    ask=lambda answer, run: as_numbers(answer(run), run),
    weigh=swapped,
    examples=(PAPER,),
    not_to_be_called=("reorder",),
    mistakes={
        ONE_LIST: lambda run: right_orders(run)[-1:] * len(right_orders(run)),
        AT_ONCE: lambda run: right_orders(run)[:: len(right_orders(run)) - 1 or 1],
        OWN_ORDER: lambda run: right_orders(run)[1:] or right_orders(run),
        TWICE: lambda run: [order for order in right_orders(run) for _ in "ab"],
        BACKWARDS: lambda run: by_swaps(run, lambda e, f: inverted(run)(f, e)),
        ALIKE: lambda run: by_swaps(
            run, lambda e, f: (e not in run.cut, e.process) > (f not in run.cut, f.process)
        ),
        EARLY: lambda run: right_orders(run)[:2],
        RECEIVE: lambda run: by_swaps(run, lambda e, f: inverted(run)(e, f) and not f.receives),
    },
    hints=(
        "`event in run.cut` says whether an event is prerecording.",
        "look for two neighbours of which the first is outside and the second inside. Exchange "
        "them, and put a copy of the new order into the result.",
        "begin again from the front after each swap, until there are no such neighbours left.",
    ),
)
