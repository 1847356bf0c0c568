"""Structured Streaming: killed wherever it hurts, it ends with the balances of a batch query."""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from chandylamport import spark as cls
from chandylamport.spark import crashes, streaming
from chandylamport.spark.checkpoints import (
    BadCheckpoint,
    Checkpoint,
    WrongState,
    checkpoint,
    verify,
)
from chandylamport.spark.crashes import PLACES, Job, Moment, interrupted, kill
from chandylamport.spark.streaming import (
    AppendingSink,
    Ledger,
    RunningBalances,
    TransactionalSink,
    TransferReader,
    balances,
    batch_balances,
    legs_of,
    run_continuously,
    shown,
    transfers,
)

LEDGER = transfers(18, seed=7, p=100, q=100, r=100, s=100)  # in batches of six, so three of them
SINKS = (AppendingSink, TransactionalSink)


@pytest.fixture(scope="module")
def spark():
    return cls.session()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return LEDGER.write(tmp_path_factory.mktemp("ledger") / "ledger.json")


@pytest.fixture(scope="module")
def finished(spark, source, tmp_path_factory):
    """A stream that has run to its end: its checkpoint and its output."""
    home = tmp_path_factory.mktemp("finished")
    balances(spark, source, home / "out", checkpoint=home / "checkpoint")
    return home


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished / "checkpoint", tmp_path / "copy")


def without_checksum(file: Path) -> Path:
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return file


# --- the input -----------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_transfers():
    assert transfers(18, seed=7, p=100, q=100, r=100, s=100) == LEDGER
    assert transfers(18, seed=8, p=100, q=100, r=100, s=100) != LEDGER


def test_money_is_conserved_at_every_offset():
    totals = {
        sum(LEDGER.balances({"north": n, "south": s}).values())
        for n in range(10)
        for s in range(10)
    }
    assert totals == {400}


def test_a_ledger_is_what_was_written(tmp_path):
    assert Ledger.read(LEDGER.write(tmp_path / "ledger")) == LEDGER


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"opening": {}, "branches": {"north": [[1]]}}'])
def test_a_file_that_is_no_ledger_is_named(text, tmp_path):
    (tmp_path / "x").write_text(text)
    with pytest.raises(ValueError, match=r"x is no ledger .*Ledger\.write"):
        Ledger.read(tmp_path / "x")


def test_the_batch_query_and_the_definition_agree(spark):
    assert batch_balances(spark, LEDGER) == LEDGER.balances()


# --- a stream that nothing happens to ------------------------------------------------------------


@pytest.mark.slow
def test_the_sink_shows_every_leg_once_and_the_last_balances_are_those_of_a_batch(spark, finished):
    rows = shown(finished / "out")
    assert Counter(legs_of(rows)) == Counter(LEDGER.legs())
    assert last_balances(rows) == batch_balances(spark, LEDGER)
    assert [file.name for file in sorted((finished / "out").iterdir())] == [
        f"batch-{n:06}.jsonl" for n in range(3)
    ]


@pytest.mark.slow
def test_a_checkpoint_says_where_each_cut_goes_and_what_is_complete(finished):
    found = checkpoint(finished / "checkpoint")
    ends = [{"north": n, "south": n} for n in (3, 6, 9)]
    assert [offset for (offset,) in found.offsets.values()] == ends
    assert found.epochs == found.commits == found.with_state == (0, 1, 2)
    assert (found.planned, found.continuous) == ((), False)
    assert found.state(1) == LEDGER.balances(ends[1])
    assert "3 epochs, 3 complete" in repr(found)


@pytest.mark.slow
def test_each_file_has_its_role_in_a_snapshot(finished):
    heading, *rows = checkpoint(finished / "checkpoint").roles(2).splitlines()
    assert heading.split() == ["part", "of", "the", "snapshot", "file", "here"]
    parts = ("offsets/2", "state/…/3.zip", "no file", "commits/2")
    assert [part in row for part, row in zip(parts, rows, strict=True)] == [True] * 4
    assert rows[1].endswith("2 files, for 2 partitions")
    assert rows[3].endswith("complete")
    with pytest.raises(ValueError, match="there is no epoch 7; there are 0, 1, 2"):
        checkpoint(finished / "checkpoint").roles(7)


