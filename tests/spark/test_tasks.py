"""Processes as tasks of a Spark job: the same recorders, killed at many moments, exactly once."""

import os
import re
import select
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import monotonic

import pytest

import chandylamport as cl
from chandylamport import spark as cls
from chandylamport.coordinator import SnapshotsFail
from chandylamport.dataflow.outside import Directory
from chandylamport.sockets import WorkerFailed
from chandylamport.spark.tasks import Tasks
from chandylamport.store import Disk, Store

WORDS = ["to", "be", "or", "not"] * 150, ["that", "is", "to", "be"] * 150
COUNTED = Counter(word[0] for part in WORDS for word in part)
RIGHT = Counter((key, number + 1) for key, n in COUNTED.items() for number in range(n))


def initial(word):
    return word[0]


def word_count(kind="transactional"):
    """Two sources, two counters, one sink."""
    return cl.source(*WORDS) >> cl.key_by(initial, into=2) >> cl.count() >> cl.sink(kind)


def bank(transfers=100, network=cl.Fifo, **rich):
    accounts = cl.accounts(transfers, **(rich or dict.fromkeys("pqr", 100_000)))
    return cl.System(accounts, network(cl.complete("pqr")))


def money(snapshot):
    return sum(snapshot.states.values()) + sum(map(sum, snapshot.channels.values()))


@pytest.fixture(scope="module")
def spark():
    return cls.session()


@pytest.fixture
def store(tmp_path, spark):
    with Store(tmp_path / "store", disk=Disk(sync=False), keep=1000) as opened:
        yield opened


def assert_no_job_is_left():
    tracker = cls.session().sparkContext.statusTracker()
    late = monotonic() + 30  # the tracker hears of the end a little later than we do
    while tracker.getActiveJobsIds():
        assert monotonic() < late


def assert_nothing_is_left(got):
    """Nothing of a run is left: no job, no worker, no port of the coordinator."""
    assert_no_job_is_left()
    [port] = {int(line.split()[-1][:-1]) for line in got.log if line.startswith("coordinator lis")}
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert port not in [int(row[1].partition(":")[2], 16) for row in listening if row[3] == "0A"]


# --- the same recorders ---------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [cl.ChandyLamport, cl.LaiYang, cl.Mattern])
def test_the_recorders_of_the_earlier_chapters_run_as_spark_tasks(algorithm, store):
    got = cls.run(bank(300), algorithm, store=store, every=0)
    assert got.faults == ()
    assert len(got.run.payloads) == 900
    assert {money(snapshot) for snapshot in (*got.snapshots.values(), got.final)} == {300_000}
    assert repr(got).startswith("<SparkRun")
    assert_nothing_is_left(got)


def test_the_trace_of_the_tasks_is_audited_on_spark(tmp_path, spark):
    for seed in range(10):  # tasks may be done before a second snapshot begins
        got = cls.run(bank(1000), store=tmp_path / str(seed), every=0, seed=seed)
        if len(got.snapshots) > 1:
            break
    rows = got.audit().collect()
    assert [row.cut for row in rows] == sorted(got.run.cuts)
    assert len(rows) == len(got.snapshots) > 1
    assert all(row.consistent and row.orphans == 0 for row in rows)
    held = {id: sum(map(len, s.channels.values())) for id, s in got.snapshots.items()}
    assert {row.cut: row.in_transit for row in rows} == held


def test_an_inconsistent_cut_of_tasks_is_found_by_the_audit(store):
    trace = cls.run(bank(300), store=store, every=0).trace
    moved = trace.cuts.selectExpr("cut", "process", "if(process = 'p', 0, 400) as frontier")
    rows = cls.audit(trace.messages, moved, checked=True).collect()
    assert rows
    assert not any(row.consistent for row in rows)


