"""A run moment by moment: what is shown is there, and can be read."""

from __future__ import annotations

from itertools import pairwise
from math import dist

import pytest
from drawing.scenes import contrast, distance, extent, of_kind, outside, overlaps, runs, texts

import chandylamport as cl
from chandylamport import Channel, Picture, draw_moments
from chandylamport.drawing.picture import Box, Line, Text
from chandylamport.moments import Moment

every = pytest.mark.parametrize("name", runs())
EXAMPLE = runs()["example 2.2"]


def boxes(moment: Moment, picture: Picture) -> dict[str, Box]:
    """The box of each process."""
    return dict(zip(moment.states, of_kind(picture, Box)[-len(moment.states) :], strict=True))


def tokens(moment: Moment, picture: Picture) -> dict[Channel, list[Box]]:
    """The boxes of what is in each channel, in the order of the queue."""
    found = iter(of_kind(picture, Box))
    return {channel: [next(found) for _ in held] for channel, held in moment.channels.items()}


def arrows(moment: Moment, picture: Picture) -> dict[Channel, Line]:
    return dict(zip(moment.channels, of_kind(picture, Line), strict=True))


def within(box: Box, picture: Picture) -> list[Text]:
    return [
        text
        for text in texts(picture)
        if abs(text.x - box.x) < 1 and abs(text.y - box.y) < box.height / 2
    ]


# --- what the moments say ------------------------------------------------------------------------


@every
def test_the_moments_lead_from_the_start_to_the_end_of_the_run(name):
    run = runs()[name]
    first, *_, last = moments = list(run.moments())
    assert [moment.step for moment in moments] == ["", *run.schedule]
    assert first.states == run.system.start.states
    assert last.states == run.final.states
    for channel, held in last.channels.items():
        messages = [token for token in held if not token.is_control]
        assert len(messages) == len(run.final.channels[channel])


@every
def test_what_is_recorded_in_the_end_is_the_snapshot(name):
    run = runs()[name]
    *_, last = run.moments()
    for id, snapshot in run.snapshots.items():
        if snapshot is not None and id not in run.faults:
            assert {p: s for (i, p), s in last.recorded.items() if i == id} == snapshot.states
            for (i, channel), held in last.logged.items():
                if i == id:
                    contents = run.system.network.contents(held)
                    assert contents == snapshot.channels[channel]
                    assert (id, channel) in last.closed


@every
def test_nothing_that_is_recorded_is_forgotten(name):
    if name not in {"RecordsAtEveryMarker", "RecordsAtTheFirstMarkerSeen", "AliasesState"}:
        for before, after in pairwise(runs()[name].moments()):
            assert before.recorded.items() <= after.recorded.items()
            assert before.closed <= after.closed or name == "LeavesTheFirstChannelOpen"


def test_a_channel_is_logged_from_the_recording_to_its_marker():
    logging = [
        {
            str(channel): held
            for (_, channel), held in m.logged.items()
            if (_, channel) not in m.closed
        }
        for m in EXAMPLE.moments()
    ]
    nothing, so_far = {"q→p": ()}, {"q→p": ("M'",)}
    assert logging == [{}, nothing, nothing, nothing, so_far, so_far, {}]


# --- what is drawn is what there is --------------------------------------------------------------


@every
def test_all_moments_are_drawn_in_the_same_size_with_the_boxes_in_the_same_places(name):
    run = runs()[name]
    pictures, moments = draw_moments(run), list(run.moments())
    assert len(pictures) == len(moments)
    assert len({(picture.width, picture.height) for picture in pictures}) == 1
    places = {
        tuple((box.x, box.y, box.width, box.height) for box in boxes(moment, picture).values())
        for moment, picture in zip(moments, pictures, strict=True)
    }
    assert len(places) == 1


@every
def test_a_queue_stands_along_its_arrow_with_its_head_nearest_to_the_receiver(name):
    for moment, picture in zip(runs()[name].moments(), draw_moments(runs()[name]), strict=True):
        for channel, held in tokens(moment, picture).items():
            start, end = arrows(moment, picture)[channel].points
            for box, token in zip(held, moment.channels[channel], strict=True):
                assert token.text in [text.text for text in within(box, picture)]
                spot = box.x, box.y
                assert dist(start, spot) + dist(spot, end) == pytest.approx(dist(start, end))
            away = [dist(end, (box.x, box.y)) for box in held]
            assert away == sorted(away)


