"""The same recorders on real connections: OS processes for processes, TCP connections for channels.

A worker sees its own process and its channels. The coordinator sees no message; it starts all of
them again from the last snapshot when one has died. State does not travel: workers write and read
their parts in the store. Nothing here knows an algorithm.

Every worker notes its steps, and afterwards a simulator takes the same steps again. It sees what
nobody on the network could see: so what was stored is compared with what is true.
"""

from __future__ import annotations

import asyncio
import json
import signal
from asyncio import StreamReader, StreamWriter
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from multiprocessing import current_process, get_context, resource_tracker
from multiprocessing.context import SpawnProcess
from pathlib import Path
from random import Random
from secrets import compare_digest, token_hex
from socket import SO_RCVBUF, SO_SNDBUF, SOL_SOCKET
from time import monotonic
from traceback import format_exception
from typing import Any

from .chandy_lamport import ChandyLamport
from .coordinator import BEGINS, COMPLETE, Coordinator, Latest, Notice
from .encoding import decode, encode
from .events import Channel
from .recorder import LocalSnapshot, Payload, Recorder, Snapshot, Wire, assemble
from .retracing import Step, retrace
from .runs import Run, named
from .simulator import Algorithm, Packet, World
from .store import Disk, NoSuchSnapshot, Receipt, Store, read_part, write_part
from .systems import NOWHERE, System, restore

Admit = Callable[[str, StreamReader, StreamWriter], Awaitable[None]]
Say = Callable[[str], object]
HOST = "127.0.0.1"
LARGEST = 2**20  # bytes of a frame
ROOM = 2**14  # bytes for each of a channel's buffers: when they are full, its sender has to wait
AHEAD = 16  # frames that are read before they are taken
PATIENCE = 3.0  # seconds for a handshake
GRACE = 5.0  # seconds for a worker to end by itself
TICK = 0.005  # seconds between two looks at the clock


# --- frames: four bytes of length, then JSON; the first one is a handshake ------------------------


def send(writer: StreamWriter, value: object) -> None:
    """Put a frame into a connection; one that is closed loses it."""
    data = json.dumps(encode(value)).encode()
    if len(data) > LARGEST:
        raise ValueError(f"a frame of {len(data)} bytes; send less at a time, up to {LARGEST}")
    if not writer.is_closing():
        writer.write(len(data).to_bytes(4, "big") + data)


async def receive(reader: StreamReader) -> Any:
    """Take a frame from a connection; one that is too large is refused before it takes room."""
    size = int.from_bytes(await reader.readexactly(4), "big")
    if size > LARGEST:
        raise ValueError(f"it announces a frame of {size} bytes, and {LARGEST} are allowed")
    data = await reader.readexactly(size)
    try:
        return decode(json.loads(data.decode()))
    except (ValueError, TypeError, RecursionError) as error:  # whose words may tell the content
        raise ValueError(f"its frame is malformed ({type(error).__name__})") from None


@dataclass(frozen=True)
class Pass:
    """What opens a connection: who comes, of which incarnation, and the secret of the run."""

    name: str
    incarnation: int
    secret: str = field(repr=False)

    async def connect(self, port: int) -> tuple[StreamReader, StreamWriter]:
        """Open a connection, and wait until it is accepted."""
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_SNDBUF, ROOM)
        send(writer, (self.secret, self.incarnation, self.name))
        await receive(reader)
        return reader, writer

    def check(self, hello: object, awaited: Iterable[str]) -> str:
        """Give the name of who has come, or refuse him."""
        match hello:
            case (str(secret), int(incarnation), str(name)):
                if not compare_digest(secret.encode(), self.secret.encode()):
                    raise ValueError("it does not know the secret")
                if incarnation == self.incarnation and name in awaited:
                    return name
                raise ValueError(f"{name!r} of incarnation {incarnation} is here, or not awaited")
        raise ValueError("its first frame is no handshake")

    async def listen(self, awaited: set[str], admit: Admit, say: Say) -> asyncio.Server:
        """Listen, and admit those who are awaited, each once; say who is refused, and why."""

        async def knock(reader: StreamReader, writer: StreamWriter) -> None:
            why, hello = "", asyncio.create_task(receive(reader))
            try:
                for _ in range(2):  # who was held up himself has not seen yet what has come
                    await asyncio.wait([hello], timeout=PATIENCE / 2)
                if not hello.done():
                    hello.cancel()
                    raise ValueError(f"no handshake within {PATIENCE:g} seconds")
                name = self.check(hello.result(), awaited)
                awaited.remove(name)
                send(writer, "welcome")
                await admit(name, reader, writer)
            except (EOFError, ConnectionError):
                why = "it hung up during the handshake"
            except ValueError as error:
                why = str(error)
            except asyncio.CancelledError:
                pass  # the run is over
            if why:
                say(f"{self.name} refuses {writer.get_extra_info('peername')}: {why}")
            writer.close()

        def open_door(reader: StreamReader, writer: StreamWriter) -> None:
            # As a task of ours: asyncio complains of one of its own that is cancelled at the end.
            visits.append(asyncio.create_task(knock(reader, writer)))

        visits: list[asyncio.Task[None]] = []
        server = await asyncio.start_server(open_door, HOST, 0, limit=ROOM)
        server.sockets[0].setsockopt(SOL_SOCKET, SO_RCVBUF, ROOM)
        say(f"{self.name} listens on {server.sockets[0].getsockname()}")
        return server