@pytest.mark.parametrize("barriers", ["aligned", "unaligned"])
@pytest.mark.parametrize("kind", ["plain", "idempotent", "transactional"])
def test_a_flow_puts_out_what_it_does_in_the_simulator(barriers, kind, store, tmp_path):
    got = cls.run(word_count(kind), barriers, store=store, every=0, outside=tmp_path / "out")
    assert got.faults == ()
    assert got.output == RIGHT == cl.execute(word_count(kind)).output
    assert got.output == Directory(cl.deploy(word_count(kind)).operator, tmp_path / "out").output


def test_classes_and_functions_of_a_notebook_can_be_sent(store):
    class Homemade(cl.ChandyLamport):
        pass

    flow = cl.source([1, 2, 3]) >> cl.map(lambda n: n * n) >> cl.sink()
    assert cls.run(flow, Homemade, store=store).output == Counter([1, 4, 9])


# --- killed ---------------------------------------------------------------------------------------

TASKS = ["source-1", "source-2", "count-1", "count-2", "sink"]


class Killer:
    """Kills a task when a line of the log comes."""

    def __init__(self, victim, line):
        self.victim, self.line, self.done, self.pids = victim, line, False, {}

    def __call__(self, line):
        if match := re.fullmatch(r"([\w-]+) is process (\d+)", line):
            self.pids[match[1]] = int(match[2])
        if re.fullmatch(self.line, line) and self.victim in self.pids and not self.done:
            self.done = True
            os.kill(self.pids[self.victim], signal.SIGKILL)


MOMENTS = ["at its start", "while a snapshot runs", "after 1 snapshot", "after 3 snapshots"]


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("victim", TASKS)
def test_killed_at_any_moment_the_output_is_that_of_a_calm_run(victim, moment, store):
    line, kill = {
        "at its start": (rf"{victim} is process \d+", {}),
        "while a snapshot runs": ("snapshot 1 begins", {}),
        "after 1 snapshot": ("never", {1: victim}),
        "after 3 snapshots": ("never", {3: victim}),
    }[moment]
    barriers = "aligned" if victim in ("source-1", "count-1", "sink") else "unaligned"
    killer = Killer(victim, line)
    got = cls.run(word_count(), barriers, store=store, every=0, kill=kill, log=killer)
    assert killer.done or got.killed == (victim,)
    assert got.incarnations > 1
    assert got.faults == ()
    assert got.output == RIGHT
    assert_nothing_is_left(got)


@pytest.mark.slow
@pytest.mark.parametrize("victim", TASKS)
def test_a_plain_sink_shows_exactly_the_predicted_duplicates(victim, store, tmp_path):
    flow, out = word_count("plain"), tmp_path / "out"
    shown, restored = [], []

    def log(line):
        if match := re.fullmatch(r"incarnation 2 starts from (snapshot (\d+)|the beginning)", line):
            restored.append(int(match[2] or 0))
        if line.startswith("sink is process") and restored and not shown:
            shown.append(outside.appended)  # nobody writes now: the first sink has gone

    outside = Directory(cl.deploy(flow).operator, out)
    got = cls.run(flow, store=store, every=0, outside=out, kill={2: victim}, log=log)
    assert got.faults == ()
    (handed_over, _), *_ = store.read(restored[0])["sink"].state
    repeated = Counter(shown[0][handed_over:])
    assert got.output == RIGHT + repeated
    print(f"{victim} killed: {repeated.total()} records come twice, as predicted")


@pytest.mark.slow
def test_tasks_may_be_killed_again_and_again(store):
    kill = {1: "count-1", 2: "sink", 3: "source-2"}
    got = cls.run(word_count(), "unaligned", store=store, every=0, kill=kill)
    assert got.killed == ("count-1", "sink", "source-2")
    assert got.incarnations == 4
    assert (got.faults, got.output) == ((), RIGHT)


