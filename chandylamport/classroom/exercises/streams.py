"""Exercises on micro-batches: a stream crashes anywhere, and has each row once in the end.

The engine in miniature keeps what Spark keeps in a checkpoint: a log of what is to be done, and a
log of what is done. The last test runs on Spark itself.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from ...drawing import Picture, draw
from ...log import Log
from ..checking import Exercise, Outcome
from .recovery import listed

KEPT, ENOUGH = 2, 40  # entries of a log, and batches that are run before we lose patience
Effects = set[tuple[str, str]]  # where it crashed, and what came of it


class Crash(BaseException):
    """Everything stops; what is on the disk stays. Nobody who handles errors handles this."""


class Steps:
    """What is done, one step after the other, with a crash behind some of them."""

    def __init__(self, crashes: Iterable[int]) -> None:
        """Each number counts steps since the crash before."""
        self.ahead, self.since, self.down = list(crashes), 0, False
        self.done: list[tuple[str, str, str]] = []  # who, whom, what

    def take(self, who: str, whom: str, what: str) -> None:
        """Note a step that was taken."""
        self.done.append((who, whom, what))
        self.since += 1
        if self.ahead and self.since == self.ahead[0]:
            self.down = True
            self.must_be_up()

    def must_be_up(self) -> None:
        """Refuse to do anything more after a crash."""
        if self.down:
            raise Crash

    def restart(self) -> None:
        """Begin again."""
        self.ahead.pop(0)
        self.since, self.down = 0, False
        self.done.append(("engine", "", "crash"))

    def picture(self, lines: Iterable[str], caption: str) -> Picture:
        """Draw all steps: an arrow from who does something to whom it is done."""
        log, times = Log(lines), Counter[str]()
        for who, whom, what in self.done:
            times[what] += 1
            name = what + "′" * (times[what] - 1)
            if whom:
                log.event(who, sends={name: whom})
                log.event(whom, receives=[name])
            else:
                log.event(who, name)
        return draw(log.computation(), caption=caption)


@dataclass(frozen=True)
class Fared(Outcome):
    """How an answer has fared in a story, judged by what came of each crash."""

    fault: str = field(default="", compare=False)
    effects: frozenset[tuple[str, str]] = frozenset()
    drawn: Callable[[], Picture] | None = field(default=None, compare=False)

    def picture(self) -> Picture | None:
        """The story that ends badly."""
        return self.drawn() if self.drawn else None


def difference(due: Iterable[str], got: Iterable[str]) -> tuple[str, str]:
    """What is wrong with the rows that came in the end: its kind, and the words for it."""
    lost, more = Counter(due) - Counter(got), Counter(got) - Counter(due)
    rows = sorted((lost or more).elements())
    words, one = ", ".join(rows), len(rows) == 1
    if lost:
        kind = "equal lost" if {*due} == {*got} else "lost"
        return kind, f"{words} {'is' if one else 'are'} lost"
    return ("twice", f"{words} {'comes' if one else 'come'} once more") if more else ("", "")


class Play:
    """A script played with an answer, and crashes; a script is what arrives together: 'ab cd'."""

    lines: tuple[str, ...]
    caption: str

    def __init__(self, answer: Callable[..., Any], script: str, *crashes: int) -> None:
        """Play it to its end."""
        self.answer, self.portions, self.steps = answer, script.split(), Steps(crashes)
        self.due = list("".join(self.portions))
        self.effects: Effects = set()
        self.run()

    def run(self) -> None:
        """Run batches until nothing is left to be done."""
        raise NotImplementedError

    def got(self) -> list[str]:
        """What has come in the end."""
        raise NotImplementedError

    def fault(self) -> tuple[str, str]:
        """What is wrong in the end: its kind, and the words for it."""
        return difference(self.due, self.got())

    def picture(self) -> Picture:
        """All that happened."""
        return self.steps.picture(self.lines, self.caption)


def ways(number: int, steps: int) -> Iterator[tuple[int, ...]]:
    """No crash; then one behind each step; then two, and so on."""
    return (way for n in range(number + 1) for way in product(range(1, steps + 1), repeat=n))


def played(kind: type[Play], answer: Callable[..., Any], subject: tuple[int, str]) -> Outcome:
    """Judge an answer along a script, with a crash behind every step, and behind every two."""
    number, script = subject
    calm = kind(answer, script)
    effects, first = Effects(), None
    for way in ways(number, len(calm.steps.done)):
        play = kind(answer, script, *way)
        wrong, words = play.fault()
        if len(way) < 2 and number:  # without a crash, a part is soon the whole
            effects |= play.effects
        if wrong and (len(way) < 2 or not effects):
            effects.add((place(calm, way[0]) if way else "calm", wrong))
        if wrong and first is None:
            first = way, f"{moment(calm, way)}, {words}."
    if first is None and ("calm", "half") in effects:
        first = (), "While a batch is written, readers can see a part of it."
    if first is None:
        return Outcome()
    crashes, fault = first
    shown = [answer.__name__, repr(script), *map(str, crashes)]
    code = f"{kind.__name__}({', '.join(shown)}).picture()"
    drawn = kind(answer, script, *crashes).picture
    return Fared(fault, code=code, effects=frozenset(effects), drawn=drawn)


def moment(calm: Play, way: tuple[int, ...]) -> str:
    """The words for when it crashes."""
    if not way:
        return "Without any crash"
    when = f"After a crash behind step {way[0]}, «{calm.steps.done[way[0] - 1][2]}»"
    return f"{when}, and another {way[1]} steps later" if way[1:] else when


def place(calm: Play, step: int) -> str:
    """Where a crash comes: behind an entry of a log, in the middle of a write, or behind it."""
    done = [what for _, _, what in calm.steps.done]
    word = done[step - 1].split()[0]
    if word in ("plan", "commit", "batch"):
        return word
    return "behind" if step < len(done) and done[step].startswith("commit") else "middle"


# --- the engine -----------------------------------------------------------------------------------


class Checkpoint:
    """The two logs of a stream, which survive every crash."""

    def __init__(self, steps: Steps) -> None:
        """Nothing is planned."""
        self._steps, self._offsets, self._commits = steps, dict[int, int](), list[int]()

    @property
    def offsets(self) -> dict[int, int]:
        """For each batch that was planned, the offset behind its last row."""
        return dict(self._offsets)

    @property
    def commits(self) -> list[int]:
        """The batches that are done."""
        return list(self._commits)

    def plan(self, batch: int, end: int) -> None:
        """Write down that a batch is to be run, up to this offset."""
        self._steps.must_be_up()
        self._offsets[batch] = end
        for old in [id for id in self._offsets if id <= batch - KEPT]:
            del self._offsets[old]
        self._steps.take("engine", "checkpoint", f"plan {batch} to {end}")

    def commit(self, batch: int) -> None:
        """Write down that a batch is done."""
        self._steps.must_be_up()
        self._commits = [id for id in self._commits if batch - KEPT < id != batch] + [batch]
        self._steps.take("engine", "checkpoint", f"commit {batch}")

    def is_done(self, end: int) -> bool:
        """Whether all rows up to an offset have been worked on, and committed."""
        last = max(self._offsets, default=None)
        return last is not None and last in self._commits and self._offsets[last] == end


class Batches(Play):
    """A stream whose batches are run by an answer, into a sink that takes each id once."""

    lines = ("checkpoint", "engine", "sink")
    caption = "The sink ignores a batch whose id it knows. ′: the same once more."

    def run(self) -> None:
        """Let rows arrive before each batch, and while the engine is down."""
        checkpoint, arrived = Checkpoint(self.steps), list[str]()
        self.taken: dict[int, list[str]] = {}
        self.stuck = False

        def sink(batch: int, rows: Any) -> None:
            self.steps.must_be_up()
            if batch not in checkpoint.offsets:
                self.effects.add(("calm", "unplanned"))
            self.taken.setdefault(batch, listed(rows))
            self.steps.take("engine", "sink", f"batch {batch}: {' '.join(rows) or 'nothing'}")

        for portion in [*self.portions, *[""] * ENOUGH]:
            arrived += portion
            if not portion and checkpoint.is_done(len(arrived)):
                return
            try:
                self.answer(checkpoint, list(arrived), sink)
            except Crash:
                self.steps.restart()
        self.stuck = True

    def got(self) -> list[str]:
        """All rows that the sink took."""
        return [row for rows in self.taken.values() for row in rows]

    def fault(self) -> tuple[str, str]:
        """What is wrong in the end."""
        kind, words = super().fault()
        return (kind, words) if kind or not self.stuck else ("stuck", "it never comes to its end")


def running(
    *order: str,
    choose: Callable[[Checkpoint, int], tuple[int, int, int]] | None = None,
) -> Callable[..., None]:
    """Give an engine that does some of what is to be done, in this order."""

    def run_batch(checkpoint: Checkpoint, source: list[str], sink: Callable[..., None]) -> None:
        batch, start, end = (choose or next_batch)(checkpoint, len(source))
        for what in order or ("plan", "sink", "commit"):
            if what == "plan" and checkpoint.offsets.get(batch) != end:
                checkpoint.plan(batch, end)
            elif what == "sink":
                sink(batch, source[start:end])
            elif what == "commit":
                checkpoint.commit(batch)

    return run_batch


def last(checkpoint: Checkpoint) -> int:
    """The last batch that was planned, or −1."""
    return max(checkpoint.offsets, default=-1)


def pending(checkpoint: Checkpoint) -> bool:
    """Whether a batch was planned and not committed."""
    return last(checkpoint) >= 0 and last(checkpoint) not in checkpoint.commits


def next_batch(checkpoint: Checkpoint, arrived: int) -> tuple[int, int, int]:
    """The batch that is to be run now: its id, and where it begins and ends."""
    batch = last(checkpoint) + (not pending(checkpoint))
    start = checkpoint.offsets.get(batch - 1, 0)
    return batch, start, checkpoint.offsets.get(batch, arrived)


def skipping(checkpoint: Checkpoint, arrived: int) -> tuple[int, int, int]:
    """The batch behind all that was planned."""
    batch = last(checkpoint) + 1
    return batch, checkpoint.offsets.get(batch - 1, 0), arrived


def counting(checkpoint: Checkpoint, arrived: int) -> tuple[int, int, int]:
    """The batch whose id is the number of commits."""
    batch = len(checkpoint.commits)
    return batch, checkpoint.offsets.get(batch - 1, 0), checkpoint.offsets.get(batch, arrived)


def renamed(checkpoint: Checkpoint, arrived: int) -> tuple[int, int, int]:
    """The right rows, always under a new id."""
    _, start, end = next_batch(checkpoint, arrived)
    return last(checkpoint) + 1, start, end


RUN_BATCH = Exercise(
    name="run_batch",
    subject="story",
    ask=lambda answer, subject: played(Batches, answer, subject),
    examples=("(1, 'ab cd')",),
    not_to_be_called=(),
    mistakes={
        "committed before it was written: after a crash between the two nobody writes it": (
            running("plan", "commit", "sink")
        ),
        "planned too late: after a crash the same id would get other rows": (
            running("sink", "plan", "commit")
        ),
        "new offsets for an old batch: what was planned is run with the offsets of the log": (
            running(choose=lambda log, n: (*next_batch(log, n)[:2], n))
        ),
        "planned and skipped: what was planned and not committed is run again": (
            running(choose=skipping)
        ),
        "a new id for old rows: who has written them under the old id writes them twice": (
            running(choose=renamed)
        ),
        "from the beginning: a batch begins where the one before it ends": (
            running(choose=lambda log, n: (next_batch(log, n)[0], 0, next_batch(log, n)[2]))
        ),
        "ids counted: old entries are cleaned away, so take the largest id": (
            running(choose=counting)
        ),
        "never committed: the next start would run it again, and again": running("plan", "sink"),
    },
    hints=(
        "look at the largest id in checkpoint.offsets first. There may be none.",
        "if that batch is in checkpoint.commits, the next one is new: plan it, up to len(source). "
        "If it is not, run it again as it was planned.",
        "a batch begins at checkpoint.offsets[batch - 1], or at 0. And in which order do plan, "
        "sink and commit have to come, so that a crash between any two of them does no harm?",
    ),
)


# --- the sink -------------------------------------------------------------------------------------


class Disk:
    """Files with rows in them, which survive every crash; readers see those without a _."""

    def __init__(self, steps: Steps | None = None) -> None:
        """There are no files."""
        self._steps, self._files = steps or Steps(()), dict[str, list[str]]()
        self._look: Callable[[], object] = lambda: None  # called when something has changed

    def names(self) -> list[str]:
        """The names of all files."""
        return sorted(self._files)

    def read(self, name: str) -> list[str]:
        """The rows of a file."""
        return list(self._of(name))

    def write(self, name: str, rows: Any) -> None:
        """Begin a file anew, and write one row after the other."""
        rows = listed(rows)
        self._step(f"new {name}", self._put, name, [])
        self.append(name, rows)

    def append(self, name: str, rows: Any) -> None:
        """Write one row after the other at the end of a file."""
        for row in listed(rows):
            held = self.read(name) if name in self.names() else []
            self._step(f"{name} + {row}", self._put, name, [*held, row])

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, in one step; a file that had this name is gone."""
        self._of(old)
        self._step(f"{old} → {new}", self._move, old, new)

    def remove(self, name: str) -> None:
        """Remove a file."""
        self._of(name)
        self._step(f"no {name}", self._delete, name)

    def visible(self) -> list[str]:
        """The rows that a reader sees now."""
        return [row for name in self.names() if name[:1] != "_" for row in self.read(name)]

    def _of(self, name: str) -> list[str]:
        if name not in self.names():
            there = ", ".join(self.names()) or "none"
            raise FileNotFoundError(f"there is no file {name!r}; there are: {there}")
        return self._files[name]

    def _step(self, what: str, change: Callable[..., None], *details: Any) -> None:
        self._steps.must_be_up()
        before = Counter(self.visible())
        change(*details)
        self._look()
        new = Counter(self.visible()) - before
        seen = f"{what}: {' '.join(sorted(new.elements()))}" if new and "→" in what else what
        self._steps.take("engine", "readers" if new else "", seen)

    def _put(self, name: str, rows: list[str]) -> None:
        self._files[name] = rows

    def _move(self, old: str, new: str) -> None:
        self._files[new] = self._files.pop(old)

    def _delete(self, name: str) -> None:
        del self._files[name]


