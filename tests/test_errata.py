"""The chapter on misconceptions accounts for every erratum, once."""

from __future__ import annotations

import re
from pathlib import Path

from notebook_rules import code_cells, load, prose, source

CHAPTER = Path(__file__).parent.parent / "notebooks" / "07-misconceptions.ipynb"
NUMBERS = [f"E{n}" for n in range(1, 79)]


def rows():
    """The cells of each row of a table, by the number that it begins with."""
    lines = re.findall(r"^\| (E\d+) \|(.*)\|$", prose(load(CHAPTER)), re.MULTILINE)
    return [(number, [cell.strip() for cell in rest.split("|")]) for number, rest in lines]


def test_every_erratum_has_exactly_one_row():
    assert [number for number, _ in rows()] == NUMBERS


def test_every_row_has_a_claim_a_correction_and_a_reference():
    assert [number for number, cells in rows() if len(cells) != 3 or not all(cells)] == []


def test_the_rows_with_a_source_alone_are_those_that_no_run_refutes():
    by_source = [number for number, (*_, see) in rows() if not see.startswith(("below", "["))]
    code = "\n".join(map(source, code_cells(load(CHAPTER))))
    assert re.findall(r'^sourced = "(.*)"', code, re.MULTILINE) == [" ".join(by_source)]
