"""A system in production: a coordinator, a store, and processes that crash; in logical time.

One step is one thing that happens: an event, a marker, a part that is written, a word from or to
the coordinator. So a crash can be put behind each of them, and every run can be had again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from random import Random

from .chandy_lamport import ChandyLamport
from .coordinator import BEGINS, COMPLETE, Coordinator, Latest, Notice, TooMuchInTransit
from .recorder import Id, LocalSnapshot, Recorder
from .runs import named
from .simulator import Option, World
from .store import NoSuchSnapshot, Receipt, Store
from .systems import System, restore


class Cluster:
    """Processes under a coordinator: they take snapshots, crash, go back to the last, and go on.

    One that starts on a store with a complete snapshot goes on from there.

    >>> import chandylamport as cl
    >>> from tempfile import TemporaryDirectory
    >>> bank = cl.System(cl.accounts(p=50, q=50, transfers=9), cl.Fifo(cl.complete("pq")))
    >>> with TemporaryDirectory() as path, cl.Store(path) as store:
    ...     cluster = Cluster(bank, store, every=10)
    ...     cluster.run(50)
    ...     cluster.crash("q")
    ...     cluster.recover()
    >>> print(*cluster.story, sep="\\n")
      10  snapshot 1 begins
      43  snapshot 1 is complete
      46  q crashes
      46  everybody starts from snapshot 1
    """

    def __init__(
        self,
        system: System,
        store: Store,
        algorithm: Callable[[], Recorder] = ChandyLamport,
        *,
        initiators: Iterable[str] = (),
        every: int = 20,
        timeout: int = 200,
        tolerated: int = 0,
        limit: int | None = None,
        seed: int = 0,
    ) -> None:
        """Start a system. `limit` bounds what may be logged for a snapshot; others are in steps."""
        self.store, self.random, self.time = store, Random(seed), 0
        self.recorders = partial(Latest, algorithm, limit)
        self.first = named(system, initiators)
        self.systems = {frozenset(system.processes): system}  # by their members, as they change
        self.lead = partial(Coordinator, every=every, timeout=timeout, tolerated=tolerated)
        self.coordinator = self.lead(store, system.processes)
        self.story: list[str] = []  # what the coordinator and the crashes did, and when
        self.faults: dict[Id, str] = {}  # what is wrong with a snapshot, by the simulator's truth
        self.acknowledgements: list[tuple[str, int, Receipt]] = []  # on their way
        self.down: set[str] = set()
        self.over: dict[str, int] = {}  # who has still to hear that which snapshot is over
        self.stored: dict[str, LocalSnapshot] = {}  # the parts that are written
        self.restored = 0  # the snapshot from which everybody started; 0: from the beginning
        self.world = self._last(system)

    @property
    def initiators(self) -> Sequence[str]:
        """Who begins a snapshot: those who were named and are there, else the first process."""
        return [p for p in self.first if p in self.world.states] or [*self.world.states][:1]

    # --- what can happen, and what happens -------------------------------------------------------

    def options(self) -> list[Option]:
        """List what can happen now: nothing at a process that is down."""
        begin = [(id, p) for id in self.world.ids for p in self.initiators]
        found = self.world.options(begin)
        for process, own in self.world.recorders.items():
            for id in self.world.ids:
                part = own.result(id)
                if part is not None and part != self.stored.get(process):
                    text = f"{process} stores its part of snapshot {id}"
                    found.append(Option(text, process, "store_part", (id, part)))
        found += [
            Option(f"{process} hears that snapshot {id} is over", process, "end", (id,))
            for process, id in self.over.items()
        ]
        found = [option for option in found if option.process not in self.down]
        first = {ack[0]: ack for ack in reversed(self.acknowledgements)}  # in order, for each
        for process, id, receipt in first.values():
            text = f"the coordinator hears that {process} has stored snapshot {id}"
            found.append(Option(text, process, "hear", (id, receipt)))
        return found

    def step(self) -> bool:
        """Let one thing happen, chosen by chance; say whether anything could."""
        self.time += 1
        options = self.options()
        goes_on = self.coordinator.running is not None or any(map(self._is_event, options))
        if goes_on and (notices := self.coordinator.tick(self.time)):
            self._carry_out(notices)
            options = self.options()
        clock = self.world.clock
        if options:
            self.take(self.random.choice(options))
        elif self.world.wait():  # nothing but time passes
            self.time += self.world.clock - clock
        elif self.coordinator.running is not None:
            self.time = int(self.coordinator.deadline)
        else:
            return False
        return True

    def snapshot(self) -> None:
        """Begin a snapshot now, unless one is running."""
        self.coordinator.due = min(self.coordinator.due, self.time)
        self._carry_out(self.coordinator.tick(self.time))

    def run(self, steps: int = 100_000) -> None:
        """Go on until nothing can happen, or for a number of steps."""
        for _ in range(steps):
            if not self.step():
                return

    def take(self, option: Option) -> None:
        """Let this happen."""
        if option.method in ("store_part", "hear", "end"):
            getattr(self, option.method)(option.process, *option.arguments)
            return
        self.world.take(option)
        self.faults = {**self.world.faults, **self.faults}
        for process, report in self.world.reports:
            if isinstance(report, TooMuchInTransit):  # without effect when it was heard already
                why = f"{process} has logged {report.logged} messages, more than it may"
                self._carry_out(self.coordinator.fail(report.id, why))

    def store_part(self, process: str, id: int, part: LocalSnapshot) -> None:
        """Let a process write its part; the acknowledgement is then on its way."""
        self.stored[process] = part
        try:
            self.acknowledgements.append((process, id, self.store.write(id, process, part)))
        except NoSuchSnapshot:
            self._say(f"{process} comes too late with its part of snapshot {id}")
        except OSError as error:
            self._carry_out(self.coordinator.fail(id, f"{process} cannot write: {error}"))

    def hear(self, process: str, id: int, receipt: Receipt) -> None:
        """Let an acknowledgement arrive at the coordinator."""
        self.acknowledgements.remove((process, id, receipt))
        self._carry_out(self.coordinator.acknowledge(id, process, receipt))

    def end(self, process: str, id: int) -> None:
        """Let a process hear that a snapshot is complete or aborted."""
        del self.over[process]
        own = self.world.recorders[process]
        assert isinstance(own, Latest)
        own.end(self.world.ports(process), id)

    def completed(self, id: int) -> None:
        """What else to do when a snapshot is complete: nothing here."""

    # --- crashes, and members that come and go ---------------------------------------------------

    def crash(self, process: str) -> None:
        """Let a process stop: whether anybody notices is another matter."""
        if process not in self.world.states:
            there = ", ".join(self.world.states)
            raise ValueError(f"there is no process {process} to crash, only {there}")
        self.down.add(process)
        self._say(f"{process} crashes")

    def recover(self) -> None:
        """Let everybody go back to the last complete snapshot, those that did not crash too."""
        crashed = f"{', '.join(sorted(self.down)) or 'somebody'} crashed"
        self._carry_out(self.coordinator.abort(self.coordinator.running, crashed))
        self.down, self.over = set(), {}
        self.world = self._last(next(iter(self.systems.values())))

    def restart_coordinator(self) -> None:
        """Let the coordinator crash and come back: all that it knows is in the store."""
        self.store.close()
        self.store = Store(self.store.path, keep=self.store.keep, disk=self.store.disk)
        self.coordinator = self.lead(self.store, self.coordinator.members, now=self.time)
        self._say("the coordinator crashes, and is back")

    def change(self, system: System) -> None:
        """Let processes join or leave: states and channels of those who stay go on."""
        world, fresh = self.world, World(system, self.recorders, ())
        if lost := [c for c in world.now().channels if c not in fresh.channels]:
            raise ValueError(f"messages are under way in {lost[0]}: who leaves takes them first")
        known = self.systems.setdefault(frozenset(system.processes), system)
        if known.network != system.network:  # an older snapshot would not fit them
            raise ValueError("the same members had other channels before: let one leave or join")
        owed = {p: getattr(own.unstarted, "owed", Counter()) for p, own in world.recorders.items()}
        for gone in owed.keys() - fresh.states.keys():  # what it counted, somebody else has to know
            for heir in [process for process in owed if process in fresh.states][:1]:
                owed[heir].update(owed[gone])
        for name in ("states", "done", "taken", "recorders", "channels"):
            old = getattr(world, name)
            setattr(world, name, {key: old.get(key, new) for key, new in vars(fresh)[name].items()})
        world.system = system
        self.over = {process: id for process, id in self.over.items() if process in world.states}
        self.down &= world.states.keys()
        self._say(f"the members are {', '.join(system.processes)}")
        self._carry_out(self.coordinator.change(system.processes))

    # --- inside ----------------------------------------------------------------------------------

    def _last(self, system: System) -> World:
        """Give the world of the last complete snapshot, or else of the system's start."""
        self.restored = 0
        if found := self.store.latest():
            id, snapshot = found
            self.restored = id
            if frozenset(snapshot.states) not in self.systems:
                members = ", ".join(snapshot.states)
                raise ValueError(f"snapshot {id} is of {members}: give the system of these")
            system = restore(self.systems[frozenset(snapshot.states)], snapshot)
            self._say(f"everybody starts from snapshot {id}")
        elif self.time:
            self._say("everybody starts from the beginning")
        self.coordinator.members = tuple(system.processes)
        self.coordinator.due = self.time + self.coordinator.every
        return World(system, self.recorders, ())

    def _is_event(self, option: Option) -> bool:
        """Whether a step belongs to the computation, and not to a snapshot of it."""
        if option.method == "deliver":
            channel, place = option.arguments
            return self.world.channels[channel][place].message is not None
        return option.method == "act"

    def _carry_out(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            self._say(str(notice))
            if notice.what == BEGINS:
                self.world.ids, self.stored = (notice.id,), {}
                for old in [old for old in self.world.truth if old != notice.id]:
                    del self.world.truth[old]
            elif notice.id:
                self.over = dict.fromkeys(self.world.states, notice.id)
            if notice.what == COMPLETE:
                self.world.ids = ()  # whoever has not heard of it need not store anything again
                self.completed(notice.id)

    def _say(self, text: str) -> None:
        self.story.append(f"{self.time:4}  {text}")
