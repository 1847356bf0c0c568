"""Answers to 03c: wrong ones that must be refused by name, right ones that must be accepted."""

from collections import deque

from chandylamport.classroom.trials import right, wrong


def far(channels, starts):
    """How far each process is from the nearest start."""
    found, queue = dict.fromkeys(starts, 0), deque(starts)
    while queue:
        process = queue.popleft()
        for src, dst in channels:
            if src == process and dst not in found:
                found[dst] = found[process] + 1
                queue.append(dst)
    return found


# --- will_complete -------------------------------------------------------------------------------


@wrong("will_complete", "always")
def trusts_the_markers(system, initiators):
    return len(initiators) > 0


@wrong("will_complete", "both directions")
def takes_channels_for_edges(system, initiators):
    reached = set(initiators)
    for _ in system.processes:
        for channel in system.network.channels:
            if reached & set(channel):
                reached |= set(channel)
    return len(reached) == len(system.processes)


@wrong("will_complete", "backwards")
def asks_who_reaches_the_initiators(system, initiators):
    reached = set(initiators)
    for _ in system.processes:
        reached |= {c.src for c in system.network.channels if c.dst in reached}
    return reached == set(system.processes)


@wrong("will_complete", "one step only")
def looks_at_the_neighbours(system, initiators):
    reached = {c.dst for c in system.network.channels if c.src in initiators}
    return reached | set(initiators) == set(system.processes)


@wrong("will_complete", "from each initiator")
def wants_each_to_reach_all(system, initiators):
    everybody = set(system.processes)
    return all(set(far(system.network.channels, [p])) == everybody for p in initiators)


@wrong("will_complete", "the first initiator only")
def begins_with_one(system, initiators):
    return set(far(system.network.channels, [initiators[0]])) == set(system.processes)


@wrong("will_complete", "back at the initiators")
def waits_for_the_markers_to_come_back(system, initiators):
    reached = far(system.network.channels, initiators)
    return all(c.src in reached for p in initiators for c in system.network.inputs(p))


@wrong("will_complete", "somebody reached")
def is_content_with_one(system, initiators):
    return len(far(system.network.channels, initiators)) >= 2


@right("will_complete")
def with_distances(system, initiators):
    return len(far(system.network.channels, initiators)) == len(system.processes)


@right("will_complete")
def nobody_is_left(system, initiators):
    """No set of processes without an initiator is closed to all channels from outside."""
    left = set(system.processes) - set(initiators)
    while True:
        entered = {c.dst for c in system.network.channels if c.dst in left and c.src not in left}
        if not entered:
            return not left
        left -= entered


# --- is_complete ---------------------------------------------------------------------------------


@wrong("is_complete", "recorded, so done")
def counts_the_states(system, recorded, arrived):
    return len(recorded) == len(system.processes)


@wrong("is_complete", "one process done")
def is_done_where_it_began(system, recorded, arrived):
    return any(set(system.network.inputs(p)) <= set(arrived) for p in recorded)


@wrong("is_complete", "only those who have recorded")
def asks_those_who_know(system, recorded, arrived):
    return all(c in arrived for p in recorded for c in system.network.inputs(p))


@wrong("is_complete", "one marker each")
def waits_for_some_marker(system, recorded, arrived):
    told = {channel[1] for channel in arrived}
    return set(recorded) == told == set(system.processes)


@wrong("is_complete", "a marker from everybody")
def waits_for_all_others(system, recorded, arrived):
    others = len(system.processes) - 1
    return all([dst for _, dst in arrived].count(p) == others for p in system.processes)


@wrong("is_complete", "markers only")  # only hidden tests have a process without channels
def counts_the_markers(system, recorded, arrived):
    return len(arrived) == len(system.network.channels)


@right("is_complete")
def by_two_counts(system, recorded, arrived):
    all_there = len(recorded) == len(system.processes)
    return all_there and len(arrived) == len(system.network.channels)


@right("is_complete")
def by_what_is_missing(system, recorded, arrived):
    return not (
        set(system.processes) - set(recorded) or set(system.network.channels) - set(arrived)
    )


# --- cost ----------------------------------------------------------------------------------------


def last(system, starts):
    found = far(system.network.channels, starts)
    return max(found[src] + 1 for src, _ in system.network.channels)


@wrong("cost", "a marker for each process")
def one_for_each_of_the_others(system, initiators):
    return [len(system.processes) - 1, last(system, initiators)]


@wrong("cost", "markers for each initiator")
def as_many_floods_as_initiators(system, initiators):
    return [len(initiators) * len(system.network.channels), last(system, initiators)]


@wrong("cost", "the last marker forgotten")
def stops_when_all_have_recorded(system, initiators):
    found = far(system.network.channels, initiators)
    return [len(system.network.channels), max(found.values())]


@wrong("cost", "always one more")  # only hidden tests end at a process without outgoing channels
def adds_one_to_the_distance(system, initiators):
    found = far(system.network.channels, initiators)
    return [len(system.network.channels), 1 + max(found.values())]


@wrong("cost", "there and back")
def doubles_the_distance(system, initiators):
    found = far(system.network.channels, initiators)
    return [len(system.network.channels), 2 * max(found.values())]


@wrong("cost", "the first initiator only")
def measures_from_the_first(system, initiators):
    return [len(system.network.channels), last(system, initiators[:1])]


@right("cost")
def with_two_helpers(system, initiators):
    return [len(system.network.channels), last(system, initiators)]


@right("cost")
def round_by_round(system, initiators):
    time, markers, recorded, new = 0, 0, set(initiators), set(initiators)
    while sent := [c for c in system.network.channels if c.src in new]:
        time, markers = time + 1, markers + len(sent)
        new = {c.dst for c in sent} - recorded
        recorded |= new
    return (markers, time)
