"""Exercises on barriers: an operator with several inputs, what it replays, and cycles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from dataclasses import replace
from itertools import product
from typing import Any

from ... import broken
from ...chandy_lamport import MARKER, ChandyLamport
from ...dataflow import Aligned, AtLeastOnce
from ...events import Channel
from ...exploration import explore
from ...recorder import Id, LocalSnapshot, Payload, Port, Snapshot, Wire
from ...runs import Schedule, simulate
from ...simulator import NO_ID
from ...systems import System, restore
from ..checking import Exercise, Outcome
from ..judging import ENDLESS, LIMIT, in_every_schedule, looked_at, pasted
from .detection import drawn
from .markers import PassesNothingOn

LETTERS = "cl.System(cl.letters({}), cl.Fifo([{}]))"
TWO = '("a", "op"), ("b", "op")'
PIPE = LETTERS.format(
    'a=[("op", "a1"), ("op", "a2")], op=[("out", "x")], out=[]', '("a", "op"), ("op", "out")'
)
R11 = LETTERS.format('a=[("op", "a1"), ("op", "a2")], b=[("op", "b1"), ("op", "b2")], op=[]', TWO)
OUT = LETTERS.format(
    'a=[("op", "a1")], b=[("op", "b1")], op=[("out", "x")], out=[]', f'{TWO}, ("op", "out")'
)


def sources(system: System) -> list[str]:
    """Who begins: the processes without inputs."""
    return [process for process in system.processes if not system.network.inputs(process)]


def with_holds_noted(answer: Any, held: set[Channel]) -> Any:
    """Give a class for which port.hold does nothing but note the channel."""

    def on_receive(self: Any, port: Any, *rest: Any) -> object:
        port.hold = held.add
        return answer.on_receive(self, port, *rest)

    return type(answer.__name__, (answer,), {"on_receive": on_receive})


def with_barriers(
    to_log: Callable[[System], Collection[Channel]], *, waits: bool = True
) -> Callable[[Any, System], Outcome]:
    """Give the judge who lets the sources begin in every schedule.

    Records may be logged on some inputs only; and if nothing is to wait, no input may be held.
    """
    search = in_every_schedule(begin=lambda system: [sources(system)])

    def judge(answer: Any, system: System) -> Outcome:
        outcome = search(answer, system)
        if outcome.fault:
            kept = r"on_receive returned None for the record \1: return it"
            words = re.sub(r"the algorithm keeps (.+) from \w+", kept, outcome.fault)
            return replace(outcome, fault=words)
        # One source begins after the other, so that there is something to log or to hold.
        begin: dict[Id, dict[str, int]]
        begin = {NO_ID[0]: {source: 4 * n for n, source in enumerate(sources(system))}}
        fault, stuck, logged, held = "", None, set[Channel](), set[Channel]()
        algorithm = looked_at(answer if waits else with_holds_noted(answer, held))
        try:
            for seed in range(20):
                run = simulate(system, algorithm, snapshots=begin, seed=seed, limit=LIMIT)
                logged |= set(run.snapshot.channels if run.snapshot else ())
                stuck = stuck or (run if run.final.channels else None)
        except RuntimeError:  # no step can fail, so it is their number
            fault = f"{ENDLESS}: what it sends makes others send"
        if fault:
            stuck = None
        elif stuck:
            ((waiting, *_), *_) = stuck.final.channels.values()
            fault = f"lets {waiting} wait for ever, although the checkpoint is complete"
        elif wrongly := sorted(logged - {*to_log(system)}):
            fault = f"logs records of {wrongly[0]}, and an input that is held has none to log"
        elif held:
            fault = "calls port.hold, and here nothing is to wait"
        if not fault:
            return Outcome()
        steps = stuck.schedule if stuck else Schedule()
        code = pasted(answer.__name__, steps)
        return Outcome(f"On this system your class {fault}.", steps, code=code, run=stuck)

    return judge


def results(system: System) -> Counter[tuple[str, Any]]:
    """What has come in the end to each process of letters, or to the sink of a flow."""
    found = Counter[tuple[str, Any]]()
    for name, state in simulate(system).final.states.items():
        came = state[1] if len(state) == 2 else state[0][1] if name == "sink" else ()
        found.update((name, record) for record in came)
    return found


def told_after_a_restart(outcome: Outcome, system: System) -> Outcome:
    """Add what comes of a wrong checkpoint: which records are counted twice, or never."""
    if outcome.run is None or outcome.run.snapshot is None:
        return outcome
    try:
        got = results(restore(system, outcome.run.snapshot))
    except Exception:  # from such a checkpoint nobody can start at all
        return outcome
    due = results(system)
    for name, m in sorted(due.keys() | got.keys(), key=str):
        if (times := got[name, m]) != due[name, m]:
            often = f"gets {m} {'twice' if times == 2 else f'{times} times'}"
            words = f"{name} {often if times else f'never gets {m}'}"
            fault = f"{outcome.fault} After a restart from this checkpoint, {words}."
            return replace(outcome, fault=fault)
    return outcome


# --- 09a: wrong ways to align ---------------------------------------------------------------------


class HoldsAll(Aligned):
    """Holds every input at the first barrier."""

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        for each in port.inputs:
            port.hold(each)
        super().marker_receiving_rule(port, channel)


class HoldsTheOthers(AtLeastOnce):
    """Holds the inputs whose barrier has not come."""

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        for other in port.inputs:
            if other != channel:
                port.hold(other)
        super().marker_receiving_rule(port, channel)


class NeverReleases(Aligned):
    """Holds the inputs whose barrier has come, for ever."""

    def release_all(self, port: Any) -> None:
        pass


class ReleasesTheLast(Aligned):
    """Releases only the input on which the last barrier came."""

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        self.last = channel
        super().marker_receiving_rule(port, channel)

    def release_all(self, port: Any) -> None:
        port.release(self.last)


class RecordsLater(Aligned):
    """Lets in what was held, and records when the next thing arrives behind it."""

    due = late = False

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        port.hold(channel)
        self.came.add(channel)
        if self.came == {*port.inputs}:
            self.release_all(port)
            self.due = not self.recorded

    def on_receive(self, port: Any, channel: Channel, wire: Wire) -> Payload | None:
        if self.due and self.late:
            self.due = False
            self.marker_sending_rule(port)
            self.open = set()
        self.late = self.due
        return super().on_receive(port, channel, wire)


class Keeps(Aligned):
    """Takes what comes behind a barrier out of the channel, and keeps it."""

    def on_receive(self, port: Any, channel: Channel, wire: Wire) -> Payload | None:
        if wire is not MARKER and channel in self.came and not self.recorded:
            return None
        if wire is MARKER:
            AtLeastOnce.marker_receiving_rule(self, port, channel)
            return None
        return super().on_receive(port, channel, wire)


class PassesOnAtOnce(Aligned):
    """Sends the barriers on when the first one comes, and records at the last."""

    sent = False

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        if not self.sent:
            self.sent = True
            for output in port.outputs:
                port.send(output, MARKER)
        super().marker_receiving_rule(port, channel)

    def marker_sending_rule(self, port: Port) -> None:
        if self.sent:
            self.record(port)
        else:
            super().marker_sending_rule(port)


class TellsNobody(Aligned):
    """Records, and sends no barriers on unless it is a source."""

    def marker_sending_rule(self, port: Port) -> None:
        if port.inputs:
            self.record(port)
        else:
            super().marker_sending_rule(port)


class WaitsForTwo(Aligned):
    """Records at the second barrier, however many inputs there are."""

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        super().marker_receiving_rule(port, channel)
        if not self.recorded and len(self.came) == 2:
            self.marker_sending_rule(port)
            self.open = set()
            self.release_all(port)


ALIGNED = Exercise(
    name="Aligned",
    subject="system",
    ask=with_barriers(lambda system: ()),
    weigh=told_after_a_restart,
    examples=(R11,),
    not_to_be_called=("ChandyLamport", "Aligned", "AtLeastOnce"),
    mistakes={
        "nothing held: what comes behind a barrier belongs to the next checkpoint, so let it "
        "wait": AtLeastOnce,
        "the first barrier: what still comes before the other barriers is in no state then": (
            broken.NoLog
        ),
        "a log: whoever waits for the last barrier has counted all that came before": ChandyLamport,
        "too much held: an input waits only when its own barrier has come, or none comes": HoldsAll,
        "too much held: it is not the other inputs that wait, they must bring their barriers": (
            HoldsTheOthers
        ),
        "never released: when the state is recorded, every input goes on": NeverReleases,
        "one input released: when the state is recorded, every input goes on": ReleasesTheLast,
        "recorded too late: record at the last barrier, before anything that was held": (
            RecordsLater
        ),
        "kept records: the port holds an input for you, and what arrives is given on": Keeps,
        "barriers not passed on: those behind you wait for them": TellsNobody,
        "barriers passed on at once: what leaves behind a barrier must not be in the state": (
            PassesOnAtOnce
        ),
        "two barriers counted: wait for one on each of port.inputs, however many": WaitsForTwo,
    },
    hints=(
        "an input whose barrier has come is held: port.hold(channel). Which inputs must not be?",
        "LastBarrier records at the right moment already. Hold before, release after.",
        "when the state is recorded, release everything in self.came.",
    ),
)


# --- 09a: wrong ways not to align -----------------------------------------------------------------


class NeverDone(ChandyLamport):
    """Forgets which barriers have come, and waits for them."""

    def marker_receiving_rule(self, port: Port, channel: Channel) -> None:
        self.begin(port)


UNALIGNED = replace(
    ALIGNED,
    name="Unaligned",
    ask=with_barriers(lambda system: system.network.channels, waits=False),
    mistakes={
        "no log: what comes on the other inputs before their barriers must be stored": broken.NoLog,
        "recorded at the last barrier: what came behind the others is counted, and replayed": (
            AtLeastOnce
        ),
        "an input held: nothing waits here, that is what the log is for": Aligned,
        "logged behind the barrier: the first barrier ends the log of its own input": (
            broken.LeavesTheFirstChannelOpen
        ),
        "logged behind the barrier: a log ends with the barrier, it does not begin there": (
            broken.LogsBehindTheMarker
        ),
        "done too early: the logs are whole when every input has brought its barrier": (
            broken.DoneWhenRecorded
        ),
        "never done: note each barrier in self.came; with the last one, result is there": NeverDone,
        "a log from the beginning: what came before the recording is counted already": (
            broken.LogsFromTheBeginning
        ),
        "recorded again: a later barrier only ends the log of its input": (
            broken.RecordsAtEveryMarker
        ),
        "barriers not passed on: those behind you wait for them": PassesNothingOn,
        "a set: two equal records are two": broken.LogsASet,
    },
    hints=(
        "record at the first barrier, with self.begin(port). Which inputs have something to log "
        "from then on?",
        "a record is logged if the state is recorded, and no barrier has come on its input.",
        "result is there when the state is recorded and self.came has every one of self.inputs, "
        "which begin notes.",
        "if you have solved 03b: that class is the answer.",
    ),
)


# --- 09a: what is replayed ------------------------------------------------------------------------

Stream = tuple[Any, ...]


def stream_of(system: Any, source: str) -> Stream:
    """All that a source has to send."""
    return tuple(record for _, record in system.processes[source].letters)


def stored(system: System) -> Iterator[tuple[Snapshot, str]]:
    """Each checkpoint that can be stored, and each source."""
    found = explore(system, ChandyLamport, initiators=sources(system)).snapshots
    return product(sorted(found, key=repr), sources(system))


def parts(system: System, snapshot: Snapshot, source: str) -> tuple[Stream, Stream, Stream]:
    """What op has counted, what is in its log, and what the source had not yet sent."""
    sent, log = snapshot.states[source][0], snapshot.channels[Channel(source, "op")]
    return snapshot.states["op"][1], log, stream_of(system, source)[sent:]


def replaying(rule: Callable[..., Iterable[Any]]) -> Callable[..., object]:
    """An answer from the stream, what is counted, the log and the rest."""
    return lambda system, snapshot, source: list(
        rule(stream_of(system, source), *parts(system, snapshot, source))
    )


def why_replayed(system: System, snapshot: Snapshot, source: str) -> str:
    """What the checkpoint says."""
    _, log, _ = parts(system, snapshot, source)
    sent = f"{source} had sent {snapshot.states[source][0]} of its records"
    return f"when it was recorded, {sent}, and the log has {[*log]}"


REPLAYED = Exercise(
    name="replayed",
    subject="system",
    questions=stored,
    answer=replaying(lambda stream, came, log, rest: log + rest),
    because=why_replayed,
    picture=lambda system, snapshot, *_: drawn(snapshot),
    examples=(R11,),
    not_to_be_called=("simulate", "replay", "restore"),
    mistakes={
        "the log forgotten: what is in the log has been sent, and nobody sends it again": (
            replaying(lambda stream, came, log, rest: rest)
        ),
        "the log behind new records: what was under way was sent first": (
            replaying(lambda stream, came, log, rest: rest + log)
        ),
        "no rewinding: what the source sent after it recorded is lost with the crash": (
            replaying(lambda stream, came, log, rest: log)
        ),
        "from the beginning: what is counted or logged would come a second time": (
            replaying(lambda stream, came, log, rest: log + stream)
        ),
        "records compared: two equal records are two": (
            replaying(lambda stream, came, *_: [r for r in stream if r not in came])
        ),
        "records compared: equal records are not the same one, so count them": (
            replaying(lambda s, came, log, _: [*log, *(r for r in s if r not in came + log)])
        ),
        "from what is counted: the log would come a second time, from the source": (
            replaying(lambda s, came, log, rest: log + tuple(r for r in s if r not in came))
        ),
    },
    hints=(
        "after a restart, the channel holds what is in the log. What does the source put behind?",
        "snapshot.states[source][0] is how many records the source had sent. It goes on there.",
    ),
)


# --- 09c ------------------------------------------------------------------------------------------

LOOP = "cl.deploy(cl.source([('r1', 0)]) >> cl.loop({}) >> cl.sink()).system"
R12 = LOOP.format("lambda r: (r[0], r[1] + 1), lambda r: r[1] < 2")


def back_edges(system: System) -> frozenset[Channel]:
    """The channels that lead back to where a way from a source has been already."""
    found = set[Channel]()
    ways: list[tuple[str, ...]] = [(source,) for source in sources(system)]
    while ways:
        way = ways.pop()
        for channel in system.network.outputs(way[-1]):
            if channel.dst in way:
                found.add(channel)
            else:
                ways.append((*way, channel.dst))
    return frozenset(found)


def in_a_cycle(answer: Any, system: System) -> Outcome:
    """Judge a class that is told the back-edges of its flow."""
    back = back_edges(system)
    if isinstance(answer, type):
        answer.back = back  # type: ignore[attr-defined]
    outcome = with_barriers(back_edges)(answer, system)
    first = f"{getattr(answer, '__name__', '')}.back = {{*map(cl.Channel._make, {sorted(back)})}}"
    return replace(outcome, code=f"{first}\n{outcome.code}")


class Right(Aligned):
    """The right way, told of the back-edges as students are."""

    back: Set[Channel] = frozenset()

    def __init__(self) -> None:
        super().__init__(type(self).back)


class WaitsForAll(Aligned):
    """Waits for the back-edges too."""


class HoldsTheBackEdge(Right):
    """Holds the back-edges with the first barrier, and releases what has brought one."""

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        for edge in self.back:
            if edge in port.inputs:
                port.hold(edge)
        super().marker_receiving_rule(port, channel)


class LogsNothing(Right):
    """Waits until the barrier has come back, and has logged nothing."""

    def result(self) -> LocalSnapshot | None:
        return super().result() and LocalSnapshot(self.state, {})


class DoneWhenRecorded(Right):
    """Records, and is done."""

    def result(self) -> LocalSnapshot | None:
        return LocalSnapshot(self.state, dict(self.logged)) if self.recorded else None


class NeverCloses(Right):
    """Goes on logging when the barrier has come back, and is never done."""

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        log_on = self.open & {channel}
        super().marker_receiving_rule(port, channel)
        self.open |= log_on


class LogsBehind(Right):
    """Is done when the barrier has come back, and goes on logging."""

    def on_receive(self, port: Any, channel: Channel, wire: Wire) -> Payload | None:
        if wire is not MARKER and self.recorded and channel in self.back & self.came:
            self.logged[channel] += (wire,)
        return super().on_receive(port, channel, wire)


class LogsTheInputsToo(Right):
    """Logs every input until the barrier has come back."""

    def on_receive(self, port: Any, channel: Channel, wire: Wire) -> Payload | None:
        if wire is not MARKER and self.open and channel not in self.open:
            self.logged[channel] += (wire,)
        return super().on_receive(port, channel, wire)


class LogsFromTheBeginning(Right):
    """Logs what goes round before the state is recorded, too."""

    def record(self, port: Port) -> None:
        before = self.logged
        super().record(port)
        self.logged |= before

    def on_receive(self, port: Any, channel: Channel, wire: Wire) -> Payload | None:
        if wire is not MARKER and not self.recorded and channel in self.back:
            self.logged[channel] = (*self.logged.get(channel, ()), wire)
        return super().on_receive(port, channel, wire)


class RecordsAgain(Right):
    """Records anew when the barrier has come back."""

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        super().marker_receiving_rule(port, channel)
        self.state = port.record() if self.recorded else None


class HoldsNothing(AtLeastOnce):
    """Lets no input wait."""

    back: Set[Channel] = frozenset()

    def __init__(self) -> None:
        super().__init__(type(self).back)


class AllButOne(Right):
    """Waits for all inputs but one."""

    def marker_receiving_rule(self, port: Any, channel: Channel) -> None:
        few = len(self.came | {channel}) < max(1, len(port.inputs) - 1)
        self.back = frozenset() if few else {*port.inputs} - self.came - {channel}
        super().marker_receiving_rule(port, channel)


CYCLIC = replace(
    ALIGNED,
    name="Cyclic",
    ask=in_a_cycle,
    examples=(R12,),
    mistakes={
        "waits for the back-edge: its barrier comes only after you have sent yours": WaitsForAll,
        "the back-edge held: its barrier has still to come back": HoldsTheBackEdge,
        "no log: store what is going round when you record, until the barrier has come back": (
            LogsNothing
        ),
        "done too early: log what comes round until the barrier is back, and give None till then": (
            DoneWhenRecorded
        ),
        "logged for ever: the log ends when the barrier comes back": NeverCloses,
        "logged for ever: behind the barrier comes what will be sent again": LogsBehind,
        "regular inputs logged: what comes behind their barriers will be sent again": (
            LogsTheInputsToo
        ),
        "the first barrier: wait for all regular inputs, and log only the back-edges": (
            ChandyLamport
        ),
        "a log from the beginning: what came round before the recording is in the state": (
            LogsFromTheBeginning
        ),
        "recorded again: a barrier that comes back only ends the log": RecordsAgain,
        "nothing held: a regular input whose barrier has come waits, as before": HoldsNothing,
        "one back-edge counted: there may be several, so ask self.back": AllButOne,
    },
    hints=(
        "which barriers can come before you have sent yours? Wait for these, and for no others.",
        "regular = set(port.inputs) - self.back. Record when a barrier has come on all of these.",
        "from the recording on, log what comes on a back-edge, until its barrier has come.",
        "result is there when the state is recorded and a barrier has come on every input.",
    ),
)
