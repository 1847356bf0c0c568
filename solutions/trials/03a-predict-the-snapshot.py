"""Answers to 03a: wrong ones that must be refused by name, right ones that must be accepted."""

from chandylamport.classroom.exercises.runs import RUNS
from chandylamport.classroom.trials import right, wrong

RIGHT = {
    "one payment": ({"p": 80, "q": 50}, {("p", "q"): [20]}),
    "three letters": ({"p": (2, ()), "q": (0, ("x",))}, {("p", "q"): ["y"]}),
    "bank, first run": ({"A": 550, "B": 170}, {("B", "A"): [80]}),
    "bank, second run": ({"A": 600, "B": 120}, {("B", "A"): [80]}),
    "two states": ({"p": "A", "q": "D"}, {("q", "p"): ["M'"]}),
    "three branches": (
        {"P": 100, "Q": 180, "R": 265},
        {("R", "Q"): [30], ("Q", "P"): [20], ("R", "P"): [5]},
    ),
}


@wrong("predict", "nothing under way")
def leaves_the_channels_out(run):
    states, _ = RIGHT[run]
    return states, {}


@wrong("predict", "counted twice")
def takes_all_before_the_marker(run):
    if run == "three letters":
        return {"p": (2, ()), "q": (0, ("x",))}, {("p", "q"): ["x", "y"]}
    return RIGHT[run]


@wrong("predict", "counted twice")
def takes_what_had_arrived_at_b(run):
    if run == "bank, first run":
        return {"A": 550, "B": 170}, {("B", "A"): [80], ("A", "B"): [50]}
    return RIGHT[run]


@wrong("predict", "logged behind the marker")
def begins_to_log_at_the_marker(run):
    if run == "one payment":
        return {"p": 80, "q": 50}, {}
    if run == "three letters":
        return {"p": (2, ()), "q": (0, ("x",))}, {("p", "q"): ["z"]}
    return RIGHT[run]


@wrong("predict", "recorded again")
def records_at_each_marker(run):
    if run == "one payment":
        return {"p": 80, "q": 70}, {("p", "q"): [20]}
    if run == "three letters":
        return {"p": (3, ()), "q": (0, ("x", "y"))}, {("p", "q"): ["y"]}
    return RIGHT[run]


@wrong("predict", "the states at the end")
def looks_at_the_end(run):
    ends = {
        "one payment": {"p": 80, "q": 70},
        "three letters": {"p": (3, ()), "q": (0, ("x", "y", "z"))},
    }
    return ends.get(run), RIGHT[run][1]


@wrong("predict", "the states at the end")  # the hidden test alone asks for the second run
def finishes_the_second_run(run):
    if run == "bank, second run":
        return {"A": 630, "B": 170}, {("B", "A"): [80]}
    return RIGHT[run]


@wrong("predict", "the states at the start")
def looks_at_the_start(run):
    starts = {"one payment": {"p": 100, "q": 50}, "three letters": {"p": (0, ()), "q": (0, ())}}
    return starts.get(run), RIGHT[run][1]


@wrong("predict", "an instant")
def photographs_everybody_at_once(run):
    if run == "three letters":
        return {"p": (1, ()), "q": (0, ("x",))}, {}
    return RIGHT[run]


@wrong("predict", "the wrong way round")
def names_the_receiver_first(run):
    states, channels = RIGHT[run]
    return states, {(dst, src): held for (src, dst), held in channels.items()}


@wrong("predict", "markers in the channel")
def counts_the_marker_too(run):
    states, channels = RIGHT[run]
    return states, {channel: [*held, "marker"] for channel, held in channels.items()}


@right("predict")
def with_tuples_and_empty_channels(run):
    states, channels = RIGHT[run]
    back = {(dst, src): () for src, dst in channels}
    return [states, back | {channel: tuple(held) for channel, held in channels.items()}]


@right("predict")
def by_the_marks_of_sender_and_receiver(run):
    """Walks through the lines once, and sorts the events into before and after."""
    payloads = {
        "one payment": {"m": 20},
        "bank, first run": {"m": 50, "n": 80},
        "bank, second run": {"m": 50, "n": 80},
        "three branches": {"a": 30, "b": 20, "c": 10, "d": 5},
    }
    starts = {
        "one payment": {"p": 100, "q": 50},
        "bank, first run": {"A": 600, "B": 200},
        "bank, second run": {"A": 600, "B": 200},
        "three branches": {"P": 100, "Q": 200, "R": 300},
    }
    if run not in starts:
        return RIGHT[run]
    states, amounts = dict(starts[run]), payloads[run]
    recorded, under_way, channels = set(), {}, {}
    for who, verb, *words in map(str.split, RUNS[run].schedule.strip().splitlines()):
        if verb == "records" or words[0] == "marker":
            recorded.add(who)
        elif verb == "sends" and who not in recorded:
            states[who] -= amounts[words[0]]
            under_way[words[0]] = who
        elif verb == "receives" and words[0] in under_way:
            if who not in recorded:
                states[who] += amounts[words[0]]
            else:
                channels.setdefault((under_way[words[0]], who), []).append(amounts[words[0]])
    return states, channels
