"""Flows that crash at every step: what the world outside sees, in each mode, by each sink."""

from collections import Counter
from math import inf
from tempfile import mkdtemp

import pytest

import chandylamport as cl
from chandylamport import broken
from chandylamport.dataflow.execution import Execution
from chandylamport.dataflow.operators import END
from chandylamport.keyed_state import bucket_of

WORDS = ["to", "be", "or", "not"], ["that", "is", "to", "be"]
KINDS = ["plain", "idempotent", "transactional"]
MODES = ["aligned", "unaligned", "at_least_once"]


def initial(word):
    return word[0]


def word_count(kind="transactional"):
    """Two sources, two counters, one sink."""
    return cl.source(*WORDS) >> cl.key_by(initial, into=2) >> cl.count() >> cl.sink(kind)


COUNTED = Counter(word[0] for part in WORDS for word in part)
RIGHT = Counter((key, number + 1) for key, n in COUNTED.items() for number in range(n))


class Watched(Execution):
    """An execution that notes, at the crash, what theory says will come out in the end."""

    def fail(self):
        visible, under_key = list(self.outside.visible), set(self.outside.under_key)
        super().fail()
        states, channels = self.world.states, self.world.now().channels
        offsets = [states[source][0] for source in ("source-1", "source-2")]
        to_come = [word for part, n in zip(WORDS, offsets, strict=True) for word in part[n:]]
        output = []
        for counter in ("count-1", "count-2"):
            held = [r for c, records in channels.items() if c.dst == counter for r in records]
            held += [record for _, record in states[counter][1]]
            mine = [word for key, word in (r for r in held if r != END)]
            counts = dict(states[counter][0])
            for key in COUNTED:
                again = [w for w in (*mine, *to_come) if initial(w) == key]
                if bucket_of(key, 2) == int(counter[-1]) - 1:
                    first = counts.get(key, 0)
                    output += [(key, first + 1 + n) for n in range(len(again))]
        (handed_over, waiting), inbox, _ = states["sink"]
        output += [record for _, record in inbox if record != END]
        output += [
            r for c, records in channels.items() if c.dst == "sink" for r in records if r != END
        ]
        self.repeated = Counter(visible[handed_over:])  # visible, and not in the checkpoint
        self.predicted = {
            "plain": Counter([*visible, *output]),
            "idempotent": Counter({*under_key, *output}),
            "transactional": Counter([*visible[:handed_over], *waiting, *output]),
        }


@pytest.fixture
def _watched(monkeypatch):
    monkeypatch.setattr("chandylamport.dataflow.execution.Execution", Watched)


def crashes(flow, **options):
    """Crash after every step of an execution, one at a time."""
    step = 0
    while True:
        execution = cl.execute(flow, crash_at=step, **options)
        if not execution.crashes:
            assert step > 100
            return
        yield execution
        step += 1


def test_without_a_crash_the_output_is_right():
    for kind in KINDS:
        for mode in MODES:
            assert cl.execute(word_count(kind), barriers=mode, every=20, seed=3).output == RIGHT


@pytest.mark.slow
@pytest.mark.usefixtures("_watched")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_a_crash_at_any_step_leaves_the_output_right_or_with_the_predicted_duplicates(mode, kind):
    outcomes = Counter()
    for execution in crashes(word_count(kind), barriers=mode, every=20, seed=1):
        assert execution.output == execution.predicted[kind]
        if mode != "at_least_once":
            assert not execution.faults
            repeated = execution.repeated if kind == "plain" else Counter()
            assert execution.output == RIGHT + repeated
        assert execution.output >= RIGHT  # nothing is lost, in any mode
        outcomes["right" if execution.output == RIGHT else "duplicates"] += 1
    print(f"{mode}, {kind} sink: {outcomes.total()} crash points, {dict(outcomes)}")
    assert ("duplicates" in outcomes) == (kind == "plain" or mode == "at_least_once")
    assert outcomes["right"] > 0


