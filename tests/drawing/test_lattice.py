"""The lattice of cuts as a Hasse diagram."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from drawing.scenes import contrast, of_kind, outside, overlap, overlaps, texts
from strategies import all_cuts, closed_cuts, independent, stream

from chandylamport import Computation, Cut, Picture, computation, consistent_cuts, draw_lattice
from chandylamport.drawing.picture import BLUE, GREY, INK, PALE, SUN, Box, Line

MESSAGE = computation("p: m!\nq: m?")
RING = computation("p: m! k?\nq: m? n!\nr: n? k!")
FOUR = computation("p: a m!\nq: m? b\nr: x\ns: y z")
EXAMPLES = [MESSAGE, RING, FOUR, stream(4), independent(3, 2), computation("p: a b c")]
every = pytest.mark.parametrize("c", EXAMPLES, ids=lambda c: repr(c)[16:-1])
both = pytest.mark.parametrize("inconsistent", [False, True])


def nodes(picture: Picture) -> dict[tuple[int, ...], Box]:
    """The box of each cut, by the label that stands in it."""
    boxes = {(box.x, box.y): box for box in of_kind(picture, Box)}
    labels = [text for text in texts(picture) if text.anchor == "middle"]
    found = {tuple(map(int, t.text.split(","))): boxes.pop((t.x, t.y - 4.5)) for t in labels}
    assert not boxes
    return found


def edges(picture: Picture) -> dict[tuple[tuple[int, ...], tuple[int, ...]], Line]:
    """Each line, by the cut on whose box it stands and the cut under whose box it ends."""
    tops = {(box.x, box.y - box.height / 2): cut for cut, box in nodes(picture).items()}
    bottoms = {(box.x, box.y + box.height / 2): cut for cut, box in nodes(picture).items()}
    return {
        (tops[line.points[0]], bottoms[line.points[1]]): line for line in of_kind(picture, Line)
    }


def counts(c: Computation, cuts: list[Cut]) -> set[tuple[int, ...]]:
    return {tuple(cut[p] for p in c.processes) for cut in cuts}


@every
def test_every_consistent_cut_has_its_node(c):
    assert nodes(draw_lattice(c)).keys() == counts(c, closed_cuts(c))


@every
def test_on_demand_the_inconsistent_cuts_have_theirs_too(c):
    assert nodes(draw_lattice(c, inconsistent=True)).keys() == counts(c, list(all_cuts(c)))


@every
@both
def test_edges_join_the_cuts_that_differ_by_one_event(c, inconsistent):
    picture = draw_lattice(c, inconsistent=inconsistent)
    steps = {
        (a, b)
        for a, b in product(nodes(picture), repeat=2)
        if sorted(y - x for x, y in zip(a, b, strict=True)) == [0] * (len(a) - 1) + [1]
    }
    assert edges(picture).keys() == steps


@every
@both
def test_no_node_covers_another_and_everything_is_on_the_paper(c, inconsistent):
    picture = draw_lattice(c, inconsistent=inconsistent)
    boxes = [
        (
            box.x - box.width / 2,
            box.y - box.height / 2,
            box.x + box.width / 2,
            box.y + box.height / 2,
        )
        for box in of_kind(picture, Box)
    ]
    assert overlaps(boxes) == []
    assert overlaps([text.bounds for text in texts(picture)]) == []
    assert outside(picture) == []
    title = texts(picture)[-1]
    assert not any(overlap(title.bounds, box) for box in boxes)


@every
def test_the_words_stay_in_their_boxes(c):
    picture = draw_lattice(c, inconsistent=True)
    for box, text in zip(nodes(picture).values(), texts(picture), strict=False):
        assert box.x - box.width / 2 < text.bounds[0]
        assert text.bounds[2] < box.x + box.width / 2


@every
def test_height_counts_the_events_from_the_empty_cut_at_the_bottom(c):
    found = nodes(draw_lattice(c, inconsistent=True))
    level = {sum(counts): box.y for counts, box in found.items()}
    assert all(box.y == level[sum(counts)] for counts, box in found.items())
    heights = [level[n] for n in range(len(c) + 1)]
    assert len({a - b for a, b in pairwise(heights)}) == 1
    assert heights[0] > heights[-1]


@pytest.mark.parametrize("c", [MESSAGE, stream(4), independent(2, 3)])
def test_two_processes_make_a_diamond(c):
    found = nodes(draw_lattice(c, inconsistent=True))
    x0 = found[0, 0].x
    step = found[1, 0].x - x0
    assert step > 0
    for (p, q), box in found.items():
        assert box.x - x0 == pytest.approx((p - q) * step)


@every
@both
def test_no_edge_passes_through_a_node_of_others(c, inconsistent):
    picture = draw_lattice(c, inconsistent=inconsistent)
    found = nodes(picture)
    for (a, b), line in edges(picture).items():
        (x0, y0), (x1, y1) = line.points
        for other in found.keys() - {a, b}:
            box = found[other]
            for t in (i / 40 for i in range(41)):
                x, y = x0 + t * (x1 - x0), y0 + t * (y1 - y0)
                assert abs(x - box.x) > box.width / 2 or abs(y - box.y) > box.height / 2


# --- what can be told apart ----------------------------------------------------------------------


def test_inconsistent_cuts_are_grey_and_dashed_and_the_others_are_not():
    picture = draw_lattice(MESSAGE, inconsistent=True)
    box = nodes(picture)
    label = {text.text: text for text in texts(picture)}
    assert (box[0, 1].colour, bool(box[0, 1].dashes), label["0,1"].colour) == (PALE, True, GREY)
    assert (box[1, 1].colour, bool(box[1, 1].dashes), label["1,1"].colour) == (INK, False, INK)
    lines = edges(picture)
    assert lines[(0, 0), (0, 1)].colour == PALE
    assert lines[(0, 0), (1, 0)].colour == INK
    assert contrast(PALE, INK) > 4


def test_chosen_cuts_are_filled_and_heavy():
    box = nodes(draw_lattice(MESSAGE, where=lambda cut: cut["p"] == 1))
    assert [box[counts].fill for counts in ((0, 0), (1, 0), (1, 1))] == ["white", SUN, SUN]
    assert box[1, 0].line > box[0, 0].line + 1


def test_a_run_is_blue_and_heavy():
    lines = edges(draw_lattice(FOUR, path=[Cut.of(), Cut.of(p=1), Cut.of(p=1, r=1)]))
    on = {step for step, line in lines.items() if line.colour == BLUE}
    assert on == {((0, 0, 0, 0), (1, 0, 0, 0)), ((1, 0, 0, 0), (1, 0, 1, 0))}
    assert all(lines[step].width > 2 for step in on)


def test_every_text_has_a_contrast_of_at_least_4_5_on_what_is_under_it():
    picture = draw_lattice(MESSAGE, inconsistent=True, where=lambda cut: cut["p"] == 1)
    box = nodes(picture)
    fill = {",".join(map(str, counts)): found.fill for counts, found in box.items()}
    for text in texts(picture):
        under = fill.get(text.text, "white").replace("white", "#ffffff")
        assert contrast(text.colour, under) >= 4.5, text


# --- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "alt"),
    [
        ({}, "Lattice of p, q: 3 consistent cuts."),
        ({"inconsistent": True}, "Lattice of p, q: 3 consistent cuts; 1 inconsistent, in grey."),
        (
            {"inconsistent": True, "where": lambda cut: cut["p"] == 1},
            "Lattice of p, q: 3 consistent cuts, 2 of them marked; 1 inconsistent, in grey.",
        ),
    ],
)
def test_the_alternative_counts_the_cuts(options, alt):
    assert draw_lattice(MESSAGE, **options).alt == alt


def test_one_cut_is_not_cuts():
    assert draw_lattice(computation("p:")).alt == "Lattice of p: 1 consistent cut."


def test_the_processes_are_named_in_the_order_of_the_numbers():
    assert texts(draw_lattice(RING))[-1].text == "(p, q, r)"


def test_where_is_asked_about_consistent_cuts_only():
    asked = []
    draw_lattice(MESSAGE, inconsistent=True, where=lambda cut: bool(asked.append(cut)))
    assert set(asked) == set(consistent_cuts(MESSAGE))


# --- what is refused -----------------------------------------------------------------------------


def test_a_lattice_too_large_to_read_is_refused():
    with pytest.raises(ValueError, match="a lattice of 343 cuts is too large to draw; 300 are"):
        draw_lattice(independent(3, 6))


def test_what_counts_is_what_would_be_drawn():
    c = stream(17)
    assert len(list(consistent_cuts(c))) < 300 < 18 * 18
    draw_lattice(c)
    with pytest.raises(ValueError, match="a lattice of 324 cuts is too large"):
        draw_lattice(c, inconsistent=True)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ([Cut.of(), Cut.of(q=1)], r"path: Cut\.of\(p=0, q=1\) is not consistent"),
        ([Cut.of(), Cut.of(p=1, q=1)], r"p=0, q=0\) to Cut\.of\(p=1, q=1\) is not a step"),
        ([Cut.of(p=1), Cut.of()], "is not a step of one event"),
        ([Cut.of(x=1)], "there is no process x"),
    ],
)
def test_a_path_that_is_no_run_is_refused(path, words):
    with pytest.raises(ValueError, match=words):
        draw_lattice(MESSAGE, path=path)
