"""Logs with vector clocks, as ShiViz takes them.

This file knows how vector clocks compare. It knows no cut and no algorithm, and it opens no file:
text comes in, text goes out.

Beschastnikh, Wang, Brun and Ernst, "Debugging distributed systems", 2016, doi:10.1145/2909480.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..causality import lamport_clocks
from ..events import Computation, MalformedComputation
from ..log import Log
from .as_json import object_of, one_line

SHIVIZ = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"  # what `to_shiviz` writes


def to_shiviz(computation: Computation) -> str:
    """Write a computation as a log with vector clocks, for the parser `SHIVIZ`.

    What stays is what such a log can tell: the events, their names, and happens-before.

    >>> from chandylamport import computation
    >>> print(to_shiviz(computation("p: a m!\\nq: m?")), end="")
    p {"p": 1}
    a
    p {"p": 2}
    m!
    q {"p": 2, "q": 1}
    m?
    """
    time, lines = lamport_clocks(computation), []
    for event in sorted(computation, key=lambda event: (time[event], event.process)):
        if re.search(r"\s", event.process) or event.name.splitlines() != [event.name]:
            rule = "a ShiViz log has hosts without white space and texts of one line"
            raise MalformedComputation(f"{event.name!r} of {event.process!r}: {rule}")
        clock = {host: n for host, n in sorted(computation.clocks[event].items()) if n}
        lines.append(f"{event.process} {one_line(clock)}\n{event.name}\n")
    return "".join(lines)


class _Entry(NamedTuple):
    """One logged event; its clock has no entries that are 0."""

    line: int
    host: str
    text: str
    clock: Mapping[str, int]

    @property
    def own(self) -> int:
        return self.clock[self.host]

    def __str__(self) -> str:
        return f"{self.text} (line {self.line})"

    def error(self, rule: str) -> MalformedComputation:
        return MalformedComputation(f"line {self.line}: {self.text}: {rule}")


def read_shiviz(text: str, parser: str, delimiter: str | None = None) -> list[Computation]:
    """Read logs with vector clocks: e → f exactly if e's clock is below f's.

    The parser is a regular expression with the groups host, clock and event, in JavaScript's
    spelling or Python's; text that it does not match is skipped. The delimiter parts one
    execution from the next. The messages are the fewest that explain the clocks:
    happens-before is that of the log, what is in transit is not known.

    >>> [c] = read_shiviz('p {"p": 1}\\nask\\nq {"p": 1, "q": 1}\\nhear', SHIVIZ)
    >>> print(c)
    p:  ask(m1!)
    q:            hear(m1?)
    """
    text = text.replace("\r\n", "\n")
    pattern = _compiled("parser", parser, ("host", "clock", "event"))
    breaks = _compiled("delimiter", delimiter).finditer(text) if delimiter else ()
    edges = [0, *(edge for match in breaks for edge in match.span()), len(text)]
    spans = zip(edges[::2], edges[1::2], strict=True)
    parts = [(text.count("\n", 0, a) + 1, text[a:b]) for a, b in spans if text[a:b].strip()]
    if not parts:
        raise MalformedComputation("the log is empty")
    return [_joined(list(_entries(pattern, line, part))) for line, part in parts]


def _compiled(role: str, pattern: str, groups: Sequence[str] = ()) -> re.Pattern[str]:
    # What a backslash or brackets protect means the same in both languages, except for \k<name>.
    javascript = r"\\k<(\w+)>|(\\.|\[(?:\\.|[^]\\])*\])|\(\?<(?![=!])"
    python = re.sub(javascript, lambda m: m[2] or (f"(?P={m[1]})" if m[1] else "(?P<"), pattern)
    try:
        compiled = re.compile(python, re.MULTILINE)
    except re.error as error:
        raise MalformedComputation(f"{role} {pattern}: no regular expression: {error}") from None
    for name in groups:
        if name not in compiled.groupindex:
            raise MalformedComputation(f"{role} {pattern}: there is no group (?<{name}>…)")
    return compiled


def _entries(pattern: re.Pattern[str], line: int, part: str) -> Iterator[_Entry]:
    at, match = 0, None
    for match in pattern.finditer(part):
        here = max(at, match.start("clock"))
        line, at = line + part.count("\n", at, here), here
        entry = _Entry(line, match["host"] or "", match["event"] or "event", {})
        yield entry._replace(clock=_clock(entry, match["clock"] or ""))
    if match is None:
        raise MalformedComputation(f"line {line}: the parser matches nothing in this execution")


def _clock(entry: _Entry, text: str) -> dict[str, int]:
    try:
        clock = json.loads(text, object_pairs_hook=object_of)
    except ValueError:
        clock = None
    if not isinstance(clock, dict):
        raise entry.error(f"the clock {text} is not a JSON object")
    for host, n in clock.items():
        if type(n) is not int or n < 0:
            raise entry.error(f"the clock has {n!r} for {host}; it counts events, so 0, 1, 2, …")
    if not clock.get(entry.host):
        raise entry.error(f"the clock {text} counts no event of its own host {entry.host!r}")
    return {host: n for host, n in clock.items() if n}


def _joined(entries: Sequence[_Entry]) -> Computation:
    """Join the events of one execution by the messages that their clocks call for."""
    # Number 0 of each history is its start, so that event n is number n.
    histories = {entry.host: [_Entry(0, entry.host, "start", {})] for entry in entries}
    local = sorted(entries, key=lambda entry: entry.own)
    for entry in local:
        host, own, last = entry.host, entry.own, len(histories[entry.host]) - 1
        if own == last:
            raise entry.error(f"{histories[host][own]} is event {own} of {host}, too")
        if own != last + 1:
            raise entry.error(f"the clock of {host} jumps from {last} to {own}")
        histories[host].append(entry)
    causal = sorted(local, key=lambda entry: sum(entry.clock.values()))  # e → f puts e before f
    pairs = [(cause, entry) for entry in causal for cause in _direct_causes(entry, histories)]
    sends: dict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    receives: dict[tuple[str, int], list[str]] = defaultdict(list)
    for number, (cause, entry) in enumerate(pairs, start=1):
        sends[cause.host, cause.own][f"m{number}"] = entry.host
        receives[entry.host, entry.own].append(f"m{number}")
    log = Log(histories)
    for entry in local:
        at = entry.host, entry.own
        log.event(entry.host, entry.text, sends=sends[at], receives=receives[at])
    return log.computation()


def _direct_causes(entry: _Entry, histories: Mapping[str, Sequence[_Entry]]) -> list[_Entry]:
    """Give the events that this one learns of, but not through each other; its clock must fit."""
    before, causes = histories[entry.host][entry.own - 1], []
    for host, n in entry.clock.items():
        if host not in histories:
            raise entry.error(f"the clock knows {host}, and there is no process {host}")
        if n >= len(histories[host]):
            known = len(histories[host]) - 1
            raise entry.error(f"the clock counts {n} events of {host}; there are only {known}")
        if host != entry.host and n > before.clock.get(host, 0):
            causes.append(histories[host][n])
    for cause in (before, *causes):
        if cause.clock.get(entry.host, 0) >= entry.own:
            raise entry.error(f"a cycle through time: it comes before and after {cause}")
        if any(n > entry.clock.get(host, 0) for host, n in cause.clock.items()):
            fault = "goes back behind" if cause is before else "forgets what it knows from"
            due = {h: max(e.clock.get(h, 0) for e in (entry, before, *causes)) for h in histories}
            clocks = f"it is {one_line(entry.clock)} and should be {one_line(due)}"
            raise entry.error(f"the clock {fault} {cause}: {clocks}")
    return [e for e in causes if all(e is f or f.clock.get(e.host, 0) < e.own for f in causes)]