class Folder(Disk):
    """The same in a directory of this machine."""

    def __init__(self, path: Path, steps: Steps | None = None) -> None:
        """Whatever files there are, are there."""
        super().__init__(steps)
        self._path = path
        path.mkdir(exist_ok=True)

    def names(self) -> list[str]:
        """The names of all files."""
        return sorted(file.name for file in self._path.iterdir())

    def _of(self, name: str) -> list[str]:
        self._files = {each: self._rows(each) for each in self.names()}
        return super()._of(name)

    def _rows(self, name: str) -> list[str]:
        return (self._path / name).read_text(encoding="utf-8").splitlines()

    def _put(self, name: str, rows: list[str]) -> None:
        text = "".join(f"{row}\n" for row in rows)
        (self._path / name).write_text(text, encoding="utf-8")

    def _move(self, old: str, new: str) -> None:
        (self._path / old).replace(self._path / new)

    def _delete(self, name: str) -> None:
        (self._path / name).unlink()


class Writes(Play):
    """A stream whose batches are written by an answer, in an engine that is right."""

    lines = ("engine", "readers")
    caption = "Arrows: what readers see from then on. ′: the same once more."
    logs = True  # whether an entry of a log is a step

    def run(self) -> None:
        """Run each batch until it is committed."""
        self.disk, self.done, planned = Disk(self.steps), 0, -1
        self.disk._look = self.look
        while self.done < len(self.portions):
            try:
                batch = self.done
                if planned < batch:
                    planned = batch
                    self.enter(f"plan {batch}")
                self.answer(self.disk, batch, list(self.portions[batch]))
                self.done += 1
                self.enter(f"commit {batch}")
            except Crash:
                self.steps.restart()
        files = [name for name in self.disk.names() if name[:1] != "_"]
        if len(files) > len(self.portions):
            self.effects.add(("", "more files"))

    def enter(self, what: str) -> None:
        """Write to a log."""
        self.steps.must_be_up()
        if self.logs:
            self.steps.take("engine", "", what)

    def look(self) -> None:
        """See whether a part of the batch can be seen that is being written."""
        before, after = (Counter("".join(self.portions[: self.done + n])) for n in (0, 1))
        seen = Counter(self.disk.visible())
        if before < seen < after:
            self.effects.add(("calm", "half"))

    def got(self) -> list[str]:
        """What readers see in the end."""
        return self.disk.visible()


