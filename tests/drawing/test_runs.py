"""Pictures of runs: every step in its column, the cut before the recordings; and of swaps."""

from __future__ import annotations

from collections import Counter

import pytest
from drawing.scenes import (
    contrast,
    cut_lines,
    of_kind,
    outside,
    overlaps,
    process_lines,
    runs,
    texts,
)

import chandylamport as cl
from chandylamport import Picture, Run, draw_run, draw_swaps, reorder
from chandylamport.drawing.picture import GREY, Box, Dot, Line, Text
from chandylamport.simulator import Entry

every = pytest.mark.parametrize("name", runs())
RIGHT = [name for name, run in runs().items() if run.cut and not run.faults]
right = pytest.mark.parametrize("name", RIGHT)


def steps(run: Run, picture: Picture) -> list[tuple[Entry, Dot]]:
    """Each entry of the trace with its dot: they stand in the same order."""
    dots = sorted(of_kind(picture, Dot), key=lambda dot: dot.x)
    return list(zip(run.trace, dots, strict=True))


def arrows(picture: Picture) -> list[Line]:
    return [line for line in of_kind(picture, Line) if line.arrow and line.colour != GREY]


# --- what is drawn is what happened --------------------------------------------------------------


@every
def test_every_step_has_its_own_column_and_stands_on_its_process(name):
    run = runs()[name]
    picture = draw_run(run)
    rows = [line.points[0][1] for line in process_lines(picture)]
    row = dict(zip(run.system.processes, rows, strict=True))
    assert all(dot.y == row[entry.process] for entry, dot in steps(run, picture))
    assert len({dot.x for _, dot in steps(run, picture)}) == len(run.trace)


@every
def test_markers_are_the_dashed_arrows_and_have_no_label(name):
    run = runs()[name]
    picture = draw_run(run)
    assert sum(bool(line.dashes) for line in arrows(picture)) == run.markers
    assert sum(not line.dashes for line in arrows(picture)) == len(run.payloads)
    assert not any("#" in text.text for text in texts(picture))


@right
def test_each_process_is_seen_to_record_once_in_each_snapshot(name):
    run = runs()[name]
    labels = Counter(t.text for t in texts(draw_run(run)) if t.text.startswith("records"))
    assert set(labels.values()) == {len(run.system.processes)}
    assert len(labels) == len(run.snapshots)


def test_who_records_because_a_marker_arrives_does_it_in_that_event():
    picture = draw_run(runs()["example 2.2"])
    notes = [dot.note for dot in sorted(of_kind(picture, Dot), key=lambda dot: dot.x)]
    assert notes == [
        "records (p 1)",
        "M! (p 2)",
        "M'! (q 1)",
        "M'? (p 3)",
        "records (q 2)",
        "marker#2? (p 4)",
    ]


@right
def test_the_cut_passes_just_before_each_recording_and_no_marker_crosses_it(name):
    run = runs()[name]
    picture = draw_run(run)
    lines = cut_lines(picture)
    assert len(lines) == len(run.cuts)
    for line, cut in zip(lines, run.cuts.values(), strict=True):
        crossing = dict(zip(run.system.processes, line.points[1:-1], strict=True))
        inside = [(e, dot) for e, dot in steps(run, picture) if dot.x < crossing[e.process][0]]
        after = [pair for pair in steps(run, picture) if pair not in inside]
        for process in run.system.processes:
            assert sum(e.is_event for e, _ in inside if e.process == process) == cut[process]
            assert next(d.note for e, d in after if e.process == process).startswith("records")
        if len(lines) == 1:
            assert not any(e.controls or "#" in "".join(e.receives) for e, _ in inside)


def test_a_message_says_what_it_carries_unless_that_is_its_name():
    assert {"M", "M'"} <= {text.text for text in texts(draw_run(runs()["example 2.2"]))}
    run = cl.simulate(cl.textbook_bank(), schedule="A sends m1 to B; B receives m1")
    assert "m1 (50)" in [text.text for text in texts(draw_run(run))]


def test_without_a_whole_cut_there_is_no_line_and_the_picture_says_why():
    picture = draw_run(runs()["unfinished"])
    assert cut_lines(picture) == []
    assert "No snapshot (never complete: no channels lead from an initiator to p)." in picture.alt


def test_several_snapshots_have_a_named_cut_each():
    picture = draw_run(runs()["two at once"])
    assert len(cut_lines(picture)) == 2
    bold = {text.text for text in texts(picture) if text.bold}
    assert {"one", "two"} <= bold


def test_what_a_restored_system_had_sent_is_drawn_first():
    run = runs()["restored"]
    first = [dot.note for entry, dot in steps(run, draw_run(run)) if entry.label == "restored"]
    assert first == ["restored (P 1)", "restored (Q 1)", "restored (R 1)"]


# --- the verdict ---------------------------------------------------------------------------------


def test_the_alternative_gives_the_steps_and_the_verdict():
    assert draw_run(runs()["example 2.2"]).alt.splitlines() == [
        "Run of p, q: 6 steps, 3 events, 2 markers.",
        "p records; p sends M to q; q sends M' to p; p receives M'; "
        "q receives marker from p; p receives marker from q",
        "Snapshot: p in A, q in D, q→p holds M'. It is right. Dashed: markers.",
    ]


