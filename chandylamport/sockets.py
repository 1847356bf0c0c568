"""The same recorders on real connections: OS processes for processes, TCP connections for channels.

The coordinator sees no message and no state. When a worker has died, all of them start again from
the last snapshot. How they are started is a matter of the crew: here, each is a child of ours.

Every worker notes its steps, and afterwards a simulator takes the same steps again. It sees what
nobody on the network could see: so what was stored is compared with what is true.
"""

from __future__ import annotations

import asyncio
import signal
from asyncio import StreamReader, StreamWriter
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from multiprocessing import current_process, get_context, resource_tracker
from multiprocessing.context import SpawnProcess
from pathlib import Path
from secrets import token_hex
from socket import socket as Socket
from time import monotonic
from typing import Any, Protocol

from .chandy_lamport import ChandyLamport
from .connections import HOST, TICK, Address, Pass, Say, receive, send
from .coordinator import BEGINS, COMPLETE, Coordinator, Latest, Notice
from .recorder import Recorder, Snapshot, assemble
from .retracing import Step, retrace
from .runs import Run, named
from .store import Receipt, Store
from .systems import NOWHERE, System, restore
from .workers import Worker

GRACE = 5.0  # seconds for a worker to end by itself


class WorkerFailed(RuntimeError):
    """A worker has failed; the message tells how."""


class Gone(Exception):
    """A worker has hung up: it was killed, or it has lost somebody."""


class Crew(Protocol):
    """Who starts the workers, and knows when one of them will never come."""

    host: str  # where the coordinator listens for them
    sinks: tuple[str, ...]  # who has something to commit when a snapshot is complete

    def start(self, workers: Mapping[str, Worker], say: Say) -> None:
        """Start the workers."""

    def is_current(self, incarnation: int) -> bool:
        """Whether a worker that comes is one of those that were started last."""

    def check(self, missing: Iterable[str]) -> None:
        """Raise an error if somebody who has not come yet will never come."""

    def kill(self, name: str) -> bool:
        """Kill a worker; False if it has to be told to kill itself."""

    def end(self) -> None:
        """Wait for the workers, who end when the coordinator has hung up; leave nobody behind."""


class Children:
    """A crew of OS processes, children of this one."""

    host: str = HOST
    sinks: tuple[str, ...] = ()
    incarnation = 0

    def start(self, workers: Mapping[str, Worker], say: Say) -> None:
        """Start them; the system and the algorithm must be things that can be sent."""
        self.of = dict[str, SpawnProcess]()
        self.incarnation += 1
        resource_tracker.ensure_running()  # for its start would unblock the signal again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # here, and so in all workers
        for name, worker in workers.items():
            child = get_context("spawn").Process(target=work, args=(worker,), daemon=True)
            try:
                child.start()
            except Exception as error:
                what = "the system or the algorithm cannot be sent to another OS process"
                remedy = "use classes and functions that a module defines by name, and no lambda"
                raise TypeError(f"{what}: {remedy} ({error})") from error
            self.of[name] = child
            say(f"{name} is process {child.pid}")

    def is_current(self, incarnation: int) -> bool:
        """Whether it has the number of those that were started last."""
        return incarnation == self.incarnation

    def check(self, missing: Iterable[str]) -> None:
        """Look at the exit codes: a kill is one thing, an error at the start another."""
        for name in missing:
            if (code := self.of[name].exitcode) is not None:
                hint = "are its classes in a module that it can import, not in a notebook?"
                failed = WorkerFailed(f"{name} ended (code {code}) at its start; {hint}")
                raise failed if code > 0 else Gone(f"{name} has gone")

    def kill(self, name: str) -> bool:
        """Kill a child."""
        self.of[name].kill()
        return True

    def end(self) -> None:
        """Wait for them, for a while, then kill."""
        for child in self.of.values():
            child.join(GRACE)
            child.kill()
            child.join()
            child.close()


def work(worker: Worker) -> None:
    """Be a worker: all that a new OS process does."""
    with suppress(EOFError, ConnectionError):
        asyncio.run(worker.run())


# --- the coordinator's side -----------------------------------------------------------------------