@pytest.mark.slow
def test_a_state_without_the_file_of_a_partition_is_called_incomplete(copy):
    (copy / "state" / "0" / "1" / "3.zip").unlink()
    assert (
        checkpoint(copy).roles(2).splitlines()[2].endswith("1 file, for 2 partitions: incomplete")
    )
    assert checkpoint(copy).roles(1).splitlines()[2].endswith("2 files, for 2 partitions")


@pytest.mark.slow
def test_what_comes_later_is_read_by_the_next_run_and_what_is_gone_is_missed(spark, tmp_path):
    how = {"checkpoint": tmp_path / "checkpoint"}
    made = transfers(12, seed=3, p=10, q=10)
    half = replace(made, branches={name: each[:3] for name, each in made.branches.items()})
    whole = replace(made, branches=made.branches | {"east": made.branches["north"][:2]})
    for ledger in (half, whole):
        balances(spark, ledger.write(tmp_path / "ledger"), tmp_path / "out", **how)
    assert Counter(legs_of(shown(tmp_path / "out"))) == Counter(whole.legs())
    assert verify(checkpoint(tmp_path / "checkpoint"), whole) == (0, 1, 2)
    with pytest.raises(StreamingQueryException, match=r"3 transfers of north, and .* is at 6: put"):
        balances(spark, half.write(tmp_path / "ledger"), tmp_path / "out", **how)


def test_a_source_reads_new_branches_from_the_beginning_and_never_goes_back(source):
    reader = TransferReader({"path": str(source), "rows": "6"})
    reader.prepareForTriggerAvailableNow()
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset({"north": 8}, limit) == {"north": 9, "south": 3}
    stretches = reader.partitions({"north": 9}, {"north": 9, "south": 3})
    assert [(each.branch, each.start, each.end) for each in stretches] == [("south", 0, 3)]
    for ahead in ({"north": 10, "south": 9}, {"west": 1}):
        with pytest.raises(ValueError, match="put back the ledger that was read"):
            reader.latestOffset(ahead, limit)
        with pytest.raises(ValueError, match="put back the ledger that was read"):
            reader.partitions({}, ahead)


# --- twenty moments ------------------------------------------------------------------------------

DRIVER_KILLED = [
    Moment("plan", 0),
    Moment("plan", 2),
    Moment("planned", 0),
    Moment("planned", 2),
    Moment("read", 1, 2),
    Moment("work", 2, 1),
    Moment("write", 1, 3),
    Moment("commit", 2),
    Moment("committed", 0),
    Moment("committed", 2),
]
TASK_KILLED = [Moment("read", 2), Moment("work", 0), Moment("work", 2, 1), Moment("write", 2, 2)]
FAILING = [
    Moment("plan", 1),
    Moment("write", 0, 0),
    Moment("write", 2, 1),
    Moment("commit", 1),
    Moment("committed", 2),
    Moment("work", 1),
]


def fail() -> None:
    """Raise an error, as a full disk does."""
    raise OSError("no space left on device")


def die() -> None:
    """Kill this worker process, as the system does when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_there_are_twenty_moments_and_every_place_is_among_them():
    moments = [("driver", m) for m in DRIVER_KILLED] + [("task", m) for m in TASK_KILLED]
    moments += [("failing", m) for m in FAILING]
    assert len(set(moments)) == len(moments) == 20
    assert {moment.place for _, moment in moments} == set(PLACES)


def test_a_place_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no place 'lunch'; there are plan"):
        Moment("lunch", 1)


def job(source: Path, home: Path, sink: type, moment: Moment) -> Job:
    name = f"{sink.__name__}-{moment.place}-{moment.batch}"
    into, logs = home / f"{name}-out", home / f"{name}-checkpoint"
    return Job(str(source), str(into), str(logs), sink.__name__, moment)


def jobs_at(moments: list[Moment], source: Path, home: Path) -> list[Job]:
    """Both sinks, where the batch has come to the sink; before that, one of them in turn."""
    jobs = []
    for number, moment in enumerate(moments):
        at_the_sink = moment.place in ("write", "commit", "committed")
        sinks = SINKS if at_the_sink else [SINKS[number % 2]]
        jobs += [job(source, home, sink, moment) for sink in sinks]
    return jobs


def in_pairs(jobs: list[Job]) -> list[list[Job]]:
    """Two at once; with more, workers start too late."""
    return [jobs[first : first + 2] for first in range(0, len(jobs), 2)]


def last_balances(rows: list[dict]) -> dict[str, int]:
    """What a reader takes for the balance: that of the account's last leg."""
    last = sorted(rows, key=lambda row: (row["number"], row["branch"]))
    return LEDGER.opening | {row["account"]: row["balance"] for row in last}


