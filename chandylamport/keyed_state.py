"""Keyed state: a value for each key, captured by copy-on-write.

It knows no process, no snapshot and no disk. A state never changes: a new value makes a new state,
and the two share all buckets but one. So the reference is the capture, and nothing has to stop
while it is written. Whoever writes it encodes and compares every bucket, whether it has changed or
not; what is saved is the writing of those that are on disk already.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import reduce
from itertools import chain
from operator import xor
from types import NoneType
from typing import Any
from zlib import crc32

BUCKETS = 256


def bucket_of(key: Hashable, number: int) -> int:
    """Choose one of so many buckets: the same for equal keys, in every process and every run.

    >>> bucket_of("to be", 4), bucket_of(("to", "be"), 4), bucket_of(7, 4) == bucket_of(7.0, 4)
    (2, 1, True)
    """
    return crc32(repr(_canonical(key)).encode()) % number


def _canonical(key: Hashable) -> object:
    if isinstance(key, tuple):
        return tuple(map(_canonical, key))
    if type(key) in (bool, int, float):
        return hash(key)  # for 1, 1.0 and True are one key; only the hash of text is salted
    if type(key) in (str, bytes, NoneType):
        return key
    raise TypeError(f"{key!r} cannot be a key: take text, a number, or a tuple of such")


class KeyedState(Mapping[Any, Any]):
    """A mapping that does not change, of frozen keys and values, in buckets that are shared.

    >>> old = KeyedState({"to": 1, "be": 1})
    >>> new = old.put("to", 2)
    >>> old, new, new.without("be")
    (KeyedState({'to': 1, 'be': 1}), KeyedState({'to': 2, 'be': 1}), KeyedState({'to': 2}))
    >>> sum(one is other for one, other in zip(old.buckets, new.buckets))
    255
    """

    __slots__ = ("_hash", "buckets")

    def __init__(self, content: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        """Take keys and values; each of them must be hashable, and so cannot change."""
        self.buckets: tuple[dict[Any, Any], ...] = tuple({} for _ in range(BUCKETS))
        for key, value in dict(content).items():
            self.buckets[bucket_of(key, BUCKETS)][key] = value
        self._hash = reduce(xor, map(hash, self.items()), 0)

    def put(self, key: Hashable, value: Hashable) -> KeyedState:
        """Give the state in which the key has this value."""
        return self._changed(key, {key: value})

    def without(self, key: Hashable) -> KeyedState:
        """Give the state in which the key has no value."""
        return self._changed(key, {})

    def _changed(self, key: Hashable, new: dict[Any, Any]) -> KeyedState:
        place = bucket_of(key, BUCKETS)
        old = self.buckets[place]
        gone = [(key, old[key])] if key in old else []
        bucket = {**old, **new} if new else {k: v for k, v in old.items() if k != key}
        state = KeyedState.__new__(KeyedState)
        state.buckets = (*self.buckets[:place], bucket, *self.buckets[place + 1 :])
        state._hash = reduce(xor, map(hash, (*gone, *new.items())), self._hash)
        return state

    def __getitem__(self, key: Hashable) -> Any:
        return self.buckets[bucket_of(key, BUCKETS)][key]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.buckets)

    def __len__(self) -> int:
        return sum(map(len, self.buckets))

    def __eq__(self, other: object) -> bool:  # a bucket that is shared is not looked at
        return self.buckets == other.buckets if type(other) is KeyedState else super().__eq__(other)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type, tuple[dict[Any, Any]]]:
        return KeyedState, (dict(self),)  # another process has another salt, and other hashes

    def __repr__(self) -> str:
        return f"KeyedState({dict(self)})"
