"""Space-time diagrams: they say what is true, and they can be read."""

from __future__ import annotations

from itertools import combinations, pairwise
from random import Random

import pytest
from drawing.scenes import (
    SCENES,
    around,
    arrows,
    contrast,
    cut_lines,
    distance,
    dots,
    drawn,
    outside,
    overlap,
    overlaps,
    process_lines,
    scene,
    texts,
)

from chandylamport import Cut, computation, draw, in_transit, is_consistent, orphans
from chandylamport.drawing.picture import BLUE, RED, Area

C = computation("""
    p:  a   m!      n?
    q:      m?  b   n!
""")
CONSISTENT, INCONSISTENT = Cut.of(p=2, q=0), Cut.of(p=1, q=1)

many_scenes = pytest.mark.parametrize(("seed", "clocks"), SCENES)


# --- what is drawn is what happened --------------------------------------------------------------


@many_scenes
def test_an_arrow_leads_from_the_send_to_the_receive(seed, clocks):
    (c, _), picture = scene(seed), drawn(seed, clocks)
    place = dots(c, picture)
    for name, arrow in arrows(c, picture).items():
        (x, y), send = arrow.points[0], place[c[f"{name}!"]]
        assert (x, y) == (send.x, send.y)
        if c.messages[name].received:
            (x, y), receive = arrow.points[-1], place[c[f"{name}?"]]
            assert 5 <= distance(receive.x, receive.y, [(x, y), (x, y)]) <= 7


def test_a_message_that_nobody_receives_ends_between_the_processes():
    c = computation("p: m!r\nq: a b\nr: d")
    x, y = arrows(c, draw(c))["m"].points[-1]
    assert all(distance(dot.x, dot.y, [(x, y), (x, y)]) > 12 for dot in dots(c, draw(c)).values())
    assert min(abs(y - line.points[0][1]) for line in process_lines(draw(c))) > 12


@many_scenes
def test_events_stand_on_their_process_in_their_order(seed, clocks):
    (c, _), picture = scene(seed), drawn(seed, clocks)
    place = dots(c, picture)
    for history, line in zip(c.histories, process_lines(picture), strict=True):
        assert {place[event].y for event in history} <= {line.points[0][1]}
        xs = [place[event].x for event in history]
        assert xs == sorted(set(xs))


@many_scenes
def test_messages_go_to_the_right(seed, clocks):
    c, _ = scene(seed)
    for arrow in arrows(c, drawn(seed, clocks)).values():
        assert arrow.points[0][0] < arrow.points[-1][0]


@many_scenes
def test_the_cut_passes_between_the_last_event_inside_and_the_first_outside(seed, clocks):
    (c, cut), picture = scene(seed), drawn(seed, clocks)
    (line,), place = cut_lines(picture), dots(c, picture)
    crossings = line.points[1:-1]
    for process, history, (x, y) in zip(c.processes, c.histories, crossings, strict=True):
        assert y == process_lines(picture)[c.processes.index(process)].points[0][1]
        assert sum(place[event].x < x for event in history) == cut[process]
        assert all(abs(place[event].x - x) > 15 for event in history)


def test_the_cut_reaches_over_the_first_and_under_the_last_process():
    (line,) = cut_lines(draw(C, CONSISTENT))
    rows = [process.points[0][1] for process in process_lines(draw(C))]
    assert line.points[0][1] < rows[0] - 10
    assert line.points[-1][1] > rows[-1] + 10


def test_the_past_of_the_one_cut_is_shaded():
    (shade,) = [s for s in draw(C, CONSISTENT).shapes if isinstance(s, Area)]
    (line,) = cut_lines(draw(C, CONSISTENT))
    assert set(line.points) < set(shade.points)
    assert not any(isinstance(s, Area) for s in draw(C).shapes)


def test_an_order_draws_one_event_in_each_column():
    order = [C[name] for name in ("a", "m!", "m?", "b", "n!", "n?")]
    picture = draw(C, order=order)
    assert picture.alt.endswith("Drawn as the run a, m!, m?, b, n!, n?.")
    xs = [dots(C, picture)[event].x for event in order]
    assert xs == sorted(set(xs))
    assert len({round(b - a, 6) for a, b in pairwise(xs)}) == 1


def test_clocks_are_written_on_demand():
    words = {text.text for text in texts(draw(C, clocks="vector"))}
    assert {"(1,0)", "(2,0)", "(2,1)", "(2,2)", "(2,3)", "(3,3)"} <= words
    words = [text.text for text in texts(draw(C, clocks="lamport"))]
    assert [words.count(str(n)) for n in range(1, 7)] == [1, 1, 1, 1, 1, 1]
    assert not any("1" in text.text for text in texts(draw(C)))


# --- it can be told apart ------------------------------------------------------------------------


def test_orphans_are_heavier_and_in_another_colour():
    picture = draw(C, INCONSISTENT)
    orphan, other = arrows(C, picture)["m"], arrows(C, picture)["n"]
    assert orphans(C, INCONSISTENT) == ("m",)
    assert orphan.width > other.width + 1
    assert orphan.colour == RED != other.colour
    (label,) = [text for text in texts(picture) if text.text == "m"]
    assert label.bold
    assert label.colour == RED


