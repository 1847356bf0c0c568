"""The checkout of the course, and the tools that work on it: JupyterLab, ruff, mypy, pytest.

It knows no algorithm: it finds the checkout, starts a tool, and says what to do if it fails.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shlex
import subprocess
import sys
import tokenize
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

CORE = (
    *("events", "log", "causality", "cuts", "lattice"),
    *("recorder", "chandy_lamport", "lai_yang", "overlapping"),
    *("systems", "truth", "simulator", "runs", "exploration", "reachability"),
)
CORE_BUDGET, PACKAGE_BUDGET = 1_500, 7_700  # lines of code: a small package can be read whole
# One notebook or module stays with one worker.
PYTEST = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadscope", "-rsfE"]
NBVAL = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=300"]
NOTHING_COLLECTED = 5  # pytest's exit status


class CourseError(Exception):
    """What a person can put right: its text names the cause and the remedy."""


def course_root() -> Path:
    """The checkout: the directory with the notebooks, around the package or around us."""
    here = Path.cwd()
    for directory in (Path(__file__).resolve().parents[1], here, *here.parents):
        if all((directory / name).exists() for name in ("course", "notebooks", "pyproject.toml")):
            return directory
    raise CourseError("this needs the checkout of the course: git clone it, then cd into it")


def run(command: Sequence[str], cwd: Path) -> int:
    """Run a tool, with its output where ours is."""
    sys.stdout.flush()
    return subprocess.call(command, cwd=cwd)


def need(extra: str, *modules: str) -> None:
    """Refuse, with the remedy, to go on without these modules."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise CourseError(f"{module} is missing: pip install 'chandylamport[{extra}]'")