@every
def test_the_verdict_is_the_one_of_the_run_and_stands_under_the_drawing(name):
    run = runs()[name]
    picture = draw_run(run)
    caption = " ".join(text.text for text in texts(picture) if text.size == 13 and not text.bold)
    for id, snapshot in run.snapshots.items():
        fault = run.faults.get(id, "")
        assert fault in caption
        assert ("It is right" in caption) or fault
        assert snapshot is not None or "No snapshot" in caption
    assert picture.alt.endswith(caption)
    assert caption or not run.algorithm


def test_an_algorithm_without_markers_is_not_said_to_send_them():
    assert draw_run(runs()["mail 1"]).alt.endswith("It is right. Dashed: control messages.")


def test_a_run_is_shown_as_its_picture_unless_it_is_long():
    run = runs()["example 2.2"]
    assert run._repr_svg_() == run.draw().svg == draw_run(run).svg
    long = cl.System(cl.accounts(p=99, q=99, transfers=20), cl.Fifo(cl.complete("pq")))
    assert cl.simulate(long)._repr_svg_() is None


def test_a_long_run_is_not_stretched_where_width_clears_no_way():
    busy = cl.System(cl.accounts(p=50, q=50, r=50, transfers=6), cl.Fifo(cl.complete("pqr")))
    run = cl.simulate(busy, cl.ChandyLamport, at=8, seed=7)
    picture = draw_run(run)
    assert picture.width < 80 * len(run.schedule)
    assert overlaps([text.bounds for text in texts(picture)]) == []


@every
def test_a_drawn_run_can_be_read(name):
    picture = draw_run(runs()[name])
    assert overlaps([text.bounds for text in texts(picture)]) == []
    assert outside(picture) == []
    assert all(contrast(text.colour) >= 4.5 for text in texts(picture))


# --- swaps ---------------------------------------------------------------------------------------


def cells(picture: Picture) -> list[list[tuple[Box, Text]]]:
    """The boxes with their words, row by row."""
    inside = [
        (box, text)
        for box in of_kind(picture, Box)
        for text in texts(picture)
        if (text.x, text.y) == (box.x, box.y + 4.5)
    ]
    heights = sorted({box.y for box, _ in inside})
    return [
        sorted((pair for pair in inside if pair[0].y == y), key=lambda pair: pair[0].x)
        for y in heights
    ]


@right
def test_there_is_a_row_for_each_schedule_and_the_last_has_the_prerecording_events_first(name):
    run = runs()[name]
    for id in run.snapshots:
        proof = reorder(run, id)
        rows = cells(draw_swaps(proof))
        assert len(rows) == len(list(proof.schedules()))
        assert {len(row) for row in rows} == {len(proof.original)}
        for row in rows:
            assert sum(text.bold for _, text in row) == proof.boundary
        assert all(text.bold for _, text in rows[-1][: proof.boundary])


@right
def test_crossed_arrows_lead_from_the_two_that_are_swapped_to_where_they_are_then(name):
    proof = reorder(runs()[name], next(iter(runs()[name].snapshots)))
    picture = draw_swaps(proof)
    rows, crossed = cells(picture), arrows(picture)
    assert len(crossed) == 2 * len(proof.swaps)
    for i, swap in enumerate(proof.swaps):
        before, after = rows[i], rows[i + 1]
        assert {box.x for box, _ in before[swap.position : swap.position + 2]} == {
            line.points[0][0] for line in crossed[2 * i : 2 * i + 2]
        }
        words = [[text.text for _, text in row] for row in (before, after)]
        j = swap.position
        assert words[1] == [*words[0][:j], words[0][j + 1], words[0][j], *words[0][j + 2 :]]


@right
def test_the_boundary_is_marked_in_the_last_row(name):
    proof = reorder(runs()[name], next(iter(runs()[name].snapshots)))
    picture = draw_swaps(proof)
    (line,) = [line for line in of_kind(picture, Line) if not line.arrow]
    (star,) = [text for text in texts(picture) if text.text == "S*"]
    last = cells(picture)[-1]
    assert star.x == line.points[0][0]
    assert sum(box.x < star.x for box, _ in last) == proof.boundary
    assert line.points[0][1] < last[0][0].y < line.points[1][1] < star.y


@right
def test_prerecording_events_differ_in_grey(name):
    proof = reorder(runs()[name], next(iter(runs()[name].snapshots)))
    kinds = {(t.bold, box.line, box.fill) for row in cells(draw_swaps(proof)) for box, t in row}
    assert len(kinds) == len({bold for bold, _, _ in kinds}) == len({line for _, line, _ in kinds})


@right
def test_the_swaps_can_be_read(name):
    picture = draw_swaps(reorder(runs()[name], next(iter(runs()[name].snapshots))))
    assert overlaps([text.bounds for text in texts(picture)]) == []
    assert outside(picture) == []


def test_a_run_without_events_has_nothing_to_swap():
    silent = cl.System(cl.letters(p=[], q=[]), cl.Fifo(cl.complete("pq")))
    picture = draw_swaps(reorder(cl.simulate(silent, cl.ChandyLamport)))
    assert picture.alt == "0 events, 0 swaps. In brackets: prerecording.\nthe run: S*"
    assert outside(picture) == []