def test_messages_in_transit_are_blue_and_a_little_heavier():
    arrow, other = (arrows(C, draw(C, CONSISTENT))[name] for name in "mn")
    assert arrow.colour == BLUE != other.colour
    assert arrow.width > other.width


def test_markers_are_dashed():
    lines = arrows(C, draw(C, markers={"n"}))
    assert lines["n"].dashes
    assert not lines["m"].dashes


def test_an_inconsistent_cut_differs_in_dashes_and_not_only_in_colour():
    (good,), (bad,) = cut_lines(draw(C, CONSISTENT)), cut_lines(draw(C, INCONSISTENT))
    assert (good.dashes, good.colour) == ((), BLUE)
    assert (bool(bad.dashes), bad.colour) == (True, RED)


@pytest.mark.parametrize("cut", [None, CONSISTENT, INCONSISTENT])
def test_every_text_has_a_contrast_of_at_least_4_5_on_white(cut):
    for text in texts(draw(C, cut, clocks="vector", markers=["n"])):
        assert contrast(text.colour) >= 4.5, text


def test_lines_that_mean_different_things_differ_in_grey():
    c, cut = computation("p: m! n? k! x!\nq: n! m? k? x?"), Cut.of(p=2, q=0)
    assert orphans(c, cut) == ("n",)
    assert in_transit(c, cut) == {("p", "q"): ("m",)}
    kinds = [*arrows(c, draw(c, cut, markers=["k"])).values(), process_lines(draw(c))[0]]
    kinds += [cut_lines(draw(C, cut))[0] for cut in (CONSISTENT, INCONSISTENT)]
    assert len(kinds) == 7
    for a, b in combinations(kinds, 2):
        assert (
            (a.arrow, bool(a.dashes)) != (b.arrow, bool(b.dashes))
            or abs(a.width - b.width) > 0.5
            or contrast(a.colour, b.colour) > 2
        )


# --- it can be read ------------------------------------------------------------------------------


@many_scenes
def test_no_label_covers_another(seed, clocks):
    assert overlaps([text.bounds for text in texts(drawn(seed, clocks))]) == []


@many_scenes
def test_no_label_covers_an_event(seed, clocks):
    (c, _), picture = scene(seed), drawn(seed, clocks)
    places = [around(dot) for dot in dots(c, picture).values()]
    assert [t for t in texts(picture) for place in places if overlap(t.bounds, place)] == []


@many_scenes
def test_no_arrow_passes_through_an_event_of_others(seed, clocks):
    (c, _), picture = scene(seed), drawn(seed, clocks)
    place = dots(c, picture)
    for name, arrow in arrows(c, picture).items():
        ends = {c[f"{name}!"]} | ({c[f"{name}?"]} if c.messages[name].received else set())
        foreign = [place[event] for event in c if event not in ends]
        assert all(distance(dot.x, dot.y, arrow.points) > dot.radius + 1 for dot in foreign), name


@many_scenes
def test_everything_is_on_the_paper(seed, clocks):
    assert outside(drawn(seed, clocks)) == []


@many_scenes
def test_every_message_and_every_named_event_has_its_label(seed, clocks):
    (c, _), words = scene(seed), [text.text for text in texts(drawn(seed, clocks))]
    for name in (*c.messages, *(event.label for event in c if event.label), *c.processes):
        assert words.count(name) == 1


def test_a_random_run_can_be_read_as_well():
    c, cut = scene(1)
    random, done, order = Random(1), Cut({}), []
    while len(order) < len(c):
        ready = [
            c[p, done[p] + 1]
            for p in c.processes
            if done[p] < len(c.history(p)) and is_consistent(c, done | Cut({p: done[p] + 1}))
        ]
        order.append(random.choice(ready))
        done |= Cut({order[-1].process: order[-1].position})
    picture = draw(c, cut, order=order)
    assert overlaps([text.bounds for text in texts(picture)]) == []
    assert outside(picture) == []


@pytest.mark.parametrize(
    "cuts",
    [
        {"A": Cut.of(p=2), "B": Cut.of(p=2, q=1), "C": Cut.of(p=2, q=2), "D": Cut.of(p=1, q=1)},
        {"here": Cut.of(), "and here again": Cut.of(), "end": Cut.of(p=3, q=3)},
        {"a name that is longer than its picture has room": Cut.of(p=3, q=3)},
        {"WWWWWWWWWWWWWWWWWWWW": Cut.of()},
    ],
)
def test_named_cuts_keep_their_names_apart(cuts):
    picture = draw(C, cuts, clocks="vector")
    assert overlaps([text.bounds for text in texts(picture)]) == []
    assert outside(picture) == []
    bold = [text.text for text in texts(picture) if text.bold and text.text not in "pqm"]
    assert len(bold) == len(cuts)
    assert all(name.startswith(word.rstrip("…")) for name, word in zip(cuts, bold, strict=True))


