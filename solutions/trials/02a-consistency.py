"""Answers to 02a: wrong ones that must be refused by name, right ones that must be accepted."""

from itertools import combinations

import chandylamport as cl
from chandylamport.classroom.trials import right, wrong


@wrong("is_consistent", "always True")
def believes_everything(c, cut):
    return True


@wrong("is_consistent", "a message in transit refused")
def wants_both_ends_on_one_side(c, cut):
    for m in c.messages.values():
        sent = m.sent <= cut[m.src]
        received = m.received is not None and m.received <= cut[m.dst]
        if sent != received:
            return False
    return True


@wrong("is_consistent", "the wrong way round")
def refuses_what_is_sent_and_not_received(c, cut):
    for m in c.messages.values():
        if m.sent <= cut[m.src] and (m.received is None or m.received > cut[m.dst]):
            return False
    return True


@wrong("is_consistent", "an empty prefix refused")
def wants_one_event_of_each_process(c, cut):
    if any(cut[p] == 0 for p in c.processes):
        return False
    inside = [e for e in c if e in cut]
    sent = {name for e in inside for name in e.sends}
    return all(name in sent for e in inside for name in e.receives)


@wrong("is_consistent", "neighbours only")  # only hidden tests have a message from p to r
def compares_each_line_with_the_next(c, cut):
    for upper, lower in zip(c.processes, c.processes[1:], strict=False):
        for m in c.messages.values():
            if {m.src, m.dst} == {upper, lower} and m.received is not None:
                if m.received <= cut[m.dst] and m.sent > cut[m.src]:
                    return False
    return True


@wrong("is_consistent", "the frontier's own messages only")
def looks_at_the_last_event_of_each_line(c, cut):
    for p in c.processes:
        if cut[p] > 0:
            for name in c[p, cut[p]].receives:
                m = c.messages[name]
                if m.sent > cut[m.src]:
                    return False
    return True


@wrong("is_consistent", "the first message only")
def returns_inside_the_loop(c, cut):
    for m in c.messages.values():
        if m.received is not None and m.received <= cut[m.dst] and m.sent > cut[m.src]:
            return False
        return True
    return True


@wrong("is_consistent", "a concurrent frontier")
def wants_a_concurrent_frontier(c, cut):
    last = [c[p, cut[p]] for p in c.processes if cut[p] > 0]
    return all(cl.concurrent(c, e, f) for e, f in combinations(last, 2))


@wrong("is_consistent", "off by one")
def counts_positions_from_zero(c, cut):
    for m in c.messages.values():
        if m.received is not None and m.received <= cut[m.dst]:
            if not m.sent < cut[m.src]:
                return False
    return True


@wrong("is_consistent", "a message under way at the end refused")
def takes_none_for_zero(c, cut):
    return not any(
        (m.received or 0) <= cut[m.dst] and m.sent > cut[m.src] for m in c.messages.values()
    )


@right("is_consistent")
def closed_under_happens_before(c, cut):
    return all(e in cut for f in c if f in cut for e in c if cl.happens_before(c, e, f))


@right("is_consistent")
def by_the_clocks_of_the_frontier(c, cut):
    clocks = cl.vector_clocks(c)
    for p in c.processes:
        if cut[p]:
            known = clocks[c[p, cut[p]]]
            if any(known[q] > cut[q] for q in c.processes):
                return False
    return True


@right("is_consistent")
def by_playing_the_events(c, cut):
    sent = set()
    for e in c:
        if e in cut:
            if not sent.issuperset(e.receives):
                return False
            sent.update(e.sends)
    return True
