"""The command line: `chandylamport VERB …`, with the same verbs as `./course VERB …`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence

from . import checkout


def build(*, run: bool, check: bool) -> int:
    """Make exercises/ from solutions/ and name the files that changed."""
    checkout.need("teach", "nbgrader", "nbclient")
    from .classroom import building

    changed = building.build(checkout.course_root(), run=run)
    for path in changed:
        print(path)
    print(f"{len(changed)} files changed." if changed else "Everything was up to date.")
    return 1 if changed and check else 0


def exercises() -> int:
    """Print how each exercise fares with right and with wrong answers."""
    checkout.need("teach", "nbgrader", "nbclient")
    from .classroom import trials

    return trials.print_table(checkout.course_root())


def audit(trace: str, cuts: str, *, master: str | None, checked: bool) -> int:
    """Judge the cuts of a trace with Spark, and print a table."""
    checkout.need("spark", "pyspark")
    from .spark.reporting import report
    from .spark.sessions import MASTER

    return report(trace, cuts, master=master or MASTER, checked=checked)


def doctor() -> int:
    """Print what is installed, what is missing, and the remedy."""
    from .doctor import doctor

    return doctor()


def parser() -> argparse.ArgumentParser:
    """The verbs with their options; what a verb does not know is its tool's."""
    top = argparse.ArgumentParser("chandylamport", description="A course on distributed snapshots.")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, text: str) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=text, description=text, allow_abbrev=False)

    verb("lab", "open the notebooks in JupyterLab; further arguments are JupyterLab's")
    test = verb("test", "check everything; further arguments are pytest's")
    test.add_argument("--fast", action="store_true", help="leave out the slow tests")
    verb("check", "check the named notebooks, or all; further arguments are pytest's")
    build = verb("build", "make the exercises from their solutions")
    build.add_argument(
        "--run", action="store_true", help="run the notebooks too, and store outputs"
    )
    build.add_argument("--check", action="store_true", help="fail if a file was out of date")
    verb("exercises", "show which right and wrong answers each exercise tells apart")
    audit = verb("audit", "judge the cuts of a trace, however large; 1 if one is inconsistent")
    audit.add_argument("trace", help="a directory with messages (and events), or messages alone")
    audit.add_argument("cuts", help='parquet, JSON lines, or {"cut": {"process": frontier}}')
    audit.add_argument("--master", help="where Spark runs; by default here")
    audit.add_argument("--checked", action="store_true", help="do not look for damage first")
    bench = verb("bench", "run the named benchmarks, or all")
    bench.add_argument("names", nargs="*", metavar="name")
    verb("doctor", "show what is installed, what is missing, and the remedy")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and give its exit status."""
    given, extra = parser().parse_known_args(argv)
    if extra and given.verb not in ("lab", "test", "check"):
        parser().error(f"{given.verb} does not take {shlex.join(extra)}")
    try:
        match given.verb:
            case "lab":
                return checkout.lab(checkout.course_root(), extra)
            case "test":
                return checkout.check_everything(checkout.course_root(), extra, fast=given.fast)
            case "check":
                return checkout.check_notebooks(checkout.course_root(), extra)
            case "build":
                return build(run=given.run, check=given.check)
            case "exercises":
                return exercises()
            case "audit":
                return audit(given.trace, given.cuts, master=given.master, checked=given.checked)
            case "bench":
                return checkout.bench(checkout.course_root(), given.names)
            case _:
                return doctor()
    except (checkout.CourseError, OSError) as error:
        print(f"chandylamport: {error}", file=sys.stderr)
        return 2 if given.verb == "audit" else 1  # there, 1 is a verdict
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
