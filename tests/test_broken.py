"""Wrong variants: each is caught on its smallest system, by a shortest run that is pinned here."""

from __future__ import annotations

from dataclasses import replace

import pytest

import chandylamport as cl
from chandylamport.broken import BROKEN

# The shortest counterexample of each, and what is wrong at its end.
SHORTEST = {
    "LateMarker": (
        "p records; p sends m to q; p steps; q receives m; q receives marker from p",
        "m is received inside the cut and sent outside",
    ),
    "MarkerBeforeRecording": (
        "p records; p sends m to q; p steps; q receives marker from p; q steps",
        "channel p→q is recorded as [], and holds ['m'] at the cut",
    ),
    "OpensTheLogLate": (
        "q records; p sends m to q; p records; q receives m; q receives marker from p",
        "channel p→q is recorded as [], and holds ['m'] at the cut",
    ),
    "NoLog": (
        "q records; p sends m to q; p records; q receives m; q receives marker from p",
        "channel p→q is recorded as [], and holds ['m'] at the cut",
    ),
    "LogsFromTheBeginning": (
        "p sends m to q; p records; q receives m; q receives marker from p",
        "channel p→q is recorded as ['m'], and holds [] at the cut",
    ),
    "LogsBehindTheMarker": (
        "q records; p sends m to q; p records; q receives m; q receives marker from p",
        "channel p→q is recorded as [], and holds ['m'] at the cut",
    ),
    "LeavesTheFirstChannelOpen": (
        "p records; p sends m to q; q receives marker from p; q receives m; p receives marker "
        "from q",
        "channel p→q is recorded as ['m'], and holds [] at the cut",
    ),
    "RecordsAtEveryMarker": (
        "q records; p sends m to q; p records; q receives m; q receives marker from p",
        "q is recorded in state 1, and was in 0 at its cut",
    ),
    "RecordsAtTheFirstMarkerSeen": (
        "q records; p sends m to q; p records; q receives m; q receives marker from p",
        "q is recorded in state 1, and was in 0 at its cut",
    ),
    "RecordsAtTheLastMarker": (
        "p records; q records; p sends m to r; r receives marker from p; r receives m; r "
        "receives marker from q",
        "m is received inside the cut and sent outside",
    ),
    "AliasesState": (
        "p records; p sends m to q; q receives marker from p",
        "p is recorded in state 1, and was in 0 at its cut",
    ),
    "ClosesAllChannels": (
        "q records; p sends m to r; p records; r receives marker from q",
        "channel p→r is recorded as [], and holds ['m'] at the cut",
    ),
    "WaitsForEverybodysMarker": (
        "p records; q receives marker from p; r receives marker from q; p receives marker from r",
        "not complete: no result yet from p, q, r",
    ),
    "DoneWhenRecorded": (
        "q records; p sends m to q; p records",
        "channel p→q is recorded as [], and holds ['m'] at the cut",
    ),
    "LogsASet": (
        "q records; p sends 50 to q; p sends 50.2 to q; p records; q receives 50; q receives "
        "50.2; q receives marker from p",
        "channel p→q is recorded as [50], and holds [50, 50] at the cut",
    ),
    "DrainsTheChannel": (
        "p records; p sends m to q; q receives marker from p; q receives m",
        "the algorithm keeps m from q",
    ),
    "MarkersOutsideTheChannel": (
        "p sends m to q; p records; q receives marker from p",
        "channel p→q is recorded as [], and holds ['m'] at the cut",
    ),
    "MarkersWithoutFifo": (
        "p sends m to q; p records; q receives marker from p",
        "channel p→q is recorded as [], and holds ['m'] at the cut",
    ),
    "OneFlagForAllSnapshots": (
        "p records 1; p records 2",
        "not complete: nobody has recorded",
    ),
    "OverwritesTheId": (
        "p records 1; q records 1; q receives marker 1 from p",
        "not complete: no result yet from q",
    ),
    "IgnoresTheSecondSnapshot": (
        "p records 1; p records 2",
        "not complete: nobody has recorded",
    ),
    "NoForcedRed": (
        "p records; p sends m to q; q receives m; q records",
        "m is received inside the cut and sent outside",
    ),
    "ForgetsTheHistory": (
        "q records; p sends m to q; p records",
        "channel p→q is recorded as [], and holds ['m'] at the cut",
    ),
    "CountsRed": (
        "p records; p sends m to q; q receives m; q receives red from p",
        "not complete: messages are still owed",
    ),
    "TrustsTheOrder": (
        "p sends m to q; p records; q receives red from p; q receives m",
        "channel p→q is recorded as [], and holds ['m'] at the cut",
    ),
    "AbsoluteCounters": (
        "p sends m to q; p records; q receives m; q receives red from p",
        "not complete: messages are still owed",
    ),
    "StopsByItself": (
        "p sends m to q; p records; q receives m; q receives red from p",
        "not complete: no result yet from p, q",
    ),
}


