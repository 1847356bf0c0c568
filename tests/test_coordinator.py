"""Ids that grow, acknowledgements that count once, time-outs, failures, and the next try."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from functools import partial

import pytest

import chandylamport as cl
from chandylamport.coordinator import ABORTED, BEGINS, CANNOT, COMPLETE, Notice, TooMuchInTransit
from chandylamport.exploration import clone, frozen, key
from chandylamport.overlapping import Stamped, Tagged
from chandylamport.simulator import World

PART = cl.LocalSnapshot(1, {})
TWO = cl.System(cl.letters(p=[("q", "a"), ("q", "b")], q=[("p", "c")]), cl.Fifo(cl.complete("pq")))


class FullDisk(cl.Disk):
    """A disk on which nothing can be written or made for a while."""

    def __init__(self) -> None:
        super().__init__(sync=False)
        self.full = False

    def _must_have_room(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "no space left")

    def write(self, path, data):
        self._must_have_room()
        super().write(path, data)

    def mkdir(self, path):
        self._must_have_room()
        super().mkdir(path)


@pytest.fixture
def store(tmp_path):
    with cl.Store(tmp_path / "store", disk=FullDisk()) as store:
        yield store


def coordinator(store, **options) -> cl.Coordinator:
    return cl.Coordinator(store, ["p", "q"], **{"every": 10, "timeout": 5, **options})


def acknowledge(one, id, process, part=PART):
    return one.acknowledge(id, process, one.store.write(id, process, part))


# --- one snapshot after the other ----------------------------------------------------------------


def test_a_snapshot_begins_when_it_is_due_and_only_one_runs_at_a_time(store):
    one = coordinator(store, timeout=100)
    assert one.tick(9) == []
    assert one.tick(10) == [Notice(BEGINS, 1)]
    assert one.tick(11) == one.tick(25) == []
    assert acknowledge(one, 1, "p") == []
    assert acknowledge(one, 1, "q") == [Notice(COMPLETE, 1)]
    assert store.latest() == (1, cl.Snapshot({"p": 1, "q": 1}, {}))
    assert one.tick(26) == [Notice(BEGINS, 2)]


def test_an_acknowledgement_that_comes_twice_counts_once(store):
    one = coordinator(store)
    one.tick(10)
    assert acknowledge(one, 1, "p") == acknowledge(one, 1, "p") == []
    assert store.latest() is None
    assert acknowledge(one, 1, "q") == [Notice(COMPLETE, 1)]
    receipt = one.receipts["q"]
    assert one.acknowledge(1, "q", receipt) == []  # nor does it complete anything again


def test_a_stranger_cannot_complete_a_snapshot_nor_get_into_it(store):
    one = coordinator(store)
    one.tick(10)
    acknowledge(one, 1, "p")
    assert acknowledge(one, 1, "eve", cl.LocalSnapshot("forged", {})) == []
    assert acknowledge(one, 1, "q") == [Notice(COMPLETE, 1)]
    assert store.latest() == (1, cl.Snapshot({"p": 1, "q": 1}, {}))
    assert not [file for file in (store.path / "00000001").iterdir() if "eve" in file.name]


def test_the_last_part_of_a_process_counts_and_nothing_is_complete_while_messages_are_owed(store):
    one = coordinator(store)
    one.tick(10)
    channel = cl.Channel("p", "q")
    assert acknowledge(one, 1, "p", cl.LocalSnapshot(1, {}, {channel: 1})) == []
    assert acknowledge(one, 1, "q", cl.LocalSnapshot(2, {}, {channel: 0})) == []
    last = cl.LocalSnapshot(2, {channel: ("m",)}, {channel: -1})
    assert acknowledge(one, 1, "q", last) == [Notice(COMPLETE, 1)]
    assert store.latest() == (1, cl.Snapshot({"p": 1, "q": 2}, {channel: ("m",)}))


def test_a_receipt_that_is_overtaken_by_a_later_one_of_the_same_process_does_no_harm(store):
    one = coordinator(store)
    one.tick(10)
    first, last = (store.write(1, "p", cl.LocalSnapshot(n, {})) for n in (1, 2))
    assert one.acknowledge(1, "p", last) == one.acknowledge(1, "p", first) == []
    assert acknowledge(one, 1, "q") == [Notice(COMPLETE, 1)]
    assert store.latest() == (1, cl.Snapshot({"p": 1, "q": 1}, {}))


# --- what is too late ----------------------------------------------------------------------------


def test_a_late_acknowledgement_of_an_aborted_snapshot_does_no_harm(store):
    one = coordinator(store, tolerated=1)
    one.tick(10)
    late = store.write(1, "q", cl.LocalSnapshot("old", {}))
    acknowledge(one, 1, "p")
    one.tick(15)
    assert one.acknowledge(1, "q", late) == []
    assert one.tick(20) == [Notice(BEGINS, 2)]
    acknowledge(one, 2, "p")
    assert one.acknowledge(1, "q", late) == []  # not even now that only q is missing
    assert store.latest() is None
    assert acknowledge(one, 2, "q") == [Notice(COMPLETE, 2)]
    assert store.ids() == (2,)


def test_whoever_comes_too_late_to_write_is_told(store):
    one = coordinator(store, tolerated=1)
    one.tick(10)
    one.tick(15)
    with pytest.raises(cl.NoSuchSnapshot, match="snapshot 1 does not run"):
        store.write(1, "p", PART)


def test_a_snapshot_out_of_time_is_aborted_and_those_who_are_silent_are_named(store):
    one = coordinator(store, tolerated=1)
    one.tick(10)
    acknowledge(one, 1, "p")
    assert one.tick(14) == []
    [notice] = one.tick(15)
    assert (notice.what, notice.id) == (ABORTED, 1)
    assert str(notice).startswith("snapshot 1 is aborted: nothing from q after 5")
    assert one.tick(20) == [Notice(BEGINS, 2)]


def test_a_snapshot_out_of_time_says_so_when_only_messages_are_missing(store):
    one = coordinator(store, tolerated=1)
    one.tick(10)
    acknowledge(one, 1, "p", cl.LocalSnapshot(1, {}, {"white": 1}))
    acknowledge(one, 1, "q")
    [notice] = one.tick(15)
    assert "messages are still owed after 5" in notice.why


# --- failures ------------------------------------------------------------------------------------


def test_after_more_failures_in_a_row_than_are_tolerated_it_says_so(store):
    one = coordinator(store, tolerated=2)
    for begin in (10, 20):
        one.tick(begin)
        assert [notice.what for notice in one.tick(begin + 5)] == [ABORTED]
    one.tick(30)
    acknowledge(one, 3, "q")
    with pytest.raises(cl.SnapshotsFail) as told:
        one.tick(35)
    for words in ("snapshot 3", "nothing from p", "after 5", "3 in a row, 2 tolerated", "down"):
        assert words in str(told.value)


def test_a_complete_snapshot_forgives_the_failures_before_it(store):
    one = coordinator(store, tolerated=1)
    for round in range(3):
        one.tick(20 * round + 10)
        one.tick(20 * round + 15)
        [(_, id, _)] = one.tick(20 * round + 20)
        acknowledge(one, id, "p")
        assert acknowledge(one, id, "q") == [Notice(COMPLETE, id)]


def test_a_crash_and_a_change_of_members_are_not_failures_of_a_snapshot(store):
    one = coordinator(store, tolerated=0)
    for now in (10, 20, 30):
        [(_, id, _)] = one.tick(now)
        assert one.abort(id, "p crashed") == [Notice(ABORTED, id, "p crashed")]
        assert one.abort(id, "p crashed") == []  # it does not run any more
    one.tick(40)
    assert [notice.what for notice in one.change(["p", "q", "r"])] == [ABORTED]
    one.tick(50)
    for process in "pq":
        assert acknowledge(one, 5, process) == []
    assert acknowledge(one, 5, "r") == [Notice(COMPLETE, 5)]
    assert one.change(["p"]) == []  # nothing runs


def test_a_disk_that_is_full_when_a_snapshot_begins_fails_this_one_and_not_the_next(store):
    one = coordinator(store, tolerated=1)
    store.disk.full = True
    [notice] = one.tick(10)
    assert notice.what == CANNOT
    assert str(notice).startswith("a snapshot cannot begin: the store cannot write: ")
    assert "no space left" in notice.why
    store.disk.full = False
    assert one.tick(19) == []
    [(_, id, _)] = one.tick(20)
    acknowledge(one, id, "p")
    assert acknowledge(one, id, "q") == [Notice(COMPLETE, id)]


def test_a_disk_that_stays_full_is_told(store):
    one = coordinator(store, tolerated=1)
    store.disk.full = True
    one.tick(10)
    with pytest.raises(cl.SnapshotsFail, match=r"cannot begin.*no space left.*2 in a row"):
        one.tick(20)


def test_a_disk_that_is_full_when_a_snapshot_is_committed_fails_this_one_and_not_the_next(store):
    one = coordinator(store, tolerated=1)
    one.tick(10)
    acknowledge(one, 1, "p")
    receipt = store.write(1, "q", PART)
    store.disk.full = True
    [notice] = one.acknowledge(1, "q", receipt)
    assert (notice.what, notice.id) == (ABORTED, 1)
    assert "no space left" in notice.why
    store.disk.full = False
    assert store.latest() is None
    one.tick(20)
    acknowledge(one, 2, "p")
    assert acknowledge(one, 2, "q") == [Notice(COMPLETE, 2)]


# --- its own crash -------------------------------------------------------------------------------


def test_a_coordinator_that_starts_again_knows_what_is_complete_and_which_ids_are_used(tmp_path):
    with cl.Store(tmp_path) as store:
        one = coordinator(store)
        one.tick(10)
        for process in "pq":
            acknowledge(one, 1, process)
        one.tick(20)
        late = store.write(2, "p", PART)
    with cl.Store(tmp_path) as store:
        two = coordinator(store, now=100)
        assert store.latest() == (1, cl.Snapshot({"p": 1, "q": 1}, {}))
        assert two.acknowledge(2, "p", late) == []  # of a snapshot that the first one began
        assert two.tick(109) == []
        assert two.tick(110) == [Notice(BEGINS, 3)]
        acknowledge(two, 3, "p")
        assert acknowledge(two, 3, "q") == [Notice(COMPLETE, 3)]
        assert store.ids() == (1, 3)


# --- the recorders of a process ------------------------------------------------------------------


def worlds(system: cl.System, algorithm, ids=(1, 2)) -> Iterator[tuple[World, bool]]:
    """Each world that a schedule leads to, with anybody free to begin; and whether it is over."""
    start = World(system, algorithm, ids)
    begin = [(id, process) for id in ids for process in system.processes]
    waiting, seen = [start], set()
    while waiting:
        world = waiting.pop()
        options = world.options(begin)
        yield world, not options
        for option in options:
            other = world.copy()
            other.recorders[option.process] = clone(world.recorders[option.process])
            other.take(option)
            mark = key(other, {p: frozen(own) for p, own in other.recorders.items()})
            if mark not in seen:
                seen.add(mark)
                waiting.append(other)


@pytest.mark.parametrize(
    ("algorithm", "network", "states"),
    [(cl.ChandyLamport, cl.Fifo, 2_820), (cl.LaiYang, cl.Unordered, 6_179)],
)
def test_in_every_schedule_the_newer_of_two_snapshots_is_complete_and_right(
    algorithm, network, states
):
    system = cl.System(cl.letters(p=[("q", "a")], q=[("p", "b")]), network(cl.complete("pq")))
    number, complete = 0, set()
    for world, is_over in worlds(system, partial(cl.Latest, algorithm)):
        number += 1
        assert world.faults == {}
        assert all(len(own.recorders) <= 1 for own in world.recorders.values())
        if is_over:
            assert 2 in world.complete
            complete.add(frozenset(world.complete))
    assert complete == {frozenset({2}), frozenset({1, 2})}  # the older one may be overtaken
    assert number == states


@pytest.mark.parametrize("algorithm", [cl.ChandyLamport, cl.LaiYang])
def test_alone_a_snapshot_is_what_it_is_without_ids(algorithm):
    plain = cl.explore(TWO, algorithm)
    latest = cl.explore(TWO, partial(cl.Latest, algorithm), ids=[1])
    assert latest.counterexample is None
    assert (latest.snapshots, latest.cuts) == (plain.snapshots, plain.cuts)


def played(world: World, script: str) -> World:
    for option in cl.runs.by_script(world, cl.Schedule(script)):
        world.take(option)
    return world


def test_a_late_marker_of_an_older_snapshot_is_ignored():
    world = World(TWO, cl.Latest, [1, 2])
    played(world, "p records 1; q records 2; p receives marker 2 from q")
    assert [*world.recorders["p"].recorders] == [2]
    controls = dict(world.controls)
    played(world, "q receives marker 1 from p")
    assert [*world.recorders["q"].recorders] == [2]  # nothing is recorded,
    assert world.controls == controls  # and nothing sent on
    assert "q" not in world.truth[1].cut
    played(world, "q receives marker 2 from p")
    assert [*world.complete] == [2]


def test_who_has_heard_that_a_snapshot_is_over_neither_begins_it_nor_joins_in():
    world = World(TWO, cl.Latest, [1])
    own = world.recorders["p"]
    for ended in (2, 1):  # the older news may come later
        own.end(world.ports("p"), ended)
        for id in (1, 2):
            marker = Tagged(id, cl.MARKER)
            own.begin(world.ports("p"), id)
            assert own.on_receive(world.ports("p"), cl.Channel("q", "p"), marker) is None
            assert own.recorders == world.truth[id].cut == {}
            assert own.result(id) is None


def test_an_old_stamp_makes_no_recorder_and_the_message_arrives():
    system = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Unordered(cl.complete("pq")))
    world = World(system, partial(cl.Latest, cl.LaiYang), [1, 2])
    played(world, "p records 1; p sends m to q; q records 2")
    assert [id for id, _ in world.channels["p", "q"][1].wire.stamps] == [1]
    played(world, "q receives m")
    assert [*world.recorders["q"].recorders] == [2]
    assert world.states["q"] == (0, ("m",))
    played(world, "p receives red 2 from q; q receives red 2 from p")
    assert world.complete[2].channels["p", "q"] == ("m",)  # sent before p recorded 2
    assert world.faults == {}


def test_the_end_of_an_old_snapshot_does_not_touch_the_new_one():
    world = played(World(TWO, cl.Latest, [1, 2]), "p records 2")
    world.recorders["p"].end(world.ports("p"), 1)
    assert [*world.recorders["p"].recorders] == [2]


def test_the_end_of_an_aligned_snapshot_releases_what_it_holds():
    world = World(
        cl.System(cl.letters(p=[], q=[], r=[]), cl.Fifo([("p", "r"), ("q", "r")])),
        partial(cl.Latest, cl.Aligned),
        [1],
    )
    played(world, "p records 1; r receives marker 1 from p")
    assert world.held
    world.recorders["r"].end(world.ports("r"), 1)
    assert not world.held


def test_an_id_must_be_a_number():
    with pytest.raises(TypeError, match="'monday': its id must be a number"):
        cl.simulate(TWO, cl.Latest, snapshots={"monday": {"p": 0}})


def test_a_log_beyond_its_limit_ends_the_snapshot_here_and_keeps_every_message():
    world = World(TWO, partial(cl.Latest, cl.ChandyLamport, 1), [1])
    played(world, "p sends a to q; p sends b to q; q records 1; q receives a")
    assert world.reports == ()  # one message is within the limit
    played(world, "q receives b")
    assert world.reports == (("q", TooMuchInTransit(1, 2)),)
    assert world.states["q"] == (0, ("a", "b"))
    assert world.recorders["q"].recorders == {}
    played(world, "p receives marker 1 from q; q receives marker 1 from p")
    assert world.recorders["q"].recorders == {}
    assert world.complete == {}


def test_without_a_limit_a_log_may_grow():
    world = World(TWO, cl.Latest, [1])
    played(world, "p sends a to q; p sends b to q; q records 1; q receives a; q receives b")
    assert world.reports == ()
    assert world.recorders["q"].on_send(world.ports("q"), cl.Channel("q", "p"), "c") == Stamped("c")