def lab(root: Path, extra: Sequence[str]) -> int:
    """Open JupyterLab at the start page; it looks for no news and no updates."""
    need("lab", "jupyterlab")
    _trust(_notebooks(root))
    # Settings in files, not options: Jupyter refuses an option that is given twice, and the
    # person's own must win.
    settings = [str(Path(__file__).with_name("jupyter")), os.environ.get("JUPYTER_CONFIG_PATH")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, settings))
    command = [sys.executable, "-m", "jupyterlab"]
    if not any(a.startswith(("--notebook-dir", "--ServerApp.root_dir")) for a in extra):
        command.append(f"--ServerApp.root_dir={root}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    command += extra
    if os.name == "nt":
        return run(command, Path.cwd())
    os.execv(command[0], command)  # Ctrl-C is for Jupyter alone


def check_everything(root: Path, extra: Sequence[str], *, fast: bool) -> int:
    """Check style, types, tests, doctests, notebooks and the line budget; go on after a failure."""
    need("dev", "ruff", "mypy", "pytest", "xdist", "nbval")
    ruff, mypy = [sys.executable, "-m", "ruff"], [sys.executable, "-m", "mypy"]
    sources = _existing(root, "chandylamport", "tests", "benchmarks", "solutions", "course")
    options, paths = _split(extra)
    paths = paths or [*_existing(root, "chandylamport", "tests"), *_folders(root)]
    fewer = ["-m", "not slow"] if fast else []
    parts = {
        "ruff check": [*ruff, "check", *sources],
        "ruff format": [*ruff, "format", "--check", *sources],
        "mypy": [*mypy, "--strict", "chandylamport"],
        "pytest": [*PYTEST, "--doctest-modules", *NBVAL, *fewer, *options, *paths],
    }
    advice = {}
    for name, command in parts.items():
        print(f"\n=== {name} ===")
        status = run(command, root)
        if status:
            advice[name] = f"repeat it alone: {shlex.join(command)}"
        if name == "ruff format" and status:
            advice[name] = f"repair it: {shlex.join([*ruff, 'format', *sources])}"
        if name == "pytest" and status:
            advice[name] = "the failed ones are listed above; repeat them: ./course test --lf"
        if name == "pytest" and status == NOTHING_COLLECTED:
            advice[name] = f"no test fits {shlex.join(extra)}: nothing has been tested"
    core, package, exercises, written = count_lines(root)
    print("\n=== line budget ===")
    print(f"core {core:,} of {CORE_BUDGET:,} lines of code, package {package:,} of", end=" ")
    print(f"{PACKAGE_BUDGET:,}, questions of the exercises {exercises:,};", end=" ")
    print(f"{written:,} lines in all, with docstrings, comments and blank lines")
    if core > CORE_BUDGET or package > PACKAGE_BUDGET:
        advice["line budget"] = "cut a feature, and say in CHANGELOG.md which"
    print(f"\nFAILED: {', '.join(advice)}. In {root}:" if advice else "\nEverything passed.")
    for name, remedy in advice.items():
        print(f"  {name}: {remedy}")
    return 1 if advice else 0


def check_notebooks(root: Path, extra: Sequence[str]) -> int:
    """Run notebooks in fresh kernels and compare every output with the stored one."""
    need("dev", "pytest", "xdist", "nbval")
    options, paths = _split(extra)
    paths = paths or [*_folders(root), *_existing(root, "tests/test_notebooks.py")]
    if not paths:
        raise CourseError(f"there are no notebooks in {root}: git checkout notebooks solutions")
    status = run([*PYTEST, *NBVAL, *options, *paths], root)
    if status == NOTHING_COLLECTED:
        print(f"FAILED: no cell fits {shlex.join(extra)}, so nothing has been checked.")
    elif status:
        print("FAILED: see above which stored output is no longer true, or what to mend.")
        print("To have a notebook back as it came: git checkout notebooks/NAME.ipynb")
        print(
            "If the new output is the right one: ./course build --run, and look at the difference."
        )
    else:
        print("Every output is what is stored.")
    return status


def bench(root: Path, names: Sequence[str]) -> int:
    """Run the benchmarks one after another."""
    scripts = {path.stem: path for path in sorted((root / "benchmarks").glob("*.py"))}
    if unknown := [name for name in names if name not in scripts]:
        raise CourseError(f"no benchmark {unknown[0]}; there is {', '.join(scripts) or 'none'}")
    for name in names or scripts:
        print(f"\n=== {name} ===")
        if status := run([sys.executable, str(scripts[name])], root):
            return status
    return 0


def count_lines(root: Path) -> tuple[int, int, int, int]:
    """Count lines of code: the core, the package, the exercises; and all lines that are written.

    The questions of the exercises are course material, like the notebooks, and counted apart.
    """
    package = root / "chandylamport"
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    counts = {path: _lines_of_code(text) for path, text in texts.items()}
    core = sum(counts.get(package / f"{name}.py", 0) for name in CORE)
    exercises = sum(counts[path] for path in counts if path.parent.name == "exercises")
    written = sum(text.count("\n") for text in texts.values())
    return core, sum(counts.values()) - exercises, exercises, written


def _lines_of_code(text: str) -> int:
    """Count the lines with code on them: no blank lines, comments and docstrings."""
    lines, at_start = set[int](), True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            at_start = True
        elif token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER):
            if not (at_start and token.type == tokenize.STRING):
                lines.update(range(token.start[0], token.end[0] + 1))
            at_start = False
    return len(lines)


def _existing(root: Path, *names: str) -> list[str]:
    return [name for name in names if (root / name).exists()]


def _notebooks(root: Path) -> list[Path]:
    return [file for name in ("notebooks", "solutions") for file in (root / name).glob("*.ipynb")]


def _folders(root: Path) -> list[str]:
    return sorted({path.parent.name for path in _notebooks(root)})


def _split(extra: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell pytest's options from paths, which are meant from where the person stands."""
    options, paths = [], []
    for before, argument in pairwise(["", *extra]):
        file, *test = argument.split("::")
        a_value = before in ("-k", "-m", "--ignore", "--deselect")
        if not a_value and not argument.startswith("-") and Path(file).exists():
            paths.append("::".join([str(Path(file).resolve()), *test]))
        elif not a_value and file.endswith((".py", ".ipynb")):
            raise CourseError(f"there is no file {file} in {Path.cwd()}")
        else:
            options.append(argument)
    return options, paths


def _trust(notebooks: Sequence[Path]) -> None:
    """Sign the notebooks: of an unsigned one, JupyterLab shows no SVG until it is run."""
    import nbformat
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    for path in notebooks:
        with contextlib.suppress(ValueError):  # a damaged notebook: JupyterLab says so when opened
            notary.sign(nbformat.read(path, as_version=4))
