"""Traces as tables: what is written is read again, and what is no trace is refused."""

from __future__ import annotations

import pytest

import chandylamport as cl
from chandylamport import spark as cls

C = cl.computation("p: a m! k!q\nq: m? b")
CUTS = {1: cl.Cut.of(p=2), 2: cl.Cut.of(p=1, q=1)}


@pytest.fixture(scope="module")
def spark():
    yield cls.session()
    cls.stop()


def rows(table):
    return sorted(map(tuple, table.collect()), key=str)


def test_a_computation_becomes_three_tables(spark):
    tables = cls.trace(C, CUTS)
    assert rows(tables.messages) == [("k", "p", "q", 3, None), ("m", "p", "q", 2, 1)]
    assert ("q", 2, "b", 0, {"p": 2, "q": 2}) in rows(tables.events)
    assert ("p", 2, "m!", 1, {"p": 2, "q": 0}) in rows(tables.events)
    assert rows(tables.cuts) == [(1, "p", 2), (1, "q", 0), (2, "p", 1), (2, "q", 1)]


def test_a_run_brings_its_cuts_and_amounts(spark):
    bank = cl.System(cl.accounts(p=100, q=50, r=0, transfers=6), cl.Fifo(cl.complete("pqr")))
    run = cl.simulate(bank, cl.ChandyLamport, snapshots={1: {"p": 3}, 2: {"q": 5}}, seed=7)
    tables = cls.trace(run)
    assert {row.id: row.amount for row in tables.messages.collect()} == dict(run.payloads)
    for id, cut in run.cuts.items():
        there = {r.process: r.frontier for r in tables.cuts.filter(f"cut = {id}").collect()}
        assert cl.Cut(there) == cut


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_what_is_written_is_read_again(spark, format, tmp_path):
    tables = cls.trace(C, CUTS)
    tables.write(tmp_path, format=format)
    again = cls.read_trace(tmp_path)
    for name in ("messages", "cuts"):
        one, two = getattr(tables, name), getattr(again, name)
        assert rows(two.select(*one.columns)) == rows(one)
    columns = ("process", "position", "label", "clock")
    assert rows(again.events.select(*columns)) == rows(tables.events.select(*columns))
    assert cls.check_clocks(again.messages, again.events).isEmpty()


def test_messages_alone_with_nulls_only_and_further_columns_are_a_trace(spark, tmp_path):
    file = tmp_path / "log.json"
    file.write_text('{"id": 1, "src": 0, "dst": 1, "sent": 1, "received": null, "amount": 5}')
    (row,) = cls.read_trace(file).messages.collect()
    assert (row.received, row.amount) == (None, 5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"id": 1, "src": 0, "dst": 1, "sent": 1}', "no column received .an integer., only"),
        (
            '{"id": 1, "src": 0, "dst": 1, "sent": "one", "received": 1}',
            "column sent is string, and an integer is expected",
        ),
        (
            '{"id": 1, "src": [0], "dst": 1, "sent": 1, "received": 1}',
            "column src is array<bigint>, and a string or an integer is expected",
        ),
        ("no trace", "cannot be read as JSON lines: .*Unrecognized token 'no'"),
        ('{"id": 1, "src": 0,}', "cannot be read as JSON lines"),
        ("PAR1 and then nothing", "cannot be read as parquet"),
    ],
)
def test_what_is_no_trace_is_refused_with_the_column_and_what_was_found(
    spark, text, reason, tmp_path
):
    (tmp_path / "log.json").write_text(text)
    with pytest.raises(cls.MalformedTrace, match=reason) as raised:
        cls.read_trace(tmp_path / "log.json")
    assert str(tmp_path) in str(raised.value)


def test_a_path_without_a_trace_is_refused(spark, tmp_path):
    with pytest.raises(cls.MalformedTrace, match="there is no such file"):
        cls.read_trace(tmp_path / "nowhere")
    with pytest.raises(cls.MalformedTrace, match="there is no file in it"):
        cls.read_trace(tmp_path)
    for name in ("messages.json", "messages.jsonl"):
        (tmp_path / name).write_text('{"id": 1}')
    with pytest.raises(cls.MalformedTrace, match=r"messages.json and messages.jsonl: which are"):
        cls.read_trace(tmp_path)
    for name in ("messages.json", "messages.jsonl"):
        (tmp_path / name).unlink()
    (tmp_path / "cuts.json").write_text('{"cut": 1, "process": "p", "frontier": 1}')
    with pytest.raises(cls.MalformedTrace, match="there are cuts, and no messages"):
        cls.read_trace(tmp_path)