def test_every_variant_is_pinned():
    assert SHORTEST.keys() == BROKEN.keys()


@pytest.mark.parametrize("name", BROKEN)
def test_a_wrong_variant_is_caught_by_a_shortest_run(name):
    found = BROKEN[name].explore().counterexample
    assert found is not None
    assert ("; ".join(found.schedule), found.fault) == SHORTEST.get(name)


@pytest.mark.parametrize("name", BROKEN)
def test_the_counterexample_is_a_schedule_that_replays(name):
    wrong = BROKEN[name]
    found = wrong.explore().counterexample
    ids = {id: {} for id in found.snapshots}
    again = cl.simulate(wrong.system, wrong.algorithm, schedule=str(found.schedule), snapshots=ids)
    assert again == found


def right_one(name, system):
    """The algorithm that a variant is a variant of, or one that fits the network."""
    for algorithm in (cl.Mattern, cl.LaiYang):
        if issubclass(BROKEN[name].algorithm, algorithm):
            return algorithm
    return cl.LaiYang if isinstance(system.network, cl.Unordered) else cl.ChandyLamport


@pytest.mark.parametrize("name", [name for name in BROKEN if not name.startswith("Markers")])
def test_the_right_algorithm_passes_where_the_wrong_one_fails(name):
    wrong = BROKEN[name]
    right = right_one(name, wrong.system)
    assert cl.explore(wrong.system, right, ids=wrong.ids).counterexample is None


def smaller(system):
    """The system without one of its channels, its processes, or the last event of a process."""
    processes, network = system.processes, system.network
    for channel in network.channels:
        fewer = [c for c in network.channels if c != channel]
        yield cl.System(processes, replace(network, channels=fewer))
    for name, process in processes.items():
        others = {p: other for p, other in processes.items() if p != name}
        if others:
            left = [c for c in network.channels if name not in c]
            yield cl.System(others, replace(network, channels=left))
        script = "letters" if hasattr(process, "letters") else "script"
        if getattr(process, script):
            less = replace(process, **{script: getattr(process, script)[:-1]})
            yield cl.System({**processes, name: less}, network)


@pytest.mark.parametrize("name", BROKEN)
def test_no_smaller_system_exposes_it(name):
    wrong = BROKEN[name]
    if name == "WaitsForEverybodysMarker":
        assert len(wrong.system.processes) == 3  # it knows this number by heart
        return
    for system in smaller(wrong.system):
        fails = cl.explore(system, wrong.algorithm, ids=wrong.ids).counterexample
        right = cl.explore(system, right_one(name, system), ids=wrong.ids).counterexample
        assert fails is None or right is not None, fails.schedule


@pytest.mark.parametrize("name", [name for name in BROKEN if name.startswith("Markers")])
def test_markers_need_a_network_that_keeps_their_place(name):
    wrong = BROKEN[name]
    processes, channels = wrong.system.processes, wrong.system.network.channels
    assert cl.explore(wrong.system, cl.ChandyLamport).counterexample is not None
    fifo, mail = (cl.System(processes, kind(channels)) for kind in (cl.Fifo, cl.Unordered))
    assert cl.explore(fifo, cl.ChandyLamport).counterexample is None
    assert cl.explore(mail, cl.LaiYang).counterexample is None


@pytest.mark.parametrize("name", BROKEN)
def test_a_variant_says_its_mistake_in_a_sentence(name):
    assert BROKEN[name].mistake[0].isupper()
    assert BROKEN[name].mistake.endswith(".")
