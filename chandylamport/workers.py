"""A worker: one process of a system, wherever it runs, with connections for channels.

It sees its own process and its channels, and it does as the coordinator says. State does not
travel: it writes and reads its part in the store. Nothing here knows an algorithm, and who starts a
worker, and how, does not matter: `sockets` makes it an OS process, `spark.tasks` a task of a job.

It notes its steps, so that afterwards a simulator can take them again.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from traceback import format_exception
from typing import Any

from .connections import ROOM, TICK, Address, Pass, receive, send
from .coordinator import Latest
from .dataflow.outside import Outside
from .events import Channel
from .recorder import LocalSnapshot, Payload, Recorder, Snapshot, Wire
from .retracing import Step
from .simulator import Algorithm, Option, Packet, World
from .store import Disk, NoSuchSnapshot, read_part, write_part
from .systems import System

AHEAD = 16  # frames that are read before they are taken


class Place(World):
    """A world of one process: what it sends goes into connections, and nobody else is here."""

    def __init__(
        self, system: System, algorithm: Algorithm, writers: Mapping[Channel, StreamWriter]
    ) -> None:
        """Begin at the system's start; what is in its channels then is sent first."""
        self.writers = writers
        super().__init__(system, algorithm, ())

    def is_full(self, channel: Channel) -> bool:
        """Whether too much waits to be sent; the process can still receive."""
        writer = self.writers[channel]
        return writer.is_closing() or writer.transport.get_write_buffer_size() > ROOM

    def _put(self, channel: Channel, name: str, wire: Wire, message: Payload | None) -> None:
        send(self.writers[channel], (wire, message))