@pytest.mark.parametrize("mode", ["aligned", "unaligned"])
def test_two_crashes_and_back_pressure_change_nothing(mode):
    for seed in range(10):
        execution = cl.execute(
            word_count(), barriers=mode, every=15, crash_at=(30 + seed, 70), capacity=1, seed=seed
        )
        assert (execution.crashes, execution.output) == (2, RIGHT)
        assert not execution.faults


@pytest.mark.parametrize("variant", [broken.NoLog, broken.ClosesAllChannels])
def test_a_broken_variant_in_place_of_the_marker_algorithm_loses_records(variant):
    wrong = [
        execution
        for seed in range(20)
        for execution in [
            cl.execute(word_count(), barriers=variant, every=15, crash_at=80, seed=seed)
        ]
        if execution.output != RIGHT
    ]
    assert wrong
    assert all(execution.faults for execution in wrong)


def test_a_record_may_be_processed_twice_and_is_counted_once():
    execution = cl.execute(word_count("plain"), every=20, crash_at=60, seed=3)
    assert max(execution.output.values()) > 1  # the sink has worked on it again
    counters = [execution.world.states[task][0] for task in ("count-1", "count-2")]
    assert dict(counters[0]) | dict(counters[1]) == COUNTED


def test_going_back_behind_what_is_visible_is_refused(tmp_path):
    with cl.Store(tmp_path, keep=3, disk=cl.Disk(sync=False)) as store:
        execution = cl.execute(word_count(), every=20, store=store, seed=3)
        for id in store.ids()[1:]:
            (tmp_path / f"{id:08}" / "manifest.json").write_text("torn")
        with pytest.raises(RuntimeError, match="would repeat"):
            execution.fail()


def stopped_before_the_first_commit():
    """An execution whose first checkpoint is complete, and whose sink has not yet committed it."""
    store = cl.Store(mkdtemp(), disk=cl.Disk(sync=False))
    execution = Execution(cl.deploy(word_count()), store, every=40, seed=3)
    while not execution.checkpoints:
        execution.step()
    assert execution.outside.visible == []
    return execution


def test_what_is_staged_is_invisible_until_the_restart_commits_it():
    execution = stopped_before_the_first_commit()
    _, waiting = execution.checkpoints[1].states["sink"][0]
    assert waiting
    execution.fail()
    assert execution.outside.visible == []
    execution.take(next(o for o in execution.options() if o.method == "commit"))
    assert execution.outside.visible == list(waiting)
    execution.fail()  # committed already: nothing is left to do
    assert not any(o.method == "commit" for o in execution.options())


def test_what_was_staged_for_a_checkpoint_that_never_completed_is_never_visible():
    execution = stopped_before_the_first_commit()
    execution.take(next(o for o in execution.options() if o.method == "commit"))
    seen = list(execution.outside.visible)
    while 2 not in execution.outside.staged:
        if not execution.step():
            execution.snapshot()
    assert 2 not in execution.checkpoints
    execution.fail()
    assert execution.outside.visible == seen
    execution.run()
    execution.snapshot()
    execution.run()
    assert execution.output == RIGHT
    assert execution.outside.staged == {}


class FullOnce(cl.Disk):
    """A disk that is full when the first manifest is to be written."""

    full = True

    def rename(self, old, new):
        if new.name == "manifest.json" and self.full:
            self.full = False
            raise OSError("no space left")
        super().rename(old, new)


def test_the_last_checkpoint_is_tried_again_until_it_is_complete(tmp_path):
    with cl.Store(tmp_path, disk=FullOnce(sync=False)) as store:
        execution = cl.execute(word_count(), store=store, tolerated=1)
    assert execution.output == RIGHT
    assert "no space left" in execution.story[1]
    with pytest.raises(cl.SnapshotsFail, match="4 in a row, 3 tolerated"):
        cl.execute(word_count(), timeout=5, tolerated=3)


def summed(kind):
    numbers = cl.source([1, 2], [10, 20])
    return numbers >> cl.key_by(lambda n: "all", into=1) >> cl.sum() >> cl.sink(kind)


