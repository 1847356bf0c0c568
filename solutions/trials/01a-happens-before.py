"""Answers to 01a: wrong ones that must be refused by name, right ones that must be accepted."""

from functools import cache

import chandylamport as cl
from chandylamport.classroom.trials import right, wrong


def step(g, h):
    same_line = g.process == h.process and g.position < h.position
    return same_line or any(name in h.receives for name in g.sends)


def reachable(c, e, step=step):
    found, to_visit = set(), [e]
    while to_visit:
        g = to_visit.pop()
        new = [h for h in c if step(g, h) and h not in found]
        found.update(new)
        to_visit += new
    return found


# happens_before


@wrong("happens_before", "no chains")
def stops_after_one_step(c, e, f):
    if e.process == f.process:
        return e.position < f.position
    return any(m in f.receives for m in e.sends)


@wrong("happens_before", "local order only")
def forgets_messages(c, e, f):
    return e.process == f.process and e.position < f.position


@wrong("happens_before", "one message only")
def follows_one_message(c, e, f):
    if e.process == f.process:
        return e.position < f.position
    for m in c.messages.values():
        if m.src == e.process and m.dst == f.process and m.received is not None:
            if e.position <= m.sent and m.received <= f.position:
                return True
    return False


@wrong("happens_before", "an event before itself")
def starts_the_search_with_e_found(c, e, f):
    found, to_visit = {e}, [e]
    while to_visit:
        g = to_visit.pop()
        for h in c:
            if step(g, h) and h not in found:
                found.add(h)
                to_visit.append(h)
    return f in found


@wrong("happens_before", "an event before itself")
def compares_vector_clocks_with_at_most(c, e, f):
    clocks = cl.vector_clocks(c)
    return all(clocks[e][p] <= clocks[f][p] for p in c.processes)


@wrong("happens_before", "both directions")
def walks_messages_both_ways(c, e, f):
    def joined(g, h):
        if g.process == h.process:
            return g.position < h.position
        return bool(set(g.sends) & set(h.receives) or set(g.receives) & set(h.sends))

    return f in reachable(c, e, joined)


@wrong("happens_before", "backwards")
def searches_from_f(c, e, f):
    return e in reachable(c, f)


@wrong("happens_before", "a clock instead of a chain")
def compares_lamport_clocks(c, e, f):
    time = cl.lamport_clocks(c)
    return time[e] < time[f]


@wrong("happens_before", "positions compared")
def compares_positions(c, e, f):
    return e.position < f.position


@wrong("happens_before", "the order of one run")
def compares_places_in_the_list(c, e, f):
    events = list(c)
    return events.index(e) < events.index(f)


@wrong("happens_before", "not after, so before")
def asks_for_any_smaller_component(c, e, f):
    clocks = cl.vector_clocks(c)
    return any(clocks[e][p] < clocks[f][p] for p in c.processes)


@wrong("happens_before", "one send per event")  # only hidden tests have a broadcast
def looks_at_the_first_send(c, e, f):
    def follows(g, h):
        if g.process == h.process:
            return g.position < h.position
        return len(g.sends) > 0 and g.sends[0] in h.receives

    return f in reachable(c, e, follows)


@wrong("happens_before", "one receive per event")  # only hidden tests have a gather
def looks_at_the_first_receive(c, e, f):
    if e == f:
        return False
    if e.process == f.process:
        return e.position < f.position
    for h in c.history(f.process)[: f.position]:
        if h.receives:
            m = c.messages[h.receives[0]]
            send = c[m.src, m.sent]
            if send == e or looks_at_the_first_receive(c, e, send):
                return True
    return False


@right("happens_before")
def own_vector_clocks(c, e, f):
    clocks, latest = {}, {p: dict.fromkeys(c.processes, 0) for p in c.processes}
    for event in c:
        clock = dict(latest[event.process])
        for name in event.receives:
            m = c.messages[name]
            for p, count in clocks[c[m.src, m.sent]].items():
                clock[p] = max(clock[p], count)
        clock[event.process] += 1
        clocks[event] = latest[event.process] = clock
    return e != f and clocks[f][e.process] >= e.position


@right("happens_before")
def recursion_into_the_past(c, e, f):
    @cache
    def in_past(g):
        before = [c[g.process, g.position - 1]] if g.position > 1 else []
        before += [c[f"{name}!"] for name in g.receives]
        return any(h == e or in_past(h) for h in before)

    return in_past(f)


@right("happens_before")
def matrix_closure(c, e, f):
    events = list(c)
    n = range(len(events))
    before = [[step(g, h) for h in events] for g in events]
    for k in n:
        for i in n:
            for j in n:
                before[i][j] |= before[i][k] and before[k][j]
    return before[events.index(e)][events.index(f)]


# concurrent


def ordered(c, e, f):
    return f in reachable(c, e)


@wrong("concurrent", "different processes")
def on_different_lines(c, e, f):
    return e.process != f.process


@wrong("concurrent", "concurrent with itself")
def forgets_that_they_differ(c, e, f):
    return not ordered(c, e, f) and not ordered(c, f, e)


@wrong("concurrent", "one direction only")
def looks_one_way(c, e, f):
    return e != f and not ordered(c, e, f)


@wrong("concurrent", "no chains")
def no_direct_step_between_them(c, e, f):
    return e != f and not step(e, f) and not step(f, e)


@wrong("concurrent", "equal Lamport clocks")
def at_the_same_time(c, e, f):
    time = cl.lamport_clocks(c)
    return e != f and time[e] == time[f]


@wrong("concurrent", "ordered instead")
def answers_the_opposite_question(c, e, f):
    return ordered(c, e, f) or ordered(c, f, e)


@right("concurrent")
def neither_clock_counts_the_other(c, e, f):
    clocks = cl.vector_clocks(c)
    knows = clocks[f][e.process] >= e.position or clocks[e][f.process] >= f.position
    return not knows


@right("concurrent")
def outside_past_and_future(c, e, f):
    past = {g for g in c if e in reachable(c, g)}
    return f in set(c) - past - reachable(c, e) - {e}