class WritesOnly(Writes):
    """The same, with no crash but in the middle of a write or right behind it."""

    logs = False


class Stream:
    """A stream of Spark over files that can be read again, with its checkpoint."""

    def __init__(self, script: str) -> None:
        """Make a file for each batch, a row on each line."""
        from ...spark.sessions import PREFIX

        self._place = TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")
        self.path = Path(self._place.name)
        (self.path / "source").mkdir()
        for number, portion in enumerate(script.split()):
            file = self.path / "source" / f"{number}.txt"
            file.write_text("".join(f"{row}\n" for row in portion), encoding="utf-8")
            os.utime(file, (number, number))  # Spark reads the oldest file first

    def run(self, sink: Callable[[int, list[str]], object]) -> bool:
        """Start it, or start it again; say whether it came to its end or crashed."""
        from pyspark.errors import StreamingQueryException

        from ...spark import session

        problems = list[BaseException]()

        def each(frame: Any, batch: int) -> None:
            try:
                sink(batch, [row.value for row in frame.collect()])
            except BaseException as problem:
                problems.append(problem)
                raise RuntimeError("the batch failed") from None

        source = session().readStream.option("maxFilesPerTrigger", 1).text(f"{self.path}/source")
        query = source.writeStream.foreachBatch(each).trigger(availableNow=True)
        try:
            query.option("checkpointLocation", f"{self.path}/checkpoint").start().awaitTermination()
        except StreamingQueryException:
            if not problems or not isinstance(problems[0], Crash):
                raise (problems or [RuntimeError("Spark has stopped the stream")])[0] from None
            return False
        return True

    def logs(self) -> dict[str, list[int]]:
        """The batches in the two logs of the checkpoint."""
        folders = (self.path / "checkpoint" / name for name in ("offsets", "commits"))
        return {f.name: sorted(int(e.name) for e in f.glob("[0-9]*")) for f in folders}

    def read(self, folder: str) -> list[str]:
        """What a plain query finds in a folder."""
        from ...spark import session

        if not any(file.name[0] not in "._" for file in (self.path / folder).glob("*")):
            return []
        return [row.value for row in session().read.text(f"{self.path / folder}").collect()]


