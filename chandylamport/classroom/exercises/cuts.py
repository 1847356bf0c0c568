"""Exercises on cuts: which are consistent, and what their channels hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations, product
from math import inf

from ...causality import concurrent
from ...cuts import Cut, cut_of, frontier, in_transit, is_consistent, orphans
from ...drawing import draw
from ...events import Channel, Computation, Message
from ...lattice import consistent_cuts
from ..checking import Exercise
from .causality import CHAIN, CROSS, STREAM, UNDER_WAY


def all_cuts(c: Computation) -> Iterator[Cut]:
    """Every cut, consistent or not."""
    for counts in product(*(range(len(history) + 1) for history in c.histories)):
        yield cut_of(c, counts)


def no_orphan(c: Computation, cut: Cut, among: Callable[[Message], bool]) -> bool:
    """Whether no message of some kind is an orphan."""
    return not any(among(c.messages[m]) for m in orphans(c, cut))


def neighbours_only(c: Computation, cut: Cut) -> bool:
    """Whether no message between processes on adjacent lines is an orphan."""
    return no_orphan(c, cut, lambda m: abs(c.index[m.src] - c.index[m.dst]) == 1)


def why_consistent(c: Computation, cut: Cut) -> str:
    """Why a cut is consistent, or why not."""
    for name in orphans(c, cut):
        return f"{name} is received inside the cut and sent outside"
    for names in in_transit(c, cut).values():
        return f"all that is received inside is sent inside; {names[0]} is in transit, and may be"
    return "all that is received inside is sent inside"


IS_CONSISTENT = Exercise(
    name="is_consistent",
    answer=is_consistent,
    questions=lambda c: ((cut,) for cut in all_cuts(c)),
    because=why_consistent,
    picture=draw,
    examples=(CHAIN, CROSS, STREAM, UNDER_WAY),
    not_to_be_called=(
        "is_consistent",
        "orphans",
        "consistent_cuts",
        "least_consistent_above",
        "greatest_consistent_below",
    ),
    mistakes={
        "always True: some cuts hold an effect without its cause": lambda c, cut: True,
        "a message in transit refused: what is sent inside may be received outside": (
            lambda c, cut: not orphans(c, cut) and not in_transit(c, cut)
        ),
        "the wrong way round: messages in transit are allowed, orphans are not": (
            lambda c, cut: not in_transit(c, cut)
        ),
        "an empty prefix refused: a cut may hold no event of a process": (
            lambda c, cut: not orphans(c, cut) and all(cut[p] for p in c.processes)
        ),
        "neighbours only: any two processes may exchange messages": neighbours_only,
        "the frontier's own messages only: an orphan may have arrived earlier": (
            lambda c, cut: no_orphan(c, cut, lambda m: m.received == cut[m.dst])
        ),
        "the first message only: return True belongs after the loop, when all are seen": (
            lambda c, cut: no_orphan(c, cut, lambda m: m == next(iter(c.messages.values())))
        ),
        "a concurrent frontier: a cut may end at a cause in p and at its effect in q": (
            lambda c, cut: all(
                concurrent(c, *two) for two in combinations(frontier(c, cut).values(), 2)
            )
        ),
        "a message under way at the end refused: m.received is None means not received": (
            lambda c, cut: all(
                m.sent <= cut[m.src] or (m.received or 0) > cut[m.dst] for m in c.messages.values()
            )
        ),
        "off by one: the event at position k is inside if k is at most the number in the cut": (
            lambda c, cut: (
                not any(
                    m.sent >= cut[m.src] and m.received is not None and m.received <= cut[m.dst]
                    for m in c.messages.values()
                )
            )
        ),
    },
    hints=(
        "it is enough to look at the messages, one by one.",
        "a message has m.src, m.sent, m.dst, m.received; m.received is None while it is under way.",
        "look for a message with its receive inside the cut and its send outside.",
    ),
)


def sent(c: Computation, cut: Cut, src: str, dst: str) -> list[Message]:
    """The messages sent on one channel inside the cut, in the order of sending."""
    inside = {name: None for e in c.history(src)[: cut[src]] for name in e.sends}
    return [c.messages[name] for name in inside if c.messages[name].dst == dst]


def left(c: Computation, cut: Cut, src: str, dst: str) -> list[Message]:
    """The messages in transit on one channel, in the order of sending."""
    return [c.messages[name] for name in in_transit(c, cut).get(Channel(src, dst), ())]


def arrival(m: Message) -> float:
    """The position of the receive, beyond all others if it never happens."""
    return m.received or inf


def channel_state(c: Computation, cut: Cut, src: str, dst: str) -> list[object]:
    """The payloads in transit on one channel, in the order of sending."""
    return [m.payload for m in left(c, cut, src, dst)]


def why_in_channel(c: Computation, cut: Cut, src: str, dst: str) -> str:
    """Which messages are in the channel."""
    words = [f"{m.name} with payload {m.payload!r}" for m in left(c, cut, src, dst)]
    if not words:
        return f"all that {src} sent to {dst} inside the cut is received inside"
    return f"sent inside the cut and not received inside: {', then '.join(words)}"


CHANNEL_STATE = Exercise(
    name="channel_state",
    answer=channel_state,
    questions=lambda c: (
        (cut, *ends) for cut in consistent_cuts(c) for ends in permutations(c.processes, 2)
    ),
    because=why_in_channel,
    picture=lambda c, cut, src, dst: draw(c, cut),
    examples=(CROSS, STREAM, UNDER_WAY),
    not_to_be_called=("in_transit",),
    mistakes={
        "orphans: in transit is sent inside and received outside, not the reverse": (
            lambda c, cut, *_: [c.messages[m].payload for m in orphans(c, cut)]
        ),
        "everything sent: what is received inside has left the channel": (
            lambda c, *channel: [m.payload for m in sent(c, *channel)]
        ),
        "a set: two transfers of 50 are two messages, so keep a sequence": (
            lambda c, *channel: list(dict.fromkeys(channel_state(c, *channel)))
        ),
        "last sent first: a channel holds its messages in the order of sending": (
            lambda c, *channel: channel_state(c, *channel)[::-1]
        ),
        "sorted: a channel holds its messages in the order of sending, not of size": (
            lambda c, *channel: sorted(channel_state(c, *channel), key=str)
        ),
        "the order of arrival: a channel holds its messages in the order of sending": (
            lambda c, *channel: [m.payload for m in sorted(left(c, *channel), key=arrival)]
        ),
        "names instead of payloads: the channel holds what was sent, m.payload": (
            lambda c, *channel: [m.name for m in left(c, *channel)]
        ),
        "messages under way at the end forgotten: m.received is None means still in the channel": (
            lambda c, cut, *ends: [
                m.payload for m in sent(c, cut, *ends) if (m.received or 0) > cut[m.dst]
            ]
        ),
        "the channel back: what goes from dst to src is on another channel": (
            lambda c, cut, src, dst: channel_state(c, cut, dst, src)
        ),
        "off by one: a send at position k is inside if k is at most the number in the cut": (
            lambda c, cut, *ends: [m.payload for m in left(c, cut, *ends) if m.sent != cut[m.src]]
        ),
        "off by one: a receive at position k is outside only if k exceeds the number in the cut": (
            lambda c, cut, *ends: [
                m.payload for m in sent(c, cut, *ends) if arrival(m) >= cut[m.dst]
            ]
        ),
        "all channels together: only what goes from src to dst is on this channel": (
            lambda c, cut, *_: [
                c.messages[m].payload for ms in in_transit(c, cut).values() for m in ms
            ]
        ),
    },
    hints=(
        "begin with all messages from src to dst, and cross out.",
        "one stays if its send is inside the cut and its receive is not, or never happens.",
        "walk through c.history(src) to keep the order, and give the payloads, not the names.",
    ),
)
