"""Pictures of runs: the space-time diagram of every step, and the swaps of a proof."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ..cuts import Cut
from ..log import Log
from ..reachability import Proof
from ..recorder import Id, Payload
from ..runs import Run
from ..simulator import NO_ID
from .captions import many, short
from .picture import BLUE, INK, SHADE, Box, Line, Picture, Shape, Text, text_width
from .spacetime import draw


def draw_run(run: Run) -> Picture:
    """Draw every step of a run in its own column, with markers, recordings and cuts.

    A message is labelled with its name and, where that says more, what it carries.

    >>> import chandylamport as cl
    >>> run = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)
    >>> print(draw_run(run).alt.splitlines()[-1])
    Snapshot: p in A, q in D, q→p holds M'. It is right. Dashed: markers.
    """
    records = _recordings(run)
    names = {m: _label(m, payload) for m, payload in run.payloads.items()}
    log, cuts, processes = Log(run.system.processes), dict[Id, dict[str, int]](), list[str]()
    for i, entry in enumerate(run.trace):
        words = [f"records{_of(id)}" for id in records.get(i, ())]
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
        {_of(id).strip(): Cut(cut) for id, cut in cuts.items() if id in run.cuts},
        markers=[m for entry in run.trace for m, _ in entry.controls],
        order=[next(ahead[p]) for p in processes],
        caption=_verdict(run),
    )
    size = f"{many(len(run.schedule), 'step')}, {many(len(run.computation), 'event')}"
    title = f"Run of {', '.join(whole.processes)}: {size}, {many(run.markers, _kind(run))}."
    alt = filter(None, [title, "; ".join(run.schedule), _verdict(run)])
    return replace(picture, alt="\n".join(alt))


def _of(id: Id) -> str:
    return "" if id in NO_ID else f" {id}"


def _label(name: str, payload: Payload) -> str:
    parts = payload if isinstance(payload, tuple) else (payload,)
    says_it = name in map(str, parts)
    return name if says_it else f"{name} ({', '.join(map(str, parts))})"


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
    snapshot, fault, which = run.snapshots[id], run.faults.get(id, ""), _of(id)
    if snapshot is None:
        return f"No snapshot{which} ({fault})."
    found = [f"{p} in {state}" for p, state in snapshot.states.items()]
    found += [f"{c} holds {', '.join(map(str, held))}" for c, held in snapshot.channels.items()]
    judgement = f"Wrong: {fault}" if fault else "It is right"
    return f"Snapshot{which}: {', '.join(found)}. {judgement}."


def draw_swaps(proof: Proof) -> Picture:
    """Draw the events of a run in their order, and below it the order after each swap.

    >>> import chandylamport as cl
    >>> run = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)
    >>> draw_swaps(cl.reorder(run))
    3 events, 1 swap. In brackets: prerecording.
    the run: p M!, [q M'!], p M'?
    swap 1: [q M'!], S*, p M!, p M'?
    """
    rows = [list(range(len(proof.original)))]
    for swap in proof.swaps:
        row, i = rows[-1].copy(), swap.position
        row[i], row[i + 1] = row[i + 1], row[i]
        rows.append(row)
    events = proof.run.order[-len(proof.original) :] if proof.original else ()
    names = [f"{event.process} {short(event.name)}" for event in events]
    inside = set(rows[-1][: proof.boundary])
    titles = ["the run", *(f"swap {i}" for i in range(1, len(rows)))]
    wide = 14 + max((text_width(name, 12, bold=True) for name in names), default=0.0)
    left, high, down, gap = 28 + text_width(titles[-1] + "…", 12), 24.0, 52.0, 12.0

    def middle(column: float) -> float:
        return left + wide / 2 + (wide + gap) * column

    shapes: list[Shape] = []
    for i, (row, title) in enumerate(zip(rows, titles, strict=True)):
        y = 28 + down * i
        shapes.append(Text(14, y + 4.5, title, 12, anchor="start"))
        for column, event in enumerate(row):
            pre, x = event in inside, middle(column)
            fill, edge, line = (SHADE, BLUE, 2.4) if pre else ("white", INK, 1.2)
            shapes.append(Box(x, y, wide, high, fill, edge, line))
            shapes.append(Text(x, y + 4.5, names[event], 12, bold=pre, ground=fill))
    for i, swap in enumerate(proof.swaps):
        y, ends = 28 + down * i, (middle(swap.position), middle(swap.position + 1))
        for a, b in (ends, ends[::-1]):
            way = (a, y + high / 2 + 2), (b, y + down - high / 2 - 3)
            shapes.append(Line(way, INK, 1.4, arrow=True))
    low, x = 28 + down * (len(rows) - 1), middle(proof.boundary - 0.5)
    shapes.append(Line(((x, low - 20), (x, low + 20)), BLUE, 3.2))
    shapes.append(Text(x, low + 36, "S*", 13, BLUE, bold=True))
    size = f"{many(len(names), 'event')}, {many(len(proof.swaps), 'swap')}."
    caption = Text(14, low + 64, f"{size} Shaded, bold: prerecording.", anchor="start")
    orders = [[f"[{names[e]}]" if e in inside else names[e] for e in row] for row in rows]
    orders[-1].insert(proof.boundary, "S*")
    alt = [f"{size} In brackets: prerecording."]
    alt += [f"{title}: {', '.join(order)}" for title, order in zip(titles, orders, strict=True)]
    width = max(middle(len(names)) - wide / 2, caption.bounds[2] + 14)
    return Picture(round(width), round(low + 76), (*shapes, caption), "\n".join(alt))
