"""Keyed state: what one version shares with the next, and what never changes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from enum import IntEnum
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chandylamport.keyed_state import BUCKETS, KeyedState, bucket_of

KEYS = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats(0, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)
CHANGES = st.lists(st.tuples(KEYS, st.none() | st.integers(0, 9)), max_size=30)  # None: take it out


def change(state: KeyedState, key: object, value: int | None) -> KeyedState:
    return state.without(key) if value is None else state.put(key, value)


@given(CHANGES)
def test_a_keyed_state_is_the_dictionary_of_the_same_changes(changes):
    state, model = KeyedState(), {}
    for key, value in changes:
        state = change(state, key, value)
        model.pop(key, None) if value is None else model.update({key: value})
        assert state == model
        assert dict(state) == model
        assert len(state) == len(model)


@given(CHANGES)
def test_no_change_shows_in_an_earlier_version(changes):
    versions, copies = [KeyedState()], [{}]
    for key, value in changes:
        versions.append(change(versions[-1], key, value))
        copies.append(dict(versions[-1]))
    assert [dict(version) for version in versions] == copies


@given(CHANGES)
def test_equality_and_hash_are_those_of_the_content_however_it_came_about(changes):
    state = reduce(lambda state, each: change(state, *each), changes, KeyedState())
    again = KeyedState(reversed(list(state.items())))
    assert state == again
    assert hash(state) == hash(again)
    assert hash(KeyedState(dict(state))) == hash(state)


def test_states_differ_when_a_value_or_a_key_does():
    state = KeyedState({"a": 1, "b": 2})
    assert state != state.put("a", 2)
    assert state != state.without("a")
    assert state != state.put("c", 1)
    assert state == state.put("a", 2).put("a", 1).without("missing")


@pytest.mark.parametrize("change", [lambda s: s.put("7", 1), lambda s: s.without("7")])
def test_two_versions_share_all_buckets_but_one(change):
    state = KeyedState((str(n), 0) for n in range(10_000))
    after = change(state)
    different = [i for i in range(BUCKETS) if state.buckets[i] is not after.buckets[i]]
    assert different == [bucket_of("7", BUCKETS)]


def test_what_is_not_there_is_missing():
    with pytest.raises(KeyError):
        KeyedState({"a": 1})["b"]
    assert KeyedState().get("b", 0) == 0


def test_keys_are_spread_evenly():
    for number in (2, 3, BUCKETS):
        load = Counter(bucket_of(f"word {n}", number) for n in range(number * 100))
        assert set(load) == set(range(number))
        assert max(load.values()) < 150


SOME = ["", "to be", 7, -1, 2**100, 0.5, None, b"x", ("p", 1), ((), ("q", None))]


def test_a_bucket_is_the_same_in_every_process():
    code = f"from chandylamport.keyed_state import *; print([bucket_of(k, 1000) for k in {SOME}])"
    for salt in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": salt}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert done.stdout == f"{[bucket_of(key, 1000) for key in SOME]}\n"


def test_a_bucket_is_the_same_in_every_version_of_this_program():
    found = [bucket_of(key, 1000) for key in SOME]
    assert found == [801, 398, 346, 344, 572, 104, 41, 76, 413, 285]


def test_another_process_makes_its_own_hashes():
    state = KeyedState({"a": 1})
    make, arguments = state.__reduce__()
    assert make(*arguments) == state
    assert arguments == ({"a": 1},)


class Number(IntEnum):
    ONE = 1


@pytest.mark.parametrize("key", [Number.ONE, (1, Number.ONE), frozenset({1}), object])
def test_a_key_without_a_stable_hash_is_refused(key):
    with pytest.raises(TypeError, match="cannot be a key: take text, a number, or a tuple of such"):
        KeyedState().put(key, 1)


def test_a_value_that_can_change_is_refused():
    with pytest.raises(TypeError, match="unhashable"):
        KeyedState({"a": []})
    with pytest.raises(TypeError, match="unhashable"):
        KeyedState().put("a", {})
