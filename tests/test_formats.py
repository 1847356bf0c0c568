"""JSON and ShiViz logs: what goes out comes back, and what is wrong is named."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import all_to_all_3, barrier, computations, cross, figure_7, independent, pipeline

from chandylamport import (
    SHIVIZ,
    Computation,
    MalformedComputation,
    computation,
    happens_before,
    read_json,
    read_shiviz,
    to_json,
    to_shiviz,
)

FAMILIES = [independent(2, 2), cross(2), barrier(3), pipeline(2), all_to_all_3(), figure_7()]
EVENT_FIRST = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"  # the default of ShiViz


def error_of(read, *arguments, **options) -> str:
    with pytest.raises(MalformedComputation) as caught:
        read(*arguments, **options)
    return str(caught.value)


# --- JSON ----------------------------------------------------------------------------------------


def test_json_has_one_event_a_line():
    c = computation("p: a m! k!q\nq: hear(m?)", payloads={"m": 50})
    assert to_json(c).split("\n") == [
        '{"processes": ["p", "q"],',
        ' "events": [',
        '  {"process": "p", "label": "a"},',
        '  {"process": "p", "sends": {"m": "q"}},',
        '  {"process": "p", "sends": {"k": "q"}},',
        '  {"process": "q", "label": "hear", "receives": ["m"]}],',
        ' "payloads": {"m": 50}}',
    ]


@pytest.mark.parametrize("c", FAMILIES)
def test_the_families_come_back_from_json(c: Computation):
    assert read_json(to_json(c)) == c


@given(computations())
def test_every_computation_comes_back_from_json_with_its_payloads(c: Computation):
    back = read_json(to_json(c))
    assert back == c
    assert back.messages == c.messages
    assert to_json(back) == to_json(c)


@given(computations(max_processes=3, max_events=5, names=st.text(min_size=1, max_size=3)))
def test_odd_names_come_back_from_json(c: Computation):
    assert read_json(to_json(c)) == c


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
).filter(lambda value: value is not None)


@given(VALUES.filter(lambda value: "inf" not in repr(value)))
def test_payloads_come_back_with_tuples_as_tuples_and_lists_as_lists(payload: object):
    c = computation("p: tuple!\nq: tuple?", payloads={"tuple": payload})
    back = read_json(to_json(c)).messages["tuple"].payload
    assert back == payload
    assert repr(back) == repr(payload)


@pytest.mark.parametrize(
    "payload", [{1: 2}, {1, 2}, b"x", object, float("nan"), float("inf"), {"tuple": [1]}]
)
def test_a_payload_that_would_not_come_back_is_refused(payload: object):
    c = computation("p: m!\nq: m?", payloads={"m": payload})
    assert error_of(to_json, c) == f"m: JSON cannot hold the payload {payload!r}"


def test_json_may_be_declared_fifo():
    text = to_json(computation("p: m! n!\nq: n? m?"))
    assert read_json(text)
    expected = "event 3: n?: channel p→q is not FIFO: n overtakes m"
    assert error_of(read_json, text, fifo=True) == expected


def wrap(*events: object, **more: object) -> str:
    return json.dumps({"processes": ["p", "q"], "events": events} | more)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "line 1: this is not JSON: Expecting value"),
        ('{"processes": ["p"],\n "events": [}', "line 2: this is not JSON: Expecting value"),
        ("[]", "this must be an object with processes, events, payloads"),
        ("{}", "processes is missing"),
        ('{"processes": ["p"]}', "events is missing"),
        (wrap(extra=1), "there is no key extra, only processes, events, payloads"),
        (wrap(processes="pq"), "processes must be a list of strings"),
        (wrap(processes=["p", 1]), "processes must be a list of strings"),
        (wrap(processes=[]), "processes: at least one is needed, and each is named once"),
        (wrap(processes=["p", "p"]), "processes: at least one is needed, and each is named once"),
        (wrap(processes=[""]), "a process needs a name"),
        (wrap(events={}), "events must be a list"),
        (wrap(payloads=[]), "payloads must be an object"),
        (wrap(payloads={"m": 1}), "m has a payload, and nobody sends it"),
        (wrap("a"), "event 1: this must be an object with process, label, sends, receives"),
        (wrap({"label": "a"}), "event 1: process is missing"),
        (
            wrap({"process": "p", "label": "a"}, {"process": "p", "name": "b"}),
            "event 2: there is no key name, only process, label, sends, receives",
        ),
        (
            wrap({"process": "p", "where": "here"}),
            "event 1: there is no key where, only process, label, sends, receives",
        ),
        (wrap({"process": 1}), "event 1: process must be a string"),
        (wrap({"process": "p", "label": None}), "event 1: label must be a string"),
        (wrap({"process": "p", "sends": ["m"]}), "event 1: sends must be an object of strings"),
        (wrap({"process": "p", "sends": {"m": 1}}), "event 1: sends must be an object of strings"),
        (wrap({"process": "p", "receives": "m"}), "event 1: receives must be a list of strings"),
        (wrap({"process": "p", "receives": [1]}), "event 1: receives must be a list of strings"),
        (wrap({"process": "z", "label": "a"}), "event 1: a: there is no process z"),
        (wrap({"process": "z", "receives": ["m"]}), "event 1: event: there is no process z"),
        (wrap({"process": "p"}), "event 1: event 1 of p has no name"),
        (
            wrap({"process": "p", "receives": ["m"]}),
            "event 1: m?: p receives a message that nobody sends",
        ),
        (
            wrap({"process": "p", "sends": {"m": "z"}}),
            "event 1: m!: m goes to z, and there is no process z",
        ),
        (
            wrap(
                {"process": "p", "sends": {"m": "q"}},
                {"process": "q", "receives": ["m"]},
                {"process": "q", "receives": ["m"]},
            ),
            "event 3: m?: m is received twice, first in m? (q 1)",
        ),
        (
            wrap(
                {"process": "p", "receives": ["n"]},
                {"process": "p", "sends": {"m": "q"}},
                {"process": "q", "receives": ["m"]},
                {"process": "q", "sends": {"n": "p"}},
            ),
            "event 1: n?: a cycle through time: it needs n!, which comes after m?, "
            "which needs m!, which comes after n?",
        ),
        (
            '{"processes": ["p", "q"], "events": [{"process": "p", "sends": {"m": "q", "m": ""}}]}',
            "the key m is there twice",
        ),
    ],
)
def test_malformed_json_is_refused_with_event_and_rule(text: str, error: str):
    assert error_of(read_json, text) == error


# --- ShiViz: reading logs as other tools write them ----------------------------------------------

RPC = """\
client {"client":1}
Initialization Complete
client {"client":2}
Making RPC call
client {"client":3, "server":3}
Received response
server {"server":1}
Initialization Complete
server {"client":2, "server":2}
Received request
server {"server":3, "client":2}
Sending response
"""


def test_a_log_in_the_style_of_govector_is_read():
    [c] = read_shiviz(RPC, r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)")
    assert str(c).split("\n") == [
        'client:  "Initialization Complete"  "Making RPC call"(m1!)'
        '                                                    "Received response"(m2?)',
        'server:  "Initialization Complete"'
        '                          "Received request"(m1?)  "Sending response"(m2!)',
    ]


def test_python_spells_its_groups_differently_and_reads_the_same():
    python = r"(?P<host>\S*) (?P<clock>\{.*\})\n(?P<event>.*)"
    assert read_shiviz(RPC, python) == read_shiviz(RPC, SHIVIZ)


def test_a_log_with_the_event_first_and_further_fields_is_read():
    log = """\
