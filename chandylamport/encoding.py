"""One encoding of states and messages as JSON that gives back equal values.

It may not know who sends or stores, and it opens no file: what is large is handed to whoever asks
for it, in pieces, and only the names of the pieces are encoded.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from math import isfinite
from typing import Any

from .chandy_lamport import Control
from .events import Channel
from .keyed_state import KeyedState
from .lai_yang import Coloured
from .overlapping import Stamped, Tagged

Json = Any  # what json.dumps takes
Keep = Callable[[bytes], str]  # puts a piece away under a name
Fetch = Callable[[str], bytes]  # and gets it back

TUPLES: dict[str, Any] = {t.__name__: t for t in (tuple, Channel, Coloured, Stamped, Tagged)}
TAGS = {*TUPLES, "Control", "bytes", "KeyedState", "object"}
CHUNK = 64 * 1024  # bytes of a piece
SMALL = 256  # a piece is not worth its name


def encode(value: Any, keep: Keep | None = None) -> Json:
    """Write a value in JSON's terms, with a tag where JSON has no such thing.

    >>> encode(("m", [1, None], Channel("p", "q")))
    {'tuple': ['m', [1, None], {'Channel': ['p', 'q']}]}
    >>> encode({"tuple": 1}), decode({"object": {"tuple": 1}})
    ({'object': {'tuple': 1}}, {'tuple': 1})
    """
    kind = type(value)
    if kind in (bool, int, str, type(None)) or (kind is float and isfinite(value)):
        with suppress(ValueError):  # of half a character, or a number of more than 4,300 digits
            str(value).encode()
            return value
    if kind is list or TUPLES.get(kind.__name__) is kind:
        items = [encode(item, keep) for item in value]
        return items if kind is list else {kind.__name__: items}
    if kind is Control:
        return {"Control": value.value}
    if kind is bytes:
        if keep is None or len(value) <= SMALL:
            return {"bytes": b64encode(value).decode()}
        return {"bytes": [keep(value[at : at + CHUNK]) for at in range(0, len(value), CHUNK)]}
    if kind is KeyedState:
        return {"KeyedState": [_bucket(bucket, keep) for bucket in value.buckets if bucket]}
    if kind is dict and all(type(key) is str for key in value):
        fields = {encode(key): encode(item, keep) for key, item in value.items()}
        return {"object": fields} if len(fields) == 1 and fields.keys() <= TAGS else fields
    shown = "a number as long as that" if kind is int else repr(value)
    raise TypeError(f"{shown}, a {kind.__name__}, would not come back equal from JSON")


def _bucket(bucket: dict[Any, Any], keep: Keep | None) -> Json:
    pairs = [[encode(key, keep), encode(value, keep)] for key, value in bucket.items()]
    data = json.dumps(pairs).encode()
    return pairs if keep is None or len(data) <= SMALL else keep(data)


def decode(value: Json, fetch: Fetch | None = None) -> Any:
    """Give back the value that was encoded; a tag with something else inside is refused."""
    if isinstance(value, list):
        return [decode(item, fetch) for item in value]
    if not isinstance(value, dict):
        return encode(value)  # which refuses what JSON may say, and nobody wrote, such as NaN
    if len(value) != 1 or not value.keys() <= TAGS:
        return {key: decode(item, fetch) for key, item in value.items()}
    [(tag, inner)] = value.items()
    try:
        return _untagged(tag, inner, fetch)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"this is no {tag}: {error}") from None


def _untagged(tag: str, inner: Json, fetch: Any) -> Any:
    if tag == "object":
        return {key: decode(item, fetch) for key, item in inner.items()}
    if tag == "Control":
        return Control(inner)
    if tag == "bytes" and isinstance(inner, str):
        return b64decode(inner, validate=True)
    if not isinstance(inner, list):
        raise TypeError(f"{inner!r} is not a list")
    if tag == "bytes":
        return b"".join(map(fetch, inner))
    if tag == "KeyedState":
        buckets = (json.loads(fetch(b)) if isinstance(b, str) else b for b in inner)
        return KeyedState((decode(k, fetch), decode(v, fetch)) for b in buckets for k, v in b)
    return getattr(TUPLES[tag], "_make", tuple)(decode(inner, fetch))