DRIVER = """
import sys
import chandylamport as cl
from chandylamport import spark as cls
from spark.test_tasks import word_count
tell = lambda line: print(line, flush=True)
got = cls.run(word_count(), sys.argv[2], store=sys.argv[1], every=0, log=tell)
print("put out:", got.output == cl.execute(word_count()).output, got.faults, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", ["sink is process", "snapshot 1 begins", "snapshot 1 is complete", "sink commits"]
)
def test_killed_with_its_driver_the_next_run_goes_on_from_the_store(moment, tmp_path):
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "store"), "aligned"]
    tests, root = Path(__file__).parents[1], Path(cl.__file__).parents[1]
    how = {"stdout": subprocess.PIPE, "text": True}
    how["env"] = os.environ | {"PYTHONPATH": f"{tests}{os.pathsep}{root}"}
    workers = []
    with subprocess.Popen(command, **how) as driver:
        for line in driver.stdout:
            if match := re.match(r"[\w-]+ is process (\d+)", line):
                workers.append(os.pidfd_open(int(match[1])))
            if line.startswith(moment):
                driver.kill()
                break
    assert len(workers) > 0
    for worker in workers:
        assert select.select([worker], [], [], 60)[0], "a task is still there"
        os.close(worker)
    with subprocess.Popen(command, **how) as second:
        lines = second.stdout.read().splitlines()
    assert lines[-1] == "put out: True ()"
    if moment == "sink commits":
        assert re.match(r"incarnation 1 starts from snapshot \d+", lines[0])


CLUSTER = """
import sys
import pyspark, pathlib
import chandylamport as cl
from chandylamport import spark as cls
from spark.test_tasks import bank, word_count
spark = cls.session("local-cluster[2,3,1024]")
got = cls.run(word_count(), "unaligned", store=sys.argv[1], every=0, kill={1: "count-1"})
print(got.incarnations, got.output == cl.execute(word_count()).output, got.faults)
print(got.audit().where("not consistent").count())
many = dict.fromkeys("abcdefg", 1)
try:
    cls.run(cl.System(cl.accounts(**many), cl.Fifo(cl.complete(many))), store=sys.argv[1] + "2")
except cls.TooFewSlots as error:
    print(error)
