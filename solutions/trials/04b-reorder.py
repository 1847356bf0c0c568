"""Answers to 04b: wrong ones that must be refused by name, right ones that must be accepted."""

from chandylamport.classroom.trials import right, wrong


def swapped(order, i):
    return [*order[:i], order[i + 1], order[i], *order[i + 2 :]]


@wrong("reorder", "sorted at once")
def sorts_with_python(run):
    return [list(run.order), sorted(run.order, key=lambda event: event not in run.cut)]


@wrong("reorder", "sorted at once")
def moves_each_event_to_the_front(run):
    orders, inside = [list(run.order)], 0
    for event in run.order:
        if event in run.cut:
            order = [e for e in orders[-1] if e != event]
            order.insert(inside, event)
            inside += 1
            if order != orders[-1]:
                orders.append(order)
    return orders


@wrong("reorder", "one list many times")
def keeps_no_copy(run):
    order = list(run.order)
    orders = [order]
    for _ in order:
        for i in range(len(order) - 1):
            if order[i] not in run.cut and order[i + 1] in run.cut:
                order[i], order[i + 1] = order[i + 1], order[i]
                orders.append(order)
    return orders


@wrong("reorder", "the run itself forgotten")
def keeps_what_comes_after_each_swap(run):
    return all_passes(run)[1:] or [list(run.order)]


@wrong("reorder", "an order twice")
def notes_an_order_for_every_comparison(run):
    orders = [list(run.order)]
    for _ in run.order:
        for i in range(len(run.order) - 1):
            order = orders[-1]
            inverted = order[i] not in run.cut and order[i + 1] in run.cut
            orders.append(swapped(order, i) if inverted else order)
    return orders


@wrong("reorder", "backwards")
def follows_the_paper_s_slip(run):
    """Swaps postrecording events that immediately follow prerecording ones."""
    order, orders = list(run.order), [list(run.order)]
    for _ in run.order:
        for i in range(len(order) - 1):
            if order[i] in run.cut and order[i + 1] not in run.cut:
                order = swapped(order, i)
                orders.append(order)
    return orders


@wrong("reorder", "two of a kind")
def sorts_the_processes_too(run):
    def key(event):
        return event not in run.cut, event.process

    order, orders = list(run.order), [list(run.order)]
    for _ in run.order:
        for i in range(len(order) - 1):
            if key(order[i]) > key(order[i + 1]):
                order = swapped(order, i)
                orders.append(order)
    return orders


@wrong("reorder", "two of a kind")
def moves_past_those_in_front_as_well(run):
    orders = [list(run.order)]
    for i, event in enumerate(run.order):
        if event in run.cut:
            for j in range(i, 0, -1):
                orders.append(swapped(orders[-1], j - 1))
    return orders


@wrong("reorder", "the run itself forgotten")
def gives_the_last_order_only(run):
    inside = [e for e in run.order if e in run.cut]
    return [inside + [e for e in run.order if e not in run.cut]]


@wrong("reorder", "too early")
def one_pass_is_enough(run):
    order, orders = list(run.order), [list(run.order)]
    for i in range(len(order) - 1):
        if order[i] not in run.cut and order[i + 1] in run.cut:
            order = swapped(order, i)
            orders.append(order)
    return orders


@wrong("reorder", "too early")
def changes_nothing(run):
    return [list(run.order)]


@wrong("reorder", "a receive left behind")  # only hidden tests have one that must move
def moves_sends_only(run):
    order, orders = list(run.order), [list(run.order)]
    for _ in run.order:
        for i in range(len(order) - 1):
            post, pre = order[i], order[i + 1]
            if post not in run.cut and pre in run.cut and not pre.receives:
                order = swapped(order, i)
                orders.append(order)
    return orders


@right("reorder")
def all_passes(run):
    order, orders = list(run.order), [list(run.order)]
    for _ in run.order:
        for i in range(len(order) - 1):
            if order[i] not in run.cut and order[i + 1] in run.cut:
                order = swapped(order, i)
                orders.append(order)
    return orders


@right("reorder")
def from_the_back(run):
    order = list(run.order)
    yield tuple(order)
    while True:
        inside = [event in run.cut for event in order]
        places = [i for i in range(len(order) - 1) if not inside[i] and inside[i + 1]]
        if not places:
            return
        order = swapped(order, places[-1])
        yield tuple(order)


@right("reorder")
def step_by_step_to_the_front(run):
    orders, boundary = [list(run.order)], 0
    for i, event in enumerate(run.order):
        if event in run.cut:
            for j in range(i, boundary, -1):
                orders.append(swapped(orders[-1], j - 1))
            boundary += 1
    return orders
