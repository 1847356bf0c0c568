"""Ten thousand runs by chance: three to eight processes, one to five snapshots at once.

A consistent cut and conserved money would be weak evidence. The recorded channels are compared
with those of the cut, and the reordered run is replayed and must pass through the snapshot.
"""

from __future__ import annotations

from random import Random

import pytest

import chandylamport as cl

RUNS, PARTS = 10_000, 50


def system_by_chance(random: Random) -> cl.System:
    names = "pqrstuvw"[: random.randint(3, 8)]
    channels = cl.strongly_connected(names, extra=random.randint(0, 6), seed=random.random())
    balances = {name: random.randint(0, 60) for name in names}
    network = random.choice([cl.Fifo, cl.Unordered])
    return cl.System(cl.accounts(transfers=random.randint(1, 4), **balances), network(channels))


def run_by_chance(seed: int) -> cl.Run:
    random = Random(seed)
    system = system_by_chance(random)
    fifo = not isinstance(system.network, cl.Unordered)
    algorithm = random.choice([cl.ChandyLamport] * fifo + [cl.LaiYang, cl.Mattern])
    snapshots = {
        id: {
            process: random.randint(0, 25)
            for process in random.sample(list(system.processes), random.randint(1, 2))
        }
        for id in range(1, random.randint(1, 5) + 1)
    }
    return cl.simulate(system, algorithm, snapshots=snapshots, seed=seed)


def faults(run: cl.Run) -> list[str]:
    """What is wrong with a run, judged from its computation and its cuts alone."""
    found = []
    for id, snapshot in run.snapshots.items():
        if snapshot is None:
            found.append(f"snapshot {id} is not complete")
            continue
        if not cl.is_consistent(run.computation, run.cuts[id]):
            found.append(f"the cut of {id} is not consistent")
        if snapshot.channels != run.in_transit(id):
            found.append(f"{snapshot.channels} recorded by {id}, {run.in_transit(id)} in transit")
        if run.controls[id] != len(run.system.network.channels):
            found.append(f"{run.controls[id]} markers were sent for {id}")
        proof = cl.reorder(run, id)
        passed = cl.replay(run.system, proof.schedule)
        if passed[proof.boundary] != snapshot:
            found.append(f"the reordered run does not pass through snapshot {id}")
        if passed[0] != run.system.start or passed[-1] != run.final:
            found.append("the reordered run has another beginning or end")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_snapshot_is_the_state_of_its_cut_and_lies_on_the_way(part):
    for seed in range(part, RUNS, PARTS):
        run = run_by_chance(seed)
        assert not run.faults, f"seed {seed}: {run.faults}\n{run.schedule}"
        assert not (wrong := faults(run)), f"seed {seed}: {wrong}\n{run.schedule}"


def test_these_checks_find_what_is_wrong():
    system = cl.System(cl.accounts(p=30, q=30, r=30, transfers=3), cl.Unordered(cl.complete("pqr")))
    wrong = [
        seed for seed in range(40) if _fails(cl.simulate(system, cl.ChandyLamport, at=3, seed=seed))
    ]
    assert len(wrong) > 20


def _fails(run: cl.Run) -> bool:
    try:
        return bool(faults(run))
    except ValueError as error:  # a cut with an orphan: no run passes through it
        return "received inside the cut and sent outside" in str(error)
