"""What is installed, what is missing, and the remedy for each.

It changes nothing, starts nothing but `java -version`, and needs nothing but Python.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from importlib import metadata
from pathlib import Path

from .java import JavaNotFound, find_java

OK, DIFFERS, LOW, OPTIONAL, MISSING = "ok", "differs", "low", "optional", "MISSING"
# Without the first two some notebook cannot run; the others are for teachers and authors.
IF_ABSENT = {"spark": MISSING, "lab": MISSING, "teach": OPTIONAL, "dev": OPTIONAL}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis; only the verdict `MISSING` makes it a bad one."""

    what: str
    found: str
    verdict: str
    remedy: str = ""


def doctor() -> int:
    """Print the diagnosis; 1 if something is missing without which a notebook cannot run."""
    findings = list(diagnose())
    print(table(findings))
    missing = [finding.what for finding in findings if finding.verdict == MISSING]
    if any("pip install" in finding.remedy for finding in findings):
        print(f"\npip means the one of this Python: {sys.executable} -m pip")
    print(
        f"\nMissing: {', '.join(missing)}." if missing else "\nEverything that is needed is there."
    )
    return 1 if missing else 0


def diagnose() -> Iterator[Finding]:
    """Look at Python, the packages of each extra, Java, a browser and the disk."""
    python = platform.python_version()
    fit = sys.version_info >= (3, 11)
    yield Finding("Python", python, OK if fit else MISSING, "" if fit else "install 3.11 or newer")
    yield from _packages()
    yield from _java()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    yield Finding(
        "browser",
        browser or "none",
        OK if browser else OPTIONAL,
        "" if browser else "for the checks of the figures: apt install chromium",
    )
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    enough = free > 2
    yield Finding(
        "disk", f"{free:.1f} GB free", OK if enough else LOW, "" if enough else "free some: 2 GB"
    )


def pinned() -> list[tuple[str, str, str]]:
    """The package, version and extra of every pin of the installed chandylamport.

    >>> ("pyspark", "4.3.0", "spark") in pinned()
    True
    """
    pin = re.compile(r"""([\w.-]+)==([\w.]+) *; *extra *== *["'](\w+)["']""")
    found = [(m[1], m[2], m[3]) for line in _requirements() if (m := pin.match(line))]
    return sorted(found, key=lambda package: list(IF_ABSENT).index(package[2]))


def table(findings: list[Finding]) -> str:
    """Align the findings in columns.

    >>> print(table([Finding("browser", "none", OPTIONAL, "apt install chromium")]))
    what     found  verdict   remedy
    browser  none   optional  apt install chromium
    """
    rows = [("what", "found", "verdict", "remedy"), *map(astuple, findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _requirements() -> list[str]:
    try:
        return metadata.requires("chandylamport") or []
    except metadata.PackageNotFoundError:
        return []


def _packages() -> Iterator[Finding]:
    pins = pinned()
    if not pins:
        remedy = "in the checkout: pip install -e ."
        yield Finding("chandylamport", "not installed: its pins are unknown", MISSING, remedy)
    for name, version, extra in pins:
        remedy = f"pip install 'chandylamport[{extra}]'"
        what = f"{name} ({extra})"
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Finding(what, "none", IF_ABSENT[extra], remedy)
            continue
        if found == version:
            yield Finding(what, found, OK)
        else:
            yield Finding(what, f"{found}, not {version}", DIFFERS, remedy)


def _java() -> Iterator[Finding]:
    try:
        java = find_java()
    except JavaNotFound as error:
        yield Finding("Java", "none", MISSING, str(error))
        return
    yield Finding("Java", f"{java.version} from {java.origin}: {java.home}", OK)
    for reason in java.passed_over:
        yield Finding("Java, passed over", reason, OPTIONAL)
