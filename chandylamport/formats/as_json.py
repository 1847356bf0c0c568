"""Computations as JSON.

This file knows events, messages and payloads. It knows no clock, no cut and no algorithm, and it
opens no file: text comes in, text goes out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..encoding import TAGS, decode, encode
from ..events import Computation, Event, MalformedComputation, Message
from ..log import Log

KINDS: Mapping[str, tuple[type, type]] = {  # what it must be, and what the things inside it
    "a string": (str, str),
    "a list": (list, object),
    "a list of strings": (list, str),
    "an object": (dict, object),
    "an object of strings": (dict, str),
}
COMPUTATION = {"processes": "a list of strings", "events": "a list", "payloads": "an object"}
EVENT = {
    "process": "a string",
    "label": "a string",
    "sends": "an object of strings",  # message: receiver
    "receives": "a list of strings",
}
REQUIRED = ("processes", "events", "process")


def to_json(computation: Computation) -> str:
    """Write a computation as JSON: processes, events in one order that can have happened, payloads.

    A tuple in a payload becomes `{"tuple": […]}`, to come back as a tuple. A payload that would
    not come back equal is refused, and so is one for which other tools need further tags.

    >>> from chandylamport import computation
    >>> print(to_json(computation("p: a m!\\nq: m?", payloads={"m": 50})))
    {"processes": ["p", "q"],
     "events": [
      {"process": "p", "label": "a"},
      {"process": "p", "sends": {"m": "q"}},
      {"process": "q", "receives": ["m"]}],
     "payloads": {"m": 50}}
    """
    events = ",".join(f"\n  {one_line(_fields(computation, event))}" for event in computation)
    sent = [computation.messages[name] for event in computation for name in event.sends]
    payloads = [f"{one_line(m.name)}: {_payload(m)}" for m in sent if m.payload is not None]
    ending = f',\n "payloads": {{{", ".join(payloads)}}}' if payloads else ""
    return f'{{"processes": {one_line(computation.processes)},\n "events": [{events}]{ending}}}'


def one_line(value: object) -> str:
    """Write a value as JSON in one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _fields(computation: Computation, event: Event) -> dict[str, object]:
    sends = {name: computation.messages[name].dst for name in event.sends}
    fields = {"label": event.label, "sends": sends, "receives": event.receives}
    return {"process": event.process} | {key: value for key, value in fields.items() if value}


def _payload(message: Message) -> str:
    try:
        text = one_line(encode(message.payload))
        json.loads(text, object_hook=_without_further_tags)
    except (TypeError, ValueError):
        problem = f"JSON cannot hold the payload {message.payload!r}"
        raise MalformedComputation(f"{message.name}: {problem}") from None
    return text


def _without_further_tags(fields: dict[str, Any]) -> None:
    if len(fields) == 1 and fields.keys() <= TAGS - {"tuple"}:
        raise ValueError(fields)


def read_json(text: str, *, fifo: bool = False) -> Computation:
    """Read a computation from JSON in the form that `to_json` shows.

    >>> read_json('{"processes": ["p"], "events": [{"process": "p", "label": "a"}]}')
    <Computation of p: 1 events, 0 messages>
    """
    try:
        whole = json.loads(text, object_pairs_hook=object_of)
    except json.JSONDecodeError as error:
        raise MalformedComputation(f"line {error.lineno}: this is not JSON: {error.msg}") from None
    _check("", whole, COMPUTATION)
    if not whole["processes"] or len(set(whole["processes"])) < len(whole["processes"]):
        raise MalformedComputation("processes: at least one is needed, and each is named once")
    log = Log(whole["processes"])
    for number, event in enumerate(whole["events"], start=1):
        _check(f"event {number}: ", event, EVENT)
        log.event(**event, where=f"event {number}: ")
    payloads = {name: _decoded(name, value) for name, value in whole.get("payloads", {}).items()}
    return log.computation(fifo=fifo, payloads=payloads)


def _decoded(name: str, value: Any) -> object:
    try:
        return decode(value)
    except ValueError as error:
        raise MalformedComputation(f"{name}: {error}") from None


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON, and refuse one that has two values under one key."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise MalformedComputation(f"the key {max(keys, key=keys.count)} is there twice")
    return dict(pairs)


def _check(where: str, value: Any, schema: Mapping[str, str]) -> None:
    if not isinstance(value, dict):
        raise MalformedComputation(f"{where}this must be an object with {', '.join(schema)}")
    for key in REQUIRED:
        if key in schema and key not in value:
            raise MalformedComputation(f"{where}{key} is missing")
    for key, item in value.items():
        if key not in schema:
            raise MalformedComputation(f"{where}there is no key {key}, only {', '.join(schema)}")
        outer, inner = KINDS[schema[key]]
        inside = item.values() if isinstance(item, dict) else item
        if not isinstance(item, outer) or not all(isinstance(part, inner) for part in inside):
            raise MalformedComputation(f"{where}{key} must be {schema[key]}")