@dataclass
class Contact:
    """What the coordinator knows of a worker."""

    writer: StreamWriter | None = None  # to it, once it is there
    address: Address | None = None  # on which it listens, once it does
    at_rest: bool = False
    log: deque[Step] = field(default_factory=deque)
    done: bool = False  # it has handed in the whole log


@dataclass
class Incarnation:
    """All workers, from the last complete snapshot to the end, or until one of them dies."""

    coordinator: Coordinator
    crew: Crew
    initiators: Iterable[str]
    restored: int | None
    snapshots: dict[int, Snapshot]  # complete ones are put there
    kill: dict[int, str]
    say: Say
    inbox: asyncio.Queue[tuple[str, list[Any]]] = field(default_factory=asyncio.Queue)
    workers: dict[str, Contact] = field(default_factory=dict)
    working = over = False

    def live(self, own: Pass, door: Socket, *more: Any) -> None:
        """Run until the end, or until somebody interrupts us; leave no worker behind."""
        workers = {n: Worker(replace(own, name=n), *more) for n in self.coordinator.members}
        self.workers = {name: Contact() for name in workers}
        try:
            with ThreadPoolExecutor(1) as pool:  # a notebook has a loop already in this thread
                try:
                    pool.submit(asyncio.run, self.run(own, door, workers)).result()
                finally:
                    self.over = True
        finally:
            self.crew.end()

    async def run(self, own: Pass, door: Socket, workers: Mapping[str, Worker]) -> None:
        """Start the workers, coordinate them, and hang up."""
        known, current = {*workers}, self.crew.is_current
        server = await own.listen(door.dup(), known, current, self.hear, self.say)
        try:
            self.crew.start(workers, self.say)
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
            self.crew.check([name for name, w in self.workers.items() if w.writer is None])

    def take(self, name: str, *frame: Any) -> None:
        """Take what a worker tells."""
        worker = self.workers[name]
        match frame:
            case "says", line:
                self.say(line)
            case "listens", address:
                worker.address = address
                addresses = {name: worker.address for name, worker in self.workers.items()}
                if all(addresses.values()):
                    self.order((self.restored, addresses), addresses)
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
                self.order(("commit", notice.id), self.crew.sinks)
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
            if not self.crew.kill(victim):
                self.order(("die", 0), [victim])


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
        return f"<{type(self).__name__}: {numbers}, {steps}; {'; '.join(self.faults) or 'right'}>"


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
    how = every, timeout, tolerated, kill, seed, log
    return coordinate(system, algorithm, Children(), store, initiators, *how)


def coordinate(
    system: System,
    algorithm: Callable[[], Recorder],
    crew: Crew,
    store: Store | str | Path,
    initiators: Iterable[str],
    every: float,
    timeout: float,
    tolerated: int,
    kill: Mapping[int, str],
    seed: int,
    log: Say,
) -> SocketRun:
    """Let a crew run a system, one incarnation after the other, and take the last one again."""
    if system.network.delays or system.network.capacities:
        raise ValueError("sockets have delays and capacities of their own: give channels without")
    first = named(system, initiators) or [next(iter(system.processes))]
    if strangers := {*kill.values()} - {*system.processes}:
        raise ValueError(f"there is no process {strangers.pop()} to be killed")
    snapshots, to_kill, lines = dict[int, Snapshot](), dict(kill), list[str]()

    def say(line: str) -> None:
        lines.append(line)
        log(line)

    own = Pass("coordinator", 0, token_hex(), crew.host)
    with (
        nullcontext(store) if isinstance(store, Store) else Store(store) as opened,
        own.door() as door,
    ):
        times = {"every": every, "timeout": timeout}
        coordinator = Coordinator(opened, system.processes, tolerated=tolerated, **times)
        to = door.getsockname()[:2], system, algorithm, opened.path, opened.disk, seed
        for number in count(1):
            restored, snapshot = opened.latest() or (None, system.start)
            start, before = restore(system, snapshot), len(snapshots)
            where = f"snapshot {restored}" if restored else "the beginning"
            say(f"incarnation {number} starts from {where}")
            life = Incarnation(coordinator, crew, first, restored, snapshots, to_kill, say)
            try:
                life.live(replace(own, incarnation=number), door, *to)
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
