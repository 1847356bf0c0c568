"""Answers to 02c: wrong ones that must be refused by name, right ones that must be accepted."""

from functools import cache
from itertools import product

import chandylamport as cl
from chandylamport.classroom.trials import right, wrong


def all_cuts(c, ranges):
    for numbers in product(*ranges):
        yield cl.Cut(dict(zip(c.processes, numbers, strict=True)))


def whole_ranges(c):
    return [range(len(c.history(p)) + 1) for p in c.processes]


@wrong("count_consistent_cuts", "an event of every process")
def begins_to_count_at_one(c):
    ranges = [range(1, len(c.history(p)) + 1) for p in c.processes]
    return sum(cl.is_consistent(c, cut) for cut in all_cuts(c, ranges))


@wrong("count_consistent_cuts", "ranges too short")
def stops_one_event_early(c):
    ranges = [range(len(c.history(p))) for p in c.processes]
    return sum(cl.is_consistent(c, cut) for cut in all_cuts(c, ranges))


@wrong("count_consistent_cuts", "all cuts")
def multiplies_the_prefixes(c):
    number = 1
    for p in c.processes:
        number *= len(c.history(p)) + 1
    return number


@wrong("count_consistent_cuts", "runs instead of cuts")
def counts_the_paths(c):
    def paths(cut):
        further = list(cl.successors(c, cut))
        return sum(map(paths, further)) if further else 1

    return paths(cl.Cut({}))


@wrong("count_consistent_cuts", "the empty cut forgotten")
def collects_only_what_comes_next(c):
    seen, to_visit = set(), [cl.Cut({})]
    while to_visit:
        for cut in cl.successors(c, to_visit.pop()):
            if cut not in seen:
                seen.add(cut)
                to_visit.append(cut)
    return len(seen)


@wrong("count_consistent_cuts", "quiet cuts only")
def refuses_messages_in_transit(c):
    def quiet(cut):
        inside = [e for e in c if e in cut]
        sent = {name for e in inside for name in e.sends}
        return sent == {name for e in inside for name in e.receives}

    return sum(map(quiet, all_cuts(c, whole_ranges(c))))


@wrong("count_consistent_cuts", "one run only")
def follows_one_run(c):
    count, cut = 1, cl.Cut({})
    while following := next(cl.successors(c, cut), None):
        count, cut = count + 1, following
    return count


@wrong("count_consistent_cuts", "neighbours only")  # only hidden tests have a message from r to p
def compares_each_line_with_the_next(c):
    def fits(cut, p, q):
        between = [m for m in c.messages.values() if {m.src, m.dst} == {p, q} and m.received]
        return all(m.sent <= cut[m.src] or m.received > cut[m.dst] for m in between)

    lines = list(zip(c.processes, c.processes[1:], strict=False))
    return sum(all(fits(cut, *two) for two in lines) for cut in all_cuts(c, whole_ranges(c)))


@right("count_consistent_cuts")
def up_from_the_empty_cut(c):
    level, count = {cl.Cut({})}, 0
    while level:
        count += len(level)
        level = {more for cut in level for more in cl.successors(c, cut)}
    return count


@right("count_consistent_cuts")
def one_process_after_the_other(c):
    arrived = [m for m in c.messages.values() if m.received]

    def complete(counts):
        if len(counts) == len(c.processes):
            return 1
        total = 0
        for n in range(len(c.history(c.processes[len(counts)])) + 1):
            more = {**counts, c.processes[len(counts)]: n}
            placed = [m for m in arrived if m.src in more and m.dst in more]
            if all(m.sent <= more[m.src] or m.received > more[m.dst] for m in placed):
                total += complete(more)
        return total

    return complete({})


@right("count_consistent_cuts")
def with_an_event_or_without_it(c):
    """Each consistent cut holds a chosen event and its past, or neither it nor its future."""

    @cache
    def count(events):
        if not events:
            return 1
        e = next(iter(events))
        past = {f for f in events if cl.happens_before(c, f, e)}
        future = {f for f in events if cl.happens_before(c, e, f)}
        return count(events - past - {e}) + count(events - future - {e})

    return count(frozenset(c))