def predicted(job: Job) -> Counter:
    """The legs that will show twice: those of a planned batch that have been written already."""
    found = checkpoint(job.checkpoint) if Path(job.checkpoint, "offsets").is_dir() else None
    if found is None or not found.planned or job.sink == "TransactionalSink":
        return Counter()
    (epoch,) = found.planned
    (end,), (start,) = found.offsets[epoch], found.offsets.get(epoch - 1, (None,))
    written = Counter(legs_of(shown(job.into)))
    return written & Counter(LEDGER.legs(end, start))


def begin(spark, job: Job, **parts):
    how = {"checkpoint": job.checkpoint, "sink": getattr(streaming, job.sink)} | parts
    return streaming.start(spark, job.source, job.into, **how)


def check_recovery(spark, jobs: list[Job]) -> None:
    """Start each job again as if nothing had happened, and compare all there is to compare."""
    due = [predicted(job) for job in jobs]
    for pair in in_pairs(jobs):
        for query in [begin(spark, job) for job in pair]:
            query.awaitTermination()
    answer = batch_balances(spark, LEDGER)
    for job, twice in zip(jobs, due, strict=True):
        rows = shown(job.into)
        assert Counter(legs_of(rows)) - Counter(LEDGER.legs()) == twice, job
        assert Counter(LEDGER.legs()) <= Counter(legs_of(rows)), job
        assert last_balances(rows) == answer, job
        found = checkpoint(job.checkpoint)
        assert found.planned == (), job
        assert verify(found, LEDGER) == (0, 1, 2), job


@pytest.mark.slow
def test_a_driver_killed_at_any_moment_recovers(spark, source, tmp_path, monkeypatch):
    jobs = jobs_at(DRIVER_KILLED, source, tmp_path)
    leaders = []
    monkeypatch.setattr(crashes, "_kill_session", leaders.append)  # so the dead are on their own
    assert kill(jobs) == -9
    for each in jobs:
        check_crash_site(each)
    check_recovery(spark, jobs)
    (leader,) = leaders
    assert crashes.living(leader) == []


def check_crash_site(job: Job) -> None:
    """The directory looks as the place says: planned or not, written or not."""
    place, batch = job.moment.place, job.moment.batch
    found = checkpoint(job.checkpoint)
    assert found.commits == tuple(range(batch))
    assert found.planned == (() if place == "plan" else (batch,))
    published = batch + 1 if place == "committed" else batch
    if job.sink == "TransactionalSink":
        assert len(shown(job.into)) == published * 12
    elif place in ("commit", "committed"):
        assert len(predicted(job)) == 12
    elif place == "write":
        assert 0 < len(predicted(job)) < 12
    else:
        assert not predicted(job)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moments", "act"),
    [(TASK_KILLED, die), (FAILING, fail)],
    ids=["a task is killed", "source, operator or sink fails"],
)
def test_a_failing_part_ends_the_query_and_the_next_run_recovers(
    moments, act, spark, source, tmp_path
):
    jobs = jobs_at(moments, source, tmp_path)
    for pair in in_pairs(jobs):
        parts = [interrupted(each.moment, act, getattr(streaming, each.sink)) for each in pair]
        queries = [begin(spark, each, **part) for each, part in zip(pair, parts, strict=True)]
        for query, each in zip(queries, pair, strict=True):
            with pytest.raises(StreamingQueryException):
                query.awaitTermination()
            assert checkpoint(each.checkpoint).commits == tuple(range(each.moment.batch)), each
    twice = sum((predicted(each) for each in jobs), Counter())
    assert twice
    check_recovery(spark, jobs)


