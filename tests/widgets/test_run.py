"""The player of a run: button, slider, picture and words always show the same moment."""

from __future__ import annotations

import ipywidgets
import pytest

import chandylamport as cl
from chandylamport import computation, draw_moments
from chandylamport.widgets import RunPlayer

RUN = cl.simulate(cl.example_2_2(), cl.ChandyLamport, schedule=cl.EXAMPLE_2_2)


def page(player: RunPlayer) -> str:
    """The HTML under the slider."""
    (view,) = [child for child in player.children if isinstance(child, ipywidgets.HTML)]
    return view.value


def test_button_and_slider_go_from_the_start_to_the_last_step():
    player = RunPlayer(RUN)
    (row,) = [child for child in player.children if isinstance(child, ipywidgets.HBox)]
    assert list(row.children) == [player.play, player.slider]
    for control in row.children:
        assert (control.min, control.value, control.max, control.step) == (0, 0, 6, 1)


@pytest.mark.parametrize("steps", [range(7), reversed(range(7)), [6, 0, 3]])
def test_moving_the_slider_shows_that_moment(steps):
    player, pictures = RunPlayer(RUN), draw_moments(RUN)
    for step in steps:
        player.slider.value = step
        assert player.play.value == step
        assert player.picture == pictures[step]
        assert pictures[step].svg in page(player)


def test_playing_moves_the_slider_and_the_picture():
    player, pictures = RunPlayer(RUN), draw_moments(RUN)
    player.play.value += 1
    assert player.slider.value == 1
    assert pictures[1].svg in page(player)
    player.slider.value = 4
    player.play.value += 1  # it goes on from where the slider was put
    assert player.slider.value == 5
    assert pictures[5].svg in page(player)


def test_the_step_is_announced_and_what_is_recorded_is_said():
    player = RunPlayer(RUN)
    assert "recorded" not in page(player).split("</svg>")[1]
    player.move(4)
    status, rest = page(player).split("</svg>")
    assert status.startswith('<p role="status"')
    assert "Step 4 of 6: p receives M&#x27;." in status.split("</p>")[0]
    assert "p: state A; recorded: A; logging q→p: M&#x27;.<br>" in rest


def test_names_cannot_smuggle_in_html():
    c = computation('"<i>p":  "<script>"')
    system = cl.System(cl.actors(c), cl.Fifo([]))
    player = RunPlayer(cl.simulate(system, cl.ChandyLamport))
    for step in range(player.slider.max + 1):
        player.move(step)
        assert "<i>" not in page(player)
        assert "<script>" not in page(player)


def test_two_of_them_print_alike_and_say_what_they_show():
    one, two = RunPlayer(RUN), RunPlayer(RUN)
    assert repr(one) == repr(two)
    assert repr(one).endswith(f"once all cells down to this one are run. {one.picture.alt}")
    one.move(2)
    assert repr(one) != repr(two)
    assert one.model_id not in repr(one)
