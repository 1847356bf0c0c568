"""The exercises on colours and counters: nothing is waited for that need not come."""

from __future__ import annotations

from pathlib import Path

import pytest

import chandylamport as cl
from chandylamport.classroom import NotYet, check
from chandylamport.classroom.exercises.colours import COLLECTOR, COLOURS, reporting_to
from chandylamport.classroom.trials import trials

ROOT = Path(__file__).parents[2]
TRIALS = {trial.title: trial.answer for trial in trials(ROOT) if trial.notebook[:2] == "05"}
ONE = COLOURS.examples[0]
SLOW_RED = ONE.replace("cl.Unordered", "cl.classroom.exercises.colours.SlowRed")


def refused(name, answer, *systems):
    with pytest.raises(NotYet) as problem:
        check(name, answer, *systems)
    return problem.value


def test_whoever_waits_for_red_messages_is_found_only_where_they_are_slow():
    waits = TRIALS["CountsWhateverIsSentAndComes"]
    check("Colours", waits, ONE)
    assert "messages are still owed" in str(refused("Colours", waits, SLOW_RED))
    check("Colours", TRIALS["WithTwoCounters"], SLOW_RED)


def test_silence_is_found_only_where_one_process_begins_alone():
    silent, system = TRIALS["LeavesItToTheMessages"], cl.broken.MAIL
    assert cl.explore(system, silent).counterexample is None
    assert "did not record" in str(refused("Colours", silent))


def test_what_is_owed_must_be_a_dict():
    class OwesAList(TRIALS["WithTwoCounters"]):
        def owed(self):
            return []

    assert "and a dict" in str(refused("Colours", OwesAList))


def test_a_failure_of_a_collector_is_handed_over_as_code_that_shows_it_again():
    problem = refused("Collector", TRIALS["AddsAbsoluteValues"])
    space = {"cl": cl, "reporting_to": reporting_to, **TRIALS}
    exec(problem.about, space)
    assert space["run"].fault == "not complete: no result yet from c"
    assert problem.picture.alt == space["run"].draw().alt


def test_a_crash_of_a_collector_is_told_with_its_line():
    text = "class Collector(Keeps):\n    def done(self):\n        return 1 // 0\n"
    space = {"Keeps": TRIALS["KeepsEverything"]}
    exec(compile(text, "cell", "exec"), space)
    problem = refused("Collector", space["Collector"])
    assert "stopped in line 3 of your cell with ZeroDivisionError" in str(problem)


def test_what_a_collector_class_itself_holds_is_refused():
    shares = type("Shares", (TRIALS["KeepsEverything"],), {"counters": {}})
    assert "counters belongs to the class" in str(refused("Collector", shares))


@pytest.mark.parametrize("example", range(3))
def test_reports_come_in_any_order_and_every_cut_is_recorded(example):
    system = eval(COLLECTOR.examples[example], {"cl": cl})
    algorithm, found = reporting_to(TRIALS["CountsDown"]), [3, 7, 4][example]
    assert len(cl.explore(system, algorithm, initiators=["p", "q"]).cuts) == found
