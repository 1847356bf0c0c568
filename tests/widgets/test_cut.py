"""The movable cut: sliders, drawing and verdict always say the same."""

from __future__ import annotations

import ipywidgets
import pytest

from chandylamport import (
    Cut,
    computation,
    draw,
    greatest_consistent_below,
    is_consistent,
    least_consistent_above,
)
from chandylamport.widgets import MovableCut

C = computation("""
    p:  a   m!      n?
    q:      m?  b   n!
    r:  x
""")
INCONSISTENT = Cut.of(p=1, q=2, r=1)


def page(movable: MovableCut) -> str:
    """The HTML beside the sliders."""
    (view,) = [child for child in movable.children if isinstance(child, ipywidgets.HTML)]
    return view.value


def button(movable: MovableCut, words: str) -> ipywidgets.Button:
    (row,) = [child for child in movable.children if isinstance(child, ipywidgets.HBox)]
    (found,) = [each for each in row.children if words in each.description]
    return found


def test_there_is_a_slider_for_each_process_from_none_to_all_of_its_events():
    sliders = MovableCut(C).sliders
    assert {p: (s.min, s.max, s.step) for p, s in sliders.items()} == {
        "p": (0, 3, 1),
        "q": (0, 3, 1),
        "r": (0, 1, 1),
    }
    assert [slider.description for slider in sliders.values()] == ["p", "q", "r"]


def test_the_sliders_are_shown_and_follow_the_hand():
    movable = MovableCut(C)
    assert list(movable.children[:3]) == list(movable.sliders.values())
    assert all(slider.continuous_update for slider in movable.sliders.values())


def test_it_begins_with_the_empty_cut_or_with_the_one_it_is_given():
    assert MovableCut(C).cut == Cut.of()
    movable = MovableCut(C, INCONSISTENT)
    assert movable.cut == INCONSISTENT
    assert draw(C, INCONSISTENT).svg in page(movable)


def test_moving_a_slider_moves_the_cut_the_drawing_and_the_verdict():
    movable = MovableCut(C)
    assert "✓ consistent" in page(movable)
    movable.sliders["q"].value = 1
    assert movable.cut == Cut.of(q=1)
    assert draw(C, Cut.of(q=1)).svg in page(movable)
    assert "✗ inconsistent" in page(movable)
    assert "✓" not in page(movable)
    assert movable.verdict in page(movable)
    assert movable.verdict.endswith("is inconsistent: m is received inside and sent outside.")
    movable.sliders["p"].value = 2
    assert "✓ consistent" in page(movable)
    assert movable.verdict == "Cut p=2, q=1, r=0 is consistent; nothing is in transit."


def test_what_is_in_transit_is_said_beside_the_drawing():
    assert "in transit p→q: m." in page(MovableCut(C, Cut.of(p=2)))


@pytest.mark.parametrize(
    ("words", "neighbour"),
    [("above", least_consistent_above), ("below", greatest_consistent_below)],
)
def test_each_button_leads_to_the_next_consistent_cut(words, neighbour):
    movable = MovableCut(C, INCONSISTENT)
    assert not is_consistent(C, movable.cut)
    button(movable, words).click()
    assert movable.cut == neighbour(C, INCONSISTENT) != INCONSISTENT
    assert is_consistent(C, movable.cut)
    assert draw(C, movable.cut).svg in page(movable)
    resting = movable.cut
    button(movable, words).click()
    assert movable.cut == resting


def test_the_verdict_is_announced_to_readers_of_the_screen():
    assert '<p role="status"' in page(MovableCut(C))


def test_names_cannot_smuggle_in_html():
    shown = page(MovableCut(computation('"<i>p":  "<script>"')))
    assert "<i>" not in shown
    assert "<script>" not in shown


def test_two_of_them_print_alike_and_say_what_they_show():
    one, two = MovableCut(C, INCONSISTENT), MovableCut(C, INCONSISTENT)
    assert (
        repr(one)
        == repr(two)
        == (f"Sliders for p, q, r, once all cells down to this one are run. {one.verdict}")
    )
    one.sliders["r"].value = 0
    assert repr(one) != repr(two)
    assert one.model_id not in repr(one)


@pytest.mark.parametrize(
    ("cut", "words"),
    [(Cut.of(z=1), "there is no process z"), (Cut.of(r=2), "r has only 1 events")],
)
def test_a_cut_of_another_computation_is_refused(cut, words):
    with pytest.raises(ValueError, match=words):
        MovableCut(C, cut)
    movable = MovableCut(C, INCONSISTENT)
    with pytest.raises(ValueError, match=words):
        movable.move(cut)
    assert movable.cut == INCONSISTENT
