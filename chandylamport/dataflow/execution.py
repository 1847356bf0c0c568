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
from ..recorder import Id, LocalSnapshot, Recorder, Snapshot
from ..simulator import Option
from ..store import Disk, Store
from .flows import Deployment, Flow, deploy
from .operators import Record
from .outside import Memory


class Execution(Cluster):
    """A flow in the middle of its work, or when it is done."""

    def __init__(self, deployment: Deployment, store: Store, **options: Any) -> None:
        """Deploy a flow on a store; options are those of a cluster."""
        self.sink, self.outside = deployment.sink, Memory(deployment.operator)
        self.to_commit: int | None = None
        self.checkpoints: dict[Id, Snapshot] = {}
        self.steps = self.crashes = 0
        super().__init__(
            deployment.system,
            store,
            deployment.algorithm,
            initiators=deployment.sources,
            **options,
        )

    def __repr__(self) -> str:
        done = f"{self.steps} steps, {self.crashes} crashes, {len(self.checkpoints)} checkpoints"
        return f"<Execution: {done}, {self.output.total()} records put out>"

    @property
    def output(self) -> Counter[Record]:
        """What the world outside has, as a multiset."""
        return self.outside.output

    def options(self) -> list[Option]:
        """List what can happen now; a sink whose checkpoint is complete may commit."""
        text = f"{self.sink} commits what is in checkpoint {self.to_commit}"
        commit = [Option(text, self.sink, "commit", ())] if self.to_commit else []
        return super().options() + commit

    def take(self, option: Option) -> None:
        """Let this happen, and with it what the world outside sees of it."""
        if option.method == "commit":
            self.commit()
            return
        if option.process == self.sink and option.method == "act":
            self.outside.hand_over(self.world.states[self.sink])
        super().take(option)

    def store_part(self, process: str, id: int, part: LocalSnapshot) -> None:
        """Phase one: what a transactional sink puts into a checkpoint, it stages outside."""
        if process == self.sink:
            self.outside.stage(id, part.state)
        super().store_part(process, id, part)

    def completed(self, id: int) -> None:
        """Phase two: let the sink commit, in a step of its own."""
        self.checkpoints[id] = self.world.complete[id]
        self.to_commit = id if id in self.outside.staged else None

    def commit(self) -> None:
        """Make a transaction visible, and let the sink forget it."""
        id, self.to_commit = self.to_commit or 0, None
        if done := self.outside.commit(id, self.world.states[self.sink]):
            self.world.take(Option(f"{self.sink} does commit", self.sink, "act", (done, ())))

    def fail(self) -> None:
        """Let everything crash at once, and start from the last complete checkpoint.

        Perhaps the sink had not come to commit what is in it, so it does now; if it had, nothing
        is repeated.
        """
        self.crashes += 1
        self.recover()
        self.to_commit = self.restored if self.restored in self.outside.staged else None
        self.outside.check(self.world.states[self.sink])


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

    After each of the steps `crash_at`, everything crashes and starts from the last checkpoint. A
    checkpoint that takes longer than `timeout` steps fails; as many as `tolerated` may, in a row.
    Checkpoints go to a store of your own, which must be empty, or to one that is thrown away.

    >>> from chandylamport.dataflow import count, key_by, sink, source
    >>> flow = source(["to", "be", "or", "not", "to", "be"]) >> key_by(len, into=2) >> count()
    >>> calm, crashed = (execute(flow >> sink(), crash_at=at, every=9) for at in [(), 25])
    >>> crashed.crashes, crashed.output == calm.output
    (1, True)
    """
    ahead = sorted({crash_at} if isinstance(crash_at, int) else {*crash_at}, reverse=True)
    if ahead and ahead[-1] < 0:
        raise ValueError(f"crash_at={ahead[-1]}: steps are counted from 0")
    with ExitStack() as stack:
        if store is None:  # it is thrown away, so nothing needs to reach the disk
            directory = stack.enter_context(TemporaryDirectory())
            store = stack.enter_context(Store(directory, disk=Disk(sync=False)))
        if not isinstance(store, Store):
            raise TypeError("give the store as cl.Store(path)")
        if store.latest() is not None:
            raise ValueError(f"{store.path} has checkpoints of another execution: give a new store")
        execution = Execution(
            deploy(flow, barriers, capacity=capacity),
            store,
            every=every,
            timeout=timeout,
            tolerated=tolerated,
            seed=seed,
        )
        last: int | None = None
        while True:
            if ahead and execution.steps == ahead[-1]:
                ahead.pop()
                execution.fail()
                last = None
            if execution.step():
                execution.steps += 1
            elif last in execution.checkpoints:
                return execution
            else:
                execution.snapshot()
                last = execution.coordinator.running
