"""Carrying out a flow: checkpoints, crashes, recovery, and what the world outside gets to see.

Recovery restores the state of every task, the records in flight and the offsets of the sources.
What a sink has handed over before a crash stays handed over: nothing outside goes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from math import inf
from tempfile import TemporaryDirectory
from typing import Any

from ..clusters import Cluster
from ..recorder import Id, Recorder, Snapshot
from ..simulator import Option
from ..store import Disk, Store
from ..systems import Action
from .flows import Deployment, Flow, deploy
from .operators import END, Record


class Outside:
    """What everybody outside can read, and what is staged for that: it survives crashes."""

    def __init__(self) -> None:
        """Nothing has been written."""
        self.visible: list[Record] = []
        self.under_key: dict[Any, Record] = {}
        self.staged: dict[tuple[str, Id], tuple[int, tuple[Record, ...]]] = {}
        self.committed: Counter[str] = Counter()  # how many records of each sink are visible

    def commit(self, sink: str, id: Id) -> int:
        """Make a transaction visible, once; say how many records of this sink are visible now."""
        first, records = self.staged.get((sink, id), (0, ()))
        self.staged = {key: waiting for key, waiting in self.staged.items() if key[0] != sink}
        self.visible += records[max(self.committed[sink] - first, 0) :]
        self.committed[sink] = max(self.committed[sink], first + len(records))
        return self.committed[sink]


class Execution(Cluster):
    """A flow in the middle of its work, or when it is done."""

    def __init__(self, deployment: Deployment, store: Store, **options: Any) -> None:
        """Deploy a flow on a store; options are those of a cluster."""
        self.sinks, self.outside = deployment.sinks, Outside()
        self.in_two_phases = {s for s, sink in self.sinks.items() if sink.kind == "transactional"}
        self.to_commit: dict[str, int] = {}
        self.checkpoints: dict[Id, Snapshot] = {}
        self.steps = self.crashes = 0
        super().__init__(
            deployment.system,
            store,
            deployment.algorithm,
            initiators=deployment.sources,
            **options,
        )

    @property
    def output(self) -> Counter[Record]:
        """What the world outside has, as a multiset."""
        return Counter([*self.outside.visible, *self.outside.under_key.values()])

    def options(self) -> list[Option]:
        """List what can happen now; a sink whose checkpoint is complete may commit."""
        commits = [
            Option(f"{sink} commits what is in checkpoint {id}", sink, "commit", (id,))
            for sink, id in self.to_commit.items()
        ]
        return super().options() + commits

    def take(self, option: Option) -> None:
        """Let this happen, and with it what the world outside sees of it."""
        if option.method == "commit":
            self.commit(option.process, *option.arguments)
            return
        if option.process in self.sinks and option.method == "act":
            self._hand_over(option.process)
        super().take(option)
        id = self.coordinator.running
        recorded = self.world.truth[id].states if id in self.world.truth else {}
        for sink in recorded.keys() & self.in_two_phases:  # phase one: what it records, it stages
            self.outside.staged.setdefault((sink, id), recorded[sink][0])

    def _hand_over(self, sink: str) -> None:
        operator, (_, ((_, record), *_), _) = self.sinks[sink], self.world.states[sink]
        if operator.kind == "plain" and record != END:
            self.outside.visible.append(record)
        if operator.kind == "idempotent" and record != END:
            self.outside.under_key[operator.key(record)] = record

    def completed(self, id: int) -> None:
        """Phase two: let every sink commit, in a step of its own."""
        self.checkpoints[id] = self.world.complete[id]
        self.to_commit = dict.fromkeys(self.in_two_phases, id)

    def commit(self, sink: str, id: int) -> None:
        """Make a sink's transaction visible, and let the sink forget it."""
        del self.to_commit[sink]
        done = Action("commit", then=self.outside.commit(sink, id))
        self.world.take(Option(f"{sink} does commit", sink, "act", (done, ())))

    def fail(self) -> None:
        """Let everything crash at once, and start from the last complete checkpoint."""
        self.crashes += 1
        self.to_commit = {}
        self.recover()
        found = self.store.latest()
        restored = found[0] if found else 0
        self.outside.staged = {
            key: waiting for key, waiting in self.outside.staged.items() if key[1] == restored
        }
        if restored:
            self.to_commit = dict.fromkeys(
                self.in_two_phases, restored
            )  # perhaps it had not come to it
        for sink, visible in self.outside.committed.items():
            handed_over, waiting = self.world.states[sink][0]
            if visible > handed_over + len(waiting):
                newer = f"{visible} records of {sink} are visible that checkpoint {restored} lacks"
                raise RuntimeError(f"{newer}: going on from there would repeat some of them")


def execute(
    flow: Flow,
    *,
    barriers: str | Callable[[], Recorder] = "aligned",
    every: float = inf,
    crash_at: int | Iterable[int] = (),
    capacity: int | None = None,
    store: Store | None = None,
    timeout: int = 1_000,
    tolerated: int = 0,
    seed: int = 0,
) -> Execution:
    """Carry a flow out to its end, with a checkpoint every so many steps and one at the end.

    After each of the steps `crash_at`, everything crashes and starts from the last checkpoint.

    >>> from chandylamport.dataflow import count, key_by, sink, source
    >>> flow = source(["to", "be", "or", "not", "to", "be"]) >> key_by(len, into=2) >> count()
    >>> calm, crashed = (execute(flow >> sink(), crash_at=at, every=9) for at in [(), 25])
    >>> crashed.crashes, crashed.output == calm.output
    (1, True)
    """
    ahead = sorted({crash_at} if isinstance(crash_at, int) else {*crash_at}, reverse=True)
    with ExitStack() as stack:
        if store is None:  # it is thrown away, so nothing needs to reach the disk
            directory = stack.enter_context(TemporaryDirectory())
            store = stack.enter_context(Store(directory, disk=Disk(sync=False)))
        execution = Execution(
            deploy(flow, barriers, capacity=capacity),
            store,
            every=every,
            timeout=timeout,
            tolerated=tolerated,
            seed=seed,
        )
        ended = False
        while True:
            if ahead and execution.steps == ahead[-1]:
                ahead.pop()
                execution.fail()
                ended = False
            if execution.step():
                execution.steps += 1
            elif not ended:
                execution.snapshot()
                ended = True
            else:
                return execution