def on_spark(answer: Callable[..., Any], script: str) -> Outcome:
    """Judge a sink as foreachBatch of a stream that crashes in its second write, and behind it."""
    behind = WritesOnly(answer, " ".join(script.split()[:2])).steps.done
    first = WritesOnly(answer, script.split()[0]).steps.done
    crashes = len(first) + 1, len(behind) - len(first)
    if getattr(answer, "__module__", "") == __name__:  # a known mistake
        kind, words = WritesOnly(answer, script, *crashes).fault()
    else:
        stream, steps = Stream(script), Steps(crashes)
        disk = Folder(stream.path / "sink", steps)
        while not stream.run(lambda batch, rows: answer(disk, batch, rows)):
            steps.restart()
        kind, words = difference(stream.read("source"), stream.read("sink"))
    if not kind:
        return Outcome()
    told = f"On Spark, after a crash in the write of batch 1 and another behind it, {words}: "
    told += "the plain query of the same files has each row once."
    code = f"WritesOnly({answer.__name__}, {script!r}, {crashes[0]}, {crashes[1]}).picture()"
    drawn = WritesOnly(answer, script, *crashes).picture
    likewise = played(Writes, answer, (1, script))  # to tell mistakes with the same result apart
    effects = getattr(likewise, "effects", frozenset()) | {("Spark", kind)}
    return Fared(told, code=code, effects=effects, drawn=drawn)