print(pathlib.Path(pyspark.__file__).parent / "work" / spark.sparkContext.applicationId)
"""


@pytest.mark.slow
def test_on_executors_of_their_own_it_is_the_same(tmp_path):
    command = [sys.executable, "-c", CLUSTER, str(tmp_path / "store")]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(cl.__file__).parents[1])])
    surroundings = os.environ | {"PYTHONPATH": paths}
    said = subprocess.run(command, capture_output=True, text=True, env=surroundings)
    assert said.stderr == ""
    one, two, three, left = said.stdout.splitlines()
    assert (one, two) == ("2 True ()", "0")
    assert three.startswith("7 processes run at once, and local-cluster[2,3,1024] has slots for 6")
    assert not Path(left).exists()


class FailsOnce(Directory):
    """A world outside whose disk is full once, at one of the phases."""

    def __init__(self, sink, path, method):
        super().__init__(sink, path)
        self.method = method

    def fail(self, method):
        if method == self.method and not (self.path / "failed").exists():
            (self.path / "failed").touch()
            raise OSError("no space left on the device")

    def append(self, record):
        self.fail("append")
        super().append(record)

    def put(self, key, record):
        self.fail("put")
        super().put(key, record)

    def keep(self, id, held):
        self.fail("keep")
        super().keep(id, held)

    def show(self, begin, records):
        self.fail("show")
        super().show(begin, records)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("transactional", "keep"),
        ("transactional", "show"),
        ("idempotent", "put"),
        ("plain", "append"),
    ],
)
def test_a_sink_that_fails_once_is_started_again(kind, method, store, tmp_path, monkeypatch):
    outside = FailsOnce(cl.deploy(word_count()).operator, tmp_path / "out", method)
    monkeypatch.setattr("chandylamport.spark.tasks.Directory", lambda *_: outside)
    outside.sink = cl.deploy(word_count(kind)).operator
    got = cls.run(word_count(kind), store=store, every=0)
    assert "sink cannot go on: no space left on the device" in got.log
    assert got.incarnations == 2
    assert got.faults == ()
    assert got.output == RIGHT or (kind == "plain" and got.output >= RIGHT)


# --- wrong variants -------------------------------------------------------------------------------


class Hasty(Directory):
    """Makes visible what waits for a checkpoint that is not complete; then it dies."""

    def keep(self, id, held):
        super().keep(id, held)
        first, records = held
        if records:
            self.show(first, records)
            raise OSError("the machine stops")


def test_a_sink_that_commits_too_early_is_not_started_again(store, monkeypatch):
    monkeypatch.setattr("chandylamport.spark.tasks.Directory", Hasty)
    with pytest.raises(WorkerFailed, match=r"\d+ records are visible, and .* would repeat some"):
        cls.run(word_count(), store=store, every=0)


# --- bad input, and what is left ------------------------------------------------------------------


def test_too_few_slots_are_an_error_at_once(store):
    many = "abcdefghi"
    system = cl.System(cl.accounts(1, **dict.fromkeys(many, 5)), cl.Fifo(cl.complete(many)))
    with pytest.raises(
        ValueError, match=r"9 processes run at once, and local\[8\] has slots for 8"
    ):
        cls.run(system, store=store)


def test_neither_a_system_nor_a_flow_is_refused(store):
    with pytest.raises(TypeError, match="give a System and a recorder class, or a Flow"):
        cls.run("to be", store=store)
    with pytest.raises(TypeError, match="give a System and a recorder class, or a Flow"):
        cls.run(bank(), "aligned", store=store)
    with pytest.raises(ValueError, match="there is no process z to be killed"):
        cls.run(bank(), store=store, kill={1: "z"})


def test_a_task_that_raises_tells_its_traceback_and_nothing_is_left(store):
    lines = []
    flow = cl.source([1, 0]) >> cl.map(lambda n: 1 // n) >> cl.sink()
    with pytest.raises(WorkerFailed, match=r"(?s)map has failed:.*ZeroDivisionError"):
        cls.run(flow, store=store, log=lines.append)
    assert_no_job_is_left()


class Poison:
    """What cannot be made again where it is sent to, like a class of a module that is not there."""

    def __reduce__(self):
        return int, ("no number",)

    def __call__(self, record):
        return record


def test_tasks_that_never_come_are_given_up(store):
    flow = cl.source([1, 2]) >> cl.map(Poison()) >> cl.sink()
    with pytest.raises(cls.SparkFailed, match="can they import your modules, and reach the driver"):
        cls.run(flow, store=store)
    assert_no_job_is_left()


@pytest.mark.slow
def test_a_task_that_dies_again_and_again_is_given_up(store):
    class Suicide(Killer):
        done = property(lambda self: False, lambda self, value: None)

    with pytest.raises(WorkerFailed, match=r"3 failures in a row, 2 tolerated"):
        cls.run(word_count(), store=store, log=Suicide("count-1", r"count-1 is process \d+"))


def test_snapshots_that_never_complete_fail_the_run(store):
    one_way = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Fifo([("p", "q")]))
    with pytest.raises(SnapshotsFail, match="nothing from p"):
        cls.run(one_way, store=store, initiators=["q"], timeout=0.1)


def test_only_the_attempt_that_came_first_is_admitted_and_a_newer_one_ends_it(spark):
    crew = Tasks(spark.sparkContext, {})
    crew.job = object()
    crew.start({}, print)
    assert crew.is_current(5)
    assert crew.is_current(5)
    assert not crew.is_current(4)
    assert not crew.newer
    assert not crew.is_current(9)
    assert crew.newer
    crew.start({}, print)
    assert not crew.is_current(5)
    assert crew.is_current(9)
    assert not crew.newer
