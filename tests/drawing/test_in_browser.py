"""The optional check: what a browser really paints, measured in it.

It needs Chromium or Chrome on the PATH, and the font DejaVu Sans for a fair measure.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape

import pytest
from drawing.scenes import SCENES, drawn, runs, texts

from chandylamport import (
    Cut,
    Picture,
    computation,
    draw,
    draw_lattice,
    draw_moments,
    draw_run,
    draw_swaps,
    reorder,
)
from chandylamport.drawing.picture import Dot, Text

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason=f"no browser on the PATH: {', '.join(NAMES)}"),
]

# Widths are measured; of the height of a line only the part that letters use is taken.
SCRIPT = """
const report = [...document.querySelectorAll("svg")].map(svg => {
  const boxes = [...svg.querySelectorAll("text")].map(text => {
    const {x, width} = text.getBBox();
    const size = parseFloat(text.getAttribute("font-size"));
    const y = parseFloat(text.getAttribute("y"));
    const needs = text.getComputedTextLength(), what = text.textContent;
    return {what, needs, l: x, r: x + width, t: y - 0.75 * size, b: y + 0.24 * size};
  });
  const dots = [...svg.querySelectorAll("circle")].map(dot => {
    const {x, y, width, height} = dot.getBBox();
    return {what: "a dot", l: x, r: x + width, t: y, b: y + height};
  });
  const meet = (a, b) => a.l < b.r && b.l < a.r && a.t < b.b && b.t < a.b;
  const {width, height} = svg.viewBox.baseVal;
  const problems = [];
  boxes.forEach((a, i) => {
    for (const b of [...boxes.slice(i + 1), ...dots])
      if (meet(a, b)) problems.push(`${a.what} covers ${b.what}`);
    if (a.l < 0 || a.t < 0 || a.r > width || a.b > height) problems.push(`${a.what} is cut off`);
  });
  return {problems, widths: boxes.map(box => box.needs), dots: dots.length};
});
document.body.innerHTML = "<pre id=report></pre>";
document.querySelector("pre").textContent = JSON.stringify(report);
"""

BROKEN = Picture(
    200,
    40,
    (
        Text(20, 20, "one"),
        Text(22, 22, "two"),
        Dot(60, 20),
        Text(60, 24, "three"),
        Text(190, 20, "a long four"),
        Text(30, 39, "gp"),
    ),
    "a picture with every mistake",
)


def pictures() -> list[Picture]:
    c = computation("p: a m! n?\nq: m? b n!\nr: x y")
    cuts = {"possible": Cut.of(p=2, q=0, r=1), "impossible": Cut.of(p=1, q=1, r=2)}
    return [
        draw(c, cuts, clocks="vector", markers=["n"]),
        draw(c, {"A": Cut.of(), "the same": Cut.of()}),
        draw_lattice(c, where=lambda cut: cut["p"] == 2),
        draw_lattice(computation("p: m! n?\nq: n! m?"), inconsistent=True),
        *(drawn(seed, clocks) for seed, clocks in SCENES[:12]),
        *map(draw_run, runs().values()),
        *(draw_moments(run)[len(run.schedule) // 2] for run in runs().values()),
        draw_swaps(reorder(runs()["bank 1"])),
    ]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What the browser measured in each picture; the last one is the broken one."""
    folder = tmp_path_factory.mktemp("browser")
    drawings = "\n".join(picture.svg for picture in [*pictures(), BROKEN])
    page = folder / "page.html"
    page.write_text(
        f"<!doctype html><meta charset=utf-8><body>{drawings}<script>{SCRIPT}</script>",
        encoding="utf-8",
    )
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    command = [
        BROWSER,
        "--headless",
        "--disable-gpu",
        "--disable-quic",
        "--disable-sync",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        f"--user-data-dir={folder / 'profile'}",
        *(["--no-sandbox"] if root else []),  # as root there is no other way
        "--dump-dom",
        page.as_uri(),
    ]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r'<pre id="report">(.*?)</pre>', answer.stdout, re.DOTALL)
    assert found, f"{BROWSER} gave no report:\n{answer.stderr[-2000:]}"
    return json.loads(unescape(found[1]))


def test_the_measurement_sees_every_kind_of_mistake(report):
    assert report[-1]["problems"] == [
        "one covers two",
        "three covers a dot",
        "a long four is cut off",
        "gp is cut off",
    ]


def test_in_a_browser_no_text_covers_another_or_a_dot_or_is_cut_off(report):
    assert [found["problems"] for found in report[:-1]] == [[]] * len(pictures())


def test_a_browser_needs_no_more_room_for_a_text_than_estimated(report):
    for picture, found in zip(pictures(), report, strict=False):
        assert len(found["widths"]) == len(texts(picture))
        for text, width in zip(texts(picture), found["widths"], strict=True):
            left, _, right, _ = text.bounds
            assert width <= right - left + 0.1, text