@dataclass
class Worker:
    """One process of a system. Its steps are those of a world, and each of them is atomic."""

    own: Pass
    coordinator: Address
    system: System
    algorithm: Callable[[], Recorder]
    path: Path  # of the store
    disk: Disk
    seed: int
    outside: Outside | None = None  # where it hands over what it puts out, if it is a sink
    patience: float = 0  # seconds to go on knocking at the coordinator's door
    greeting: str = ""  # what it says when it is let in

    def start(self, restored: int | None) -> System:
        """Give the system as it is known here: one state, and what is in the outgoing channels."""
        name, states, channels = self.own.name, self.system.start.states, self.system.start.channels
        if restored is not None:  # a channel is in the part of its receiver
            outputs = self.system.network.outputs(name)
            near = {name, *(channel.dst for channel in outputs)}
            parts = {p: read_part(self.path, restored, p) for p in near}
            states = {name: parts[name].state}
            channels = {c: parts[c.dst].channels.get(c, ()) for c in outputs}
        return replace(self.system, start=Snapshot({name: states[name]}, channels))

    async def run(self) -> bool:
        """Listen, connect and work, until the coordinator hangs up; say whether all is done."""
        network, name, writers = self.system.network, self.own.name, dict[Channel, StreamWriter]()
        self.log, self.changed, self.done = list[Step](), asyncio.Event(), False
        self.arrived: dict[Channel, tuple[Packet, ...]] = dict.fromkeys(network.inputs(name), ())
        self.slots = {channel: asyncio.Semaphore(AHEAD) for channel in self.arrived}
        orders, self.parent = await self.own.connect(self.coordinator, self.patience)
        if self.greeting:
            self.tell("says", self.greeting)
        senders, door = {channel.src for channel in self.arrived}, self.own.door()
        address = door.getsockname()[:2]
        same, say = self.own.incarnation.__eq__, partial(self.tell, "says")
        server = await self.own.listen(door, senders, same, self.read, say)
        try:
            self.tell("listens", address)
            restored, addresses = await receive(orders)
            for channel in network.outputs(name):
                _, writers[channel] = await self.own.connect(addresses[channel.dst])
            self.place = Place(self.start(restored), partial(Latest, self.algorithm), writers)
            self.place.channels = self.arrived
            self.recorders: Any = self.place.recorders[name]
            if self.outside:
                self.outside.check(self.place.states[name])
            if restored is not None:  # perhaps it was stopped before it could commit
                self.commit(restored)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.keep())
                working = tasks.create_task(self.work())
                await self.obey(orders, working)
        except* (EOFError, ConnectionError):
            pass  # somebody has gone, and so this incarnation is over
        except* OSError as failed:  # which may be better next time, and this one is over
            self.tell("says", f"{name} cannot go on: {failed.exceptions[0]}")
        except* Exception as failed:
            self.tell("failed", "".join(format_exception(failed.exceptions[0])))
        server.close()
        for writer in (*writers.values(), self.parent):
            writer.close()
        with suppress(ConnectionError):
            await self.parent.wait_closed()
        return self.done

    def tell(self, *frame: object) -> None:
        """Send a frame to the coordinator."""
        send(self.parent, frame)

    async def read(self, src: str, reader: StreamReader, _: StreamWriter) -> None:
        """Read a few frames ahead; while they are not taken, the channel waits, then its sender."""
        channel = Channel(src, self.own.name)
        try:
            while await self.slots[channel].acquire():
                wire, message = await receive(reader)
                self.arrived[channel] += (Packet("", wire, message, frozenset(), 0),)
                self.changed.set()
        except (EOFError, ConnectionError):
            pass  # its sender has gone, as the coordinator will notice
        except (TypeError, ValueError) as error:
            self.tell("says", f"channel {channel}: {error}")
            self.parent.close()  # so this incarnation is over

    async def work(self) -> None:
        """Take one step after the other, chosen by chance among those that are possible."""
        random = Random(f"{self.seed} {self.own.incarnation} {self.own.name}")
        while True:
            if options := self.place.options():
                option = random.choice(options)
                if self.outside and option.method == "act":
                    self.outside.hand_over(self.place.states[self.own.name])
                self.take(option)
                if option.method == "deliver":
                    self.slots[option.arguments[0]].release()
                await asyncio.sleep(0)  # frames come and go between two steps
            else:
                self.changed.clear()
                with suppress(TimeoutError):  # a full channel does not say when it has room again
                    async with asyncio.timeout(TICK):
                        await self.changed.wait()

    def take(self, option: Option) -> None:
        """Take a step, and note it."""
        what, *_ = noted = option.arguments
        if option.method == "act":
            noted = what.label, what.sends, what.then
        self.log.append((option.method, noted))
        self.place.take(option)

    def commit(self, id: int) -> None:
        """Make visible outside what is in a complete snapshot, and forget it here."""
        name = self.own.name
        if self.outside and (done := self.outside.commit(id, self.place.states[name])):
            self.take(Option(f"{name} does commit", name, "act", (done, ())))
            self.tell("says", f"{name} commits what is in snapshot {id}")

    async def obey(self, orders: StreamReader, working: asyncio.Task[None]) -> None:
        """Do as the coordinator says: begin, end or commit a snapshot, stop, or die."""
        while True:
            order, id = await receive(orders)
            match order:
                case "stop":
                    working.cancel()
                    for step in self.log:
                        self.tell("log", *step)
                        await self.parent.drain()
                    self.done = True
                    self.tell("done")
                case "die":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "commit":
                    self.commit(id)
                case _:
                    self.log.append((order, (id,)))
                    getattr(self.recorders, order)(self.place.ports(self.own.name), id)
                    if order == "end":
                        self.place.truth.pop(id, None)
            self.changed.set()

    async def keep(self) -> None:
        """Write this process's part to the store while the work goes on, and acknowledge it."""
        kept: object = None
        while True:
            await asyncio.sleep(TICK)
            for name, value in self.place.reports:
                self.tell("says", f"{name} reports {value}")
            self.place.reports = ()
            for id in tuple(self.recorders.recorders):  # one, or none
                part = self.recorders.result(id)
                if part is not None and kept != (id, part):
                    kept = id, part
                    await self.write(id, part)

    async def write(self, id: Any, part: LocalSnapshot) -> None:
        """Write a part, in another thread; tell whether nothing has happened since the cut."""
        place, name = self.place, self.own.name
        idle = not list(self.system.actions(name, place.states[name], place.taken[name]))
        at_rest = idle and place.done[name] == place.truth[id].cut.get(name)
        if self.outside:
            at_rest = at_rest and not self.outside.stage(id, part.state)
        to = self.path, id, name
        try:
            receipt = await asyncio.to_thread(write_part, *to, part, self.disk)
            self.tell("stored", id, receipt.to_json(), at_rest)
        except NoSuchSnapshot:
            pass  # it is over
        except OSError as error:
            self.tell("fails", id, f"{name} cannot write its part: {error}")