# --- a worker: listen, connect, work --------------------------------------------------------------


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
    """One process in an OS process of its own; who starts it, and how, does not matter.

    Its steps are those of a world, and they are taken in one thread: each of them is atomic.
    """

    own: Pass
    coordinator: int  # the port on which it listens
    system: System
    algorithm: Callable[[], Recorder]
    path: Path  # of the store
    disk: Disk
    restored: int | None  # the snapshot to go on from
    seed: int

    def start(self) -> System:
        """Give the system as it is known here: one state, and what is in the outgoing channels."""
        name, states, channels = self.own.name, self.system.start.states, self.system.start.channels
        if self.restored is not None:  # a channel is in the part of its receiver
            outputs = self.system.network.outputs(name)
            near = {name, *(channel.dst for channel in outputs)}
            parts = {p: read_part(self.path, self.restored, p) for p in near}
            states = {name: parts[name].state}
            channels = {c: parts[c.dst].channels.get(c, ()) for c in outputs}
        return replace(self.system, start=Snapshot({name: states[name]}, channels))

    async def run(self) -> None:
        """Listen, connect and work, until the coordinator hangs up."""
        network, name, writers = self.system.network, self.own.name, dict[Channel, StreamWriter]()
        self.log, self.changed = list[Step](), asyncio.Event()
        self.arrived: dict[Channel, tuple[Packet, ...]] = dict.fromkeys(network.inputs(name), ())
        self.slots = {channel: asyncio.Semaphore(AHEAD) for channel in self.arrived}
        orders, self.parent = await self.own.connect(self.coordinator)
        senders, say = {channel.src for channel in self.arrived}, partial(self.tell, "says")
        server = await self.own.listen(senders, self.read, say)
        try:
            self.tell("listens", server.sockets[0].getsockname()[1])
            ports = await receive(orders)
            for channel in network.outputs(name):
                _, writers[channel] = await self.own.connect(ports[channel.dst])
            self.place = Place(self.start(), partial(Latest, self.algorithm), writers)
            self.place.channels = self.arrived
            self.recorders: Any = self.place.recorders[name]
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.keep())
                working = tasks.create_task(self.work())
                await self.obey(orders, working)
        except* (EOFError, ConnectionError):
            pass  # somebody has gone, and so this incarnation is over
        except* Exception as failed:
            self.tell("failed", "".join(format_exception(failed.exceptions[0])))
        server.close()
        for writer in (*writers.values(), self.parent):
            writer.close()
        await self.parent.wait_closed()

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
                what, *_ = noted = option.arguments
                if option.method == "act":
                    noted = what.label, what.sends, what.then
                self.log.append((option.method, noted))
                self.place.take(option)
                if option.method == "deliver":
                    self.slots[what].release()
                await asyncio.sleep(0)  # frames come and go between two steps
            else:
                self.changed.clear()
                with suppress(TimeoutError):  # a full channel does not say when it has room again
                    async with asyncio.timeout(TICK):
                        await self.changed.wait()

    async def obey(self, orders: StreamReader, working: asyncio.Task[None]) -> None:
        """Do as the coordinator says: begin or end a snapshot, or stop and hand in the log."""
        while True:
            order, id = await receive(orders)
            if order == "stop":
                working.cancel()
                for step in self.log:
                    self.tell("log", *step)
                    await self.parent.drain()
                self.tell("done")
            else:
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
        to = self.path, id, name
        try:
            receipt = await asyncio.to_thread(write_part, *to, part, self.disk)
            self.tell("stored", id, receipt.to_json(), at_rest)
        except NoSuchSnapshot:
            pass  # it is over
        except OSError as error:
            self.tell("fails", id, f"{name} cannot write its part: {error}")


def start_worker(worker: Worker) -> None:
    """Be a worker: all that a new OS process does."""
    with suppress(EOFError, ConnectionError):
        asyncio.run(worker.run())


