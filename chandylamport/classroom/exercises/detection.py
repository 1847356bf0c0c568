"""Exercises on what a snapshot tells: finding a deadlock, and reading the answer of a detector."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...applications import letters
from ...detection import deadlocked
from ...drawing import Picture, draw_moments
from ...events import Channel
from ...recorder import Snapshot
from ...runs import simulate
from ...systems import Fifo, System
from ...topologies import complete
from ..checking import Exercise, made

# A call that is answered, and whose answer is under way when q makes a call of its own.
PHANTOM = """cl.simulate(cl.servers(), cl.ChandyLamport, schedule='''
    p sends call to q; p records; q receives call; q sends reply to p; p receives reply
    q sends call.2 to p; q receives marker from p; p receives call.2; p receives marker from q
''').snapshot"""
CROSSED = "cl.replay(cl.servers(), 'p sends call to q; q sends call.2 to p')[-1]"
CALLED = "cl.replay(cl.servers(), 'p sends call to q; q receives call')[-1]"


def drawn(snapshot: Snapshot) -> Picture:
    """A global state: its processes, and what is under way."""
    nobody = letters(**dict.fromkeys(snapshot.states, ()))
    system = System(nobody, Fifo(complete([*snapshot.states])), snapshot)
    picture = draw_moments(simulate(system, schedule=()))[0]
    # The last two shapes and the first line are words about a run, and there is none.
    alt = picture.alt.partition("\n")[2]
    return replace(picture, height=picture.height - 44, shapes=picture.shapes[:-2], alt=alt)


def circle(states: Any, channels: Any) -> list[str]:
    """The servers in a circle, if states and channels are such."""
    return sorted(deadlocked(Snapshot(states, channels)))


def waiting(s: Snapshot) -> dict[str, str]:
    """Who waits for whom, with no reply under way."""
    called = {p: other for p, (other, _, _) in s.states.items() if other}
    return {p: w for p, w in called.items() if "reply" not in s.channels[Channel(w, p)]}


def for_ever(s: Snapshot) -> list[str]:
    """All that wait for ever: in a circle, or for somebody who does."""
    left = waiting(s)
    for _ in s.states:
        left = {p: w for p, w in left.items() if w in left}
    return sorted(left)


def why_deadlocked(s: Snapshot) -> str:
    """Who waits for whom."""
    replies = [str(c.dst) for c, held in s.channels.items() if "reply" in held]
    words = [f"{p} waits for {w}" for p, (w, _, _) in s.states.items() if w]
    words += [f"a reply to {p} is under way" for p in replies]
    return ", ".join(words) or "nobody waits"


DEADLOCKED = Exercise(
    name="deadlocked",
    subject="snapshot",
    answer=lambda s: circle(s.states, s.channels),
    because=why_deadlocked,
    picture=drawn,
    examples=(CALLED, CROSSED, PHANTOM),
    not_to_be_called=("deadlocked",),
    mistakes={
        "channels forgotten: who has a reply under way does not wait for ever": (
            lambda s: circle(s.states, {})
        ),
        "any message helps: only a reply ends a wait, and a call does not": (
            lambda s: circle(s.states, dict.fromkeys(s.channels, ("reply",)))
        ),
        "the channel there: the reply comes back, from the other to the one who waits": (
            lambda s: circle(s.states, {Channel(*c[::-1]): held for c, held in s.channels.items()})
        ),
        "the way to the circle: who waits for somebody in a circle is not in it": for_ever,
        "all who wait: a wait for somebody who works comes to an end": lambda s: sorted(waiting(s)),
        "everybody or nobody: some may be in a circle while others work": (
            lambda s: sorted(s.states) if len(waiting(s)) == len(s.states) else []
        ),
        "wishes counted: who has still to call somebody does not wait yet": (
            lambda s: circle(
                {p: (w or "".join(calls[:1]), a, calls) for p, (w, a, calls) in s.states.items()},
                s.channels,
            )
        ),
        "pairs only: three may wait in a circle, too": (
            lambda s: [p for p, w in sorted(waiting(s).items()) if waiting(s).get(w) == p]
        ),
    },
    hints=(
        "first make a dict of who waits for whom. Whoever has a reply under way is not in it.",
        "the reply to p comes from the one for whom p waits: snapshot.channels[other, p].",
        "p is in a circle if, from one to the next, you come back to p. After as many steps as "
        "there are servers you are either back, or never will be.",
    ),
)


def meaning(stable: bool, seen: bool) -> list[bool | None]:
    """What is known of the beginning and of the end."""
    if not stable:
        return [None, None]
    return [None, True] if seen else [False, None]


SHOWN = {  # a run for each case, and what it shows
    (True, True): (
        "cl.simulate(cl.work_pool(), cl.ChandyLamport, schedule='q records; p does rest; "
        "p receives marker from q; q receives marker from p')",
        "what is true in S* and stays true is true at the end, which can be reached from S*; in "
        "this run «terminated» is true in S*, and was false when q began to record",
    ),
    (True, False): (
        "cl.simulate(cl.work_pool(), cl.ChandyLamport, schedule='p records; p does rest; "
        "q receives marker from p; p receives marker from q')",
        "had it been true at the beginning, it would be true in S*; in this run «terminated» is "
        "false in S*, and true at the end",
    ),
    (False, True): (
        "cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)",
        "in this run «q→p holds something and p→q nothing» is true in S*, and never was",
    ),
    (False, False): (
        "cl.simulate(cl.single_token(), cl.ChandyLamport, schedule='''q records; p sends token to q"
        "\np receives marker from q; q receives token; q sends token.2 to p; p receives token.2"
        "\nq receives marker from p''')",
        "in this run «p has the token» is false in S*, and true at the beginning and at the end",
    ),
}

MEANING = Exercise(
    name="meaning",
    subject="stable",
    questions=lambda stable: [(True,), (False,)],
    answer=meaning,
    because=lambda *case: SHOWN[case][1],
    picture=lambda *case: made(SHOWN[case][0]).draw(),
    examples=("True",),
    not_to_be_called=(),
    mistakes={
        "false, so false at the end: it may have become true since": (
            lambda stable, seen: [None, True] if seen else [False, False]
        ),
        "true, so true from the beginning: it may have become true on the way": (
            lambda stable, seen: [True, True] if seen else [False, None]
        ),
        "an instant: S* is neither the beginning nor the end": lambda stable, seen: [seen, seen],
        "nothing known: for a stable property each answer tells something": (
            lambda stable, seen: [None, None]
        ),
        "beginning and end exchanged: what is true stays true, so look ahead": (
            lambda stable, seen: [True, None] if seen else [None, False]
        ),
        "stable or not: an unstable property may be true in S* alone": (
            lambda stable, seen: meaning(True, seen)
        ),
    },
    hints=(
        "S* can be reached from the beginning, and the end can be reached from S*.",
        "a stable property that is true somewhere is true in all that can be reached from there. "
        "Go forward from S*, and forward from the beginning.",
        "if it were true at the beginning, what would it be in S*?",
    ),
)