def test_two_cuts_at_one_place_are_two_lines():
    a, b = cut_lines(draw(C, {"A": CONSISTENT, "B": CONSISTENT}))
    assert all(abs(x - u) > 4 for (x, _), (u, _) in zip(a.points, b.points, strict=True))


def test_long_names_are_shortened_in_the_picture_and_whole_in_its_alternative():
    c = computation('p: "transfer of the whole sum"!q  "the director is informed"\nq: b x y')
    picture = draw(c)
    assert {"transfer of the…", "the director is…"} <= {text.text for text in texts(picture)}
    assert '"transfer of the whole sum"!q' in picture.alt
    assert overlaps([text.bounds for text in texts(picture)]) == []
    assert outside(picture) == []


def test_a_long_caption_is_broken_into_lines_and_does_not_widen_the_picture():
    with_caption, without = drawn(1, "lamport"), draw(scene(1)[0], clocks="lamport")
    assert with_caption.width == without.width
    verdict = with_caption.alt.splitlines()[-1]
    captions = [text.text for text in texts(with_caption) if text.size == 13]
    assert len(captions) > 1
    assert " ".join(captions) == verdict


@pytest.mark.parametrize("text", ["p:", "p:\nq:", "p: a"])
def test_a_computation_with_hardly_anything_in_it_is_drawn_too(text):
    c = computation(text)
    picture = draw(c, Cut({}), clocks="vector")
    assert outside(picture) == []
    assert overlaps([t.bounds for t in texts(picture)]) == []


# --- the text alternative ------------------------------------------------------------------------


def test_the_alternative_gives_the_computation_as_it_is_typed():
    assert draw(C).alt == f"Space-time diagram of p, q: 6 events, 2 messages.\n{C}"


def test_the_alternative_says_what_is_in_transit():
    assert draw(C, CONSISTENT).alt.endswith("Cut p=2, q=0 is consistent; in transit p→q: m.")
    assert draw(C, Cut.of()).alt.endswith("Cut p=0, q=0 is consistent; nothing is in transit.")


def test_the_alternative_names_the_orphans():
    assert draw(C, INCONSISTENT).alt.endswith(
        "Cut p=1, q=1 is inconsistent: m is received inside and sent outside."
    )
    two = computation("p: m! n!\nq: m? n?")
    assert "m, n are received inside and sent outside" in draw(two, Cut.of(q=2)).alt


def test_the_alternative_of_an_inconsistent_cut_says_what_is_in_transit_as_well():
    cross = computation("p: m! n?\nq: n! m?")
    assert draw(cross, Cut.of(p=0, q=2)).alt.endswith(
        "Cut p=0, q=2 is inconsistent: m is received inside and sent outside; in transit q→p: n."
    )


def test_the_alternative_tells_several_cuts_apart_by_their_names():
    alt = draw(C, {"early": CONSISTENT, "wrong": INCONSISTENT}).alt
    assert "Cut early: p=2, q=0 is consistent" in alt
    assert "Cut wrong: p=1, q=1 is inconsistent" in alt


def test_the_verdict_is_also_written_under_the_drawing():
    verdict = draw(C, CONSISTENT).alt.splitlines()[-1]
    assert verdict in [text.text for text in texts(draw(C, CONSISTENT))]


def test_each_dot_says_which_event_it_is():
    assert {dot.note for dot in dots(C, draw(C)).values()} == {str(event) for event in C}


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cut", "error", "words"),
    [
        (Cut.of(x=1), ValueError, "there is no process x, only p, q"),
        (Cut.of(p=4), ValueError, "p has only 3 events"),
        ({"A": CONSISTENT, "B": Cut.of(q=9)}, ValueError, "q has only 3 events"),
        ({"p": 1, "q": 0}, TypeError, r"1 is not a cut; write Cut\.of\(p=1\)"),
    ],
)
def test_a_cut_that_does_not_fit_is_refused(cut, error, words):
    with pytest.raises(error, match=words):
        draw(C, cut)


def test_a_marker_that_is_no_message_is_refused():
    with pytest.raises(ValueError, match="markers names z, which is not a message"):
        draw(C, markers=["m", "z"])


def test_an_unknown_clock_is_refused():
    with pytest.raises(ValueError, match=r"'matrix'.*'vector' and 'lamport'"):
        draw(C, clocks="matrix")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("a m! m? b n!", "each event of the computation once"),
        ("a m! m? b n! n? n?", "each event of the computation once"),
        ("a m! m? b n! a", "each event of the computation once"),
        ("a m? m! b n! n?", r"m\? is before m!: order must keep happens-before"),
        ("a m! m? b n? n!", r"n\? is before n!: order must keep happens-before"),
        ("m! a m? b n! n?", r"m! \(p 2\) is before a \(p 1\): order must keep happens-before"),
    ],
)
def test_an_order_that_no_run_has_is_refused(names, words):
    with pytest.raises(ValueError, match=words):
        draw(C, order=[C[name] for name in names.split()])


def test_an_order_of_another_computation_is_refused():
    with pytest.raises(ValueError, match="each event of the computation once"):
        draw(C, order=list(computation("p: a m! n?\nq: m? x n!")))