@pytest.mark.slow
def test_streams_that_end_before_their_moment_are_an_error(tmp_path):
    little = transfers(2, p=10, q=10).write(tmp_path / "little")
    never = job(little, tmp_path, TransactionalSink, Moment("commit", 9))
    with pytest.raises(RuntimeError, match="stream 1 has ended before its moment"):
        kill([never])


# --- the proof rejects what is wrong -------------------------------------------------------------


@pytest.mark.slow
def test_a_source_with_other_contents_is_rejected(spark, finished):
    first, *rest = LEDGER.branches["south"]
    other = [first._replace(amount=first.amount + 1), *rest]
    forged = replace(LEDGER, branches=LEDGER.branches | {"south": other})
    with pytest.raises(WrongState, match=f"epoch 0, .*account [{first.payer}{first.payee}] has "):
        verify(checkpoint(finished / "checkpoint"), forged)


@pytest.mark.slow
def test_a_shorter_source_and_one_with_other_branches_are_rejected(spark, finished):
    found = checkpoint(finished / "checkpoint")
    short = replace(LEDGER, branches=LEDGER.branches | {"south": LEDGER.branches["south"][:7]})
    with pytest.raises(WrongState, match=r"epoch 2, .*the source has 7 transfers of south"):
        verify(found, short)
    with pytest.raises(WrongState, match="the source has the branches east"):
        verify(found, Ledger(LEDGER.opening, {"east": ()}))


@pytest.mark.slow
@pytest.mark.parametrize("step", [-1, 1])
def test_an_offset_that_is_off_by_one_is_rejected(step, spark, copy):
    file = without_checksum(copy / "offsets" / "1")
    text = file.read_text()
    assert text.endswith('{"north": 6, "south": 6}')
    file.write_text(text.replace('"south": 6}', f'"south": {6 + step}}}'))
    with pytest.raises(WrongState, match=f"epoch 1, offset north 6, south {6 + step}: account "):
        verify(checkpoint(copy), LEDGER)


@pytest.mark.slow
def test_the_state_of_another_epoch_is_rejected(spark, copy):
    partition = copy / "state" / "0" / "0"
    for name in ("{}.zip", ".{}.zip.crc"):
        shutil.copy(partition / name.format(2), partition / name.format(3))
    with pytest.raises(WrongState, match="epoch 2, offset north 9, south 9: account"):
        verify(checkpoint(copy), LEDGER)


@pytest.mark.slow
def test_a_state_that_cannot_be_read_is_damaged_and_not_just_gone(spark, copy):
    without_checksum(copy / "state" / "0" / "0" / "3.zip").write_bytes(b"torn")
    with pytest.raises(BadCheckpoint, match="state of epoch 2 cannot be read"):
        verify(checkpoint(copy), LEDGER)


class Forgetful(RunningBalances):
    """Forgets a leg now and then."""

    def handleInputRows(self, key, rows, timerValues):
        kept = [row for row in rows if (row.branch, row.number) != ("north", 4)]
        return super().handleInputRows(key, iter(kept), timerValues)


@pytest.mark.slow
def test_an_operator_that_forgets_a_leg_is_rejected(spark, source, tmp_path):
    how = {"checkpoint": tmp_path / "checkpoint", "operator": Forgetful}
    balances(spark, source, tmp_path / "out", **how)
    with pytest.raises(WrongState, match="epoch 1, offset north 6, south 6: account "):
        verify(checkpoint(tmp_path / "checkpoint"), LEDGER)


