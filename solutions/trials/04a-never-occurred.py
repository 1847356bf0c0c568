"""Answers to 04a: wrong ones that must be refused by name, right ones that must be accepted."""

from itertools import count
from random import Random

import chandylamport as cl
from chandylamport.classroom.trials import right, wrong


def events(run):
    return [step for step in run.schedule if "records" not in step and "marker" not in step]


def states(run):
    return cl.replay(run.system, events(run))


@wrong("occurred_at", "never")
def believes_that_it_never_does(run):
    return []


@wrong("occurred_at", "states of processes only")
def forgets_the_channels(run):
    return [k for k, state in enumerate(states(run)) if state.states == run.snapshot.states]


@wrong("occurred_at", "the start forgotten")
def begins_with_the_first_event(run):
    return [k for k, state in enumerate(states(run)[1:], start=1) if state == run.snapshot]


@wrong("occurred_at", "the end forgotten")
def counts_as_many_states_as_events(run):
    passed = states(run)
    return [k for k in range(len(events(run))) if passed[k] == run.snapshot]


@wrong("occurred_at", "the moment when it began")
def looks_for_the_first_recording(run):
    first = next(k for k, step in enumerate(run.schedule) if "records" in step)
    return [first]


@wrong("occurred_at", "markers counted")
def counts_all_steps(run):
    found, k, passed = [], 0, states(run)
    for number, step in enumerate(["", *run.schedule]):
        k += bool(step) and "records" not in step and "marker" not in step
        if passed[k] == run.snapshot:
            found.append(number)
    return found


@wrong("occurred_at", "the first time only")  # only in hidden tests a state comes back
def stops_at_the_first(run):
    passed = states(run)
    return [passed.index(run.snapshot)] if run.snapshot in passed else []


@wrong("occurred_at", "cuts compared")  # only hidden tests have two cuts with the same state
def compares_the_cut(run):
    done, found = dict.fromkeys(run.system.processes, 0), []
    for k in range(len(run.order) + 1):
        if cl.Cut(done) == run.cut:
            found.append(k)
        if k < len(run.order):
            done[run.order[k].process] += 1
    return found


@right("occurred_at")
def step_by_step(run):
    found, so_far = [], []
    for step in ["", *run.schedule]:
        if step and (step.split()[1] == "records" or " marker " in step):
            continue
        so_far += [step] if step else []
        if cl.replay(run.system, so_far)[-1] == run.snapshot:
            found.append(len(so_far))
    return found


@right("occurred_at")
def with_the_trace(run):
    own = [step for step, entry in zip(run.schedule, run.trace, strict=True) if entry.is_event]
    return tuple(k for k, s in zip(count(), cl.replay(run.system, own)) if s == run.snapshot)


def by_chance(system):
    for seed in range(1000):
        for first in system.processes:
            at = seed % 5
            yield cl.simulate(system, cl.ChandyLamport, initiators=[first], at=at, seed=seed)


@wrong("pass_by", "the start")
def all_record_before_anything_happens(system):
    steps = [f"{p} records" for p in system.processes]
    steps += [f"{dst} receives marker from {src}" for src, dst in system.network.channels]
    return "\n".join(steps)


@wrong("pass_by", "the end")
def waits_until_nothing_can_happen(system):
    return cl.simulate(system, cl.ChandyLamport, at=1000).schedule


@wrong("pass_by", "an instant")
def takes_the_first_run_that_comes_along(system):
    return cl.simulate(system, cl.ChandyLamport, at=2).schedule


@wrong("pass_by", "the cut avoided only")  # only a hidden system has two cuts with the same state
def looks_at_the_cut(system):
    for run in by_chance(system):
        inside = [event in run.cut for event in run.order]
        if inside != sorted(inside, reverse=True):
            return run.schedule


@wrong("pass_by", "an impossible step")  # the schedule of the lecture, for whatever system
def writes_the_paper_s_schedule(system):
    return cl.EXAMPLE_2_2


@wrong("pass_by", "an impossible step")
def forgets_that_markers_wait_in_line(system):
    run = next(run for run in by_chance(system) if not step_by_step(run))
    return sorted(run.schedule, key=lambda step: "marker" in step)


@wrong("pass_by", "an unfinished snapshot")
def stops_when_all_have_recorded(system):
    run = next(run for run in by_chance(system) if not step_by_step(run))
    return list(run.schedule)[:-1]


@wrong("pass_by", "an unfinished snapshot")
def leaves_out_the_algorithm(system):
    return str(cl.simulate(system).schedule)


@right("pass_by")
def as_a_list_of_steps(system):
    return list(next(run for run in by_chance(system) if not step_by_step(run)).schedule)


@right("pass_by")
def as_a_run(system):
    return next(run for run in by_chance(system) if run.snapshot not in states(run))


@right("pass_by")
def markers_last(system):
    """Lets a marker arrive only where nothing else can happen."""
    chance = Random(1)
    while True:
        way, first, early = [], chance.choice([*system.processes]), chance.randrange(4)
        while can := what_can_happen(system, way):
            way.append(f"{first} records" if len(way) == early else chance.choice(can))
        run = cl.simulate(system, cl.ChandyLamport, schedule=way)
        if run.snapshot and not step_by_step(run):
            return "; ".join(way)


def what_can_happen(system, way):
    try:
        cl.simulate(system, cl.ChandyLamport, schedule=[*way, "?"])
    except ValueError as error:
        can = str(error).partition("What can: ")[2].split("; ")
        can = [step for step in can if "records" not in step and step != "nothing"]
        return [step for step in can if "marker" not in step] or can
