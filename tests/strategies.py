"""Computations to test with: random ones, families with known counts, and a slow reference.

The reference reads histories and messages and nothing else, so that it shares no mistake with the
clocks of the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, product

from hypothesis import strategies as st

from chandylamport import Computation, Cut, Event, Log, Run, System, computation, simulate
from chandylamport.simulator import Algorithm, World

# --- random computations -------------------------------------------------------------------------


@st.composite
def computations(
    draw: st.DrawFn,
    max_processes: int = 4,
    max_events: int = 10,
    fifo: bool = False,
    names: st.SearchStrategy[str] | None = None,
) -> Computation:
    """Runs of up to `max_events` events; one event may send and receive several messages."""
    if names is None:
        names = st.integers(0, 99).map("x{}".format)
    processes = draw(st.lists(names, min_size=1, max_size=max_processes, unique=True))
    log = Log(processes)
    flying: list[tuple[str, str, str]] = []  # message, sender, receiver
    used: set[str] = set()
    payloads: dict[str, object] = {}
    for _ in range(draw(st.integers(0, max_events))):
        me = draw(st.sampled_from(processes))
        receives = []
        while draw(st.integers(0, 2)) and any(dst == me for _, _, dst in flying):
            arriving = [m for m in flying if m[2] == me]
            if fifo:
                firsts = {src: m for m in reversed(arriving) for src in [m[1]]}
                arriving = list(firsts.values())
            message = draw(st.sampled_from(arriving))
            flying.remove(message)
            receives.append(message[0])
        sends = {}
        others = [q for q in processes if q != me]
        for _ in range(draw(st.sampled_from([0, 1, 1, 2])) if others else 0):
            name = draw(names.filter(lambda name: name not in used))
            used.add(name)
            sends[name] = draw(st.sampled_from(others))
            if draw(st.booleans()):
                payloads[name] = draw(st.integers(0, 9))
        bare = not sends and not receives
        label = draw(names.filter(bool)) if bare or draw(st.booleans()) else ""
        log.event(me, label, sends=sends, receives=receives)
        flying += [(name, me, dst) for name, dst in sends.items()]
    return log.computation(fifo=fifo, payloads=payloads)


@st.composite
def cuts(draw: st.DrawFn, c: Computation) -> Cut:
    """Any cut, consistent or not."""
    return Cut({p: draw(st.integers(0, len(c.history(p)))) for p in c.processes})


# --- the families of theory.md -------------------------------------------------------------------


def rows(**events: list[str]) -> Computation:
    """A computation from the words of each process."""
    return computation("\n".join(f"{p}: {' '.join(words)}" for p, words in events.items()))


def independent(n: int, k: int) -> Computation:
    return rows(**{f"p{i}": [f"e{i}.{j}" for j in range(k)] for i in range(n)})


def one_message(a: int, s: int, b: int, r: int) -> Computation:
    p, q = [f"a{i}" for i in range(1, a + 1)], [f"b{i}" for i in range(1, b + 1)]
    p[s - 1], q[r - 1] = "m!", "m?"
    return rows(p=p, q=q)


def stream(k: int) -> Computation:
    return rows(p=[f"m{i}!" for i in range(k)], q=[f"m{i}?" for i in range(k)])


def ping_pong(m: int) -> Computation:
    p = [f"m{i}{'?' if i % 2 else '!'}" for i in range(m)]
    q = [f"m{i}{'!' if i % 2 else '?'}" for i in range(m)]
    return rows(p=p, q=q)


def token_ring(n: int) -> Computation:
    others = {f"p{i}": [f"m{i - 1}?", f"m{i}!"] for i in range(1, n)}
    return rows(p0=["m0!", f"m{n - 1}?"], **others)


def cross(k: int) -> Computation:
    p = [word for i in range(k) for word in (f"a{i}!", f"b{i}?")]
    q = [word for i in range(k) for word in (f"b{i}!", f"a{i}?")]
    return rows(p=p, q=q)


def broadcast(m: int) -> Computation:
    return rows(hub=[f"b{i}!" for i in range(m)], **{f"p{i}": [f"b{i}?"] for i in range(m)})


def gather(m: int) -> Computation:
    return rows(hub=[f"g{i}?" for i in range(m)], **{f"p{i}": [f"g{i}!"] for i in range(m)})


def barrier(m: int) -> Computation:
    hub = [f"g{i}?" for i in range(m)] + [f"b{i}!" for i in range(m)]
    return rows(hub=hub, **{f"p{i}": [f"g{i}!", f"b{i}?"] for i in range(m)})


def pipeline(k: int, stages: int = 3) -> Computation:
    """Each item goes through all stages, which receive it and then send it on."""
    first = {"p0": [f"m0.{i}!" for i in range(k)]}
    middle = {
        f"p{s}": [word for i in range(k) for word in (f"m{s - 1}.{i}?", f"m{s}.{i}!")]
        for s in range(1, stages - 1)
    }
    last = {f"p{stages - 1}": [f"m{stages - 2}.{i}?" for i in range(k)]}
    return rows(**first, **middle, **last)


def all_to_all_3() -> Computation:
    return rows(
        p=["pq!", "pr!", "qp?", "rp?"],
        q=["qp!", "qr!", "pq?", "rq?"],
        r=["rp!", "rq!", "pr?", "qr?"],
    )


def figure_7() -> Computation:
    """Example 2.2 of the 1985 paper as far as its Figure 7: M is still on its way."""
    return rows(p=["M!q", "N?"], q=["N!"])


def bank_r9() -> Computation:
    """The textbook bank: 50 from A to B, and 80 back, crossing."""
    return computation("A: m! n?\nB: n! m?", payloads={"m": 50, "n": 80})


# --- the reference: definitions, executed without any cleverness ---------------------------------


def happens_before_pairs(c: Computation) -> set[tuple[Event, Event]]:
    """The transitive closure of local order and send-before-receive, by depth-first search."""
    after: dict[Event, list[Event]] = {event: [] for history in c.histories for event in history}
    for history in c.histories:
        for e, f in pairwise(history):
            after[e].append(f)
    for m in c.messages.values():
        if m.received is not None:
            send = c.histories[c.processes.index(m.src)][m.sent - 1]
            after[send].append(c.histories[c.processes.index(m.dst)][m.received - 1])
    pairs = set()
    for start in after:
        stack = list(after[start])
        while stack:
            event = stack.pop()
            if (start, event) not in pairs:
                pairs.add((start, event))
                stack += after[event]
    return pairs


def all_cuts(c: Computation) -> Iterator[Cut]:
    """Every vector of prefixes, in lexicographic order."""
    for counts in product(*(range(len(history) + 1) for history in c.histories)):
        yield Cut(dict(zip(c.processes, counts, strict=True)))


def closed_cuts(c: Computation) -> list[Cut]:
    """The cuts that contain, with each event, all that happened before it."""
    pairs = happens_before_pairs(c)
    return [cut for cut in all_cuts(c) if all(e in cut for e, f in pairs if f in cut)]


def all_runs(c: Computation) -> Iterator[tuple[Event, ...]]:
    """Every linear extension of happens-before."""
    pairs = happens_before_pairs(c)
    events = [event for history in c.histories for event in history]

    def extend(run: tuple[Event, ...]) -> Iterator[tuple[Event, ...]]:
        if len(run) == len(events):
            yield run
        for f in events:
            if f not in run and all(e in run for e in events if (e, f) in pairs):
                yield from extend((*run, f))

    yield from extend(())


def cuts_along(c: Computation, run: tuple[Event, ...]) -> list[Cut]:
    """The global states that a run passes through, as cuts."""
    passed = [Cut(dict.fromkeys(c.processes, 0))]
    for event in run:
        passed.append(passed[-1] | Cut({event.process: event.position}))
    return passed


def every_run(
    system: System, algorithm: Algorithm, initiators: Iterable[str] = ()
) -> Iterator[Run]:
    """Every schedule of a system with one snapshot, each played from the start."""
    begin = [("1", p) for p in initiators or system.processes]

    def further(steps: list[str]) -> Iterator[Run]:
        world = World(system, algorithm, ["1"])
        for step in steps:
            world.take(next(o for o in world.options(begin) if o.text == step))
        options = world.options(begin)
        if not options:
            yield simulate(system, algorithm, schedule=steps)
        for option in options:
            yield from further([*steps, option.text])

    return further([])