def spawn(worker: Worker) -> SpawnProcess:
    """Start an OS process; the system and the algorithm must be things that can be sent."""
    child = get_context("spawn").Process(target=start_worker, args=(worker,), daemon=True)
    try:
        child.start()
    except Exception as error:
        what = "the system or the algorithm cannot be sent to another OS process"
        remedy = "use classes and functions that a module defines by name, and no lambda"
        raise TypeError(f"{what}: {remedy} ({error})") from error
    return child


# --- the coordinator's side -----------------------------------------------------------------------


class WorkerFailed(RuntimeError):
    """A worker has failed; the message tells how."""


class Gone(Exception):
    """A worker has hung up: it was killed, or it has lost somebody."""


@dataclass
class Contact:
    """What the coordinator knows of a worker."""

    child: SpawnProcess
    writer: StreamWriter | None = None  # to it, once it is there
    port: int = 0  # on which it listens, once it does
    at_rest: bool = False
    log: deque[Step] = field(default_factory=deque)
    done: bool = False  # it has handed in the whole log


@dataclass
class Incarnation:
    """All workers, from the last complete snapshot to the end, or until one of them dies."""

    coordinator: Coordinator
    initiators: Iterable[str]
    snapshots: dict[int, Snapshot]  # complete ones are put there
    kill: dict[int, str]
    say: Say
    inbox: asyncio.Queue[tuple[str, list[Any]]] = field(default_factory=asyncio.Queue)
    workers: dict[str, Contact] = field(default_factory=dict)
    working = over = False

    def live(self, *start: Any) -> None:
        """Run until the end, or until somebody interrupts us; leave no worker behind."""
        try:
            with ThreadPoolExecutor(1) as pool:  # a notebook has a loop already in this thread
                try:
                    pool.submit(asyncio.run, self.run(*start)).result()
                finally:
                    self.over = True
        finally:
            for worker in self.workers.values():  # who end when the coordinator has hung up
                worker.child.join(GRACE)
                worker.child.kill()
                worker.child.join()
                worker.child.close()

    async def run(self, own: Pass, system: System, *more: Any) -> None:
        """Start the workers, coordinate them, and hang up."""
        server = await own.listen({*system.processes}, self.hear, self.say)
        port = server.sockets[0].getsockname()[1]
        resource_tracker.ensure_running()  # for its start would unblock the signal again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # here, and so in all workers
        try:
            for name in system.processes:
                child = spawn(Worker(replace(own, name=name), port, system, *more))
                self.workers[name] = Contact(child)
                self.say(f"{name} is process {child.pid}")
            await self.coordinate()
        finally:
            server.close()

    async def hear(self, name: str, reader: StreamReader, writer: StreamWriter) -> None:
        """Put into the inbox what a worker tells, and at last that it has gone."""
        self.workers[name].writer = writer
        with suppress(EOFError, ConnectionError, ValueError):
            while True:
                self.inbox.put_nowait((name, await receive(reader)))
        self.inbox.put_nowait((name, ["gone"]))

    async def coordinate(self) -> None:
        """Take what the workers tell, and look at the clock, until all logs are handed in."""
        while not self.over and not all(worker.done for worker in self.workers.values()):
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    name, frame = await self.inbox.get()
                self.take(name, *frame)
            if self.working:
                self.announce(self.coordinator.tick(monotonic()))
            for name, worker in self.workers.items():
                if worker.writer is None and (code := worker.child.exitcode) is not None:
                    hint = "are its classes in a module that it can import, not in a notebook?"
                    failed = WorkerFailed(f"{name} ended (code {code}) at its start; {hint}")
                    raise failed if code > 0 else Gone(f"{name} has gone")

    def take(self, name: str, *frame: Any) -> None:
        """Take what a worker tells."""
        worker = self.workers[name]
        match frame:
            case "says", line:
                self.say(line)
            case "listens", port:
                worker.port = port
                ports = {name: worker.port for name, worker in self.workers.items()}
                if all(ports.values()):
                    self.order(ports, ports)
                    self.coordinator.due = monotonic() + self.coordinator.every
                    self.working = True
                    self.strike()
            case "stored", id, receipt, at_rest:
                worker.at_rest = at_rest
                self.announce(self.coordinator.acknowledge(id, name, Receipt.from_json(receipt)))
            case "fails", id, why if id == self.coordinator.running:
                self.announce(self.coordinator.fail(id, why))
            case "log", method, arguments:
                worker.log.append((method, arguments))
            case ("done",):
                worker.done = True
            case "failed", traceback:
                raise WorkerFailed(f"{name} has failed:\n{traceback}")
            case ("gone",):
                raise Gone(f"{name} has gone")

    def order(self, what: object, to: Iterable[str]) -> None:
        """Send a frame to some workers."""
        for name in to:
            if writer := self.workers[name].writer:
                send(writer, what)

    def announce(self, notices: Iterable[Notice]) -> None:
        """Tell the workers what the coordinator has decided.

        If all were at rest from the cut of a snapshot until it was complete, they are for ever.
        """
        for notice in notices:
            self.say(str(notice))
            if notice.what == BEGINS:
                self.order(("begin", notice.id), self.initiators)
            else:
                self.order(("end", notice.id), self.workers)
            if notice.what == COMPLETE:
                parts = self.coordinator.store.read(notice.id)
                self.snapshots[notice.id] = assemble(parts) or NOWHERE
                to_come = max(self.kill, default=-1) >= len(self.snapshots)
                self.strike()
                if not to_come and all(worker.at_rest for worker in self.workers.values()):
                    self.working = False
                    self.order(("stop", notice.id), self.workers)

    def strike(self) -> None:
        """Kill whoever is to be killed after so many complete snapshots."""
        if victim := self.kill.pop(len(self.snapshots), None):
            self.say(f"{victim} is killed after {len(self.snapshots)} complete snapshots")
            self.workers[victim].child.kill()


