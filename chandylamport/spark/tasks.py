"""The same recorders as tasks of a Spark job: N processes that run at once, in barrier mode.

Spark's scheduler starts the tasks, notices when one has died, and runs all of them again: it is
what restarts a Flink job. The driver is the coordinator, and checkpoints go to the store. Nothing
here knows an algorithm, or what a process does: a task is a `Worker`.

The store, and the directory of a sink, must be where every task can write: on a cluster, a shared
file system. What is said between its machines is not encrypted.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

from pyspark import BarrierTaskContext, InheritableThread, SparkContext
from pyspark.sql import DataFrame, SparkSession

from ..chandy_lamport import ChandyLamport
from ..connections import Say
from ..dataflow.flows import Flow, deploy
from ..dataflow.operators import Record
from ..dataflow.outside import Directory
from ..recorder import Recorder
from ..sockets import GRACE, Gone, SocketRun, coordinate
from ..store import Store
from ..systems import System
from ..workers import Worker
from .auditing import audit
from .sessions import SparkFailed, session
from .tables import Trace, trace

KNOCKING = 30.0  # seconds in which the driver has to notice that Spark runs the stage again
REGISTERING = 30.0  # seconds for the executors of a cluster to come
TRIES = 4  # of a stage, before we do not believe any more that all will come
_numbers = count(1)


class TooFewSlots(ValueError):
    """More tasks would have to run at once than there are slots."""


class Tasks:
    """A crew of Spark tasks, all of one stage, which is run again as a whole when one fails."""

    def __init__(self, context: SparkContext, outside: Mapping[str, Directory]) -> None:
        """Nothing runs yet."""
        self.context, self.outside, self.sinks = context, outside, (*outside,)
        self.host = str(context.getConf().get("spark.driver.host"))
        self.group = f"chandylamport {os.getpid()} {next(_numbers)}"
        self.job: Thread | None = None
        self.error: Exception | None = None
        self.attempt = -1

    def start(self, workers: Mapping[str, Worker], say: Say) -> None:
        """Start the job; after a failure, Spark itself starts its tasks again."""
        self.last, self.newer, self.look, self.tries = self.attempt, False, 0.0, sys.maxsize
        if self.job is None:
            team = [
                replace(worker, patience=KNOCKING, outside=self.outside.get(name))
                for name, worker in workers.items()
            ]
            self.job = InheritableThread(target=self._run, args=(team,), daemon=True)
            self.job.start()

    def _run(self, team: list[Worker]) -> None:
        """Run the job. Only with a shuffle behind it is a stage in barrier mode run again."""
        try:
            self.context.setJobGroup(self.group, "processes as tasks", interruptOnCancel=True)
            tasks = self.context.parallelize(range(len(team)), len(team)).barrier()
            tasks.mapPartitions(lambda _: work(team)).groupByKey(1).count()
        except Exception as error:
            self.error = error

    def is_current(self, incarnation: int) -> bool:
        """Whether it is of the stage's last attempt: all that we know is that attempts grow."""
        if self.attempt == self.last < incarnation:
            self.attempt = incarnation
        self.newer = self.newer or incarnation > self.attempt
        return self.last < incarnation == self.attempt

    def check(self, missing: Iterable[str]) -> None:
        """Look whether Spark has given the job up, or runs the stage again already."""
        if self.newer:
            raise Gone("Spark runs the tasks again: one of them has failed")
        if missing and self.job and not self.job.is_alive():
            raise SparkFailed(f"Spark has given the job up: {_cause(self.error)}")
        if missing and monotonic() > self.look:
            self.look, tries = monotonic() + 1, self._tries()
            self.tries = min(self.tries, tries)
            if tries - self.tries >= TRIES:
                what = f"Spark has run the tasks {TRIES} times, and not all have come: waiting for"
                hint = f"can they import your modules, and reach the driver at {self.host}?"
                raise SparkFailed(f"{what} {', '.join(missing)}; {hint}")

    def _tries(self) -> int:
        """How often Spark has run the stage again, as far as it is known here."""
        tracker = self.context.statusTracker()
        jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(self.group))
        stages = (tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds)
        return max((stage.currentAttemptId for stage in stages if stage), default=0)

    def kill(self, name: str) -> bool:
        """Only on its own machine can a task be killed, so it has to do it itself."""
        return False

    def end(self) -> None:
        """Leave the tasks to Spark, which runs them again if they are not done."""

    def close(self) -> None:
        """Wait for the job, for a while, then cancel it."""
        if self.job:
            self.job.join(GRACE)
            if self.job.is_alive():
                with suppress(Exception):  # Spark may be gone already
                    self.context.cancelJobGroup(self.group)
                self.job.join(2 * GRACE)


