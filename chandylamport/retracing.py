"""A run that nobody saw as a whole, taken again in a simulator: so what was stored meets the truth.

It knows no socket and no clock: only which steps each process noted, in its own order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from .recorder import Snapshot
from .runs import Run, finished
from .simulator import Algorithm, Option, World
from .systems import Action, System

Step = tuple[str, tuple[Any, ...]]  # an order, or a method of World; and its arguments
ORDERS = "begin", "end"  # of a coordinator, who gives them in this order


def retrace(
    system: System,
    algorithm: Algorithm,
    logs: Mapping[str, deque[Step]],
    stored: Mapping[int, Snapshot],
) -> tuple[Run, list[str]]:
    """Take the steps of all processes again in a simulator, and say where it disagrees.

    The logs say what each process did, and the channels what came before what. So does the
    coordinator: it orders nothing more until a snapshot is complete, or it has given it up. The
    last of those that were stored is the state in which the run was ended.
    """
    world, texts = World(system, algorithm, stored), list[str]()
    while turn := _whose_turn(world, logs):
        for process in turn:
            method, arguments = logs[process].popleft()
            if method == "end":
                recorders: Any = world.recorders[process]
                recorders.end(world.ports(process), *arguments)
            else:
                option = _option(world, process, method, *arguments)
                world.take(option)
                texts.append(option.text)
    run = finished(world, algorithm, texts)
    faults = [f"snapshot {id}: {fault}" for id, fault in run.faults.items()]
    for id, snapshot in stored.items():
        found = world.settled(snapshot.states, snapshot.channels)
        if found != run.snapshots[id]:
            faults.append(f"snapshot {id}: stored is {found}, and recorded was {run.snapshots[id]}")
    if found != run.final:
        faults.append(f"the run was ended in {found}, and was in {run.final}")
    faults += [f"the next step of {p}, {log[0]}, cannot be" for p, log in logs.items() if log]
    return run, faults


def _whose_turn(world: World, logs: Mapping[str, deque[Step]]) -> list[str]:
    ahead = {process: log[0] for process, log in logs.items() if log}
    ready = [process for process, step in ahead.items() if _is_possible(world, *step)]
    return ready or [process for process, step in ahead.items() if step[0] in ORDERS]


def _is_possible(world: World, method: str, arguments: Any) -> bool:
    if method in ORDERS:
        last = arguments[0] if method == "end" else arguments[0] - 1
        return all(id in world.complete for id in world.ids if id <= last)
    return method != "deliver" or len(world.channels[arguments[0]]) > arguments[1]


def _option(world: World, process: str, method: str, *arguments: Any) -> Option:
    if method == "deliver":
        return world.delivery(*arguments)
    if method == "act":
        return world.doing(process, Action(*arguments))
    verb = "records" if method == "begin" else "steps"
    return Option(f"{process} {verb} {arguments[0]}", process, method, arguments)