@pytest.mark.slow
def test_nothing_is_proved_about_epochs_whose_state_is_gone(spark, copy):
    for partition in "01":
        for file in (copy / "state" / "0" / partition).glob("*.zip"):
            if file.name in ("1.zip", "2.zip"):
                file.unlink()
    assert verify(checkpoint(copy), LEDGER) == (2,)
    shutil.rmtree(copy / "state")
    with pytest.raises(WrongState, match="nothing can be proved"):
        verify(checkpoint(copy), LEDGER)


@pytest.mark.slow
def test_the_state_of_a_planned_epoch_is_not_given(spark, copy):
    (copy / "commits" / "2").unlink()
    found = checkpoint(copy)
    assert found.planned == (2,)
    with pytest.raises(ValueError, match="epoch 2 is not complete, the complete epochs are 0, 1"):
        found.state(2)
    assert verify(found, LEDGER) == (0, 1)
    assert "missing: run it again" in found.roles(2)


# --- damaged and foreign directories -------------------------------------------------------------


@pytest.fixture
def small(tmp_path):
    """A checkpoint as Spark writes it, made by hand: three epochs, two complete."""
    for name in ("offsets", "commits"):
        (tmp_path / "logs" / name).mkdir(parents=True)
    (tmp_path / "logs" / "metadata").write_text('{"id":"x"}')
    for epoch in range(3):
        text = f'v1\n{{"conf":{{}}}}\n{{"north": {epoch}}}'
        (tmp_path / "logs" / "offsets" / str(epoch)).write_text(text)
        (tmp_path / "logs" / "offsets" / f".{epoch}.crc").write_text("")
    for epoch in range(2):
        (tmp_path / "logs" / "commits" / str(epoch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return tmp_path / "logs"


def test_a_checkpoint_is_read_without_spark(small):
    found = checkpoint(small)
    assert (found.epochs, found.commits, found.planned) == ((0, 1, 2), (0, 1), (2,))
    assert found.with_state == ()
    assert repr(found).splitlines()[-1].split() == ["2", "north", "2", "no:", "planned", "only"]


def test_a_query_that_never_planned_a_batch_has_no_epochs(small):
    for name in ("offsets", "commits"):
        shutil.rmtree(small / name)
        (small / name).mkdir()
    assert checkpoint(small).epochs == ()


def test_old_epochs_may_be_gone(small):
    for name in ("offsets", "commits"):
        (small / name / "0").unlink()
    assert checkpoint(small).epochs == (1, 2)


DAMAGES = {
    "no directory": (lambda p: shutil.rmtree(p), "there is no such directory; give the checkpoint"),
    "a file": (lambda p: (shutil.rmtree(p), p.touch()), "there is no such directory"),
    "empty": (lambda p: (shutil.rmtree(p), p.mkdir()), "is empty: no query has begun with it"),
    "foreign": (lambda p: (p / "metadata").unlink(), "no checkpoint of Spark, for it has no meta"),
    "no offsets": (lambda p: shutil.rmtree(p / "offsets"), "for it has no offsets"),
    "torn JSON": (
        lambda p: (p / "offsets" / "1").write_text('v1\n{"conf":{}}\n{"nor'),
        "offsets/1 is torn .*put back a copy",
    ),
    "cut off": (lambda p: (p / "offsets" / "1").write_text("v1\n{}"), "offsets/1 is torn"),
    "no byte": (lambda p: (p / "offsets" / "2").write_text(""), "offsets/2 is torn"),
    "not text": (lambda p: (p / "offsets" / "2").write_bytes(b"\xff\x00"), "offsets/2 is torn"),
    "torn commit": (lambda p: (p / "commits" / "1").write_text("v1\n{"), "commits/1 is torn"),
    "no commit": (lambda p: (p / "commits" / "0").write_text("v1"), "commits/0 is torn"),
    "version": (
        lambda p: (p / "offsets" / "0").write_text("v9\n{}\n{}"),
        "offsets/0 has version v9, and v1 can be read: use its Spark",
    ),
    "version of a commit": (
        lambda p: (p / "commits" / "0").write_text("v3\n{}"),
        "commits/0 has version v3, and v1, v2 can be read",
    ),
    "a gap": (
        lambda p: [(p / name / "1").unlink() for name in ("offsets", "commits")],
        "offsets/1 is missing, and .*offsets/2 is there: put back",
    ),
    "a commit without its offset": (
        lambda p: (p / "offsets" / "2").unlink() or (p / "offsets" / "1").unlink(),
        "commits/1: epoch 1 is committed, and .*offsets/1 is not there: put back",
    ),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_named_with_its_file_and_a_remedy(damage, words, small):
    damage(small)
    with pytest.raises(BadCheckpoint, match=words):
        checkpoint(small)


def test_a_gap_in_the_commits_is_named(small):
    (small / "commits" / "1").rename(small / "commits" / "2")
    with pytest.raises(BadCheckpoint, match=r"commits/1 is missing, and .*commits/2 is there"):
        checkpoint(small)


# --- continuous mode -----------------------------------------------------------------------------


def test_an_epoch_of_continuous_mode_without_a_commit_is_a_report_and_no_plan(small):
    for epoch in range(3):
        text = f'v1\n\n{{"1":{{"value":{epoch}}},"0":{{"value":{2 * epoch}}}}}'
        (small / "offsets" / str(epoch)).write_text(text)
    found = checkpoint(small)
    assert found.continuous
    assert " ".join(repr(found).splitlines()[-1].split()) == "2 0 4, 1 2 no: reported only"
    assert found.roles(2).endswith("missing: its rows are read again")


def positions(found: Checkpoint, epoch: int) -> dict[int, int]:
    (offset,) = found.offsets[epoch]
    return {int(parity): at["value"] for parity, at in offset.items()}


@pytest.mark.slow
def test_continuous_mode_reads_again_what_was_read_behind_the_last_commit(spark, tmp_path):
    through = run_continuously(spark, tmp_path)
    first = checkpoint(tmp_path)
    assert first.continuous
    last = max(first.commits)
    assert min(positions(first, last).values()) > 0
    kept = max(n for n in first.commits if positions(first, n)[0] < positions(first, last)[0])
    reported = tuple(range(kept + 1, last + 1))
    for epoch in reported:  # as a crash between the reports and the commits leaves it
        without_checksum(tmp_path / "commits" / str(epoch)).unlink()
    crashed = checkpoint(tmp_path)
    assert crashed.planned == reported

    again = run_continuously(spark, tmp_path, past=max(through))
    start = positions(crashed, kept)
    assert {parity: min(n for n in again if n % 2 == parity) for parity in (0, 1)} == {
        parity: at + 2 for parity, at in start.items()
    }
    due = [number for number in through if number > start[number % 2]]
    assert due
    assert sorted({*through} & {*again}) == due
    second = checkpoint(tmp_path)
    end = min(positions(second, max(second.commits)).values())
    assert {*range(end)} <= {*through, *again}
    with pytest.raises(WrongState, match="nothing can be proved"):
        verify(second, LEDGER)


@pytest.mark.slow
def test_epochs_that_do_not_come_are_waited_for_only_so_long(spark, tmp_path):
    with pytest.raises(TimeoutError, match="of 3 epochs have moved on in 0 seconds: give it more"):
        run_continuously(spark, tmp_path, patience=0)
    assert not spark.streams.active


@pytest.mark.slow
def test_a_continuous_query_that_ends_by_itself_is_an_error(spark, tmp_path):
    def stop() -> None:
        while not (running := spark.streams.active):
            sleep(0.01)
        running[0].stop()

    with ThreadPoolExecutor() as pool:
        stopped = pool.submit(stop)
        with pytest.raises(RuntimeError, match="the query has ended by itself"):
            run_continuously(spark, tmp_path, epochs=1_000)
        stopped.result()


@pytest.mark.slow
def test_continuous_mode_refuses_aggregates(spark, tmp_path):
    counts = spark.readStream.format("rate").load().groupBy("value").count()
    writer = counts.writeStream.format("noop").outputMode("complete")
    writer = writer.option("checkpointLocation", str(tmp_path)).trigger(continuous="1 second")
    with pytest.raises(AnalysisException, match="does not support Aggregate"):
        writer.start()
