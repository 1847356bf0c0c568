"""Dataflows: operators joined by `>>`, and the system of processes that carries them out.

An instance of an operator is a process, an edge between two instances is a FIFO channel. What
comes out here is an ordinary `System`: it can be simulated, searched through, put on sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..chandy_lamport import ChandyLamport
from ..events import Channel
from ..keyed_state import bucket_of
from ..recorder import Payload, Recorder, State
from ..systems import Action, Fifo, System
from .barriers import Aligned, AtLeastOnce
from .operators import END, Filter, Join, Map, Operator, Origin, Record, Sink, Source, Sum, Window

BARRIERS: Mapping[str, Callable[[], Recorder]] = {
    "aligned": Aligned,
    "unaligned": ChandyLamport,
    "at_least_once": AtLeastOnce,
}
Key = Callable[[Record], Any]


@dataclass(frozen=True, eq=False)
class Flow:
    """An operator with what flows into it: `source(…) >> key_by(…) >> count() >> sink()`."""

    name: str
    operator: Operator
    inputs: tuple[Flow, ...] = ()
    instances: int = 1
    key: Key | None = None  # its output goes, under its key, to one of the next instances
    into: int = 1
    again: Callable[[Record], bool] | None = None  # which records go round once more

    def __rshift__(self, step: Callable[[Flow], Flow]) -> Flow:
        if isinstance(self.operator, Sink):
            raise ValueError("a sink is the end of a flow: nothing comes out of it")
        if step in STEPS:
            raise TypeError(f"write >> {step.__name__}(…), with its arguments in parentheses")
        return step(self)

    def __repr__(self) -> str:
        return " → ".join(f"{one.name}×{one.instances}" for one in self.upstream())

    def upstream(self) -> list[Flow]:
        """List the operators, each after those that it gets its records from."""
        found: list[Flow] = []
        for flow in (*(f for source in self.inputs for f in source.upstream()), self):
            if flow not in found:
                found.append(flow)
        return found


Step = Callable[[Flow], Flow]


def source(*partitions: Iterable[Record], name: str = "source") -> Flow:
    """Emit records that can be replayed: one instance for each partition.

    >>> source(["to", "be"], ["or", "not"]).instances
    2
    """
    if not all(isinstance(part, Iterable) for part in partitions):
        raise TypeError("give each partition as a list: source([1, 2], [3])")
    held = tuple(tuple(part) for part in partitions)
    if not held or any(END in part or None in part for part in held):
        raise ValueError(f"a source needs a list of records, and none of them is None or {END}")
    return Flow(name, Source(held), instances=len(held))


def key_by(key: Key, *, into: int) -> Step:
    """Make each record a pair with its key; equal keys go to the same of the next instances."""

    def step(flow: Flow) -> Flow:
        if flow.key is not None:
            raise ValueError("two key_by in a row: put a map between them")
        if into < 1:
            raise ValueError(f"into={into}: at least one instance is needed")
        return replace(flow, key=key, into=into)

    return step


def _next(name: str, operator: Operator, *, keyed: bool = False) -> Step:
    def step(flow: Flow) -> Flow:
        if keyed and flow.key is None:
            raise ValueError(f"{name} works on keys: put key_by(…, into=…) before it")
        instances = flow.into if flow.key is not None else flow.instances
        return Flow(name, operator, (flow,), instances)

    return step


def _itself(record: Record) -> Record:
    return record


def _one(record: Record) -> int:
    return 1


def map(function: Callable[[Record], Record]) -> Step:
    """Put out one record for each."""
    return _next("map", Map(function))


def filter(condition: Callable[[Record], bool]) -> Step:
    """Put out the records for which the condition holds."""
    return _next("filter", Filter(condition))


def count() -> Step:
    """Put out, for each record, its key and how many there have been with this key."""
    return _next("count", Sum(_one), keyed=True)


def sum(value: Callable[[Record], Any] = _itself) -> Step:
    """Put out, for each record, its key and the sum of the values with this key so far."""
    return _next("sum", Sum(value), keyed=True)


def window(size: int, time: Callable[[Record], int]) -> Step:
    """Put out, for each key and stretch of time, the records in it, once every input is past it."""

    def step(flow: Flow) -> Flow:
        if size < 1:
            raise ValueError(f"a window of size {size} holds no time: take 1 or more")
        if any(other.again for other in flow.upstream()):
            raise ValueError("a loop never says that it has ended: put the window before it")
        return _next("window", Window(size, time), keyed=True)(flow)

    return step


def join(left: Flow, right: Flow) -> Flow:
    """Put out each pair of records, one from each flow, that have the same key."""
    if left.key is None or right.key is None or left.into != right.into:
        raise ValueError("join works on keys: put key_by(…, into=…) before it on both sides, alike")
    if left is right:
        raise ValueError("join needs two flows: put a map into one of them")
    return Flow("join", Join(), (left, right), left.into)


def loop(function: Callable[[Record], Record], again: Callable[[Record], bool]) -> Step:
    """Apply a function to each record, and to the result again as long as the condition holds."""

    def step(flow: Flow) -> Flow:
        head = _next("head", Map(_itself))(flow)
        return replace(_next("body", Map(function))(head), again=again)

    return step


def sink(kind: str = "transactional", *, key: Key = _itself) -> Step:
    """Hand the records to the world outside: `plain`, `idempotent` under a key, `transactional`."""
    kinds = ("plain", "idempotent", "transactional")
    if kind not in kinds:
        raise ValueError(f"there is no sink {kind!r}, only {', '.join(kinds)}")

    def step(flow: Flow) -> Flow:
        if flow.into > 1:
            raise ValueError(f"a sink has one instance: key_by(…, into={flow.into}) cannot feed it")
        return Flow("sink", Sink(kind, key), (flow,))

    return step


STEPS: Sequence[Any] = (map, filter, key_by, count, sum, window, loop, sink)  # they make a step

# --- as processes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Route:
    """Where the output of an instance goes: to one of these, by its key."""

    to: Sequence[str]
    key: Key | None = None
    again: Callable[[Record], bool] | None = None  # in a loop: which records go back
    back: bool = False

    def send(self, record: Record) -> Iterator[tuple[str, Record]]:
        """Send a record, unless it goes another way."""
        if self.again is None or bool(self.again(record)) == self.back:
            key = None if self.key is None else self.key(record)
            yield (
                self.to[bucket_of(key, len(self.to))],
                record if self.key is None else (key, record),
            )


@dataclass(frozen=True)
class Task:
    """An instance of an operator: a process. Its state: memory, inbox, and which inputs ended.

    What it receives goes into its inbox, and is worked on in that order. With `in_order` it takes
    nothing else meanwhile, so that a barrier waits its turn. Without, a barrier passes the inbox,
    which is a part of the recorded state.
    """

    operator: Operator
    sides: Mapping[str, int]  # the tasks that it gets records from: the side of a join
    back: Sequence[str]  # and those of them behind it, in a cycle
    routes: Sequence[Route]
    in_order: bool
    partition: tuple[Record, ...] = field(default=(), repr=False)  # of a source

    @property
    def initial(self) -> State:
        """Nothing has come."""
        return self.operator.initial, (), ()

    def _work(self, state: State) -> tuple[State, tuple[tuple[str, Record], ...]]:
        """Work on the first record of the inbox; give the new state and what is sent."""
        memory, inbox, ended = state
        task, record = inbox[0] if inbox else ("", self._emitted(memory))
        waited_for = [other for other in self.sides if other not in self.back]
        origin = Origin(task, self.sides.get(task, 0), waited_for)
        memory, outputs = self.operator.work(memory, record, origin)
        sends = [*self._sends(outputs)]
        if record == END:
            ended = tuple(sorted((*ended, task))) if task else ()
            if len(ended) >= len(waited_for) and not any(route.again for route in self.routes):
                sends += [(dst, END) for route in self.routes for dst in route.to]
        return (memory, inbox[1:], ended), tuple(sends)

    def _emitted(self, offset: int) -> Record:
        return self.partition[offset] if offset < len(self.partition) else END

    def _sends(self, outputs: Iterable[Record]) -> Iterator[tuple[str, Record]]:
        for record in outputs:
            if record == END:
                raise ValueError(f"{END} is what ends a stream: no record may look like it")
            for route in self.routes:
                yield from route.send(record)

    def enabled(self, state: State) -> Iterator[Action]:
        """Work on the next record, if there is one."""
        memory, inbox, _ = state
        if inbox or (not self.sides and memory <= len(self.partition)):
            sends = self._work(state)[1]
            yield Action("" if sends else "work", sends)

    def step(self, state: State, action: Action) -> State:
        """Work on it; or, told so by the coordinator, forget what is committed."""
        if action.then is None:
            return self._work(state)[0]
        (handed_over, waiting), inbox, ended = state
        return (action.then, waiting[action.then - handed_over :]), inbox, ended

    def receive(self, state: State, channel: Channel, message: Payload) -> State:
        """Put a record into the inbox."""
        memory, inbox, ended = state
        return memory, (*inbox, (channel.src, message)), ended

    def busy(self, state: State) -> bool:
        """Whether a barrier has to wait until the inbox is empty."""
        return self.in_order and bool(state[1])

    def unread(self, state: State, channel: Channel) -> int:
        """How many records of a channel are in the inbox."""
        return len([task for task, _ in state[1] if task == channel.src])


@dataclass(frozen=True)
class Deployment:
    """A flow as processes, with the recorder that handles its barriers."""

    system: System
    algorithm: Callable[[], Recorder]
    sources: tuple[str, ...]
    sink: str
    operator: Sink  # that of the sink


def deploy(
    flow: Flow, barriers: str | Callable[[], Recorder] = "aligned", *, capacity: int | None = None
) -> Deployment:
    """Make processes of a flow: one for each instance, with channels between them.

    A capacity bounds all channels but back-edges: in a cycle, full channels could wait for one
    another. A recorder class of your own is asked whether barriers wait their turn (`in_order`).

    >>> flow = source(["to", "be"], ["or"]) >> key_by(len, into=2) >> count() >> sink()
    >>> list(deploy(flow).system.processes)
    ['source-1', 'source-2', 'count-1', 'count-2', 'sink']
    """
    if not isinstance(flow, Flow) or not isinstance(flow.operator, Sink):
        raise TypeError("a flow begins with a source and ends in a sink: … >> sink()")
    algorithm, names = _recorder(barriers), _names(flow.upstream())
    in_order = getattr(algorithm, "in_order", False)
    routes = {
        task: [*_routes(one, number, names)]
        for one, tasks in names.items()
        for number, task in enumerate(tasks)
    }
    links = {
        Channel(task, dst): (side, again)
        for task, ways in routes.items()
        for route, side, again in ways
        for dst in route.to
    }
    back = frozenset(channel for channel, (_, again) in links.items() if again)
    if back and isinstance(barriers, str) and issubclass(algorithm, AtLeastOnce):
        algorithm = partial(algorithm, back)
    tasks = {
        task: Task(
            one.operator,
            {c.src: side for c, (side, _) in links.items() if c.dst == task},
            [c.src for c in back if c.dst == task],
            [route for route, _, _ in routes[task]],
            in_order,
            one.operator.partitions[number] if isinstance(one.operator, Source) else (),
        )
        for one, of_one in names.items()
        for number, task in enumerate(of_one)
    }
    bounded = {} if capacity is None else dict.fromkeys(links.keys() - back, capacity)
    return Deployment(
        System(tasks, Fifo([*links], capacities=bounded)),
        algorithm,
        tuple(name for name, task in tasks.items() if isinstance(task.operator, Source)),
        names[flow][0],
        flow.operator,
    )


def _recorder(barriers: Any) -> Any:
    algorithm = BARRIERS.get(barriers) if isinstance(barriers, str) else barriers
    if algorithm is None:
        raise ValueError(f"no barriers {barriers!r}: {', '.join(BARRIERS)}, or a recorder class")
    if not callable(algorithm):
        raise TypeError(f"give the class {type(algorithm).__name__} itself, not an object of it")
    return algorithm


def _names(flows: Sequence[Flow]) -> dict[Flow, list[str]]:
    """Name the instances of each operator; of two with one name, the second gets a number."""
    names: dict[Flow, list[str]] = {}
    for flow in flows:
        before = len([other for other in names if other.name == flow.name])
        name = f"{flow.name}{before + 1}" if before else flow.name
        several = [f"{name}-{n + 1}" for n in range(flow.instances)]
        names[flow] = several if flow.instances > 1 else [name]
    every = [task for own in names.values() for task in own]
    if twice := [task for task in every if every.count(task) > 1]:
        raise ValueError(f"two tasks have the name {twice[0]}: give a source another name")
    return names


def _routes(
    flow: Flow, number: int, names: Mapping[Flow, list[str]]
) -> Iterator[tuple[Route, int, bool]]:
    """Give the ways out of an instance, the side of a join they lead to, and which lead back."""
    for other in names:
        if flow in other.inputs:
            everybody = flow.key is not None or len(names[other]) == 1
            to = names[other] if everybody else names[other][number : number + 1]
            yield Route(to, flow.key, flow.again), other.inputs.index(flow), False
    if flow.again is not None:
        to = names[flow.inputs[0]][number : number + 1]
        yield Route(to, None, flow.again, back=True), 0, True
