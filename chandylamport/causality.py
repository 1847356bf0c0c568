"""Happens-before, concurrency, and the clocks that decide them.

This chapter knows who sent what to whom, and nothing of states, cuts or algorithms.

Lamport, "Time, clocks, and the ordering of events in a distributed system", 1978,
doi:10.1145/359545.359563. Vector clocks: Fidge 1988; Mattern 1989.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

from .events import Computation, Event


class VectorClocks(Mapping[Event, dict[str, int]]):
    """For each event, how many events of each process are in its causal past, itself included.

    >>> from chandylamport import computation
    >>> c = computation('''
    ...     p:  a   m!      n?
    ...     q:      m?  b   n!
    ... ''')
    >>> vector_clocks(c)[c["b"]]
    {'p': 2, 'q': 2}
    """

    def __init__(self, computation: Computation) -> None:
        """Pass once over the events: the predecessor's clock, one more, and the maximum."""
        self._computation = computation
        index, messages = computation.index, computation.messages
        width = len(computation.processes)
        # One flat row of numbers for each process: position k is at k * width, and row 0 is zero.
        self._rows = [array("I", [0] * width) for _ in computation.processes]
        for event in computation:
            me = index[event.process]
            clock = self._rows[me][-width:]
            clock[me] += 1
            for name in event.receives:
                carried = self.row(index[messages[name].src], messages[name].sent)
                clock = array("I", map(max, clock, carried))
            self._rows[me].extend(clock)

    def row(self, process: int, position: int) -> array[int]:
        """Give the clock of an event by number, or of the start of a process at position 0."""
        width = len(self._rows)
        return self._rows[process][position * width : (position + 1) * width]

    def known(self, event: Event, process: str) -> int:
        """How many events of a process are in the causal past of this event."""
        index = self._computation.index
        return self._rows[index[event.process]][event.position * len(self._rows) + index[process]]

    def __getitem__(self, event: Event) -> dict[str, int]:
        """Give the clock of one event, by process."""
        _must_belong(self._computation, event)
        row = self.row(self._computation.index[event.process], event.position)
        return dict(zip(self._computation.processes, row, strict=True))

    def __iter__(self) -> Iterator[Event]:
        return iter(self._computation)

    def __len__(self) -> int:
        return len(self._computation)


def vector_clocks(computation: Computation) -> Mapping[Event, dict[str, int]]:
    """Give the vector clock of every event: for different events, e → f if f's clock counts e.

    The clocks are made once for a computation, in one pass; each look-up is then immediate.
    """
    return computation.clocks


def lamport_clocks(computation: Computation) -> dict[Event, int]:
    """Number the events so that e → f implies a smaller number for e; the converse is false.

    >>> from chandylamport import computation
    >>> c = computation('''
    ...     p:  a
    ...     q:  b  d
    ... ''')
    >>> clock = lamport_clocks(c)
    >>> clock[c["a"]] < clock[c["d"]], happens_before(c, c["a"], c["d"])
    (True, False)
    """
    clock: dict[Event, int] = {}
    latest = dict.fromkeys(computation.processes, 0)
    carried: dict[str, int] = {}
    for event in computation:
        time = 1 + max([latest[event.process]] + [carried[name] for name in event.receives])
        clock[event] = latest[event.process] = time
        carried.update(dict.fromkeys(event.sends, time))
    return clock


def happens_before(computation: Computation, e: Event, f: Event) -> bool:
    """Decide e → f: local order, a send before its receive, and every chain of such steps.

    >>> from chandylamport import computation
    >>> c = computation('''
    ...     p:  a   m!
    ...     q:      m?  b
    ... ''')
    >>> happens_before(c, c["a"], c["b"]), happens_before(c, c["b"], c["a"])
    (True, False)
    """
    _must_belong(computation, e)
    _must_belong(computation, f)
    if e.process == f.process:
        return e.position < f.position
    return computation.clocks.known(f, e.process) >= e.position


def concurrent(computation: Computation, e: Event, f: Event) -> bool:
    """Decide whether neither of two different events happens before the other.

    >>> from chandylamport import computation
    >>> c = computation('''
    ...     p:  a  m!
    ...     q:  b  m?
    ... ''')
    >>> concurrent(c, c["a"], c["b"]), concurrent(c, c["a"], c["m?"]), concurrent(c, c["a"], c["a"])
    (True, False, False)
    """
    return (
        e != f and not happens_before(computation, e, f) and not happens_before(computation, f, e)
    )


def _must_belong(computation: Computation, event: Event) -> None:
    if not isinstance(event, Event):
        raise TypeError(
            f"{event!r} is not an event; write c[{event!r}] to get it from its computation"
        )
    if computation[event.process, event.position] != event:
        raise KeyError(f"{event} is not an event of this computation")