def test_an_idempotent_sink_needs_results_that_come_out_the_same_again():
    crashes = range(10, 45)
    kept = {
        kind: [cl.execute(summed(kind), every=15, crash_at=at, seed=at).output for at in crashes]
        for kind in ("idempotent", "transactional")
    }
    assert {output.total() for output in kept["transactional"]} == {4}
    assert max(output.total() for output in kept["idempotent"]) > 4


def test_a_store_that_is_not_empty_is_refused(tmp_path):
    with cl.Store(tmp_path, disk=cl.Disk(sync=False)) as store:
        cl.execute(word_count(), store=store)
        with pytest.raises(ValueError, match="give a new store"):
            cl.execute(word_count(), store=store)


def test_a_crash_before_the_beginning_is_refused():
    with pytest.raises(ValueError, match="counted from 0"):
        cl.execute(word_count(), crash_at=(-1, 3))


def timed(r):
    return r[0]


def lettered(r):
    return r[1]


FLOWS = {
    "map, filter": lambda: cl.source(range(9), range(9, 15)) >> cl.map(abs) >> cl.filter(bool),
    "window": lambda: (
        cl.source([(1, "a"), (2, "b"), (5, "a"), (11, "a")], [(0, "a"), (6, "b"), (7, "a")])
        >> cl.key_by(lettered, into=2)
        >> cl.window(5, timed)
    ),
    "join": lambda: cl.join(
        cl.source([1, 2, 3, 4], [5, 1]) >> cl.key_by(lambda n: n % 3, into=2),
        cl.source([10, 11, 12], name="right") >> cl.key_by(lambda n: n % 3, into=2),
    ),
    "loop": lambda: (
        cl.source([("r1", 0), ("r2", 2)], [("s1", 1)])
        >> cl.loop(lambda r: (r[0], r[1] + 1), again=lambda r: r[1] < 3)
        >> cl.key_by(timed, into=2)
        >> cl.count()
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("capacity", [None, 1, 2])
@pytest.mark.parametrize("mode", ["aligned", "unaligned"])
@pytest.mark.parametrize("name", FLOWS)
def test_every_operator_survives_crashes(name, mode, capacity):
    flow = FLOWS[name]() >> cl.sink()
    calm = cl.execute(flow)
    for seed in range(6):
        how = {"barriers": mode, "capacity": capacity, "every": 12, "seed": seed}
        crashed = cl.execute(flow, crash_at=(7 + 9 * seed, 40 + 5 * seed), **how)
        assert crashed.crashes > 0
        assert (crashed.output, crashed.faults) == (calm.output, {})


@pytest.mark.slow
def test_what_a_cancelled_checkpoint_held_is_released():
    """After a time-out in the middle of alignment, the coordinator says so, and all go on."""

    class Bare(cl.AtLeastOnce):
        """Holds, and releases only when it records."""

        def marker_receiving_rule(self, port, channel):
            port.hold(channel)
            super().marker_receiving_rule(port, channel)
            for each in self.came if self.recorded else ():
                port.release(each)

    cancelled = 0
    for barriers in ("aligned", Bare):
        for seed in range(10):
            how = {"barriers": barriers, "every": 10, "timeout": 25, "tolerated": 1_000}
            execution = cl.execute(word_count(), seed=seed, **how)
            assert execution.output == RIGHT
            assert not execution.world.held
            cancelled += sum("is aborted" in line for line in execution.story)
    assert cancelled > 20


def test_without_checkpoints_the_last_one_commits():
    execution = cl.execute(word_count(), every=inf, seed=1)
    assert list(execution.checkpoints) == [1]
    assert execution.output == RIGHT


def test_the_same_seed_gives_the_same_story():
    one, two = (cl.execute(word_count(), every=10, crash_at=110, seed=5) for _ in range(2))
    assert one.story == two.story
    assert any("starts from snapshot" in line for line in one.story)
