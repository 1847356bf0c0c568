"""Operators: what one instance does with a record, as pure functions of its memory.

They know nothing of barriers, channels or other instances: a record comes in, records go out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..keyed_state import KeyedState

Record = Any
Memory = Any
Output = tuple[Memory, Iterable[Record]]
END = ("end of stream",)  # the last record of an input
EMPTY = KeyedState()


class Origin(NamedTuple):
    """Where a record comes from: the task, the side of a join, and all tasks there are."""

    task: str
    side: int
    tasks: Sequence[str]


class Operator(Protocol):
    """What is done with a record: a function of the memory."""

    @property
    def initial(self) -> Memory:
        """The memory to start from."""

    def work(self, memory: Memory, record: Record, origin: Origin) -> Output:
        """Give the new memory and what is put out; END is worked on as well."""


@dataclass(frozen=True)
class Source:
    """Emits the records of its partition; its memory is the offset, from where it replays."""

    partitions: tuple[tuple[Record, ...], ...]
    initial: int = 0

    def work(self, memory: int, record: Record, origin: Origin) -> Output:
        """Emit the record at the offset."""
        return memory + 1, () if record == END else [record]


@dataclass(frozen=True)
class Map:
    """Puts out one record for each."""

    function: Callable[[Record], Record]
    initial: None = None

    def work(self, memory: None, record: Record, origin: Origin) -> Output:
        """Apply the function."""
        return None, () if record == END else [self.function(record)]


@dataclass(frozen=True)
class Filter(Map):
    """Puts out the records for which the function holds."""

    def work(self, memory: None, record: Record, origin: Origin) -> Output:
        """Let it pass or not."""
        return None, [record] if record != END and self.function(record) else ()


@dataclass(frozen=True)
class Sum:
    """Keeps the sum of the values of each key, and puts out the new one; a count sums ones."""

    value: Callable[[Record], Any]
    initial: KeyedState = EMPTY

    def work(self, memory: KeyedState, record: Record, origin: Origin) -> Output:
        """Add a value."""
        if record == END:
            return memory, ()
        key, held = record
        total = memory.get(key, 0) + self.value(held)
        return memory.put(key, total), [(key, total)]


@dataclass(frozen=True)
class Window:
    """Collects the values of each key by their time, and puts a window out when it is over.

    It is over when every input has come to a later time, or to its end; so the times of one input
    must not go back. Its values are put out sorted.
    """

    size: int
    time: Callable[[Any], int]
    initial: KeyedState = EMPTY  # of windows by key and start, and of times by task

    def work(self, memory: KeyedState, record: Record, origin: Origin) -> Output:
        """Put a value into its window, and put out those that are over."""
        if record == END:
            memory = memory.put(origin.task, END)
        else:
            key, value = record
            now, last = self.time(value), memory.get(origin.task)
            if last is not None and now < last:
                late = f"{value!r} comes from {origin.task} after the time {last}"
                raise ValueError(f"{late}: its window may be over; sort each partition by time")
            at = (key, now - now % self.size)
            memory = memory.put(at, (*memory.get(at, ()), value)).put(origin.task, now)
        times = [memory.get(task) for task in origin.tasks]
        running = [time for time in times if time != END]
        over = [
            at
            for at in memory
            if isinstance(at, tuple)
            and None not in running
            and all(at[1] + self.size <= time for time in running)
        ]
        outputs = [(key, (start, tuple(sorted(memory[key, start])))) for key, start in sorted(over)]
        for at in over:
            memory = memory.without(at)
        return memory, outputs


@dataclass(frozen=True)
class Join:
    """Puts out each pair of a record from the left and one from the right with the same key."""

    initial: KeyedState = EMPTY

    def work(self, memory: KeyedState, record: Record, origin: Origin) -> Output:
        """Pair a record with all that have come on the other side."""
        if record == END:
            return memory, ()
        key, value = record
        sides = list(memory.get(key, ((), ())))
        others = sides[1 - origin.side]
        sides[origin.side] = (*sides[origin.side], value)
        pairs = [(value, other) if origin.side == 0 else (other, value) for other in others]
        return memory.put(key, tuple(sides)), [(key, pair) for pair in pairs]


@dataclass(frozen=True)
class Sink:
    """Hands records to the world outside: at once, under a key, or in transactions.

    Its memory is how many records it has handed over, and which wait for their transaction.
    """

    kind: str
    key: Callable[[Record], Any]
    initial: tuple[int, tuple[Record, ...]] = (0, ())

    def work(self, memory: Memory, record: Record, origin: Origin) -> Output:
        """Take a record."""
        handed_over, waiting = memory
        if record == END:
            return memory, ()
        if self.kind == "transactional":
            return (handed_over, (*waiting, record)), ()
        return (handed_over + 1, ()), ()
