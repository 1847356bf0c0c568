"""Flows that crash at every step: what the world outside sees, in each mode, by each sink."""

from collections import Counter
from math import inf

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


@pytest.fixture(autouse=True)
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
    assert execution.output != RIGHT
    assert {record for record, n in execution.output.items() if n > 1}
    assert execution.output.keys() == RIGHT.keys()


def test_going_back_behind_what_is_visible_is_refused(tmp_path):
    with cl.Store(tmp_path, disk=cl.Disk(sync=False)) as store:
        execution = cl.execute(word_count(), every=20, store=store, seed=3)
        for id in store.ids():
            (tmp_path / f"{id:08}" / "manifest.json").write_text("torn")
        with pytest.raises(RuntimeError, match="would repeat"):
            execution.fail()


def test_what_a_sink_has_staged_and_not_committed_is_invisible_until_the_restart_commits_it():
    seen = set()
    for execution in crashes(word_count(), every=20, seed=3):
        seen.add(execution.outside.committed["sink"])
        assert not execution.outside.staged
    assert seen == {sum(RIGHT.values())}


def test_without_checkpoints_the_last_one_commits():
    execution = cl.execute(word_count(), every=inf, seed=1)
    assert list(execution.checkpoints) == [1]
    assert execution.output == RIGHT


def test_the_same_seed_gives_the_same_story():
    one, two = (cl.execute(word_count(), every=10, crash_at=110, seed=5) for _ in range(2))
    assert one.story == two.story
    assert any("starts from snapshot" in line for line in one.story)
