"""What each process noted is taken again in a simulator: what cannot be, or is not so, is said."""

from collections import deque
from functools import partial
from random import Random

import pytest

import chandylamport as cl
from chandylamport.coordinator import Latest
from chandylamport.retracing import retrace
from chandylamport.simulator import World

LATEST = partial(Latest, cl.ChandyLamport)
BANK = cl.System(cl.accounts(p=9, q=9, r=9, transfers=5), cl.Fifo(cl.complete("pqr")))


def run_by_chance(seed):
    """Give what is known of a run afterwards: who did what, two snapshots, and the end."""
    world, random = World(BANK, LATEST, (1, 2)), Random(seed)
    logs = {process: deque() for process in "pqr"}
    for id in (1, 2):
        while options := world.options([(id, "p")]):
            option = random.choice(options)
            what, *_ = noted = option.arguments
            if option.method == "act":
                noted = what.label, what.sends, what.then
            logs[option.process].append((option.method, noted))
            world.take(option)
        for process, log in logs.items():
            log.append(("end", (id,)))
            world.recorders[process].end(world.ports(process), id)
    return logs, dict(world.complete), world.now()


@pytest.mark.parametrize("seed", range(10))
def test_the_notes_of_the_processes_are_enough_to_have_the_run_again(seed):
    logs, stored, final = run_by_chance(seed)
    run, faults = retrace(BANK, LATEST, logs, stored)
    assert (run.snapshots, run.final, faults) == (stored, final, [])
    again = cl.simulate(BANK, LATEST, schedule=run.schedule)
    assert (again.snapshots, again.final) == (stored, final)


def test_what_was_stored_and_is_not_what_was_recorded_is_noticed():
    logs, stored, _ = run_by_chance(0)
    stored[1] = cl.Snapshot(stored[1].states | {"p": -1}, stored[1].channels)
    _, [fault] = retrace(BANK, LATEST, logs, stored)
    assert fault.startswith("snapshot 1: stored is Snapshot(states={'p': -1")


def test_a_run_that_was_ended_too_early_is_noticed():
    logs, stored, final = run_by_chance(0)
    del stored[2]
    _, [fault] = retrace(BANK, LATEST, logs, stored)
    assert fault == f"the run was ended in {stored[1]}, and was in {final}"


def test_a_message_that_arrives_and_was_never_sent_is_noticed():
    system = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Fifo([("p", "q")]))
    logs = {"q": deque([("deliver", (cl.Channel("p", "q"), 0))])}
    _, faults = retrace(system, LATEST, logs, {1: system.start})
    assert faults[-1] == "the next step of q, ('deliver', (('p', 'q'), 0)), cannot be"
