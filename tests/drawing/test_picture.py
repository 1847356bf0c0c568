"""Pictures: the same bytes, well-formed SVG, and the same thing painted by matplotlib."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from string import ascii_letters, digits
from xml.etree import ElementTree

import pytest
from drawing.scenes import drawn, of_kind, scene, texts
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, FancyBboxPatch, Polygon
from matplotlib.textpath import TextToPath

from chandylamport import Cut, Picture, computation, draw, draw_lattice
from chandylamport.drawing.picture import Area, Box, Dot, Line, Text, arrow_head, text_width

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = computation(r"""
    "<b>&amp;":  "\"quoted\" 'text'"  "]]>"!   "$x_1$"
    "tab\tline\n":                    "]]>"?   "control \u0001 \u001b \ud800 ￾"
""")


def examples() -> list[Picture]:
    c = computation("p: a m! n?\nq: m? b n!\nr: x y")
    cut = Cut.of(p=1, q=1, r=2)
    return [
        draw(c, cut, clocks="vector", markers={"m", "n"}),
        draw(c, {"A": cut, "B": Cut.of(p=2, q=1)}, clocks="lamport"),
        draw(*scene(1)),
        draw_lattice(c, where=lambda cut: cut["p"] == 2, path=[Cut.of(), Cut.of(p=1)]),
        draw_lattice(computation("p: m!\nq: m?"), inconsistent=True),
    ]


def fingerprint() -> str:
    return hashlib.sha256("".join(p.svg + p.alt for p in examples()).encode()).hexdigest()


# --- the same bytes ------------------------------------------------------------------------------


def test_the_same_input_gives_the_same_bytes():
    assert [p.svg for p in examples()] == [p.svg for p in examples()]
    assert len({p.svg for p in examples()}) == len(examples())


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_a_fresh_interpreter_with_another_hash_seed_gives_the_same_bytes(hash_seed):
    program = "from drawing.test_picture import fingerprint; print(fingerprint())"
    paths = [str(ROOT), str(ROOT / "tests")]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(paths)}
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == fingerprint()


def test_a_saved_svg_is_what_a_notebook_shows(tmp_path):
    picture = examples()[0]
    picture.save(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8") == f"{picture._repr_svg_()}\n"


# --- SVG that every reader understands -----------------------------------------------------------


@pytest.mark.parametrize("picture", [*examples(), draw(HOSTILE, Cut({}))])
def test_the_svg_is_well_formed_and_has_a_text_alternative(picture):
    root = ElementTree.fromstring(picture.svg.encode())
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == picture.alt.splitlines()[0]
    assert len(root[1].text) == len(picture.alt)


def test_the_svg_has_no_identifiers_that_a_second_one_on_the_page_would_repeat():
    for picture in examples():
        assert not [e for e in ElementTree.fromstring(picture.svg).iter() if e.get("id")]


def test_names_come_out_of_the_svg_as_they_went_in():
    root = ElementTree.fromstring(draw(HOSTILE).svg.encode())
    words = {element.text for element in root.iter(f"{SVG}text")}
    assert {"<b>&amp;", "\"quoted\" 'text'", "]]>", "$x_1$"} <= words


def test_what_xml_cannot_say_is_replaced():
    assert "control � � � �" in draw(HOSTILE).svg


def test_every_shape_is_written():
    root = ElementTree.fromstring(examples()[0].svg)
    picture = examples()[0]
    lines = of_kind(picture, Line)
    heads = sum(line.arrow for line in lines)
    assert len(root.findall(f"{SVG}polyline")) == len(lines)
    assert len(root.findall(f"{SVG}polygon")) == heads + len(of_kind(picture, Area))
    assert len(root.findall(f"{SVG}circle")) == len(of_kind(picture, Dot))
    assert len(root.findall(f"{SVG}text")) == len(texts(picture))


def test_dashes_and_weights_reach_the_svg():
    line = Line(((0, 0), (10, 0)), "#123456", 2.5, (7, 4), arrow=True)
    polyline, head = ElementTree.fromstring(Picture(10, 10, (line,), "a line").svg)[-2:]
    assert polyline.get("stroke-dasharray") == "7 4"
    assert (polyline.get("stroke"), polyline.get("stroke-width")) == ("#123456", "2.5")
    assert head.get("fill") == "#123456"
    box = Box(5, 5, 4, 4, dashes=(3, 3))
    rect = ElementTree.fromstring(Picture(10, 10, (box,), "a box").svg)[-1]
    assert rect.get("stroke-dasharray") == "3 3"


def test_an_arrow_head_ends_where_its_line_ends():
    tip, *back = arrow_head(Line(((0, 0), (30, 40)), width=2))
    assert tip == (30, 40)
    middle = [sum(values) / 2 for values in zip(*back, strict=True)]
    assert middle == pytest.approx([30 - 0.6 * 10, 40 - 0.8 * 10])


def test_a_picture_prints_as_its_alternative():
    assert repr(Picture(1, 1, (), "nothing at all")) == "nothing at all"


# --- matplotlib ----------------------------------------------------------------------------------


@pytest.mark.parametrize("picture", [*examples(), draw(HOSTILE)])
def test_the_figure_has_the_same_texts_lines_and_arrows(picture):
    (axes,) = picture.figure().axes
    assert [text.get_text() for text in axes.texts] == [text.text for text in texts(picture)]
    assert not any(text.get_parse_math() for text in axes.texts)
    lines = of_kind(picture, Line)
    assert len(axes.lines) == len(lines)
    for painted, line in zip(axes.lines, lines, strict=True):
        assert [tuple(map(float, point)) for point in line.points] == [
            tuple(map(float, point)) for point in painted.get_xydata()
        ]
        assert painted.get_color() == line.colour
        assert painted.is_dashed() == bool(line.dashes)
    patches = [type(patch) for patch in axes.patches]
    heads = sum(line.arrow for line in lines)
    assert patches.count(Polygon) == heads + len(of_kind(picture, Area))
    assert patches.count(Circle) == len(of_kind(picture, Dot))
    assert patches.count(FancyBboxPatch) == len(of_kind(picture, Box))


def test_the_figure_has_the_size_of_the_picture():
    picture = examples()[0]
    assert picture.figure().get_size_inches() * 72 == pytest.approx((picture.width, picture.height))


@pytest.mark.parametrize(("suffix", "beginning"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_picture_is_saved_for_print(tmp_path, suffix, beginning):
    target = tmp_path / f"picture.{suffix}"
    examples()[0].save(str(target))
    assert target.read_bytes().startswith(beginning)
    assert target.stat().st_size > 5_000


# --- the width of words, without asking a browser ------------------------------------------------

WORDS = [
    *ascii_letters,
    *digits,
    *"!?,.:;()[]{}<>=+-*/\\|_'\"#%&@^~$ →–—…·×≤äöüßéñαβγλμπ",
    "transfer",
    "deposit 100",
    "ask?,answer!",
    "node-1",
    "(1,0,12,3,0,0,7,10)",
    "coordinator",
    "WiFi",
    "QUORUM",
    "m→n",
    "Überweisung",
    "x += 1",
    "50 %",
    *(text.text for text in texts(drawn(1, None))),
]


@pytest.mark.parametrize("bold", [False, True])
def test_no_text_is_wider_than_it_is_estimated(bold):
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=100)
    measure = TextToPath().get_text_width_height_descent
    for word in WORDS:
        assert measure(word, font, False)[0] <= text_width(word, 100, bold=bold), word


def test_the_estimate_is_not_far_too_wide():
    font = FontProperties(family="DejaVu Sans", size=100)
    measure = TextToPath().get_text_width_height_descent
    for word in (word for word in WORDS if len(word) > 4 and word.isascii()):
        assert text_width(word, 100) <= 1.2 * measure(word, font, False)[0], word


@pytest.mark.parametrize(("anchor", "left"), [("start", 50), ("middle", 40), ("end", 30)])
def test_the_bounds_of_a_text_follow_its_anchor(anchor, left):
    text = Text(50, 20, "", 10, anchor=anchor)
    assert text.bounds == (50, 12, 50, 22.5)
    word = Text(50, 20, "m" * 2, 10, anchor=anchor)
    width = text_width("mm", 10)
    assert word.bounds[0] == pytest.approx(50 - (50 - left) / 20 * width)
    assert word.bounds[2] - word.bounds[0] == pytest.approx(width)