def tried(answer: Callable[..., Any], subject: tuple[int | str, str]) -> Outcome:
    """Judge a sink in the miniature, or on Spark."""
    number, script = subject
    if isinstance(number, int):
        return played(Writes, answer, (number, script))
    return on_spark(answer, script)


def named(name: Callable[[Disk, int], str]) -> Callable[[Disk, int, list[str]], None]:
    """Give a sink that writes a draft and renames it."""

    def write(disk: Disk, batch: int, rows: list[str]) -> None:
        disk.write("_draft", rows)
        disk.rename("_draft", name(disk, batch))

    return write


def all_again(disk: Disk, batch: int, rows: list[str]) -> None:
    """Write all old rows and the new ones, and rename."""
    disk.write("_draft", [*(disk.read("all") if "all" in disk.names() else []), *rows])
    disk.rename("_draft", "all")


def noted(*order: str) -> Callable[[Disk, int, list[str]], None]:
    """Give a sink that appends, and notes what it has appended."""

    def write(disk: Disk, batch: int, rows: list[str]) -> None:
        if f"_done {batch}" not in disk.names():
            for what in order:
                if what == "rows":
                    disk.append("all", rows)
                else:
                    disk.write(f"_done {batch}", [])

    return write


def without_equal(disk: Disk, batch: int, rows: list[str]) -> None:
    """Append what is not there yet."""
    for row in rows:
        if row not in disk.visible():
            disk.append("all", [row])


