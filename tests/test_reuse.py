"""One algorithm in several places: put a broken one in, and each of them goes wrong."""

import pytest

import chandylamport as cl
from chandylamport import broken
from chandylamport.dataflow.flows import BARRIERS
from chandylamport.sockets import run_on_sockets

VARIANTS = [
    broken.NoLog,
    broken.LogsFromTheBeginning,
    broken.ClosesAllChannels,
    broken.RecordsAtEveryMarker,
]
SEEDS = range(10)


def in_the_simulator(algorithm, seed, tmp_path):
    bank = cl.System(cl.accounts(p=100, q=50, r=20, transfers=9), cl.Fifo(cl.complete("pqr")))
    return cl.simulate(bank, algorithm, initiators=["p"], at=5 + seed, seed=seed).fault


def in_every_schedule(algorithm, seed, tmp_path):
    two_inputs = cl.Fifo([("p", "r"), ("q", "r")])
    system = cl.System(cl.letters(p=[("r", "m")], q=[], r=[]), two_inputs)
    return cl.explore(system, algorithm, stop=True).counterexample


def in_a_dataflow(algorithm, seed, tmp_path):
    words = ["to", "be", "or", "not"], ["that", "is", "to", "be"]
    flow = cl.source(*words) >> cl.key_by(len, into=2) >> cl.count() >> cl.sink()
    right = cl.execute(flow).output
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BARRIERS, "unaligned", algorithm)
        crashed = cl.execute(flow, barriers="unaligned", every=25, crash_at=80, seed=seed)
    return crashed.output != right and crashed.faults


def on_sockets(algorithm, seed, tmp_path):
    rich = dict.fromkeys("pqr", 100_000)
    bank = cl.System(cl.accounts(300, **rich), cl.Fifo(cl.complete("pqr")))
    return run_on_sockets(bank, algorithm, store=tmp_path / str(seed), every=0, seed=seed).faults


def in_spark_tasks(algorithm, seed, tmp_path):
    from chandylamport import spark as cls

    rich = dict.fromkeys("pqr", 100_000)
    bank = cl.System(cl.accounts(300, **rich), cl.Fifo(cl.complete("pqr")))
    return cls.run(bank, algorithm, store=tmp_path / str(seed), every=0, seed=seed).faults


def in_a_dataflow_on_spark(algorithm, seed, tmp_path):
    from chandylamport import spark as cls

    words = ["to", "be", "or", "not"] * 100, ["that", "is", "to", "be"] * 100
    flow = cl.source(*words) >> cl.key_by(len, into=2) >> cl.count() >> cl.sink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BARRIERS, "unaligned", algorithm)
        got = cls.run(flow, "unaligned", store=tmp_path / str(seed), every=0, seed=seed)
    return got.faults


PLACES = [
    in_the_simulator,
    in_every_schedule,
    in_a_dataflow,
    on_sockets,
    pytest.param(in_spark_tasks, marks=pytest.mark.slow),
    pytest.param(in_a_dataflow_on_spark, marks=pytest.mark.slow),
]


def test_unaligned_checkpointing_is_the_class_of_the_paper():
    assert BARRIERS["unaligned"] is cl.ChandyLamport


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_broken_variant_goes_wrong_in_every_place(variant, place, tmp_path):
    assert any(place(variant, seed, tmp_path) for seed in SEEDS)


@pytest.mark.parametrize("place", PLACES)
def test_the_right_one_goes_wrong_nowhere(place, tmp_path):
    assert not any(place(cl.ChandyLamport, seed, tmp_path) for seed in SEEDS)
