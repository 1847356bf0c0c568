"""The one encoding: what goes in comes out equal, and what would not is refused."""

from __future__ import annotations

import json
from enum import Enum, IntEnum
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chandylamport import MARKER, Channel
from chandylamport.chandy_lamport import Control
from chandylamport.encoding import CHUNK, TAGS, decode, encode
from chandylamport.keyed_state import KeyedState
from chandylamport.lai_yang import Coloured
from chandylamport.overlapping import Stamped, Tagged

TEXTS = st.text(max_size=3) | st.sampled_from(sorted(TAGS))
FINITE = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | FINITE
    | TEXTS
    | st.binary(max_size=3)
    | st.sampled_from(Control)
    | st.builds(Channel, TEXTS, TEXTS)
)
FROZEN = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.builds(Coloured, st.booleans(), inner)
        | st.builds(Tagged, inner, inner)
        | st.builds(Stamped, inner, st.lists(st.tuples(inner, inner), max_size=2).map(tuple))
        | st.dictionaries(st.integers() | TEXTS | st.tuples(TEXTS), inner).map(KeyedState)
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    FROZEN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=6,
)


def over_the_wire(encoded: object) -> object:
    return json.loads(json.dumps(encoded, allow_nan=False))


@given(VALUES)
def test_every_value_comes_back_equal_and_of_the_same_types(value: object):
    back = decode(over_the_wire(encode(value)))
    assert back == value
    assert repr(back) == repr(value)


@given(VALUES, st.binary(min_size=300, max_size=400))
def test_every_value_comes_back_from_pieces(value: object, long: bytes):
    pieces: dict[str, bytes] = {}

    def keep(data: bytes) -> str:
        pieces[f"piece {len(pieces)}"] = data
        return f"piece {len(pieces) - 1}"

    large = (value, long, KeyedState({"inner": KeyedState({"long": long})}))
    encoded = over_the_wire(encode(large, keep))
    assert pieces
    assert decode(encoded, pieces.__getitem__) == large


def test_what_is_large_is_cut_into_pieces_and_only_their_names_are_encoded():
    kept = []

    def keep(data: bytes) -> str:
        kept.append(data)
        return f"piece {len(kept)}"

    data = bytes(range(256)) * 600
    assert encode(data, keep) == {"bytes": ["piece 1", "piece 2", "piece 3"]}
    assert list(map(len, kept)) == [CHUNK, CHUNK, len(data) - 2 * CHUNK]
    assert b"".join(kept) == data
    assert encode(b"small", keep) == {"bytes": "c21hbGw="}
    assert encode(KeyedState({"small": 1}), keep) == {"KeyedState": [[["small", 1]]]}
    assert encode(KeyedState({"large": "x" * 300}), keep) == {"KeyedState": ["piece 4"]}
    assert json.loads(kept[3]) == [["large", "x" * 300]]


def test_a_bucket_that_did_not_change_is_the_same_piece():
    def pieces(state: KeyedState) -> set[bytes]:
        kept = []
        encode(state, lambda data: kept.append(data) or "name")
        return set(kept)

    state = KeyedState((n, "x" * 300) for n in range(100))
    assert len(pieces(state) - pieces(state.put(7, "y"))) == 1


def test_the_text_is_what_the_documentation_shows():
    wire = Stamped(Coloured(False, "m"), ((2, Coloured(True, "m")),))
    assert encode(Tagged(1, MARKER)) == {"Tagged": [1, {"Control": "marker"}]}
    assert encode(wire) == {
        "Stamped": [
            {"Coloured": [False, "m"]},
            {"tuple": [{"tuple": [2, {"Coloured": [True, "m"]}]}]},
        ]
    }
    assert encode({"tuple": [1]}) == {"object": {"tuple": [1]}}
    assert encode({"tuple": [1], "bytes": 2}) == {"tuple": [1], "bytes": 2}


class Colour(Enum):
    RED = "red"


class Number(IntEnum):
    ONE = 1


class Pair(NamedTuple):
    left: int
    right: int


class Text(str):
    pass


@pytest.mark.parametrize(
    "value",
    [
        {1: 2},
        {Text("a"): 2},
        {1, 2},
        frozenset({1}),
        bytearray(b"x"),
        object(),
        Colour.RED,
        Number.ONE,
        Pair(1, 2),
        Text("a"),
        float("nan"),
        float("inf"),
        pytest.param(10**5000, id="a long number"),
        pytest.param(-(10**5000), id="a long number below zero"),
        "half of a pair: \ud83d",
        {"\ud83d": 1},
    ],
)
def test_a_value_that_would_not_come_back_is_refused_wherever_it_stands(value: object):
    for whole in (value, [value], (value,), {"a": value}, Coloured(True, value)):
        with pytest.raises(TypeError, match="would not come back equal from JSON"):
            encode(whole)


def test_the_refusal_names_the_value():
    with pytest.raises(TypeError) as caught:
        encode({"a": ({1},)})
    assert str(caught.value) == "{1}, a set, would not come back equal from JSON"


def test_a_number_that_is_too_long_to_be_written_is_refused_in_words():
    with pytest.raises(TypeError, match="a number as long as that, a int, would not come back"):
        encode({"a": (10**4300,)})
    assert decode(over_the_wire(encode(10**4300 - 1))) == 10**4300 - 1


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", '"\\ud83d"'])
def test_what_is_read_and_cannot_have_been_written_is_refused(text: str):
    with pytest.raises(TypeError, match="would not come back equal from JSON"):
        decode(json.loads(text))
    with pytest.raises((TypeError, ValueError), match="would not come back equal from JSON"):
        decode(json.loads(f'{{"tuple": [1, [{text}]]}}'))


@pytest.mark.parametrize(
    ("foreign", "error"),
    [
        ({"tuple": "ab"}, "this is no tuple: 'ab' is not a list"),
        ({"tuple": [{"Channel": ["p"]}]}, "this is no tuple: this is no Channel: Expected 2"),
        ({"Channel": ["p", "q", "r"]}, "this is no Channel: Expected 2"),
        ({"Coloured": {}}, "this is no Coloured: {} is not a list"),
        ({"Control": "stop"}, "this is no Control: 'stop' is not a valid Control"),
        ({"Control": []}, "this is no Control: "),
        ({"bytes": "no base 64"}, "this is no bytes: "),
        ({"bytes": 7}, "this is no bytes: 7 is not a list"),
        ({"bytes": ["piece"]}, "this is no bytes: "),
        ({"KeyedState": ["piece"]}, "this is no KeyedState: "),
        ({"KeyedState": [[["a", 1, 2]]]}, "this is no KeyedState: "),
        ({"KeyedState": [[["a", []]]]}, "this is no KeyedState: unhashable type: 'list'"),
        ({"KeyedState": [[[{"Control": "marker"}, 1]]]}, "this is no KeyedState: "),
        ({"object": []}, "this is no object: "),
    ],
)
def test_a_tag_with_something_else_inside_is_refused(foreign: object, error: str):
    with pytest.raises(ValueError, match="this is no ") as caught:
        decode(foreign)
    assert str(caught.value).startswith(error)
