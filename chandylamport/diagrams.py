"""Computations as small typed diagrams: one line for each process, time to the right.

This file knows only the words of a diagram; what they may mean together is checked by `Log`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from .causality import lamport_clocks
from .events import Computation, Event, MalformedComputation
from .log import Log

WORD = r'[^\s!?,:()"]+'
TEXT = r'"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'  # as in JSON
ATOM = rf"(?:{TEXT}|{WORD})"
ACTION = rf"{ATOM}(?:!{ATOM}?|\?)"  # m!  m!q  m?
ACTIONS = rf"{ACTION}(?:,{ACTION})*"
EVENT = re.compile(rf"\s*(?:({ACTIONS})|({ATOM})(?:\(({ACTIONS})\))?)(?!\S)")
LINE = re.compile(rf"\s*({ATOM})\s*:(.*)")
SPELLING = "events are words with spaces between: a, m!, m!q, m?, and m?,n! for one that does both"


def computation(
    text: str, *, fifo: bool = False, payloads: Mapping[str, object] | None = None
) -> Computation:
    """Read a typed diagram: one line for each process, its events from left to right.

    A bare word is an internal event; `m!` sends m and `m?` receives it; `m!q` sends m to q, who
    has not received it when the computation ends. One event that does several things is `m?,n!`,
    or `b(m?,n!)` with a name of its own. Double quotes allow any text in a name. Only the order
    on each line counts, not the column.

    >>> print(computation("p: ask!  answer?\\nq: ask?,answer!  rest"))
    p:  ask!                answer?
    q:        ask?,answer!  rest
    """
    lines: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = LINE.fullmatch(line)
        if parts is None:
            raise MalformedComputation(f"line {number}: no process; write 'p: event event …'")
        process = _unquoted(parts[1])
        if process in lines:
            raise MalformedComputation(
                f"line {number}: {process} already has line {lines[process][0]}"
            )
        lines[process] = number, parts[2].rstrip()
    log = Log(lines)
    for process, (number, events) in lines.items():
        _read(log, process, events, f"line {number}: ")
    return log.computation(fifo=fifo, payloads=payloads)


def _read(log: Log, process: str, text: str, where: str) -> None:
    at = 0
    while at < len(text):
        event = EVENT.match(text, at)
        if event is None:
            raise MalformedComputation(f"{where}cannot read {text[at:].split()[0]!r}; {SPELLING}")
        sends, receives = {}, []
        for action in re.findall(ACTION, event[1] or event[3] or ""):
            name, mark, receiver = re.findall(rf"^({ATOM})([!?])(.*)$", action)[0]
            if mark == "?":
                receives.append(_unquoted(name))
            elif _unquoted(name) in sends:
                raise MalformedComputation(f"{where}{event[0].strip()}: {name} is sent twice")
            else:
                sends[_unquoted(name)] = _unquoted(receiver)
        label = _unquoted(event[2] or "")
        log.event(process, label, sends=sends, receives=receives, where=where)
        at = event.end()


def diagram(c: Computation) -> str:
    """Print a computation as the diagram that reads it back, a column for each Lamport clock."""
    column = lamport_clocks(c)
    widths = [0] * (max(column.values(), default=0) + 1)
    for event in c:
        widths[column[event]] = max(widths[column[event]], len(_word(c, event)))
    starts = [max(len(_quoted(p)) for p in c.processes) + 1]
    for width in widths:
        starts.append(starts[-1] + width + 2)
    lines = []
    for process, history in zip(c.processes, c.histories, strict=True):
        line = f"{_quoted(process)}:"
        for event in history:
            line = line.ljust(starts[column[event]]) + _word(c, event)
        lines.append(line)
    return "\n".join(lines)


def _word(c: Computation, event: Event) -> str:
    actions = [f"{_quoted(m)}?" for m in event.receives]
    for message in (c.messages[name] for name in event.sends):
        receiver = _quoted(message.dst) if message.received is None else ""
        actions.append(f"{_quoted(message.name)}!{receiver}")
    label = _quoted(event.label) if event.label else ""
    return f"{label}({','.join(actions)})" if label and actions else label + ",".join(actions)


def _quoted(name: str) -> str:
    plain = re.fullmatch(WORD, name) and not name.startswith("#")
    return name if plain else json.dumps(name, ensure_ascii=False)


def _unquoted(atom: str) -> str:
    return str(json.loads(atom, strict=False)) if atom.startswith('"') else atom
