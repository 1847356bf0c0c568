"""Computations: what a diagram and a log say, what they may not say, and what comes back."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    all_to_all_3,
    bank_r9,
    barrier,
    computations,
    cross,
    figure_7,
    happens_before_pairs,
    one_message,
    pipeline,
    token_ring,
)

from chandylamport import Channel, Computation, Event, Log, MalformedComputation, computation

ODD = st.one_of(
    st.text(min_size=1, max_size=4),
    st.text(alphabet='ab!?,:()"\\# \t\n\r\u2028\x85→', min_size=1, max_size=4),
)

# --- the diagram ---------------------------------------------------------------------------------


def test_a_diagram_gives_each_process_its_events_from_left_to_right():
    c = computation("""
        p:  a   m!      n?
        q:      m?  b   n!
    """)
    assert c.processes == ("p", "q")
    assert [[event.name for event in history] for history in c.histories] == [
        ["a", "m!", "n?"],
        ["m?", "b", "n!"],
    ]
    assert [event.position for event in c.history("q")] == [1, 2, 3]


def test_columns_do_not_matter_only_the_order_on_a_line():
    assert computation("p: m!    a\nq:m? b") == computation("p:   m! a\n\n   q:          m? b")


def test_a_message_knows_who_sent_it_to_whom_and_when():
    message = computation("p: a m!\nq: m?").messages["m"]
    assert (message.src, message.dst, message.sent, message.received) == ("p", "q", 2, 1)
    assert message.channel == Channel("p", "q") == ("p", "q")


def test_a_message_may_be_on_its_way_for_ever():
    c = computation("p: m!q\nq: a")
    assert c.messages["m"].dst == "q"
    assert c.messages["m"].received is None


def test_one_event_may_send_and_receive_several_messages():
    c = computation("p: m!,n! x?\nq: m?,x!\nr: n?")
    assert c["p", 1].sends == ("m", "n")
    assert c["q", 1] == Event("q", 1, "", ("x",), ("m",))
    assert c["q", 1].name == "m?,x!"


def test_an_event_that_sends_may_have_a_name_of_its_own():
    c = computation("p: ask(m!)\nq: hear(m?)")
    assert c["ask"] == c["m!"] == Event("p", 1, "ask", ("m",))
    assert c["hear"].receives == ("m",)


def test_quotes_allow_any_text_in_a_name():
    c = computation(r'"node 1": "say \"hi\"" "m 1"!' + '\nq: "m 1"?')
    assert c.processes == ("node 1", "q")
    assert c["node 1", 1].label == 'say "hi"'
    assert c["m 1?"].receives == ("m 1",)


def test_blank_lines_and_comment_lines_are_skipped():
    assert computation("# a run\n\np: a\n   # and b\nq: b\n") == computation("p: a\nq: b")


def test_windows_line_ends_change_nothing():
    assert computation("p: a m!\r\nq: m?\r\n") == computation("p: a m!\nq: m?")


def test_a_process_may_have_no_events():
    assert computation("p: a\nq:").histories == ((Event("p", 1, "a"),), ())


SPELLING = "events are words with spaces between: a, m!, m!q, m?, and m?,n! for one that does both"


@pytest.mark.parametrize(
    ("diagram", "error"),
    [
        ("p: a\nq: m?", "line 2: m?: q receives a message that nobody sends"),
        ("p: a\nq: b(m?)", "line 2: b: q receives a message that nobody sends: m"),
        ("p: m!\nq: m? m?", "line 2: m?: m is received twice, first in m? (q 1)"),
        ("p: m!\nq: m?\nr: m?", "line 3: m?: m is received twice, first in m? (q 1)"),
        ("p: m!\nq: m?,m?", "line 2: m?,m?: m is received twice, first in m?,m? (q 1)"),
        ("p: m! m!\nq: m?", "line 1: m!: m is sent twice, first in m! (p 1)"),
        ("p: m!,m!\nq: m?", "line 1: m!,m!: m is sent twice"),
        (
            "p: n? m!\nq: m? n!",
            "line 1: n?: a cycle through time: it needs n!, which comes after m?, "
            "which needs m!, which comes after n?",
        ),
        (
            "p: a(z?,x!)\nq: x? y!\nr: y? z!",
            "line 1: a: a cycle through time: it needs z!, which comes after y?, "
            "which needs y!, which comes after x?, which needs x!, which comes after z?",
        ),
        ("p: m!r\nq: a", "line 1: m!: m goes to r, and there is no process r"),
        ("p: m!q\nq: a\nr: m?", "line 3: m?: m was sent to q, not to r"),
        ("p: m!\nq: a", "line 1: m!: nobody receives m; if it is on its way to q: m!q"),
        ("p: m! m?", "line 1: m!: p sends m to itself; a channel joins two processes"),
        ("p: m!p", "line 1: m!: p sends m to itself; a channel joins two processes"),
        ("a b c", "line 1: no process; write 'p: event event …'"),
        ("p: a\n\np: b", "line 3: p already has line 1"),
        ("p: a\nq: b m!!", f"line 2: cannot read 'm!!'; {SPELLING}"),
        ("p: a,b", f"line 1: cannot read 'a,b'; {SPELLING}"),
        ('p: "open', f"line 1: cannot read '\"open'; {SPELLING}"),
        (r'p: "\q"', rf"""line 1: cannot read '"\\q"'; {SPELLING}"""),
        ('"": a', "a process needs a name"),
        ("", "there is nothing here: a computation needs a process"),
        ("  \n# only a comment\n", "there is nothing here: a computation needs a process"),
    ],
)
def test_a_malformed_diagram_is_refused_with_line_event_and_rule(diagram: str, error: str):
    with pytest.raises(MalformedComputation) as caught:
        computation(diagram)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("diagram", "error"),
    [
        ("p: m! n!\nq: n? m?", "line 2: n?: channel p→q is not FIFO: n overtakes m"),
        ("p: m!q n!\nq: n?", "line 2: n?: channel p→q is not FIFO: n overtakes m"),
        ("p: m!,n!\nq: n?,m?", "line 2: n?,m?: channel p→q is not FIFO: n overtakes m"),
    ],
)
def test_a_channel_declared_fifo_must_be_fifo(diagram: str, error: str):
    assert computation(diagram)
    with pytest.raises(MalformedComputation) as caught:
        computation(diagram, fifo=True)
    assert str(caught.value) == error


def test_fifo_is_asked_of_each_channel_alone():
    assert computation("p: m! n!\nq: k? m?\nr: k! n?", fifo=True)
    assert computation("p: m! n!\nq: n?\nr: m?", fifo=True)
    assert computation("p: m! n!q\nq: m?", fifo=True)


@given(computations(fifo=True))
def test_what_keeps_the_order_of_its_channels_passes_as_fifo(c: Computation):
    assert computation(str(c), fifo=True, payloads=payloads(c)) == c


# --- printing it back ----------------------------------------------------------------------------


def payloads(c: Computation) -> dict[str, object]:
    return {name: m.payload for name, m in c.messages.items() if m.payload is not None}


def test_a_computation_prints_as_the_diagram_that_reads_it_back():
    c = computation("p: a m! n?\nq: m? b n!")
    assert str(c).splitlines() == [
        "p:  a  m!             n?",
        "q:         m?  b  n!",
    ]


@given(computations())
def test_reading_what_was_printed_gives_the_same_computation(c: Computation):
    assert computation(str(c), payloads=payloads(c)) == c


@given(computations(max_processes=3, max_events=5, names=ODD))
def test_odd_names_come_back_too(c: Computation):
    assert computation(str(c), payloads=payloads(c)) == c


@given(computations())
def test_causes_are_printed_to_the_left_of_their_effects(c: Computation):
    place = {}
    for process, line in zip(c.processes, str(c).split("\n"), strict=True):
        words = [word.start() for word in re.finditer(r"\S+", line)]
        place |= dict(zip(c.history(process), words[1:], strict=True))
    assert all(place[e] < place[f] for e, f in happens_before_pairs(c))


def test_a_computation_sums_itself_up_in_one_line():
    assert repr(figure_7()) == "<Computation of p, q: 3 events, 2 messages>"


# --- looking things up ---------------------------------------------------------------------------


def test_events_are_found_by_name_by_message_and_by_position():
    c = computation("p: a m! n?\nq: m? b n!")
    assert c["a"] == c["p", 1] == Event("p", 1, "a")
    assert c["m!"] == c["p", 2]
    assert c["m?"] == c["q", 1]
    assert c["n?"] == c["p", 3]


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("z", "there is no event z"),
        ("z!", "there is no event z!"),
        ("k?", "there is no event k?"),
        (("p", 0), "p has 3 events, no number 0"),
        (("p", 4), "p has 3 events, no number 4"),
        (("z", 1), "there is no process z, only p, q"),
        ("a", "2 events are called a; say which: c['p', 1] or c['p', 2]"),
    ],
)
def test_what_is_not_there_or_not_unique_is_said_so(key: str | tuple[str, int], error: str):
    c = computation("p: a a k!q\nq: b")
    with pytest.raises(KeyError) as caught:
        c[key]
    assert caught.value.args == (error,)


def test_channels_come_in_the_order_of_the_processes():
    c = computation("p: x?\nq: x! y!\nr: y? z!q")
    assert c.channels == (("q", "p"), ("q", "r"), ("r", "q"))
    assert str(c.channels[0]) == "q→p"
    assert repr(c.channels[0]) == "('q', 'p')"


@given(computations())
def test_a_computation_is_iterated_in_an_order_in_which_it_can_have_happened(c: Computation):
    when = {event: i for i, event in enumerate(c)}
    assert len(when) == len(c) == sum(map(len, c.histories))
    assert all(when[e] < when[f] for e, f in happens_before_pairs(c))


# --- payloads ------------------------------------------------------------------------------------


def test_payloads_belong_to_messages():
    c = bank_r9()
    assert [c.messages[m].payload for m in "mn"] == [50, 80]
    assert c != computation("A: m! n?\nB: n! m?")


def test_a_payload_needs_a_message():
    with pytest.raises(MalformedComputation, match=r"^m has a payload, and nobody sends it$"):
        computation("p: a", payloads={"m": 1})


# --- frozen --------------------------------------------------------------------------------------


@pytest.mark.parametrize("attribute", ["processes", "histories", "messages", "order"])
def test_a_computation_is_frozen(attribute: str):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(figure_7(), attribute, ())


def test_events_and_messages_are_frozen():
    c = figure_7()
    with pytest.raises(dataclasses.FrozenInstanceError):
        c["M!"].label = "other"
    with pytest.raises(dataclasses.FrozenInstanceError):
        c.messages["M"].dst = "r"


@given(computations())
def test_equal_computations_have_equal_hashes_and_survive_copying_and_pickling(c: Computation):
    for same in (computation(str(c), payloads=payloads(c)), copy.deepcopy(c), pickling(c)):
        assert same == c
        assert hash(same) == hash(c)


def test_two_orders_of_the_same_events_are_the_same_computation():
    c = computation("p: a\nq: b")
    other = dataclasses.replace(c, order=c.order[::-1])
    assert list(other) != list(c)
    assert other == c
    assert hash(other) == hash(c)


def pickling(c: Computation) -> Computation:
    c.clocks  # noqa: B018 what is cached must not stand in the way
    back = pickle.loads(pickle.dumps(c))
    assert isinstance(back, Computation)
    return back


# --- the log -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "c", [one_message(2, 1, 2, 2), token_ring(4), cross(2), barrier(2), pipeline(2), all_to_all_3()]
)
def test_a_log_may_be_written_in_any_order_that_keeps_the_local_ones(c: Computation):
    by_process, backwards = Log(c.processes), Log(c.processes)
    for history in c.histories:
        for e in history:
            sends = dict.fromkeys(e.sends, "")
            by_process.event(e.process, e.label, sends=sends, receives=e.receives)
    for history in reversed(c.histories):
        for e in history:
            sends = {m: c.messages[m].dst for m in e.sends}
            backwards.event(e.process, e.label, sends=sends, receives=e.receives)
    assert by_process.computation() == backwards.computation() == c


def test_a_log_without_declared_processes_takes_them_as_they_come():
    log = Log()
    log.event("q", "b")
    log.event("p", "a")
    assert log.computation().processes == ("q", "p")


def test_a_log_with_declared_processes_takes_no_others():
    log = Log("pq")
    with pytest.raises(MalformedComputation, match=r"^line 7: a: there is no process r$"):
        log.event("r", "a", where="line 7: ")


def test_an_event_that_does_nothing_needs_a_name():
    with pytest.raises(MalformedComputation, match=r"^line 3: event 1 of p has no name$"):
        Log("p").event("p", where="line 3: ")


def test_an_empty_log_is_refused():
    with pytest.raises(MalformedComputation, match=r"^there is nothing here"):
        Log().computation()


def test_a_refused_event_names_the_place_that_the_writer_gave():
    log = Log("pq")
    log.event("q", receives=["m"], where="record 17: ")
    with pytest.raises(MalformedComputation) as caught:
        log.computation()
    assert str(caught.value) == "record 17: m?: q receives a message that nobody sends"
