"""Answers to 02d: wrong ones that must be refused by name, right ones that must be accepted."""

from functools import cache
from itertools import product

import chandylamport as cl
from chandylamport.classroom.trials import right, wrong

EMPTY = cl.Cut({})


def full(c):
    return cl.Cut({p: len(c.history(p)) for p in c.processes})


def one_run(c):
    cut = EMPTY
    while cut is not None:
        yield cut
        cut = next(cl.successors(c, cut), None)


def all_runs(c, cut=EMPTY):
    if cut == full(c):
        yield [cut]
    for further in cl.successors(c, cut):
        for rest in all_runs(c, further):
            yield [cut, *rest]


# possibly


@wrong("possibly", "in every cut")
def wants_it_always(c, predicate):
    return all(predicate(cut) for cut in cl.consistent_cuts(c))


@wrong("possibly", "one run only")
def looks_along_one_run(c, predicate):
    return any(predicate(cut) for cut in one_run(c))


@wrong("possibly", "one run only")
def looks_along_the_listed_events(c, predicate):
    counts = dict.fromkeys(c.processes, 0)
    found = predicate(cl.Cut(counts))
    for e in c:
        counts[e.process] += 1
        found = found or predicate(cl.Cut(counts))
    return found


@wrong("possibly", "inconsistent cuts too")
def tries_all_numbers(c, predicate):
    ranges = [range(len(c.history(p)) + 1) for p in c.processes]
    cuts = (cl.Cut(dict(zip(c.processes, n, strict=True))) for n in product(*ranges))
    return any(predicate(cut) for cut in cuts)


@wrong("possibly", "the end only")
def returns_the_last_verdict(c, predicate):
    for cut in cl.consistent_cuts(c):
        answer = predicate(cut)
    return answer


@wrong("possibly", "definitely")
def asks_every_run(c, predicate):
    return all(any(map(predicate, run)) for run in all_runs(c))


@wrong("possibly", "two processes only")  # only hidden tests have three
def two_nested_loops(c, predicate):
    p, q = c.processes[:2]
    for i in range(len(c.history(p)) + 1):
        for j in range(len(c.history(q)) + 1):
            cut = cl.Cut({p: i, q: j})
            if cl.is_consistent(c, cut) and predicate(cut):
                return True
    return False


@right("possibly")
def search_upwards(c, predicate):
    seen, to_visit = {EMPTY}, [EMPTY]
    while to_visit:
        cut = to_visit.pop()
        if predicate(cut):
            return True
        new = set(cl.successors(c, cut)) - seen
        seen |= new
        to_visit += new
    return False


@right("possibly")
def some_run_meets_it(c, predicate):
    return any(predicate(cut) for run in all_runs(c) for cut in run)


# definitely


@wrong("definitely", "in every cut")
def wants_it_in_every_cut(c, predicate):
    return all(predicate(cut) for cut in cl.consistent_cuts(c))


@wrong("definitely", "possibly")
def wants_it_in_some_cut(c, predicate):
    return any(predicate(cut) for cut in cl.consistent_cuts(c))


@wrong("definitely", "one run only")
def follows_one_run(c, predicate):
    return any(predicate(cut) for cut in one_run(c))


@wrong("definitely", "one run only")
def follows_the_listed_events(c, predicate):
    cut = EMPTY
    if predicate(cut):
        return True
    for e in c:
        cut = cut | cl.Cut({e.process: e.position})
        if predicate(cut):
            return True
    return False


@wrong("definitely", "a whole level")
def wants_all_of_one_level(c, predicate):
    level = {EMPTY}
    while level:
        if all(predicate(cut) for cut in level):
            return True
        level = {more for cut in level for more in cl.successors(c, cut)}
    return False


@wrong("definitely", "inconsistent cuts too")
def lets_runs_pass_anywhere(c, predicate):
    def avoidable(cut):
        if predicate(cut):
            return False
        if cut == full(c):
            return True
        free = [p for p in c.processes if cut[p] < len(c.history(p))]
        return any(avoidable(cut | cl.Cut({p: cut[p] + 1})) for p in free)

    return not avoidable(EMPTY)


@wrong("definitely", "the ends forgotten")
def looks_between_the_ends(c, predicate):
    return all(any(map(predicate, run[1:-1])) for run in all_runs(c))


@wrong("definitely", "the first cut forgotten")
def begins_with_the_first_step(c, predicate):
    level = {EMPTY}
    for _ in c:
        above = {more for cut in level for more in cl.successors(c, cut)}
        level = {cut for cut in above if not predicate(cut)}
    return not level


@wrong("definitely", "the last cut forgotten")
def stops_before_the_last_cut(c, predicate):
    def avoidable(cut):
        if cut == full(c):
            return True
        return not predicate(cut) and any(map(avoidable, cl.successors(c, cut)))

    return not avoidable(EMPTY)


@right("definitely")
def every_run_meets_it(c, predicate):
    return all(any(map(predicate, run)) for run in all_runs(c))


@right("definitely")
def caught_from_here(c, predicate):
    @cache
    def caught(cut):
        if predicate(cut):
            return True
        further = list(cl.successors(c, cut))
        return bool(further) and all(map(caught, further))

    return caught(EMPTY)


@right("definitely")
def search_for_a_way_round(c, predicate):
    seen, to_visit = set(), [EMPTY]
    while to_visit:
        cut = to_visit.pop()
        if cut in seen or predicate(cut):
            continue
        if cut == full(c):
            return False
        seen.add(cut)
        to_visit += cl.successors(c, cut)
    return True
