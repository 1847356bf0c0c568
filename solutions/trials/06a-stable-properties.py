"""Answers to 06a: wrong ones that must be refused by name, right ones that must be accepted."""

from chandylamport.classroom.trials import right, wrong


def waits(snapshot):
    """For whom each server waits in vain."""
    called = {p: state[0] for p, state in snapshot.states.items() if state[0]}
    return {p: q for p, q in called.items() if "reply" not in snapshot.channels[q, p]}


def in_a_circle(waits_for):
    found = set()
    for p in waits_for:
        way, here = [], p
        while here in waits_for and here not in way:
            way.append(here)
            here = waits_for[here]
        if here == p:
            found |= set(way)
    return sorted(found)


@wrong("deadlocked", "channels forgotten")
def believes_the_states(snapshot):
    return in_a_circle({p: state[0] for p, state in snapshot.states.items() if state[0]})


@wrong("deadlocked", "any message helps")
def waits_for_whatever_comes(snapshot):
    called = {p: state[0] for p, state in snapshot.states.items() if state[0]}
    return in_a_circle({p: q for p, q in called.items() if not snapshot.channels[q, p]})


@wrong("deadlocked", "the channel there")
def looks_where_the_call_went(snapshot):
    called = {p: state[0] for p, state in snapshot.states.items() if state[0]}
    return in_a_circle({p: q for p, q in called.items() if "reply" not in snapshot.channels[p, q]})


@wrong("deadlocked", "all who wait")
def lists_all_that_wait(snapshot):
    return sorted(waits(snapshot))


@wrong("deadlocked", "everybody or nobody")  # only hidden tests have a third that works
def asks_whether_all_wait(snapshot):
    everybody = set(snapshot.states)
    return sorted(everybody) if everybody == set(waits(snapshot)) else []


@wrong("deadlocked", "wishes counted")
def counts_calls_to_come(snapshot):
    waits_for = {}
    for p, (other, _, calls) in snapshot.states.items():
        target = other or (calls[0] if calls else "")
        if target and "reply" not in snapshot.channels[target, p]:
            waits_for[p] = target
    return in_a_circle(waits_for)


@wrong("deadlocked", "pairs only")  # only hidden tests have a circle of three
def looks_for_two_that_wait_for_each_other(snapshot):
    waits_for = waits(snapshot)
    return sorted(p for p, q in waits_for.items() if waits_for.get(q) == p)


@wrong("deadlocked", "the way to the circle")  # only hidden tests have somebody beside the circle
def lists_the_whole_way(snapshot):
    waits_for, found = waits(snapshot), set()
    for p in waits_for:
        way, here = [], p
        while here in waits_for and here not in way:
            way.append(here)
            here = waits_for[here]
        if here in way:
            found |= set(way)
    return sorted(found)


@right("deadlocked")
def by_following_the_way(snapshot):
    return in_a_circle(waits(snapshot))


@right("deadlocked")
def by_leaving_out_those_who_get_on(snapshot):
    """Takes away who waits for nobody, then who is waited for by nobody; the circle is left."""
    left = waits(snapshot)
    for _ in snapshot.states:
        left = {p: q for p, q in left.items() if q in left and p in left.values()}
    return sorted(left)


@right("deadlocked")
def by_powers_of_the_relation(snapshot):
    step = waits(snapshot)
    reached = {p: {q} for p, q in step.items()}
    for _ in step:
        for near in reached.values():
            near |= {step[q] for q in near if q in step}
    return tuple(sorted(p for p, all_reached in reached.items() if p in all_reached))


@wrong("meaning", "false, so false at the end")
def reports_that_there_is_none(stable, seen):
    return (None, True) if seen else (False, False)


@wrong("meaning", "true, so true from the beginning")
def believes_that_it_always_was(stable, seen):
    return (True, True) if seen else (False, None)


@wrong("meaning", "an instant")
def takes_the_picture_for_the_run(stable, seen):
    return (seen, seen)


@wrong("meaning", "nothing known")
def dares_nothing(stable, seen):
    return (None, None)


@wrong("meaning", "beginning and end exchanged")
def looks_back(stable, seen):
    return (True, None) if seen else (None, False)


@wrong("meaning", "stable or not")  # only hidden tests ask about properties that are not stable
def forgets_to_ask_whether_it_stays(stable, seen):
    return (None, True) if seen else (False, None)


@right("meaning")
def with_a_table(stable, seen):
    known = {(True, True): [None, True], (True, False): [False, None]}
    return known.get((stable, seen), [None, None])


@right("meaning")
def in_one_line(stable, seen):
    return False if stable and not seen else None, stable and seen or None