def as_a_set(disk: Disk, batch: int, rows: list[str]) -> None:
    """Write each row of a batch once."""
    named(lambda disk, batch: str(batch))(disk, batch, sorted({*rows}))


WRITE = replace(
    RUN_BATCH,
    name="write",
    ask=tried,
    examples=("(1, 'aab ac')",),
    mistakes={
        "appended: when the batch is run again, its rows come again": (
            lambda disk, batch, rows: disk.append("all", rows)
        ),
        "appended: also if it is done in one step, it is done again": all_again,
        "a new name at every attempt: name the file after the batch, which is the same again": (
            named(lambda disk, batch: uuid4().hex)
        ),
        "written in place: write a draft that readers do not see, and rename it when it is whole": (
            lambda disk, batch, rows: disk.write(str(batch), rows)
        ),
        "looked first, then appended: a crash may come between the rows and the note of them": (
            noted("rows", "note")
        ),
        "noted before it was written: after a crash between the two nobody writes the rest": (
            noted("note", "rows")
        ),
        "equal rows taken for one: two transfers of 50 are two rows": without_equal,
        "equal rows taken for one: in one batch, too, two transfers of 50 are two rows": as_a_set,
        "one name for all batches: each replaces the one before": named(lambda disk, batch: "all"),
    },
    hints=(
        "the id of a batch is the same when it is run again, and so are its rows. What if you "
        "write a file with the id in its name once more?",
        "readers must not see a part of a batch, and only rename does its work in one step.",
        'write all rows to a draft such as f"_{batch}", and then rename it to f"{batch}".',
    ),
)
