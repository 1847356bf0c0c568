"""Running a system with a snapshot algorithm: one choice a step, and a note of what is true.

The simulator sees everything. So it also keeps what no process can know: the cut that is recorded,
and what its channels hold. The algorithm sees nothing of this, only its ports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from itertools import count
from typing import Any, NamedTuple

from .chandy_lamport import ChandyLamport
from .events import Channel
from .overlapping import Overlapping, Tagged
from .recorder import Id, Payload, Recorder, Snapshot, State, Wire, assemble
from .systems import Action, System
from .truth import Truth, faults_of

Algorithm = Callable[[], Recorder] | Callable[[], Overlapping]
NO_ID = ("the snapshot",)  # where there is only one


class Packet(NamedTuple):
    """What is in a channel: the wire, and beside it what only the simulator knows."""

    name: str
    wire: Wire
    message: Payload | None  # None for control
    recorded: frozenset[Id]  # the snapshots that its sender had recorded when it was sent
    ready: int  # the time from which it can be delivered


class Entry(NamedTuple):
    """One step as it happened: an event of the computation, or a step of the algorithm alone."""

    process: str
    label: str
    sends: tuple[tuple[str, str], ...] = ()  # name and receiver
    receives: tuple[str, ...] = ()
    controls: tuple[tuple[str, str], ...] = ()  # what the algorithm sends in this step
    is_event: bool = True


class Option(NamedTuple):
    """A step that can be taken now, in words; the method of World that takes it, and for what."""

    text: str
    process: str
    method: str
    arguments: tuple[Any, ...]


class SimulatedPort:
    """What a recorder sees of the world: its own process, for one snapshot."""

    def __init__(self, world: World, name: str, id: Id) -> None:
        """Look at one process."""
        self.name, self._world, self._id = name, world, id

    @property
    def inputs(self) -> Sequence[Channel]:
        """Its incoming channels."""
        return self._world.system.network.inputs(self.name)

    @property
    def outputs(self) -> Sequence[Channel]:
        """Its outgoing channels."""
        return self._world.system.network.outputs(self.name)

    def record(self) -> State:
        """Give the state, and note that the cut is here; it stays where it was noted first."""
        truth, state = self._world.truth[self._id], self._world.states[self.name]
        if self.name not in truth.cut:
            truth.cut[self.name], truth.states[self.name] = self._world.done[self.name], state
        return state

    def send(self, channel: Channel, control: Wire) -> None:
        """Put control into a channel, behind what is already there."""
        if channel not in self.outputs:
            raise ValueError(f"{self.name} cannot send on {channel}: it is not one of its outputs")
        self._world.put_control(self._id, channel, control)

    def report(self, value: object) -> None:
        """Note what is reported, and by whom."""
        self._world.reports += ((self.name, value),)

    def hold(self, channel: Channel) -> None:
        """Deliver nothing from an incoming channel, for this snapshot's sake, until `release`."""
        self._world.held |= {(self._id, channel)}

    def release(self, channel: Channel) -> None:
        """Deliver again."""
        self._world.held -= {(self._id, channel)}


