"""Answers to 02b: wrong ones that must be refused by name, right ones that must be accepted."""

from math import inf

from chandylamport.classroom.trials import right, wrong


def on_channel(c, src, dst):
    return [m for m in c.messages.values() if (m.src, m.dst) == (src, dst)]


def in_transit(m, cut):
    return m.sent <= cut[m.src] and (m.received is None or m.received > cut[m.dst])


@wrong("channel_state", "orphans")
def exchanges_inside_and_outside(c, cut, src, dst):
    return [
        m.payload
        for m in on_channel(c, src, dst)
        if m.sent > cut[src] and m.received is not None and m.received <= cut[dst]
    ]


@wrong("channel_state", "everything sent")
def forgets_the_receives(c, cut, src, dst):
    return [m.payload for m in on_channel(c, src, dst) if m.sent <= cut[src]]


@wrong("channel_state", "a set")
def collects_a_set(c, cut, src, dst):
    state = set()
    for m in on_channel(c, src, dst):
        if in_transit(m, cut):
            state.add(m.payload)
    return list(state)


@wrong("channel_state", "last sent first")  # only hidden tests have different payloads in order
def puts_each_message_in_front(c, cut, src, dst):
    state = []
    for m in on_channel(c, src, dst):
        if in_transit(m, cut):
            state.insert(0, m.payload)
    return state


@wrong("channel_state", "sorted")  # only hidden tests
def sorts_the_payloads(c, cut, src, dst):
    return sorted(m.payload for m in on_channel(c, src, dst) if in_transit(m, cut))


@wrong("channel_state", "the order of arrival")  # only hidden tests have a channel without FIFO
def lists_them_as_they_arrive(c, cut, src, dst):
    waiting = [m for m in on_channel(c, src, dst) if in_transit(m, cut)]
    return [m.payload for m in sorted(waiting, key=lambda m: m.received or inf)]


@wrong("channel_state", "names instead of payloads")
def gives_the_names(c, cut, src, dst):
    return [m.name for m in on_channel(c, src, dst) if in_transit(m, cut)]


@wrong("channel_state", "messages under way at the end forgotten")
def looks_for_later_receives(c, cut, src, dst):
    state = []
    for e in c.history(dst)[cut[dst] :]:
        for m in (c.messages[name] for name in e.receives):
            if m.src == src and m.sent <= cut[src]:
                state.append(m.payload)
    return state


@wrong("channel_state", "all channels together")
def forgets_to_choose_the_channel(c, cut, src, dst):
    return [m.payload for m in c.messages.values() if in_transit(m, cut)]


@wrong("channel_state", "the channel back")
def takes_the_channel_back(c, cut, src, dst):
    return [m.payload for m in on_channel(c, dst, src) if in_transit(m, cut)]


@wrong("channel_state", "off by one")
def counts_sends_from_zero(c, cut, src, dst):
    return [m.payload for m in on_channel(c, src, dst) if m.sent < cut[src] and in_transit(m, cut)]


@wrong("channel_state", "off by one")
def counts_receives_from_zero(c, cut, src, dst):
    state = []
    for m in on_channel(c, src, dst):
        if m.sent <= cut[src] and (m.received is None or m.received >= cut[dst]):
            state.append(m.payload)
    return state


@right("channel_state")
def a_queue_played_event_by_event(c, cut, src, dst):
    queue = []
    for e in c:
        if e in cut:
            for name in e.receives:
                if c.messages[name].channel == (src, dst):
                    queue.remove(name)
            if e.process == src:
                queue += [name for name in e.sends if c.messages[name].dst == dst]
    return [c.messages[name].payload for name in queue]


@right("channel_state")
def sent_minus_received(c, cut, src, dst):
    sent = [name for e in c.history(src) if e in cut for name in e.sends]
    received = {name for e in c.history(dst) if e in cut for name in e.receives}
    here = [c.messages[name] for name in sent if name not in received]
    return [m.payload for m in here if m.dst == dst]
