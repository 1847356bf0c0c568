"""Flows: what is joined to what, what cannot be, and each operator against plain Python."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chandylamport as cl
from chandylamport.simulator import World
from chandylamport.sockets import run_on_sockets

NUMBERS = list(range(1, 8)), list(range(8, 14))


def output(flow, **options):
    return cl.execute(flow, every=25, **options).output


def all_numbers():
    return [*NUMBERS[0], *NUMBERS[1]]


# --- operators -----------------------------------------------------------------------------------


def test_map_and_filter_do_what_they_do_in_python():
    flow = cl.source(*NUMBERS) >> cl.map(lambda n: n * n) >> cl.filter(lambda n: n % 3) >> cl.sink()
    assert output(flow) == Counter(n * n for n in all_numbers() if n * n % 3)


def test_count_counts_each_key_up():
    flow = cl.source(*NUMBERS) >> cl.key_by(lambda n: n % 3, into=2) >> cl.count() >> cl.sink()
    counts = Counter(n % 3 for n in all_numbers())
    assert output(flow) == Counter((k, n + 1) for k, most in counts.items() for n in range(most))


def test_sum_ends_at_the_sum_of_each_key():
    flow = cl.source(*NUMBERS) >> cl.key_by(lambda n: n % 3, into=2) >> cl.sum() >> cl.sink()
    last = {}
    for key, total in output(flow):
        last[key] = max(total, last.get(key, 0))
    assert last == {k: sum(n for n in all_numbers() if n % 3 == k) for k in range(3)}


def test_sum_takes_a_value_of_each_record():
    bought = [("tea", 3), ("cake", 5), ("tea", 4)]
    flow = cl.source(bought) >> cl.key_by(lambda r: r[0], into=1) >> cl.sum(lambda r: r[1])
    assert output(flow >> cl.sink()) == Counter([("tea", 3), ("tea", 7), ("cake", 5)])


times = st.lists(st.integers(0, 30), max_size=5).map(sorted)


@given(times, times, st.integers(1, 10), st.integers(0, 100))
def test_a_window_holds_what_belongs_to_its_time_whoever_is_faster(left, right, size, seed):
    records = [[(t, "ab"[t % 2]) for t in part] for part in (left, right)]
    flow = cl.source(*records) >> cl.key_by(lambda r: r[1], into=2)
    flow = flow >> cl.window(size, lambda r: r[0]) >> cl.sink()
    expected = {}
    for t, key in [*records[0], *records[1]]:
        expected.setdefault((key, t - t % size), []).append((t, key))
    windows = ((key, (start, tuple(sorted(held)))) for (key, start), held in expected.items())
    assert output(flow, seed=seed) == Counter(windows)


@given(st.lists(st.integers(0, 9), max_size=4), st.lists(st.integers(0, 9), max_size=4))
def test_a_join_gives_every_pair_with_the_same_key(left, right):
    one = cl.source(left) >> cl.key_by(lambda n: n % 3, into=2)
    other = cl.source(right, name="right") >> cl.key_by(lambda n: n % 3, into=2)
    pairs = Counter((a % 3, (a, b)) for a, b in product(left, right) if a % 3 == b % 3)
    assert output(cl.join(one, other) >> cl.sink()) == pairs


def test_a_loop_goes_round_until_it_need_not():
    halved = cl.source([40, 7, 12]) >> cl.loop(lambda n: n // 2, again=lambda n: n % 2 == 0)
    assert output(halved >> cl.sink()) == Counter([5, 3, 3])


def test_one_flow_can_feed_two():
    numbers = cl.source([1, 2, 3])
    even = numbers >> cl.filter(lambda n: n % 2 == 0) >> cl.key_by(abs, into=1)
    doubled = numbers >> cl.map(lambda n: 2 * n) >> cl.key_by(abs, into=1)
    assert output(cl.join(even, doubled) >> cl.sink()) == Counter([(2, (2, 2))])


# --- as processes --------------------------------------------------------------------------------


def test_instances_are_processes_and_edges_are_channels():
    flow = cl.source("ab", "cd") >> cl.map(str.upper) >> cl.key_by(str, into=3) >> cl.count()
    deployment = cl.deploy(flow >> cl.sink())
    sources, maps = ["source-1", "source-2"], ["map-1", "map-2"]
    counts = ["count-1", "count-2", "count-3"]
    assert [*deployment.system.processes] == [*sources, *maps, *counts, "sink"]
    assert {*deployment.system.network.channels} == {
        *zip(sources, maps, strict=True),
        *product(maps, counts),
        *product(counts, ["sink"]),
    }
    assert deployment.sources == ("source-1", "source-2")


def test_equal_keys_meet_in_one_instance():
    flow = cl.source("abcab", "bcabc") >> cl.key_by(str, into=2) >> cl.count() >> cl.sink()
    states = cl.execute(flow).world.states
    one, two = ({*states[task][0]} for task in ("count-1", "count-2"))
    assert one | two == {*"abc"}
    assert not one & two


def test_two_operators_of_a_kind_have_two_names():
    flow = cl.source([1]) >> cl.map(abs) >> cl.map(abs) >> cl.sink()
    assert [*cl.deploy(flow).system.processes] == ["source", "map", "map2", "sink"]


def test_a_full_channel_holds_its_sender_back():
    flow = cl.source(range(20)) >> cl.key_by(str, into=1) >> cl.count() >> cl.sink()
    deployment = cl.deploy(flow, "unaligned", capacity=2)
    world, sent = World(deployment.system, deployment.algorithm), 0
    while any(option.text.startswith("source sends") for option in world.options()):
        world.take(next(o for o in world.options() if o.text.startswith("source sends")))
        sent += 1
    assert sent == 2
    world.take(next(o for o in world.options() if "count receives" in o.text))
    assert not any("source sends" in o.text for o in world.options())  # unread, so it still counts
    world.take(next(o for o in world.options() if "count sends" in o.text))
    assert any("source sends" in o.text for o in world.options())


def third(n):
    return n % 3


def few(n):
    return n < 40


@pytest.mark.parametrize("barriers", ["aligned", "unaligned"])
def test_the_same_tasks_run_on_sockets(barriers, tmp_path):
    numbers = cl.source(range(60), range(60, 120)) >> cl.map(abs) >> cl.filter(few)
    flow = numbers >> cl.key_by(third, into=2) >> cl.count() >> cl.sink("plain")
    job = cl.deploy(flow, barriers)
    run = run_on_sockets(
        job.system,
        job.algorithm,
        store=tmp_path,
        initiators=job.sources,
        every=0.02,
        kill={1: "sink"},
    )
    assert (run.faults, run.incarnations) == ((), 2)
    counts = [dict(run.final.states[task][0]) for task in ("count-1", "count-2")]
    assert counts[0] | counts[1] == Counter(map(third, range(40)))


# --- what cannot be ------------------------------------------------------------------------------


def to_key(n):
    return n


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cl.source(), "a source needs a list of records"),
        (lambda: cl.source([1, None]), "none of them is None"),
        (lambda: cl.source([1]) >> cl.count(), r"count works on keys: put key_by"),
        (lambda: cl.source([1]) >> cl.window(5, to_key), "window works on keys"),
        (lambda: cl.source([1]) >> cl.key_by(abs, into=0), "at least one instance"),
        (lambda: cl.source([1]) >> cl.key_by(abs, into=2) >> cl.key_by(abs, into=2), "two key_by"),
        (lambda: cl.join(cl.source([1]), cl.source([2])), "join works on keys"),
        (lambda: cl.source([1]) >> cl.sink() >> cl.map(abs), "a sink is the end"),
        (lambda: cl.source([1]) >> cl.key_by(abs, into=2) >> cl.sink(), "one instance"),
        (lambda: cl.source([1]) >> cl.key_by(abs, into=1) >> cl.window(0, abs), "size 0"),
        (
            lambda: (
                cl.source([1])
                >> cl.loop(abs, again=lambda n: False)
                >> cl.key_by(abs, into=1)
                >> cl.window(5, abs)
            ),
            "put the window before it",
        ),
        (
            lambda: cl.deploy(
                cl.join(
                    cl.source([1], [2], name="s") >> cl.key_by(abs, into=1),
                    cl.source([3], name="s-1") >> cl.key_by(abs, into=1),
                )
                >> cl.sink()
            ),
            "two tasks have the name s-1",
        ),
        (lambda: cl.sink("twice"), "no sink 'twice', only plain, idempotent, transactional"),
        (lambda: cl.deploy(cl.source([1]) >> cl.sink(), "alined"), "no barriers 'alined': aligned"),
    ],
)
def test_what_cannot_be_a_flow_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cl.source(1, 2), "give each partition as a list"),
        (lambda: cl.source([1]) >> cl.key_by(abs, into=1) >> cl.count, r"write >> count\("),
        (lambda: cl.deploy(cl.source([1]) >> cl.sink(), cl.Aligned()), "class Aligned itself"),
        (lambda: cl.execute(cl.source([1]) >> cl.sink(), store="path"), r"cl.Store\(path\)"),
    ],
)
def test_a_slip_of_the_pen_is_told(make, words):
    with pytest.raises(TypeError, match=words):
        make()


def test_times_that_go_back_are_refused():
    late = cl.source([(7, "a"), (3, "a")]) >> cl.key_by(lambda r: r[1], into=1)
    with pytest.raises(ValueError, match="sort each partition by time"):
        cl.execute(late >> cl.window(5, lambda r: r[0]) >> cl.sink())


def test_no_record_may_look_like_the_end():
    with pytest.raises(ValueError, match="no record may look like it"):
        cl.execute(cl.source([1]) >> cl.map(lambda n: ("end of stream",)) >> cl.sink())


def test_a_flow_and_its_execution_say_what_they_are():
    flow = cl.source([1, 2], [3]) >> cl.key_by(abs, into=3) >> cl.count() >> cl.sink()
    assert repr(flow) == "source×2 → count×3 → sink×1"
    assert repr(cl.execute(flow)).endswith("0 crashes, 1 checkpoints, 3 records put out>")


def test_a_flow_has_to_end_in_a_sink():
    with pytest.raises(TypeError, match="ends in a sink"):
        cl.execute(cl.source([1]))


def test_a_flow_is_not_joined_with_itself():
    one = cl.source([1]) >> cl.key_by(abs, into=1)
    with pytest.raises(ValueError, match="put a map into one of them"):
        cl.join(one, one)