# --- the whole ------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class SocketRun:
    """What happened on the sockets, and what the simulator says to its last incarnation.

    Of the others, the notes of who was killed are lost: their snapshots are here, unchecked.
    """

    run: Run  # the last incarnation
    snapshots: Mapping[int, Snapshot]  # of all incarnations, as they were stored
    faults: tuple[str, ...]  # of the last incarnation, in words; none if all is right
    incarnations: int
    killed: tuple[str, ...]
    log: tuple[str, ...]

    @property
    def final(self) -> Snapshot:
        """The global state at the end."""
        return self.run.final

    def __repr__(self) -> str:
        numbers = f"{len(self.snapshots)} snapshots, {self.incarnations} incarnations"
        steps = f"{len(self.run.schedule)} steps in the last"
        return f"<SocketRun: {numbers}, {steps}; {'; '.join(self.faults) or 'right'}>"


def run_on_sockets(
    system: System,
    algorithm: Callable[[], Recorder] = ChandyLamport,
    *,
    store: Store | str | Path,
    initiators: Iterable[str] = (),
    every: float = 0.05,
    timeout: float = 60,
    tolerated: int = 2,
    kill: Mapping[int, str] = {},
    seed: int = 0,
    log: Say = lambda line: None,
) -> SocketRun:
    """Run a system as OS processes that talk over TCP, until nothing can happen any more.

    A snapshot begins every so many seconds, at the initiators, by default the first process. It
    goes to the store, or its path; a run on a store that has snapshots goes on from the last.
    `kill` says who is killed after how many complete snapshots; it does not end before. A number of
    failures in a row, of snapshots or workers, is tolerated. In a network without order, 16
    messages that a process does not accept still hold up the next. A script must call this under
    `if __name__ == "__main__":`, for the new OS processes import it.
    """
    if getattr(current_process(), "_inheriting", False):  # a worker that imports its own script
        raise RuntimeError("call run_on_sockets under `if __name__ == '__main__':` in a script")
    if system.network.delays or system.network.capacities:
        raise ValueError("sockets have delays and capacities of their own: give channels without")
    first = named(system, initiators) or [next(iter(system.processes))]
    if strangers := {*kill.values()} - {*system.processes}:
        raise ValueError(f"there is no process {strangers.pop()} to be killed")
    snapshots, to_kill, lines, secret = dict[int, Snapshot](), dict(kill), list[str](), token_hex()

    def say(line: str) -> None:
        lines.append(line)
        log(line)

    with nullcontext(store) if isinstance(store, Store) else Store(store) as opened:
        times = {"every": every, "timeout": timeout}
        coordinator = Coordinator(opened, system.processes, tolerated=tolerated, **times)
        for number in count(1):
            restored, snapshot = opened.latest() or (None, system.start)
            start, before = restore(system, snapshot), len(snapshots)
            where = f"snapshot {restored}" if restored else "the beginning"
            say(f"incarnation {number} starts from {where}")
            life = Incarnation(coordinator, first, snapshots, to_kill, say)
            more = algorithm, opened.path, opened.disk, restored, seed
            try:
                life.live(Pass("coordinator", number, secret), system, *more)
                break
            except Gone as gone:
                for notice in coordinator.abort(coordinator.running, str(gone)):
                    say(str(notice))
                coordinator.failures += 1
                if coordinator.failures > tolerated:
                    why = f"{coordinator.failures} failures in a row, {tolerated} tolerated"
                    raise WorkerFailed(f"{gone} ({why}); is there too little memory?") from None
    logs = {name: worker.log for name, worker in life.workers.items()}
    new = dict([*snapshots.items()][before:])
    run, faults = retrace(start, partial(Latest, algorithm), logs, new)
    killed = tuple(kill[n] for n in kill if n not in to_kill)
    return SocketRun(run, snapshots, tuple(faults), number, killed, tuple(lines))
