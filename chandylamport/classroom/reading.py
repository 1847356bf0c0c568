"""Code to be read aloud: the source of a function or class, shown where a chapter needs it."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Source:
    """Python text that a notebook shows in colour and a terminal shows as it is."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.text}\n```"


def show_source(what: ModuleType | type | Any) -> Source:
    """Show the code of a function, class or module, as it runs, without the examples in its text.

    >>> from chandylamport import concurrent
    >>> print(show_source(concurrent).text.splitlines()[0])
    def concurrent(computation: Computation, e: Event, f: Event) -> bool:
    """
    text = textwrap.dedent(inspect.getsource(what)).rstrip()
    return Source(re.sub(r'\n\n +>>> (?:.|\n)*?\n *"""', '"""', text))