@every
def test_control_is_dashed_and_filled_and_messages_are_not(name):
    for moment, picture in zip(runs()[name].moments(), draw_moments(runs()[name]), strict=True):
        for channel, held in tokens(moment, picture).items():
            for box, token in zip(held, moment.channels[channel], strict=True):
                assert bool(box.dashes) == token.is_control
                assert (box.fill != "white") == token.is_control


@every
def test_who_has_recorded_is_heavier_and_says_what(name):
    for moment, picture in zip(runs()[name].moments(), draw_moments(runs()[name]), strict=True):
        for process, box in boxes(moment, picture).items():
            recorded = [key for key in moment.recorded if key[1] == process]
            words = [text for text in within(box, picture) if text.text.startswith("recorded")]
            assert len(words) == len(recorded)
            assert all(text.bold for text in words)
            assert (box.line > 2) == bool(recorded)


@every
def test_the_arrows_of_channels_that_are_being_logged_are_heavy(name):
    for moment, picture in zip(runs()[name].moments(), draw_moments(runs()[name]), strict=True):
        logged = {channel for id, channel in moment.logged if (id, channel) not in moment.closed}
        for channel, line in arrows(moment, picture).items():
            assert (line.width > 2) == (channel in logged)


def test_the_log_of_a_channel_stands_in_the_box_of_its_receiver():
    *_, before, after = zip(EXAMPLE.moments(), draw_moments(EXAMPLE), strict=True)
    said = [[t.text for t in within(boxes(*pair)["p"], pair[1])] for pair in (before, after)]
    assert said == [
        ["p", "state A", "recorded: A", "logging q→p: M'"],
        ["p", "state A", "recorded: A", "closed q→p: M'"],
    ]


def test_a_coloured_message_says_its_colour():
    mail = cl.System(cl.letters(p=[("q", "m"), ("q", "n")], q=[]), cl.Unordered(cl.complete("pq")))
    script = "p sends m to q; p records; p sends n to q"
    *_, last = cl.simulate(mail, cl.LaiYang, schedule=script).moments()
    assert [token.text for token in last.channels["p", "q"]] == ["m", "red", "n red"]


def test_the_alternative_says_what_is_where():
    assert draw_moments(EXAMPLE)[3].alt.splitlines() == [
        "Step 3 of 6: q sends M' to p.",
        "p: state B; recorded: A; logging q→p: empty.",
        "q: state D.",
        "p→q: marker, M.",
        "q→p: M'.",
    ]
    assert draw_moments(EXAMPLE)[0].alt.startswith("The start of 6 steps.\n")


def test_the_words_under_the_drawing_begin_the_alternative():
    for picture in draw_moments(EXAMPLE):
        assert picture.alt.splitlines()[0] in [text.text for text in texts(picture)]


def test_two_processes_stand_side_by_side_and_three_in_a_triangle():
    first, *_ = EXAMPLE.moments()
    p, q = boxes(first, draw_moments(EXAMPLE)[0]).values()
    assert (p.y, p.x < q.x) == (q.y, True)
    run = runs()["bank 1"]
    first, *_ = run.moments()
    p, q, r = boxes(first, draw_moments(run)[0]).values()
    assert p.y < q.y == pytest.approx(r.y)
    assert r.x < p.x < q.x


@every
def test_a_channel_and_the_one_back_are_two_arrows_side_by_side(name):
    first, *_ = runs()[name].moments()
    lines = arrows(first, draw_moments(runs()[name])[0])
    for (src, dst), line in lines.items():
        if back := lines.get(Channel(dst, src)):
            assert all(distance(x, y, back.points) > 15 for x, y in line.points)


# --- it can be read ------------------------------------------------------------------------------


@every
def test_nothing_in_a_moment_covers_anything_else(name):
    for picture in draw_moments(runs()[name]):
        edges = [b for b, s in zip(extent(picture), picture.shapes, strict=True) if type(s) is Box]
        assert overlaps(edges) == []
        assert overlaps([text.bounds for text in texts(picture)]) == []
        assert outside(picture) == []


@every
def test_the_words_of_a_box_are_inside_it_and_have_contrast(name):
    for picture in draw_moments(runs()[name]):
        for box in of_kind(picture, Box):
            for text in within(box, picture):
                left, _, right, _ = text.bounds
                assert box.x - box.width / 2 <= left
                assert right <= box.x + box.width / 2
                if box.fill != "white":
                    assert text.ground == box.fill
                    assert contrast(text.colour, box.fill) >= 4.5
