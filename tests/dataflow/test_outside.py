"""The world outside: the same in memory and in files, whatever is interrupted or repeated."""

from collections import Counter

import pytest

import chandylamport as cl
from chandylamport.dataflow.operators import END, Sink
from chandylamport.dataflow.outside import Directory, Memory


def sink(kind):
    return Sink(kind, lambda record: record[0])


def at(handed_over=0, waiting=(), inbox=()):
    """A sink's state: its memory, its inbox, and which inputs have ended."""
    return (handed_over, tuple(waiting)), tuple(("count", record) for record in inbox), ()


@pytest.fixture(params=["memory", "directory"])
def outside(request, tmp_path):
    def make(kind):
        return Memory(sink(kind)) if request.param == "memory" else Directory(sink(kind), tmp_path)

    return make


def test_a_plain_sink_shows_each_record_at_once_and_equal_ones_as_often_as_they_come(outside):
    world = outside("plain")
    for record in [("a", 1), ("a", 1), ("b", 1), END]:
        world.hand_over(at(inbox=[record, ("later", 1)]))
    assert world.output == Counter({("a", 1): 2, ("b", 1): 1})
    assert world.commit(1, at()) is None


def test_an_idempotent_sink_shows_the_last_record_of_each_key(outside):
    world = outside("idempotent")
    for record in [("a", 1), ("b", 1), ("a", 2), ("a", 2)]:
        world.hand_over(at(inbox=[record]))
    assert world.output == Counter([("a", 2), ("b", 1)])


def test_a_transaction_is_visible_when_it_is_committed_and_only_once(outside):
    world, records = outside("transactional"), (("a", 1), ("a", 1), ("b", (1, 2)))
    world.hand_over(at(inbox=[("a", 1)]))
    assert world.stage(1, at(0, records))
    assert world.output == Counter()
    assert world.commit(1, at(0, records)) == cl.Action("commit", then=3)
    assert world.commit(1, at(0, records)) == cl.Action("commit", then=3)  # not shown again
    assert world.output == Counter(records)
    assert not world.stage(2, at(3))
    assert world.commit(2, at(3)) is None


def test_a_commit_that_was_missed_is_made_good_by_the_next(outside):
    world = outside("transactional")
    world.stage(1, at(0, "ab"))
    world.stage(2, at(0, "abc"))
    assert world.commit(2, at(0, "abcd")) == cl.Action("commit", then=3)
    assert world.output == Counter("abc")
    world.stage(3, at(0, "abcd"))  # the sink was restored before it could forget
    world.commit(3, at(0, "abcd"))
    assert world.output == Counter("abcd")
    assert world.committed == 4


def test_what_was_staged_for_a_checkpoint_that_never_completed_is_never_visible(outside):
    world = outside("transactional")
    world.stage(1, at(0, "ab"))
    world.stage(2, at(0, "ax"))
    world.commit(2, at(0, "ax"))
    world.commit(1, at(0, "ax"))
    assert world.output == Counter("ax")


def test_going_on_from_a_state_that_knows_less_than_is_visible_is_refused(outside):
    world = outside("transactional")
    world.stage(1, at(0, "ab"))
    world.commit(1, at(0, "ab"))
    world.check(at(1, "b"))
    with pytest.raises(RuntimeError, match="2 records are visible, and the restored sink knows"):
        world.check(at(0, "a"))


def test_a_directory_in_which_records_are_missing_is_refused(outside):
    world = outside("transactional")
    with pytest.raises(RuntimeError, match="0 records are visible, and 2 handed over by the rest"):
        world.check(at(2))
    outside("plain").check(at(2))


def test_two_that_commit_the_same_at_once_show_it_once(tmp_path):
    class Slow(Directory):
        def show(self, begin, records):  # somebody else comes first
            Directory(self.sink, self.path).commit(1, at(0, "ab"))
            super().show(begin, records)

    slow = Slow(sink("transactional"), tmp_path)
    slow.stage(1, at(0, "ab"))
    slow.commit(1, at(0, "ab"))
    assert slow.output == Counter("ab")


def test_files_outlast_the_process_and_a_torn_draft_is_not_read(tmp_path):
    first = Directory(sink("transactional"), tmp_path)
    first.stage(1, at(0, "ab"))
    (tmp_path / "draft.17").write_text('["a", ')
    second = Directory(sink("transactional"), tmp_path)
    assert second.output == Counter()
    assert second.commit(1, at(0, "ab")) == cl.Action("commit", then=2)
    assert Directory(sink("transactional"), tmp_path).output == Counter("ab")
    second.stage(2, at(2, "c"))
    second.commit(2, at(2, "c"))
    assert [file.name for file in sorted(tmp_path.glob("visible/*"))] == [
        "000000000000.jsonl",
        "000000000002.jsonl",
    ]
    assert [file.name for file in tmp_path.glob("staged/*")] == ["00000002.json"]
