"""Does the cost grow with the number of events, or faster? Measured at half and at full length.

    python benchmarks/million_events.py [events]

The default is a million events on 8 processes, with seeded random messages. Each length runs in a
process of its own, so that the peak of memory is its own. The peer is networkx, on the same graph:
a node for each event, an edge to the next event of the process, an edge for each message.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import networkx as nx

import chandylamport as cl

QUERIES, CUTS, PEER_QUERIES = 10_000, 1_000, 20
ROWS = {  # what is measured: what the peer does for it
    "build the computation": "add nodes and edges",
    "vector clocks of all events": "topological_sort",
    f"{QUERIES:,} happens-before queries": f"has_path, from {PEER_QUERIES} queries",
    f"{CUTS:,} consistency checks": "",
    "peak memory": "",
}


def random_log(events: int, pick: random.Random) -> cl.Log:
    """Write down a run: of five events two send, two receive if they can, and one does neither."""
    processes = [f"p{i}" for i in range(8)]
    log = cl.Log(processes)
    flying: dict[str, list[str]] = {p: [] for p in processes}
    for number in range(events):
        me, what = pick.choice(processes), pick.random()
        if what < 0.4:
            to = pick.choice([p for p in processes if p != me])
            log.event(me, sends={f"m{number}": to})
            flying[to].append(f"m{number}")
        elif what < 0.8 and flying[me]:
            log.event(me, receives=[flying[me].pop(pick.randrange(len(flying[me])))])
        else:
            log.event(me, "work")
    return log


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def megabytes() -> float:
    """The most memory this process has had so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def measure(events: int) -> dict[str, list[float]]:
    """Give, in the order of ROWS, what the package needs and what networkx needs."""
    pick = random.Random(1985)
    before = megabytes()
    start = time.perf_counter()
    c = random_log(events, pick).computation()
    ours = [time.perf_counter() - start, seconds(lambda: c.clocks)]

    pairs = [tuple(pick.choices(c.order, k=2)) for _ in range(QUERIES)]
    ours.append(min(seconds(lambda: [cl.happens_before(c, *ef) for ef in pairs]) for _ in "123"))
    cuts = [
        cl.Cut({p: pick.randint(0, len(c.history(p))) for p in c.processes}) for _ in range(CUTS)
    ]
    cuts[::2] = [cl.least_consistent_above(c, cut) for cut in cuts[::2]]  # both verdicts occur
    ours.append(min(seconds(lambda: [cl.is_consistent(c, cut) for cut in cuts]) for _ in "123"))
    ours.append(megabytes() - before)

    graph = nx.DiGraph()
    peer = [
        seconds(lambda: connect(graph, c)),
        seconds(lambda: list(nx.topological_sort(graph))),
        seconds(lambda: [ask(graph, *ef) for ef in pairs[:PEER_QUERIES]]) * QUERIES / PEER_QUERIES,
    ]
    assert all(ask(graph, *ef) == cl.happens_before(c, *ef) for ef in pairs[:PEER_QUERIES])
    return {"ours": ours, "peer": peer}


def connect(graph: nx.DiGraph, c: cl.Computation) -> None:
    for history in c.histories:
        graph.add_nodes_from((e.process, e.position) for e in history)
        graph.add_edges_from(
            ((e.process, e.position), (f.process, f.position)) for e, f in pairwise(history)
        )
    graph.add_edges_from(
        ((m.src, m.sent), (m.dst, m.received)) for m in c.messages.values() if m.received
    )


def ask(graph: nx.DiGraph, e: cl.Event, f: cl.Event) -> bool:
    return e != f and nx.has_path(graph, (e.process, e.position), (f.process, f.position))


def report(events: int) -> None:
    half, full = (
        json.loads(
            subprocess.run(
                [sys.executable, __file__, "--measure", str(n)], check=True, stdout=subprocess.PIPE
            ).stdout
        )
        for n in (events // 2, events)
    )
    print(f"{'':36}{events // 2:>12,}{events:>12,}   ratio   networkx at {events:,}")
    ratios = []
    for i, (what, theirs) in enumerate(ROWS.items()):
        show = "{:>9.0f} MB" if what.endswith("memory") else "{:>10.3f} s"
        one, two = half["ours"][i], full["ours"][i]
        ratios.append(f"{two / max(one, 1e-9):.1f}")
        peer = f"{full['peer'][i]:.1f} s ({theirs})" if theirs else ""
        print(f"{what:36}{show.format(one)}{show.format(two)}{ratios[-1]:>8}   {peer}".rstrip())
    build, clocks, query, check, memory = ratios
    print(f"\nTwice the events took {build} times as long to build, {clocks} times for the clocks")
    print(f"and {memory} times the memory; a query cost {query} and a check {check} times as much.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(int(sys.argv[2]))))
    else:
        report(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