def work(team: list[Worker]) -> Iterator[tuple[str, bool]]:
    """Be a task: find out which worker this is, and in which attempt; then work until all is done.

    The tasks of one attempt agree on its number: the least of their ids, which Spark never gives
    twice.
    """
    context = BarrierTaskContext.get()
    attempt = min(map(int, context.allGather(str(context.taskAttemptId()))))
    mine = team[context.partitionId()]
    host = context.getTaskInfos()[context.partitionId()].address.rpartition(":")[0]
    own, name = replace(mine.own, incarnation=attempt, host=host or mine.own.host), mine.own.name
    worker = replace(mine, own=own, greeting=f"{name} is process {os.getpid()}")
    if not asyncio.run(worker.run()):
        raise RuntimeError(f"{name} is not done: it has failed, or somebody else has gone")
    yield name, True


def need_slots(context: SparkContext, needed: int) -> None:
    """Refuse to start tasks that could never run at once; executors of a cluster may yet come."""
    spark: Any = context._jsc.sc()
    profile = spark.resourceProfileManager().defaultResourceProfile()
    said = re.match(r"local(?:-cluster\[(\d+), *(\d+),)?", str(context.master))
    late = monotonic() + REGISTERING
    while (slots := spark.maxNumConcurrentTasks(profile)) < needed:
        to_come = int(said[1]) * int(said[2]) if said and said[1] else slots if said else needed
        if to_come < needed or monotonic() > late:
            has = to_come if to_come < needed else slots
            what = f"{needed} processes run at once, and {context.master} has slots for {has}"
            raise TooFewSlots(f"{what}: stop(), then take more, as in session('local[{needed}]')")
        sleep(0.1)


def _cause(error: Exception | None) -> str:
    """The lines of a long Java error that tell the cause."""
    lines = [line.strip() for line in str(error or "it has ended").splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("at ", "File ", "Traceback", "..."))]
    return "\n".join(told[:8])


@dataclass(frozen=True, repr=False)
class SparkRun(SocketRun):
    """What happened in the tasks, what the simulator says to it, and what the sink has put out."""

    output: Counter[Record]
    spark: SparkSession

    @cached_property
    def trace(self) -> Trace:
        """The events that the tasks of the last incarnation have noted, as tables."""
        return trace(self.run, spark=self.spark)

    def audit(self) -> DataFrame:
        """Audit the cuts of all snapshots of the last incarnation on its trace."""
        noted = self.trace
        assert noted.cuts is not None  # a run brings them
        return audit(noted.messages, noted.cuts, events=noted.events)


def run(
    what: System | Flow,
    algorithm: str | Callable[[], Recorder] | None = None,
    *,
    store: Store | str | Path,
    outside: str | Path | None = None,
    initiators: Iterable[str] = (),
    every: float = 0.05,
    timeout: float = 60,
    tolerated: int = 2,
    kill: Mapping[int, str] = {},
    seed: int = 0,
    spark: SparkSession | None = None,
    log: Say = lambda line: None,
) -> SparkRun:
    """Run a system, or a flow, as tasks of one Spark job, until nothing can happen any more.

    A flow has sources that initiate, barriers by name ("aligned" unless you say otherwise), and a
    sink that writes to the directory `outside`, by default beside the store. For a system, the
    algorithm is a recorder class, by default ChandyLamport. A run on a store that has snapshots
    goes on from the last of them. `kill` says which task kills itself, with SIGKILL, after how
    many complete snapshots; a number of failures in a row is tolerated.
    """
    spark = spark or session()
    system, recorder, sinks = what, algorithm or ChandyLamport, dict[str, Directory]()
    opened = store if isinstance(store, Store) else Store(store)
    try:
        if isinstance(what, Flow):
            tasks = deploy(what, algorithm or "aligned")
            system, recorder, initiators = tasks.system, tasks.algorithm, tasks.sources
            place = outside or opened.path.with_name(f"{opened.path.name}.outside")
            sinks = {tasks.sink: Directory(tasks.operator, place)}
        if not isinstance(system, System) or not callable(recorder):
            raise TypeError("give a System and a recorder class, or a Flow and its barriers")
        need_slots(spark.sparkContext, len(system.processes))
        crew, how = Tasks(spark.sparkContext, sinks), (every, timeout, tolerated, kill, seed, log)
        try:
            ended = coordinate(system, recorder, crew, opened, initiators, *how)
        finally:
            crew.close()
    finally:
        if opened is not store:
            opened.close()
    output = sum((place.output for place in sinks.values()), Counter())
    return SparkRun(**vars(ended), output=output, spark=spark)
