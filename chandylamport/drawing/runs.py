"""Pictures of runs: the space-time diagram of every step, and the swaps of a proof."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ..cuts import Cut
from ..log import Log
from ..recorder import Id
from ..runs import Run
from .captions import many
from .picture import Picture
from .spacetime import draw


def draw_run(run: Run) -> Picture:
    """Draw every step of a run in its own column, with markers, recordings and cuts.

    A message is labelled with its name and, where that says more, what it carries.

    >>> import chandylamport as cl
    >>> draw_run(cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2))
    Run of p, q: 6 steps, 3 events, 2 markers.
    p records; p sends M to q; q sends M' to p; p receives M'; q receives marker from p; \
p receives marker from q
    Snapshot: p in A, q in D, q→p holds M'. It is right. Dashed: markers.
    """
    records = _recordings(run)
    names = {m: m if str(p) == m else f"{m} ({p})" for m, p in run.payloads.items()}
    log, cuts, processes = Log(run.system.processes), dict[Id, dict[str, int]](), list[str]()
    for i, entry in enumerate(run.trace):
        words = [f"records{_of(run, id)}" for id in records.get(i, ())]
        label = ", ".join(dict.fromkeys(filter(None, [entry.label, *words])))
        sends = {names.get(m, m): dst for m, dst in (*entry.sends, *entry.controls)}
        for id in records.get(i, ()):  # the cut goes just before
            cuts.setdefault(id, {})[entry.process] = processes.count(entry.process)
        log.event(
            entry.process, label, sends=sends, receives=[names.get(m, m) for m in entry.receives]
        )
        processes.append(entry.process)
    whole = log.computation()
    ahead = {p: iter(whole.history(p)) for p in whole.processes}
    picture = draw(
        whole,
        {_of(run, id).strip(): Cut(cut) for id, cut in cuts.items() if id in run.cuts},
        markers=[m for entry in run.trace for m, _ in entry.controls],
        order=[next(ahead[p]) for p in processes],
        caption=_verdict(run),
    )
    size = f"{many(len(run.schedule), 'step')}, {many(len(run.computation), 'event')}"
    title = f"Run of {', '.join(whole.processes)}: {size}, {many(run.markers, _kind(run))}."
    return replace(picture, alt="\n".join([title, "; ".join(run.schedule), _verdict(run)]))


def _of(run: Run, id: Id) -> str:
    return f" {id}" if len(run.snapshots) > 1 else ""


def _recordings(run: Run) -> dict[int, list[Id]]:
    """The snapshots that are recorded in each entry of the trace, found by living through it."""
    start = len(run.trace) - len(run.schedule)  # a restored system has sent something before
    return {
        i: [id for id, process in after.recorded if (id, process) not in before.recorded]
        for i, (before, after) in enumerate(pairwise(run.moments()), start)
    }


def _verdict(run: Run) -> str:
    """What was recorded, and whether it is right."""
    words = [_snapshot(run, id) for id in run.snapshots if run.algorithm]
    return " ".join([*words, f"Dashed: {_kind(run)}s."] if run.markers else words)


def _kind(run: Run) -> str:
    """What the algorithm calls that which it sends."""
    controls = (name for entry in run.trace for name, _ in entry.controls)
    return "marker" if next(controls, "marker").startswith("marker") else "control message"


def _snapshot(run: Run, id: Id) -> str:
    snapshot, fault = run.snapshots[id], run.faults.get(id, "")
    title = f"Snapshot{_of(run, id)}"
    if snapshot is None:
        return f"{title} is {fault}."
    found = [f"{p} in {state}" for p, state in snapshot.states.items()]
    found += [f"{c} holds {', '.join(map(str, held))}" for c, held in snapshot.channels.items()]
    return f"{title}: {', '.join(found)}. {f'Wrong: {fault}' if fault else 'It is right'}."