28/07/14 01:15 PM INFO asks
alice {"alice" : 1, "bob" : 0}

28/07/14 01:16 PM WARN hears
bob {"alice" : 1, "bob" : 1}
28/07/14 01:17 PM INFO rests
alice {"alice" : 2}
"""
    parser = (
        r"(?<date>\d\d/\d\d/\d\d \d\d:\d\d (AM|PM)) (?<level>INFO|WARN) (?<event>.*)"
        r"\n(?<host>\w+) (?<clock>\{.*\})"
    )
    [c] = read_shiviz(log, parser)
    assert str(c).split("\n") == ["alice:  asks(m1!)  rests", "bob:               hears(m1?)"]


def test_a_log_with_everything_on_one_line_and_noise_between_is_read():
    log = """\
starting up, nothing to see
[INFO] [10/13 14:37:20.543] [akka://Broadcast/user/node0] {"node0" : 1} Sending to node1
some stack trace
  at line 7
[INFO] [10/13 14:37:20.548] [akka://Broadcast/user/node1] {"node0" : 1, "node1" : 1} Received
"""
    parser = (
        r"^\[\w+\] \[(?<date>[^\]]+)\] \[akka:\/\/\w+\/user\/(?<host>\w+)\] "
        r"(?<clock>.*\}) (?<event>.*)$"
    )
    [c] = read_shiviz(log, parser)
    assert str(c).split("\n") == [
        'node0:  "Sending to node1"(m1!)',
        "node1:                           Received(m1?)",
    ]


def test_the_default_parser_of_shiviz_reads_the_line_above_the_clock():
    [c] = read_shiviz('ask\np {"p":1}\n\nhear\nq {"p":1,"q":1}\n', EVENT_FIRST)
    assert [event.label for event in c] == ["ask", "hear"]
    assert happens_before(c, c["ask"], c["hear"])


def test_windows_line_ends_are_read():
    assert read_shiviz(RPC.replace("\n", "\r\n"), SHIVIZ) == read_shiviz(RPC, SHIVIZ)


def test_a_delimiter_parts_executions_and_blank_ones_are_skipped():
    log = """
=== first ===
p {"p":1}
a
=== nothing here ===

=== second ===
q {"q":1}
b
r {"r":1, "q":1}
c
"""
    first, second = read_shiviz(log, SHIVIZ, r"^=== (?<trace>.*) ===$")
    assert first == computation("p: a")
    assert second == computation("q: b(m1!)\nr: c(m1?)")


def test_groups_in_the_delimiter_do_not_end_up_in_the_log():
    log = 'p {"p":1}\na\n--1--\np {"p":1}\nb\n'
    assert [next(iter(c)).label for c in read_shiviz(log, SHIVIZ, r"-(-)(\d)--")] == ["a", "b"]


def test_lookbehind_escapes_and_brackets_keep_their_meaning():
    log = 'x(<p> {"p":1} [(?<a]\n'
    parser = r"(?<=x)\(?<(?<host>\w+)> (?<clock>{[^(?<]*}) \[(?<event>[(?<a]+)\]"
    [c] = read_shiviz(log, parser)
    assert [(event.process, event.label) for event in c] == [("p", "(?<a")]


def test_a_group_may_be_referred_to_in_either_spelling():
    log = 'p {"p":1} a p\nq {"q":1} a p\n'
    for back in (r"\k<host>", "(?P=host)"):
        [c] = read_shiviz(log, rf"(?<host>\w) (?<clock>{{.*}}) (?<event>\w) {back}")
        assert c == computation("p: a")


def test_events_of_one_host_may_be_logged_in_any_order():
    [c] = read_shiviz('p {"p":3}\nc\np {"p":1}\na\np {"p":2}\nb', SHIVIZ)
    assert c == computation("p: a b c")


def test_processes_come_in_the_order_of_their_first_line():
    [c] = read_shiviz('z {"z":1}\na\nb {"b":1}\nb\na {"a":1}\nc\nz {"z":2}\nd', SHIVIZ)
    assert c.processes == ("z", "b", "a")


def test_an_entry_of_0_says_nothing_even_of_a_stranger():
    [c] = read_shiviz('p {"p":1, "q":0, "stranger":0}\na\nq {"p":0,"q":1}\nb', SHIVIZ)
    assert c == computation("p: a\nq: b")


def test_an_event_without_text_gets_a_name():
    [c] = read_shiviz('p {"p":1}\n\np {"p":2}\n', SHIVIZ)
    assert c == computation("p: event event")


def test_an_event_may_depend_on_several_others():
    [c] = read_shiviz('p {"p":1}\na\nq {"q":1}\nb\nr {"p":1,"q":1,"r":1}\nc', SHIVIZ)
    assert c == computation("p: a(m1!)\nq: b(m2!)\nr: c(m1?,m2?)")


def test_what_a_cause_already_knew_needs_no_message_of_its_own():
    [c] = read_shiviz('p {"p":1}\na\nq {"p":1,"q":1}\nb\nr {"p":1,"q":1,"r":1}\nc', SHIVIZ)
    assert c == computation("p: a(m1!)\nq: b(m1?,m2!)\nr: c(m2?)")


def test_one_event_may_be_the_cause_of_several():
    [c] = read_shiviz('p {"p":1}\na\nq {"p":1,"q":1}\nb\nr {"p":1,"r":1}\nc', SHIVIZ)
    assert c == computation("p: a(m1!,m2!)\nq: b(m1?)\nr: c(m2?)")


# --- ShiViz: happens-before is the comparison of the clocks --------------------------------------


def shuffled_log(c: Computation, pick: random.Random) -> str:
    """The events of a computation in any order, with clocks spaced and sorted in any way."""
    records = []
    for event in c:
        entries = [(p, n) for p, n in c.clocks[event].items() if n or pick.random() < 0.5]
        pick.shuffle(entries)
        space = pick.choice(["", " ", "  "])
        clock = f",{space}".join(f'{space}"{p}"{space}:{space}{n}' for p, n in entries)
        name = f"{event.process}#{event.position}"
        records.append(f"{event.process} {{{clock}{space}}}\n{name}\n")
    pick.shuffle(records)
    return pick.choice(["", "\n", "noise\n"]).join(records)


@given(computations(max_processes=5, max_events=14).filter(len), st.integers(0, 10**6))
def test_happens_before_of_a_log_is_the_comparison_of_its_clocks(c: Computation, seed: int):
    [back] = read_shiviz(shuffled_log(c, random.Random(seed)), SHIVIZ)
    clock = {f"{event.process}#{event.position}": c.clocks[event] for event in c}
    assert sorted(event.label for event in back) == sorted(clock)
    for e in back:
        for f in back:
            one, two = clock[e.label], clock[f.label]
            below = one != two and all(one[p] <= two[p] for p in c.processes)
            assert happens_before(back, e, f) == below


@given(computations(max_processes=5, max_events=14).filter(len), st.integers(0, 10**6))
def test_no_message_of_a_log_is_implied_by_the_others(c: Computation, seed: int):
    [back] = read_shiviz(shuffled_log(c, random.Random(seed)), SHIVIZ)
    for m in back.messages.values():
        send, receive = back[f"{m.name}!"], back[f"{m.name}?"]
        between = [
            e for e in back if happens_before(back, send, e) and happens_before(back, e, receive)
        ]
        assert not between


# --- ShiViz: writing -----------------------------------------------------------------------------


def test_a_log_is_written_for_the_parser_that_the_package_names():
    assert to_shiviz(computation("p: a m!\nq: b m?")).split("\n") == [
        'p {"p": 1}',
        "a",
        'q {"q": 1}',
        "b",
        'p {"p": 2}',
        "m!",
        'q {"p": 2, "q": 2}',
        "m?",
        "",
    ]


def facts(c: Computation) -> tuple[object, ...]:
    """What a log can tell of a computation."""
    names = {p: [event.name for event in c.history(p)] for p in c.processes if c.history(p)}
    places = [(event.process, event.position) for event in c]
    order = {(x, y) for x in places for y in places if happens_before(c, c[x], c[y])}
    return names, order


@given(computations().filter(len))
def test_names_and_happens_before_come_back_from_a_log(c: Computation):
    [back] = read_shiviz(to_shiviz(c), SHIVIZ)
    assert facts(back) == facts(c)
    assert to_shiviz(back) == to_shiviz(c)


WORDS = st.text(min_size=1, max_size=3).filter(
    lambda word: len(word.split()) == 1 and word.split()[0] == word
)


@given(computations(max_processes=3, max_events=5, names=WORDS).filter(len))
def test_odd_names_come_back_from_a_log(c: Computation):
    [back] = read_shiviz(to_shiviz(c), SHIVIZ)
    assert facts(back) == facts(c)


def test_a_text_that_looks_like_a_line_of_the_log_is_still_a_text():
    c = computation('p: "q {\\"q\\": 1}" b')
    assert facts(read_shiviz(to_shiviz(c), SHIVIZ)[0]) == facts(c)


@pytest.mark.parametrize("diagram", ['"node 1": a', 'p: "two\\nlines"', 'p: "end\\r"'])
def test_what_does_not_fit_into_a_log_is_refused(diagram: str):
    error = error_of(to_shiviz, computation(diagram))
    assert error.endswith(": a ShiViz log has hosts without white space and texts of one line")


# --- ShiViz: what is wrong with a log ------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "error"),
    [
        ("", "the log is empty"),
        (" \n\n", "the log is empty"),
        ("no clock\nanywhere", "line 1: the parser matches nothing in this execution"),
        ('p {"p":1}\na\np {"p":3}\nb', "line 3: b: the clock of p jumps from 1 to 3"),
        ('p {"p":2}\na', "line 1: a: the clock of p jumps from 0 to 2"),
        ('p {"p":1}\na\np {"p":1}\nb', "line 3: b: a (line 1) is event 1 of p, too"),
        (
            'p {"p":1, "z":1}\na',
            "line 1: a: the clock knows z, and there is no process z",
        ),
        (
            'p {"p":1}\na\nq {"p":2, "q":1}\nb',
            "line 3: b: the clock counts 2 events of p; there are only 1",
        ),
        (
            'p {"p":1.5}\na',
            "line 1: a: the clock has 1.5 for p; it counts events, so 0, 1, 2, …",
        ),
        (
            'p {"p":"1"}\na',
            "line 1: a: the clock has '1' for p; it counts events, so 0, 1, 2, …",
        ),
        (
            'p {"p":true}\na',
            "line 1: a: the clock has True for p; it counts events, so 0, 1, 2, …",
        ),
        (
            'p {"p":1}\na\nq {"p":-1, "q":1}\nb',
            "line 3: b: the clock has -1 for p; it counts events, so 0, 1, 2, …",
        ),
        ("p {p:1}\na", "line 1: a: the clock {p:1} is not a JSON object"),
        ('p {"p":1, "p":2}\na', 'line 1: a: the clock {"p":1, "p":2} is not a JSON object'),
        ('p {"q":1}\na', "line 1: a: the clock {\"q\":1} counts no event of its own host 'p'"),
        ('p {"p":0}\na', "line 1: a: the clock {\"p\":0} counts no event of its own host 'p'"),
        (
            'p {"p":1}\na\nq {"p":1,"q":1}\nb\nr {"q":1,"r":1}\nc',
            "line 5: c: the clock forgets what it knows from b (line 3): "
            'it is {"q": 1, "r": 1} and should be {"p": 1, "q": 1, "r": 1}',
        ),
        (
            'p {"p":1}\na\nq {"p":1,"q":1}\nb\nq {"q":2}\nc',
            "line 5: c: the clock goes back behind b (line 3): "
            'it is {"q": 2} and should be {"p": 1, "q": 2}',
        ),
        (
            'p {"p":1, "q":1}\na\nq {"p":1, "q":1}\nb',
            "line 1: a: a cycle through time: it comes before and after b (line 3)",
        ),
        (
            'p {"p":1, "q":1}\na\np {"p":2, "q":1}\nb\nq {"p":2, "q":1}\nc',
            "line 1: a: a cycle through time: it comes before and after c (line 5)",
        ),
    ],
)
def test_a_malformed_log_is_refused_with_line_event_and_rule(log: str, error: str):
    assert error_of(read_shiviz, log, SHIVIZ) == error


@pytest.mark.parametrize("clock", ["[1]", "1", "null", ""])
def test_a_clock_is_a_json_object_whatever_the_parser_lets_through(clock: str):
    error = error_of(read_shiviz, f"p: {clock}\na\n", r"(?<host>\w): (?<clock>.*)\n(?<event>.*)")
    assert error == f"line 1: a: the clock {clock} is not a JSON object"


def test_a_cycle_through_three_processes_is_found():
    clock = '{"p":1, "q":1, "r":1}'
    error = error_of(read_shiviz, f"p {clock}\na\nq {clock}\nb\nr {clock}\nc", SHIVIZ)
    assert error == "line 1: a: a cycle through time: it comes before and after b (line 3)"


def test_the_line_of_an_error_is_that_of_the_clock_in_the_whole_text():
    log = '=== 1 ===\na\np {"p":1}\n\n=== 2 ===\n\nb\np {"p":2}\n'
    error = error_of(read_shiviz, log, EVENT_FIRST, r"^=== \d ===$")
    assert error == "line 8: b: the clock of p jumps from 0 to 2"


def test_an_execution_that_the_parser_does_not_match_is_refused():
    log = 'p {"p":1}\na\n---\nnothing\n'
    error = error_of(read_shiviz, log, SHIVIZ, "---")
    assert error == "line 3: the parser matches nothing in this execution"


@given(st.data())
def test_a_log_with_one_wrong_number_is_refused_or_is_another_true_log(data: st.DataObject):
    c = data.draw(computations(max_processes=3, max_events=8).filter(len))
    clocks = {(e.process, e.position): dict(c.clocks[e]) for e in c}
    place = data.draw(st.sampled_from(sorted(clocks)))
    other = data.draw(st.sampled_from(c.processes))
    clocks[place][other] = data.draw(st.integers(0, 4))
    log = "".join(f"{p} {json.dumps(clocks[p, n])}\n{p}#{n}\n" for p, n in clocks)
    try:
        [back] = read_shiviz(log, SHIVIZ)
    except MalformedComputation as error:
        assert str(error).startswith("line ")  # noqa: PT017 either outcome is right
        return
    for p, n in clocks:
        claimed = {q: k for q, k in clocks[p, n].items() if k}
        assert {q: k for q, k in back.clocks[back[p, n]].items() if k} == claimed


# --- ShiViz: what is wrong with a parser ---------------------------------------------------------


@pytest.mark.parametrize(
    ("parser", "delimiter", "error"),
    [
        (r"(?<host>\S*) (?<clock>{.*})", None, "parser {}: there is no group (?<event>…)"),
        (r"(?<clock>{.*}) (?<event>.*)", None, "parser {}: there is no group (?<host>…)"),
        (r"(?<host>.*) (?<event>.*)", None, "parser {}: there is no group (?<clock>…)"),
        (r"(?<host>\S*", None, "parser {}: no regular expression: missing ), unterminated"),
        (SHIVIZ, "(", "delimiter (: no regular expression: missing ), unterminated subpattern"),
    ],
)
def test_a_wrong_regular_expression_is_refused(parser: str, delimiter: str | None, error: str):
    assert error_of(read_shiviz, RPC, parser, delimiter).startswith(error.format(parser))
