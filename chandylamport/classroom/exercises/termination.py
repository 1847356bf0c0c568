"""Exercises on termination: whether a snapshot will be complete, when it is, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations

from ...chandy_lamport import ChandyLamport
from ...events import Channel
from ...runs import Run, simulate
from ...systems import Fifo, System
from ..checking import Exercise

QUIET = "cl.System(cl.letters(p=[], q=[], r=[]), cl.Fifo({}))"
LINE, RING = QUIET.format('cl.line("pqr")'), QUIET.format('cl.ring("pqr")')
BOTH_WAYS = QUIET.format('cl.both_ways(cl.line("pqr"))')
MEET = QUIET.format('[("p", "q"), ("r", "q")]')
APART = QUIET.format('cl.complete("pq")')
Distances = dict[str, int]
Names = tuple[str, ...]
Channels = tuple[Channel, ...]


def distances(channels: Iterable[Channel], starts: Iterable[str]) -> Distances:
    """How many channels a marker passes on its way to each process that it can reach."""
    found, level, far = dict.fromkeys(starts, 0), set(starts), 0
    while level:
        far += 1
        level = {c.dst for c in channels if c.src in level and c.dst not in found}
        found |= dict.fromkeys(sorted(level), far)
    return found


def last(system: System, found: Distances) -> int:
    """When the last marker arrives, if every process records at its distance."""
    return max((found.get(c.src, 0) + 1 for c in system.network.channels), default=0)


def backwards(channels: Iterable[Channel]) -> list[Channel]:
    """The same channels in the other direction."""
    return [Channel(c.dst, c.src) for c in channels]


def groups(system: System) -> Iterator[tuple[Names]]:
    """Everybody who might begin, alone and together."""
    names = list(system.processes)
    for size in range(1, len(names) + 1):
        for group in combinations(names, size):
            yield (group,)


def begun(system: System, initiators: Iterable[str]) -> Run:
    """A run in which they begin, and every marker takes one unit of time."""
    channels = system.network.channels
    timed = replace(system, network=Fifo(channels, dict.fromkeys(channels, 1)))
    return simulate(timed, ChandyLamport, initiators=initiators)


def reach(
    decide: Callable[[System, Names, Distances], object],
    way: Callable[[Iterable[Channel]], Iterable[Channel]] = list,
) -> Callable[..., object]:
    """An answer that asks who is reached, along the channels or in some other way."""
    return lambda system, initiators: decide(
        system, initiators, distances(way(system.network.channels), initiators)
    )


def all_reached(system: System, initiators: Names, found: Distances) -> bool:
    """Whether everybody is."""
    return found.keys() == system.processes.keys()


WILL_COMPLETE = Exercise(
    name="will_complete",
    subject="system",
    questions=groups,
    answer=lambda system, initiators: begun(system, initiators).snapshot is not None,
    because=lambda system, initiators: (
        begun(system, initiators).fault or "markers lead from the initiators to everybody else"
    ),
    picture=lambda system, initiators: begun(system, initiators).draw(),
    examples=(LINE, MEET, APART),
    not_to_be_called=("simulate", "explore", "find_failure"),
    mistakes={
        "always: who is never reached never records": lambda system, initiators: True,
        "both directions: a marker cannot go against the direction of a channel": (
            reach(all_reached, lambda channels: [*channels, *backwards(channels)])
        ),
        "backwards: markers lead from the initiators to the others, not the reverse": (
            reach(all_reached, backwards)
        ),
        "one step only: who records sends markers on, so they go further": (
            reach(
                lambda system, _, found: (
                    sum(far < 2 for far in found.values()) == len(system.processes)
                )
            )
        ),
        "from each initiator: it is enough that one of them reaches a process": (
            lambda system, initiators: all(
                distances(system.network.channels, [one]).keys() == system.processes.keys()
                for one in initiators
            )
        ),
        "the first initiator only: several may begin, and each reaches some": (
            lambda system, initiators: (
                distances(system.network.channels, initiators[:1]).keys() == system.processes.keys()
            )
        ),
        "back at the initiators: they may have all their markers while others have none": (
            reach(
                lambda system, initiators, found: all(
                    c.src in found for c in system.network.channels if c.dst in initiators
                )
            )
        ),
        "somebody reached: one process that never records keeps the snapshot from being complete": (
            reach(lambda system, initiators, found: len(found) > 1)
        ),
    },
    hints=(
        "whoever records sends a marker on each outgoing channel, and a marker makes its receiver "
        "record. Who records in the end?",
        "begin with the set of the initiators, and add the receiver of every channel whose sender "
        "is in the set, until nothing is added any more.",
        "a process that never records has no part to hand in, and then there is no snapshot.",
    ),
)


def moments(system: System) -> Iterator[tuple[Names, Channels, Run]]:
    """Who has recorded and which markers have arrived, after each step, whoever begins."""
    for first in system.processes:
        whole = begun(system, [first])
        for number, moment in enumerate(whole.moments()):
            recorded = tuple(sorted(process for _, process in moment.recorded))
            so_far = simulate(system, ChandyLamport, schedule=whole.schedule[:number])
            yield recorded, tuple(sorted(channel for _, channel in moment.closed)), so_far


def asked_about(system: System) -> Iterator[tuple[Names, Channels]]:
    """The moments, each once."""
    return iter(dict.fromkeys((recorded, arrived) for recorded, arrived, _ in moments(system)))


def at_moment(system: System, recorded: Names, arrived: Channels) -> Run:
    """The run up to this moment."""
    return next(run for *seen, run in moments(system) if seen == [recorded, arrived])


def inputs_of(system: System, process: str, arrived: Channels) -> list[bool]:
    """For each incoming channel of a process, whether its marker has arrived."""
    return [channel in arrived for channel in system.network.inputs(process)]


IS_COMPLETE = replace(
    WILL_COMPLETE,
    name="is_complete",
    examples=(LINE, RING, BOTH_WAYS),
    questions=asked_about,
    answer=lambda *moment: at_moment(*moment).snapshot is not None,
    because=lambda *moment: at_moment(*moment).fault or "every part is there",
    picture=lambda *moment: at_moment(*moment).draw(),
    mistakes={
        "recorded, so done: the channels are known only when their markers have arrived": (
            lambda system, recorded, arrived: {*recorded} == {*system.processes}
        ),
        "one process done: the snapshot is complete when every process is": (
            lambda system, recorded, arrived: any(
                all(inputs_of(system, p, arrived)) for p in recorded
            )
        ),
        "only those who have recorded: who has not recorded yet has no part to hand in": (
            lambda system, recorded, arrived: all(
                all(inputs_of(system, p, arrived)) for p in recorded
            )
        ),
        "one marker each: a process waits for a marker on every incoming channel": (
            lambda system, recorded, arrived: (
                {*recorded} == {*system.processes}
                and all(any(inputs_of(system, p, arrived)) for p in system.processes)
            )
        ),
        "a marker from everybody: a process waits for its incoming channels, not for all others": (
            lambda system, recorded, arrived: all(
                sum(inputs_of(system, p, arrived)) == len(system.processes) - 1
                for p in system.processes
            )
        ),
        "markers only: a process without channels must record as well": (
            lambda system, recorded, arrived: {*arrived} == {*system.network.channels}
        ),
    },
    hints=(
        "two things make the part of one process: its state, and the state of each of its incoming "
        "channels. When does it have them?",
        "for each process: is it in recorded, and are all its incoming channels in arrived?",
    ),
)


COST = replace(
    WILL_COMPLETE,
    name="cost",
    examples=(RING, BOTH_WAYS, QUIET.format('cl.complete("pqr")')),
    questions=lambda system: (
        group for group in groups(system) if begun(system, *group).snapshot is not None
    ),
    answer=lambda *question: [begun(*question).markers, begun(*question).time],
    because=lambda system, initiators: (
        "one marker goes through each channel, and the last leaves when the last process with an "
        "outgoing channel records"
    ),
    mistakes={
        "a marker for each process: markers go through channels, one through each": (
            reach(lambda system, _, found: [len(system.processes) - 1, last(system, found)])
        ),
        "markers for each initiator: whoever has recorded takes no notice of further initiators": (
            reach(
                lambda system, initiators, found: [
                    len(system.network.channels) * len(initiators),
                    last(system, found),
                ]
            )
        ),
        "the last marker forgotten: who records last still has to send its own": (
            reach(lambda system, _, found: [len(system.network.channels), max(found.values())])
        ),
        "always one more: who records last may have no outgoing channel": (
            reach(lambda system, _, found: [len(system.network.channels), max(found.values()) + 1])
        ),
        "there and back: the way back is not longer than one channel": (
            reach(lambda system, _, found: [len(system.network.channels), 2 * max(found.values())])
        ),
        "the first initiator only: whoever begins is at distance 0": (
            lambda system, initiators: [
                len(system.network.channels),
                last(system, distances(system.network.channels, initiators[:1])),
            ]
        ),
    },
    hints=(
        "each process sends one marker on each of its outgoing channels, once. How many is that?",
        "a process at distance d from the nearest initiator records at time d.",
        "the marker on a channel leaves when its sender records, and arrives one unit later. "
        "Which one is the last?",
    ),
)