class World:
    """A system in the middle of a run: states, channels, recorders, and the truth about them."""

    def __init__(
        self, system: System, algorithm: Algorithm | None, ids: Iterable[Id] = NO_ID
    ) -> None:
        """Begin at the system's start. Without an algorithm, nobody ever records."""
        self.system, self.ids = system, tuple(ids)
        if len({*map(str, self.ids)}) < len(self.ids):
            raise ValueError(f"two of the ids {', '.join(map(repr, self.ids))} look the same")
        self.states: dict[str, State] = {}
        for process, state in system.start.states.items():
            self._set(process, state)
        self.done = dict.fromkeys(self.states, 0)  # the events of each process so far
        self.taken = dict.fromkeys(self.states, 0)  # and those that it took by itself
        self.channels: dict[Channel, tuple[Packet, ...]]
        self.channels = dict.fromkeys(system.network.channels, ())
        self.recorders = {process: _all_recorders(algorithm) for process in self.states}
        self.truth: dict[Id, Truth] = defaultdict(Truth)
        self.complete: dict[Id, Snapshot] = {}
        self.faults: dict[Id, str] = {}
        self.in_vain: frozenset[tuple[Id, str]] = frozenset()  # who began and did not record
        self.held: frozenset[tuple[Id, Channel]] = frozenset()  # channels that an algorithm holds
        self.clock = self.peak = 0
        self.controls: dict[Id, int] = dict.fromkeys(self.ids, 0)
        self.payloads: dict[str, Payload] = {}
        self.reports: tuple[tuple[str, object], ...] = ()
        self.trace: list[Entry] = []
        self._sent_controls: tuple[tuple[str, str], ...] = ()
        for process in self.states:
            start = system.start.channels.items()
            flying = tuple((c.dst, m) for c, held in start if c.src == process for m in held)
            if flying:  # a restored system: what is in its channels was sent before it starts
                self.trace.append(self._send(process, "restored", flying, ()))

    def copy(self) -> World:
        """Give a world in which another step can be taken; recorders are still shared."""
        other = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | list):
                setattr(other, name, copy(value))
        other.truth = defaultdict(Truth, {id: truth.copy() for id, truth in self.truth.items()})
        return other

    # --- what can happen -------------------------------------------------------------------------

    def options(self, may_begin: Iterable[tuple[Id, str]] = ()) -> list[Option]:
        """List the steps that can be taken now; who has recorded already need not begin."""
        found = [
            Option(f"{process} records{self._of(id)}", process, "begin", (id,))
            for id, process in may_begin
            if process not in self.truth[id].cut and (id, process) not in self.in_vain
        ]
        for process, state in self.states.items():
            texts = set()
            for action in self.system.actions(process, state, self.taken[process]):
                if any(self.is_full(Channel(process, dst)) for dst, _ in action.sends):
                    continue
                option = self.doing(process, action)
                if not action.sends and (option.text in texts or not action.label):
                    raise ValueError(f"an action of {process} needs a name of its own: {action}")
                if option.text in texts:
                    what = action.sends[0][1]
                    option = option._replace(text=f"{option.text}, carrying {what!r}")
                texts.add(option.text)
                found.append(option)
            for id, recorder in self.recorders[process].recorders.items():
                if getattr(recorder, "step", None):
                    found.append(Option(f"{process} steps{self._of(id)}", process, "step", (id,)))
        closed = {channel for _, channel in self.held}
        for channel, packets in self.channels.items():
            if channel in closed or self.system.busy(channel.dst, self.states[channel.dst]):
                continue
            for i in self.system.network.next_from(packets) if packets else ():
                if packets[i].ready <= self.clock and self._accepts(channel, packets[i]):
                    found.append(self.delivery(channel, i))
        return found

    def is_full(self, channel: Channel) -> bool:
        """Whether a channel has no room: it, its receiver's buffer and the logs hold too much."""
        capacity = self.system.network.capacities.get(channel)
        if capacity is None:
            return False
        recorders = self.recorders[channel.dst].recorders.values()
        logs = [getattr(r, "logged", {}).get(channel, ()) for r in recorders if not r.result()]
        under_way = sum(packet.message is not None for packet in self.channels[channel])
        unread = self.system.unread(channel.dst, self.states[channel.dst], channel)
        return under_way + unread + sum(map(len, logs)) >= capacity

    def wait(self) -> bool:
        """Let time pass until the next packet is ready; say whether there is one."""
        later = [k.ready for held in self.channels.values() for k in held if k.ready > self.clock]
        self.clock = min(later, default=self.clock)
        return bool(later)

    def _of(self, id: Id) -> str:
        return "" if self.ids == NO_ID else f" {id}"

    def _names(self, label: str, number: int) -> tuple[str, ...]:
        """Names for messages to be sent: the label if it is free, else numbers."""
        free = (f"m{n}" for n in count(len(self.payloads) + 1))
        if label:
            free = (label if n == 1 else f"{label}.{n}" for n in count(1))
        unused = (name for name in free if name not in self.payloads)
        return tuple(next(unused) for _ in range(number))

    def _accepts(self, channel: Channel, packet: Packet) -> bool:
        state, message = self.states[channel.dst], packet.message
        return message is None or self.system.accepts(channel.dst, state, channel, message)

    def doing(self, process: str, action: Action) -> Option:
        """Give the step in which a process does something, with names for what it sends."""
        names = self._names(action.label, len(action.sends))
        sends = zip(names, action.sends, strict=True)
        words = ", ".join(f"{name} to {dst}" for name, (dst, _) in sends)
        text = f"{process} sends {words}" if words else f"{process} does {action.label}"
        return Option(text, process, "act", (action, names))

    def delivery(self, channel: Channel, i: int) -> Option:
        """Give the step in which a packet of a channel is delivered."""
        what, _, message, *_ = self.channels[channel][i]
        if message is None:  # its number is not told: the channel says which one it is
            what = f"{what.partition('#')[0]} from {channel.src}"
        text = f"{channel.dst} receives {what}"
        return Option(text, channel.dst, "deliver", (channel, i))

    # --- what happens ----------------------------------------------------------------------------

    def take(self, option: Option) -> None:
        """Take a step, and see which snapshots are complete now, and whether they are right."""
        self._sent_controls = ()
        entry: Entry = getattr(self, option.method)(option.process, *option.arguments)
        self.trace.append(entry._replace(controls=self._sent_controls))
        recorders = [r for own in self.recorders.values() for r in own.recorders.values()]
        logs = [log for r in recorders for log in getattr(r, "logged", {}).values()]
        self.peak = max(self.peak, sum(map(len, logs)))
        for id in self.ids:
            if id not in self.complete and len(self.truth[id].cut) == len(self.states):
                snapshot = assemble({p: own.result(id) for p, own in self.recorders.items()})
                if snapshot is not None:
                    self.complete[id] = self.settled(snapshot.states, snapshot.channels)
                    for fault in faults_of(self, id):
                        self.faults.setdefault(id, fault)

    def begin(self, process: str, id: Id) -> Entry:
        """Let a process initiate a snapshot."""
        self.recorders[process].begin(self.ports(process), id)
        if process not in self.truth[id].cut:
            self.in_vain |= {(id, process)}
        return Entry(process, f"records{self._of(id)}", is_event=False)

    def step(self, process: str, id: Id) -> Entry:
        """Let a recorder do what it does by itself."""
        recorder: Any = self.recorders[process].recorders[id]
        recorder.step(self.ports(process)(id))
        return Entry(process, f"steps{self._of(id)}", is_event=False)

    def act(self, process: str, action: Action, names: tuple[str, ...]) -> Entry:
        """Let a process do something: first its state changes, then its messages leave."""
        self._set(process, self.system.processes[process].step(self.states[process], action))
        self.taken[process] += 1
        self.clock += 1
        return self._send(process, "" if action.sends else action.label, action.sends, names)

    def _send(
        self,
        process: str,
        label: str,
        sends: tuple[tuple[str, Payload], ...],
        names: tuple[str, ...],
    ) -> Entry:
        self.done[process] += 1
        named = list(zip(names or self._names("", len(sends)), sends, strict=True))
        for name, (dst, message) in named:
            if message is None:
                raise ValueError(f"{process} sends None to {dst}: a message must have a content")
            channel = Channel(process, dst)
            wire = self.recorders[process].on_send(self.ports(process), channel, message)
            self.payloads[name] = message
            self._put(channel, name, wire, message)
        return Entry(process, label, tuple((name, dst) for name, (dst, _) in named))

    def put_control(self, id: Id, channel: Channel, control: Wire) -> None:
        """Put control of a snapshot into a channel."""
        number = self.controls[id] = self.controls.get(id, 0) + 1
        name = f"{control}{self._of(id)}#{number}"
        self._sent_controls += ((name, channel.dst),)
        self._put(channel, name, Tagged(id, control), None)

    def _put(self, channel: Channel, name: str, wire: Wire, message: Payload | None) -> None:
        recorded = frozenset(id for id, truth in self.truth.items() if channel.src in truth.cut)
        ready = self.clock + self.system.network.delays.get(channel, 0)
        self.channels[channel] += (Packet(name, wire, message, recorded, ready),)

    def deliver(self, process: str, channel: Channel, i: int) -> Entry:
        """Deliver a packet: first the algorithm sees it, then the state changes."""
        packets = self.channels[channel]
        packet, self.channels[channel] = packets[i], packets[:i] + packets[i + 1 :]
        message = self.recorders[process].on_receive(self.ports(process), channel, packet.wire)
        if message != packet.message:  # the computation must go on as if nobody took a snapshot
            what = packet.name.partition("#")[0]
            fault = f"the algorithm gives {process} {message!r}, not {packet.message!r}"
            if message is None:
                fault = f"the algorithm keeps {what} from {process}"
            if packet.message is None:
                fault = f"the algorithm gives {process} {message!r} for a message, and it is {what}"
            self.faults = {id: self.faults.get(id, fault) for id in self.ids}
        if message is None or packet.message is None:
            return Entry(process, "", receives=(packet.name,), is_event=False)
        state = self.states[process]
        self._set(process, self.system.processes[process].receive(state, channel, message))
        self.done[process] += 1
        for id, truth in self.truth.items():
            sent_inside, received_inside = id not in packet.recorded, process not in truth.cut
            if received_inside and not sent_inside:
                truth.orphans += (packet.name,)
            if sent_inside and not received_inside:
                truth.late[channel] = (*truth.late.get(channel, ()), message)
        return Entry(process, "", receives=(packet.name,))

    def _set(self, process: str, state: State) -> None:
        try:
            hash(state)  # what has no hash could change under the hands of who recorded it
        except TypeError:
            remedy = "take a value that does not change, tuples instead of lists"
            raise TypeError(f"{process} has the state {state!r}: {remedy}") from None
        self.states[process] = state

    def ports(self, process: str) -> Callable[[Id], SimulatedPort]:
        """Give the port of a process, for each snapshot."""
        return lambda id: SimulatedPort(self, process, id)

    # --- what is true ----------------------------------------------------------------------------

    def settled(self, states: Mapping[str, State], channels: Mapping[Channel, Any]) -> Snapshot:
        """Write a global state in the one way that its network allows."""
        contents = self.system.network.contents
        return Snapshot(states, {channel: contents(held) for channel, held in channels.items()})

    def now(self) -> Snapshot:
        """Give the global state at this moment, as nobody inside could see it."""
        messages = {
            channel: [k.message for k in packets if k.message is not None]
            for channel, packets in self.channels.items()
        }
        return self.settled(self.states, messages)


def _all_recorders(algorithm: Algorithm | None) -> Overlapping:
    made: Any = algorithm or ChandyLamport  # which does nothing until somebody begins
    if not callable(made):
        raise TypeError(f"give the class {type(made).__name__} itself, not an object of it")
    one = made()
    return one if isinstance(one, Overlapping) else Overlapping(made)
