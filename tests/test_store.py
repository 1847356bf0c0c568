"""The store: crashed after every step, damaged in every byte, and never wrong.

A machine may stop after any operation on the disk. What is then there depends on how it stopped:
all that was done, when only the process is killed; when the power goes, only what was made durable
for certain, and of the rest whatever the disk has come to. `Tape` keeps both in mind.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from shutil import rmtree
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_encoding import VALUES

from chandylamport import Channel, LocalSnapshot, assemble
from chandylamport.keyed_state import KeyedState
from chandylamport.store import (
    FORMAT,
    DamagedSnapshot,
    Disk,
    ForeignSnapshot,
    NoSuchSnapshot,
    Receipt,
    Store,
    StoreInUse,
    read_part,
    write_part,
)

QUICK = Disk(sync=False)
Parts = Mapping[str, LocalSnapshot]


def parts_of(version: int) -> Parts:
    """Three processes: with keyed state of which little changes, with bytes, with messages."""
    words = KeyedState((word, word * 150) for word in ("to", "be", "or"))
    return {
        "p": LocalSnapshot(words.put("or", f"{version:300}"), {Channel("r", "p"): ()}),
        "q": LocalSnapshot({"photo": bytes(range(256)) * 2}, {Channel("p", "q"): ("m", version)}),
        "r": LocalSnapshot(("plain", version), {}),
    }


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory, where there is such a thing: a disk is right as well, but slow."""
    in_memory = Path("/dev/shm")
    with TemporaryDirectory(dir=in_memory if os.access(in_memory, os.W_OK) else tmp_path) as path:
        yield Path(path)


def take(store: Store, parts: Parts) -> int:
    """Store a snapshot, and give its id."""
    id = store.begin(parts)
    store.commit(id, {name: store.write(id, name, part) for name, part in parts.items()})
    return id


# --- a crash after every step --------------------------------------------------------------------

Names = dict[str, dict[str, int | None]]  # by directory: which file; None for a directory


@dataclass
class Moment:
    """The disk after an operation: what it shows, what is durable, and what the writer knows."""

    shown: Names = field(default_factory=lambda: {".": {}})
    durable: Names = field(default_factory=lambda: {".": {}})
    content: dict[int, bytes] = field(default_factory=dict)
    durable_content: dict[int, bytes] = field(default_factory=dict)
    begun: tuple[int, ...] = ()  # the ids that somebody has heard of
    parts: dict[int, Parts] = field(default_factory=dict)  # of those that are or will be complete
    files: dict[int, set[str]] = field(default_factory=dict)  # and which files they have
    committing: int | None = None  # the one of them for which `commit` has not returned
    last: str = ""  # operation


class Tape(Disk):
    """A disk that keeps every moment, under a directory that stands for all the machine has."""

    def __init__(self, root: Path, start: Moment | None = None) -> None:
        super().__init__(sync=False)
        self.root, self.now = root, deepcopy(start or Moment())
        self.moments = [deepcopy(self.now)]
        self.broken = False  # then it fails behind the renaming of a manifest

    def _place(self, path: Path) -> tuple[dict[str, int | None], str]:
        parent = path.parent.relative_to(self.root)
        return self.now.shown[str(parent)], path.name

    def _done(self, operation: str, *paths: Path) -> None:
        self.now.last = f"{operation} {' '.join(str(p.relative_to(self.root)) for p in paths)}"
        self.note()

    def note(self) -> None:
        """Keep this moment."""
        self.moments.append(deepcopy(self.now))

    def write(self, path: Path, data: bytes) -> None:
        super().write(path, data)
        names, name = self._place(path)
        file = names.setdefault(name, len(self.now.content))
        self.now.content[file] = data[: len(data) // 2]
        self._done("write half of", path)
        self.now.content[file] = data
        self._done("write", path)

    def fsync(self, path: Path) -> None:
        if path.is_dir():
            where = str(path.relative_to(self.root))
            for other in path.iterdir():  # such as LOCK, which is made without us
                if other.name not in self.now.shown[where]:
                    self.now.shown[where][other.name] = len(self.now.content)
                    self.now.content[len(self.now.content)] = b""
            self.now.durable[where] = dict(self.now.shown[where])
        else:
            names, name = self._place(path)
            self.now.durable_content[names[name]] = self.now.content[names[name]]
        self._done("fsync", path)
        if self.broken and (path / "manifest.json").exists():
            raise OSError("no space left on device")  # and yet it may be durable

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        names, name = self._place(old)
        names[new.name] = names.pop(name)
        self._done("rename", old, new)

    def link(self, old: Path, new: Path) -> None:
        super().link(old, new)
        (source, name), (names, copy) = self._place(old), self._place(new)
        names[copy] = source[name]
        self._done("link", old, new)

    def mkdir(self, path: Path) -> None:
        super().mkdir(path)
        names, name = self._place(path)
        names[name] = None
        where = str(path.relative_to(self.root))
        self.now.shown[where], self.now.durable[where] = {}, {}
        self._done("mkdir", path)

    def remove(self, path: Path) -> None:
        super().remove(path)
        names, name = self._place(path)
        del names[name]
        self._done("remove", path)

    def rmdir(self, path: Path) -> None:
        super().rmdir(path)
        names, name = self._place(path)
        del names[name]
        self._done("rmdir", path)


@dataclass(frozen=True)
class Stop:
    """A way to stop: which names and which contents are there afterwards."""

    why: str
    name: Callable[[Random, object, object], object]  # of what is durable and what is shown
    data: Callable[[Random, bytes, bytes], bytes]


STOPS = [
    Stop("the process is killed", lambda _, old, new: new, lambda _, old, new: new),
    Stop("nothing arrives that was not waited for", lambda _, old, new: old, lambda _, o, n: o),
    Stop("names arrive before contents", lambda _, old, new: new, lambda _, old, new: old),
    Stop("contents are zeros", lambda _, old, new: new, lambda _, old, new: bytes(len(new))),
    *[
        Stop(
            f"anything may arrive, {n}",
            lambda pick, old, new: pick.choice([old, new]),
            lambda pick, old, new: pick.choice([old, new, new[: len(new) // 2]]),
        )
        for n in range(2)
    ],
]


Tree = dict[str, bytes | None]  # all paths there are; None for a directory


def after(moment: Moment, stop: Stop, seed: int = 0) -> Tree:
    """Say what is found after a stop."""
    pick, missing, tree = Random(f"{seed} {stop.why}"), object(), {}

    def look(where: str) -> None:
        old, new = moment.durable[where], moment.shown[where]
        for name in sorted({*old, *new}):
            found = stop.name(pick, old.get(name, missing), new.get(name, missing))
            path = str(Path(where) / name)
            if found is None:
                tree[path] = None
                look(path)
            elif found is not missing:
                tree[path] = data = moment.content[found]
                if moment.durable_content.get(found) != data:
                    tree[path] = stop.data(pick, moment.durable_content.get(found, b""), data)

    look(".")
    return tree


def make(tree: Tree, root: Path) -> Path:
    """Make the directory."""
    root.mkdir()
    for path, data in tree.items():
        (root / path).mkdir() if data is None else (root / path).write_bytes(data)
    return root


def alone(id: int, parts: Parts) -> set[str]:
    """Say which files the snapshot of this id has if it is the only one of its store."""
    with TemporaryDirectory() as path, Store(path, disk=QUICK) as store:
        (store.path / f"{id - 1:08}").mkdir()
        assert take(store, parts) == id
        return {file.name for file in files_of(store, id)}


def scenario(root: Path, disk: Tape, store_class: type[Store]) -> None:
    """Snapshots that are taken, given up, written twice, retired, and left by a dead writer."""
    now = disk.now

    def begin(parts: Parts) -> tuple[int, dict[str, Receipt]]:
        id = store.begin(parts)
        now.begun += (id,)
        return id, {name: store.write(id, name, part) for name, part in parts.items()}

    def commit(id: int, receipts: Mapping[str, Receipt], parts: Parts) -> None:
        now.parts[id], now.committing = parts, id
        now.files[id] = alone(id, parts)
        store.commit(id, receipts)
        now.committing = None

    with store_class(root / "store", keep=2, disk=disk) as store:
        commit(*begin(parts_of(1)), parts_of(1))
        store.abort(begin(parts_of(2))[0])
        id, receipts = begin(parts_of(3) | {"p": parts_of(99)["p"]})  # provisional, of p
        receipts["p"] = store.write(id, "p", parts_of(3)["p"])
        commit(id, receipts, parts_of(3))
        commit(*begin(parts_of(4)), parts_of(4))
        id, receipts = begin(parts_of(5))
        disk.broken = True
        with pytest.raises(OSError, match="no space left"):
            commit(id, receipts, parts_of(5))
        disk.broken = False
        store.abort(id)
        del now.parts[id]
        begin(parts_of(6))
    with store_class(root / "store", keep=2, disk=disk) as store:
        commit(*begin(parts_of(7)), parts_of(7))
        store.abort(begin(parts_of(8))[0])
    disk.note()


def fault_after(root: Path, moment: Moment, store_class: type[Store]) -> str:
    """Open what is left of a store; say in words what is wrong, or nothing."""
    with store_class(root / "store", keep=2, disk=QUICK) as store:
        found = store.ids()
        known = [id for id in moment.parts if id != moment.committing or id in found]
        right = tuple(known[-2:])
        if found != right:
            return f"the snapshots {found} are offered instead of {right}"
        for id in right:
            if store.read(id) != moment.parts[id]:
                return f"snapshot {id} is not what was stored"
        latest = (right[-1], assemble(moment.parts[right[-1]])) if right else None
        if store.latest() != latest:
            return f"the latest is {store.latest()}"
        new = store.begin(["p"])
        if new <= max(moment.begun, default=0):
            return f"the id {new} is used again"
        store.abort(new)
        names = {str(file.relative_to(store.path)) for file in store.path.rglob("*")}
        kept = {f"{id:08}/{n}" for id in right for n in moment.files[id]}
        expected = {"LOCK", f"{new:08}", *kept, *(f"{id:08}" for id in right)}
        return f"left over or missing: {names ^ expected}" if names != expected else ""


class Matrix:
    """Every crash of the scenario, and what is wrong after it."""

    def __init__(
        self, root: Path, store_class: type[Store] = Store, tape_class: type[Tape] = Tape
    ) -> None:
        self.root, self.store_class, self.tape_class = root, store_class, tape_class
        self.tried = 0
        self.seen: set[object] = set()  # what was found after a crash, and should have been
        (root / "work").mkdir()
        self.tape = tape_class(root / "work")
        scenario(root / "work", self.tape, store_class)

    def faults(self) -> Iterator[str]:
        """Stop in each way after each operation, and after each of the recovery, too."""
        for moment in self.tape.moments:
            for stop in STOPS:
                yield from self.fault(moment, stop)
            yield from self.faults_in_recovery(moment)

    def fault(self, moment: Moment, stop: Stop, first: str = "") -> Iterator[str]:
        """Stop once, and look."""
        self.tried += 1
        tree = after(moment, stop, self.tried)
        case = (*tree.items(), moment.begun, *moment.parts, moment.committing)
        if case in self.seen:
            return
        self.seen.add(case)
        root = make(tree, self.root / f"{self.tried}")
        try:
            fault = fault_after(root, moment, self.store_class)
        except Exception as error:
            fault = repr(error)
        if fault:
            yield f"{first}{moment.last}; {stop.why}: {fault}"
        rmtree(root)

    def faults_in_recovery(self, moment: Moment) -> Iterator[str]:
        """Kill the process, open the store again, and then let the power go."""
        root = make(after(moment, STOPS[0]), self.root / "killed")
        tape = self.tape_class(root, moment)
        with self.store_class(root / "store", keep=2, disk=tape) as store:
            try:
                if (offered := store.latest()) and offered[0] == moment.committing:
                    tape.now.committing = None  # somebody goes on from there: it must not be lost
            except DamagedSnapshot as error:
                yield f"{moment.last}; the process is killed: {error}"
            tape.note()
        for later in tape.moments:
            yield from self.fault(later, STOPS[1], f"{moment.last}; the process is killed; ")
        rmtree(root)


@pytest.mark.slow
def test_after_a_crash_at_any_step_the_last_complete_snapshot_is_there_and_nothing_else(memory):
    matrix = Matrix(memory)
    assert list(matrix.faults()) == []
    operations, seen = len(matrix.tape.moments), len(matrix.seen)
    print(f"\n{matrix.tried} crashes tried after {operations} operations: {seen} that differ")
    assert matrix.tried > 3000
    assert seen > 500


# --- the matrix rejects what is wrong ------------------------------------------------------------


def impatient(forgets: Callable[[Path], bool]) -> type[Tape]:
    """Make a disk that does not wait for some files or directories."""

    class Impatient(Tape):
        def fsync(self, path: Path) -> None:
            if self.broken or not forgets(path):
                super().fsync(path)

    return Impatient


class TrustsWhatItSees(Tape):
    """Does not make durable what it finds."""

    def fsync(self, path: Path) -> None:
        if len(self.moments) > 1 or not self.now.last:
            super().fsync(path)


class InPlace(Tape):
    """Writes under the last name, and not under another one first."""

    def rename(self, old: Path, new: Path) -> None:
        self.write(new, old.read_bytes())
        self.remove(old)


class ManifestFirst(Store):
    """Commits, and then writes the parts."""

    postponed: tuple[tuple[str, tuple[object, ...]], ...] = ()

    def begin(self, members: Iterable[str]) -> int:
        self.postponed = ()
        return super().begin(members)

    def write(self, id: int, process: str, part: LocalSnapshot) -> Receipt:
        def postpone(name: str, *arguments: object) -> None:
            self.postponed += ((name, arguments),)

        later = Disk()
        for name in ("write", "fsync", "rename", "link"):
            setattr(later, name, partial(postpone, name))
        return write_part(self.path, id, process, part, later)

    def commit(self, id: int, receipts: Mapping[str, Receipt]) -> None:
        super().commit(id, receipts)
        for name, arguments in self.postponed:
            with suppress(FileExistsError):  # a piece that was there when it was written twice
                getattr(self.disk, name)(*arguments)


class ForgetsIds(Store):
    """Removes the newest directory like any other."""

    def abort(self, id: int) -> None:
        super().abort(id)
        if (self.path / f"{id:08}").exists():
            self.disk.rmdir(self.path / f"{id:08}")


class RetiresFirst(Store):
    """Makes room for a snapshot before it is there."""

    def commit(self, id: int, receipts: Mapping[str, Receipt]) -> None:
        self.keep -= 1
        self.collect()
        self.keep += 1
        super().commit(id, receipts)


class KeepsTheUnfinished(Store):
    """Removes only what is complete and old."""

    def collect(self) -> None:
        self._running |= dict.fromkeys(_unfinished(self.path), frozenset())
        super().collect()


def _unfinished(path: Path) -> Iterator[int]:
    for directory in path.glob("0*"):
        if not (directory / "manifest.json").exists():
            yield int(directory.name)


def is_of_parts(path: Path) -> bool:
    return path.is_dir() and path.name.isdigit() and not (path / "manifest.json").exists()


@pytest.mark.parametrize(
    ("store_class", "tape_class", "fault"),
    [
        (Store, impatient(lambda path: path.name == "manifest.json.tmp"), "are offered instead of"),
        (Store, impatient(lambda path: ".part" in path.name), "are offered instead of"),
        (Store, impatient(lambda path: (path / "manifest.json").exists()), "are offered instead"),
        (Store, impatient(is_of_parts), "left over or missing"),
        (Store, impatient(lambda path: any(path.glob("0*"))), "is used again"),
        (Store, TrustsWhatItSees, "are offered instead of"),
        (Store, InPlace, "are offered instead of"),
        (ManifestFirst, Tape, "left over or missing"),
        (ForgetsIds, Tape, "is used again"),
        (RetiresFirst, Tape, "are offered instead of"),
        (KeepsTheUnfinished, Tape, "left over or missing"),
    ],
)
def test_a_store_that_saves_a_step_is_found_out(memory, store_class, tape_class, fault):
    found = Matrix(memory, store_class, tape_class).faults()
    assert any(fault in each for each in found)


# --- damage --------------------------------------------------------------------------------------


@pytest.fixture
def two(memory: Path) -> Iterator[Store]:
    """A store with two snapshots."""
    with Store(memory / "store", disk=QUICK) as store:
        take(store, parts_of(1))
        take(store, parts_of(2))
        yield store


def files_of(store: Store, id: int) -> list[Path]:
    return sorted((store.path / f"{id:08}").iterdir())


def part_of(store: Store, id: int, process: str) -> Path:
    [file] = (store.path / f"{id:08}").glob(f"{process}.*.part.json")
    return file


def replace_by(file: Path, data: bytes) -> None:
    """Write another file under this name: other snapshots may have the same one."""
    file.unlink()
    file.write_bytes(data)


def assert_damaged(store: Store, file: Path) -> str:
    """Nothing but the older snapshot is offered; give the error, which names the file."""
    with pytest.raises(DamagedSnapshot) as caught:
        store.read(2)
    assert str(file) in str(caught.value)
    assert store.latest() == (1, assemble(parts_of(1)))
    return str(caught.value).removeprefix(f"{file}: ")


@pytest.mark.slow
def test_every_byte_that_is_flipped_shows(two: Store):
    flipped = 0
    for file in files_of(two, 2):
        data = file.read_bytes()
        patterns = (0x01, 0x20, 0xFF) if file.suffix == ".json" else (0x01, 0xFF)  # 0x20: a to A
        for at in range(len(data)):
            for pattern in patterns:
                changed = bytes([*data[:at], data[at] ^ pattern, *data[at + 1 :]])
                replace_by(file, changed)
                assert assert_damaged(two, file) == "its checksum is wrong; something has changed"
                flipped += 1
        replace_by(file, data)
    print(f"\n{flipped} bytes flipped")
    assert flipped > 5000
    assert two.ids() == (1, 2)


@pytest.mark.slow
def test_every_file_that_is_cut_off_or_longer_shows(two: Store):
    for file in files_of(two, 2):
        data = file.read_bytes()
        for wrong in (*(data[:length] for length in range(len(data))), data + b"\n", data + data):
            replace_by(file, wrong)
            error = assert_damaged(two, file)
            if file.name != "manifest.json":
                assert error == f"it has {len(wrong)} bytes instead of {len(data)}"
            assert two.ids() == (1,)
        replace_by(file, data)
    assert two.ids() == (1, 2)


def test_every_file_that_is_missing_shows(two: Store):
    for file in files_of(two, 2):
        data = file.read_bytes()
        file.unlink()
        if file.name == "manifest.json":
            with pytest.raises(NoSuchSnapshot, match="is not complete: it has no manifest"):
                two.read(2)
        else:
            assert assert_damaged(two, file) == "it is missing, or not a file"
        assert two.latest() == (1, assemble(parts_of(1)))
        file.write_bytes(data)
    assert two.ids() == (1, 2)


def test_what_is_not_a_file_is_refused_in_its_place(two: Store, tmp_path: Path):
    for file in files_of(two, 2):
        data = file.read_bytes()
        elsewhere = tmp_path / "elsewhere"
        elsewhere.write_bytes(data)
        for replace in (file.mkdir, partial(file.symlink_to, elsewhere)):
            file.unlink()
            replace()
            assert assert_damaged(two, file) == "it is missing, or not a file"
            file.rmdir() if file.is_dir() else file.unlink()
            file.write_bytes(data)
    assert two.ids() == (1, 2)


@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE])
@pytest.mark.parametrize("operation", ["read_bytes", "lstat"])
def test_a_machine_that_cannot_read_now_has_no_damage(two: Store, monkeypatch, operation, error):
    works = getattr(Path, operation)
    for file in files_of(two, 2):

        def fail(path: Path, file: Path = file) -> object:
            if path == file:
                raise OSError(error, os.strerror(error))
            return works(path)

        with monkeypatch.context() as patch:
            patch.setattr(Path, operation, fail)
            for ask in (partial(two.read, 2), two.latest, two.ids):
                with pytest.raises(OSError, match=os.strerror(error)) as caught:
                    ask()
                assert caught.value.errno == error
            two.keep = 1
            two.collect()  # which does without it, and keeps the one that it can read
            two.keep = 2
    assert two.ids() == (1, 2)


def test_all_damaged_is_not_the_same_as_never_any(two: Store):
    assert two.begin("p") == 3  # what is not complete says nothing
    broken = [part_of(two, 1, "p"), part_of(two, 2, "q")]
    for file in broken:
        replace_by(file, b"")
    with pytest.raises(DamagedSnapshot, match="no snapshot is whole; all are damaged") as caught:
        two.latest()
    assert all(f"{file}: it has 0 bytes" in str(caught.value) for file in broken)
    take(two, parts_of(4))
    assert two.latest() == (4, assemble(parts_of(4)))


def test_a_byte_that_is_flipped_in_a_shared_piece_is_an_error_for_all_that_share_it(two: Store):
    shared = [file for file in files_of(two, 2) if file.stat().st_nlink == 2]
    assert len(shared) == 3
    for file in shared:
        data = file.read_bytes()
        for at in range(0, len(data), 7):
            with file.open("r+b") as opened:  # in place, and not under the name alone
                opened.seek(at)
                opened.write(bytes([data[at] ^ 1]))
            for id in (1, 2):
                with pytest.raises(DamagedSnapshot, match="its checksum is wrong"):
                    two.read(id)
            with pytest.raises(DamagedSnapshot, match="no snapshot is whole"):
                two.latest()
            file.write_bytes(data)
        file.write_bytes(data[::-1])
        take(two, parts_of(3))  # it is written anew, and not shared
        assert two.latest()[1] == assemble(parts_of(3))
        file.write_bytes(data)
    assert two.read(two.ids()[-1]) == parts_of(3)


def test_a_file_of_a_wrong_size_is_not_even_read(two: Store, monkeypatch):
    read = Path.read_bytes

    def read_small(path: Path) -> bytes:
        assert path.stat().st_size < 2**30, "this would take all memory"
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_small)
    for file in files_of(two, 2):
        data = file.read_bytes()
        replace_by(file, data)
        os.truncate(file, 40 * 2**30)  # it has no blocks, and takes no room
        assert assert_damaged(two, file).startswith("it has 42949672960 bytes instead of ")
        replace_by(file, data)
    assert two.ids() == (1, 2)


def test_a_directory_that_is_a_link_is_no_snapshot(two: Store):
    (two.path / "00000002").rename(two.path / "moved")
    (two.path / "00000002").symlink_to(two.path / "moved")
    assert two.ids() == (1,)
    with pytest.raises(NoSuchSnapshot, match="there is no snapshot 2"):
        two.read(2)


def test_parts_of_two_snapshots_cannot_be_mixed(two: Store):
    manifests = [two.path / f"{id:08}" / "manifest.json" for id in (1, 2)]
    for old, file in (manifests, [part_of(two, id, "p") for id in (1, 2)]):
        data = file.read_bytes()
        replace_by(file, old.read_bytes())
        assert_damaged(two, file)
        replace_by(file, data)


def test_a_damaged_snapshot_does_not_push_out_a_whole_one(two: Store):
    replace_by(part_of(two, 2, "q"), b"")
    assert take(two, parts_of(3)) == 3
    assert two.ids() == (1, 3)
    assert take(two, parts_of(4)) == 4
    assert two.ids() == (3, 4)
    assert sorted(d.name for d in two.path.iterdir()) == ["00000003", "00000004", "LOCK"]


def test_damage_is_not_inherited(two: Store):
    for piece in (two.path / "00000002").glob("*.piece"):
        replace_by(piece, piece.read_bytes()[::-1])
    take(two, parts_of(3))
    assert two.ids() == (1, 3)
    assert two.read(3) == parts_of(3)


# --- manifests that are whole, and lie -----------------------------------------------------------


def forge(store: Store, change: Callable[[dict[str, object]], object]) -> None:
    """Change the manifest of snapshot 2, with the right checksum."""
    file = store.path / "00000002" / "manifest.json"
    manifest = json.loads(file.read_bytes().split(b"\n")[0])
    change(manifest)
    line = json.dumps(manifest).encode()
    replace_by(file, line + b"\n" + sha256(line).hexdigest().encode() + b"\n")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda m: m.update(id=1), "it is of snapshot 1"),
        (lambda m: m.pop("members"), "'members'"),
        (lambda m: m.update(members=7), ""),
        (lambda m: m.update(members=["p", "q", "r"]), ""),
        (lambda m: m["members"].update(p=7), ""),
        (
            lambda m: m["members"].update({"": [0, "0" * 64]}),
            "'' cannot name a file; take 1 to 224 plain",
        ),
        (
            lambda m: m["members"].update(p=[0, "/../../../secret".ljust(64)]),
            "non-hexadecimal number found",
        ),
    ],
)
def test_a_manifest_is_not_believed_because_its_checksum_is_right(two: Store, change, error: str):
    forge(two, change)
    assert assert_damaged(two, two.path / "00000002" / "manifest.json").startswith(error)
    assert two.ids() == (1,)


@pytest.mark.parametrize("other", [{"version": 2}, {"format": "a recipe"}])
def test_a_snapshot_of_another_version_is_no_damage_and_is_left_alone(two: Store, other):
    forge(two, lambda manifest: manifest.update(other))
    files = {file: file.read_bytes() for file in files_of(two, 2)}
    for ask in (partial(two.read, 2), two.latest):  # older ones must not be taken in its place
        with pytest.raises(ForeignSnapshot, match="; take the program that wrote it") as caught:
            ask()
        assert f"{two.path / '00000002'}: it is {FORMAT | other}; " in str(caught.value)
    assert two.ids() == (1,)
    for version in range(3, 7):
        take(two, parts_of(version))
    assert two.latest() == (6, assemble(parts_of(6)))
    assert two.ids() == (5, 6)
    assert {file: file.read_bytes() for file in files_of(two, 2)} == files


@pytest.mark.parametrize("name", ["../../secret", "/secret", "..", "P", "s"])
def test_a_manifest_cannot_make_us_read_elsewhere(two: Store, name: str):
    (two.path.parent / "secret").write_bytes(b"")
    forge(two, lambda manifest: manifest["members"].update({name: [0, sha256(b"").hexdigest()]}))
    with pytest.raises(
        DamagedSnapshot, match=r"/00000002/[^/]*\.part\.json: it is missing, or not"
    ):
        two.read(2)
    assert two.ids() == (1,)


@pytest.mark.parametrize("text", ["7", "[]", "null", "{}", "[" * 100_000, '{"id": 2,', "\xff"])
def test_what_is_no_manifest_is_damaged(two: Store, text: str):
    line = text.encode("latin-1")
    file = two.path / "00000002" / "manifest.json"
    replace_by(file, line + b"\n" + sha256(line).hexdigest().encode() + b"\n")
    assert_damaged(two, file)


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part.pop("state"),
        lambda part: part.update(channels=7),
        lambda part: part.pop("pieces"),
        lambda part: part.update(pieces=[]),
        lambda part: part.update(pieces=[[0, "../../../secret"]] * 4),
        lambda part: part.update(state={"bytes": ["../../LOCK"]}),
        lambda part: part.update(state={"bytes": [{}]}),
        lambda part: part.update(state={"Control": "stop"}),
        lambda part: part.update(owed=[[[], 1]]),
    ],
)
def test_a_part_is_not_believed_because_its_checksum_is_right(two: Store, change):
    part = json.loads(part_of(two, 2, "p").read_bytes())
    change(part)
    data = json.dumps(part).encode()
    seal = [len(data), sha256(data).hexdigest()]
    file = two.path / "00000002" / f"p.{seal[1][:16]}.part.json"
    file.write_bytes(data)
    forge(two, lambda manifest: manifest["members"].update(p=seal))
    assert_damaged(two, file)


# --- incremental ---------------------------------------------------------------------------------


class Scale(Disk):
    """Counts the bytes that are written."""

    def __init__(self) -> None:
        super().__init__(sync=False)
        self.written = 0

    def write(self, path: Path, data: bytes) -> None:
        self.written += len(data)
        super().write(path, data)


def test_a_change_of_one_key_in_10_000_writes_a_small_share_again(memory: Path):
    state = KeyedState((f"account {n}", n) for n in range(10_000))
    with Store(memory / "store", keep=1, disk=Scale()) as store:
        take(store, {"p": LocalSnapshot(state, {})})
        first, store.disk.written = store.disk.written, 0
        state = state.put("account 7", -1)
        id = take(store, {"p": LocalSnapshot(state, {})})
        share = store.disk.written / first
        print(f"\n{share:.1%} of {first} bytes")
        assert share < 0.1
        assert store.ids() == (id,)  # the one before is collected, and not missed
        assert store.read(id)["p"].state == state


def test_a_piece_that_did_not_change_is_the_same_file(two: Store):
    old, new = two.path / "00000001", two.path / "00000002"
    shared = [f.name for f in files_of(two, 2) if f.stat().st_nlink == 2]
    assert len(shared) == 3  # two buckets of p, and the photo of q
    assert all((old / name).samefile(new / name) for name in shared)
    assert sum(f.suffix == ".piece" for f in files_of(two, 2)) == 4


def test_the_last_snapshot_is_the_one_to_share_with(two: Store):
    take(two, {"p": parts_of(2)["p"]})
    pieces = [file for file in files_of(two, 3) if file.suffix == ".piece"]
    assert all(piece.samefile(two.path / "00000002" / piece.name) for piece in pieces)


def test_a_part_that_is_written_again_writes_only_what_has_changed(memory: Path):
    with Store(memory / "store", disk=Scale()) as store:
        id = store.begin("p")
        store.write(id, "p", parts_of(1)["p"])
        before, store.disk.written = store.disk.written, 0
        store.write(id, "p", parts_of(1)["p"])
        assert store.disk.written == 0
        store.write(id, "p", parts_of(2)["p"])
        assert 0 < store.disk.written < before / 1.5


def test_a_snapshot_does_without_the_older_ones(two: Store):
    for version in range(3, 9):
        take(two, parts_of(version))
    rmtree(two.path / "00000007")
    assert two.latest() == (8, assemble(parts_of(8)))


class WithoutLinks(Disk):
    def link(self, old: Path, new: Path) -> None:
        raise OSError("this disk has no links")


def test_a_disk_without_links_does_as_well(memory: Path):
    with Store(memory / "store", disk=WithoutLinks(sync=False)) as store:
        take(store, parts_of(1))
        take(store, parts_of(2))
        assert store.read(2) == parts_of(2)
        assert {f.stat().st_nlink for f in files_of(store, 2)} == {1}


def test_processes_may_share_a_piece(memory: Path):
    parts = {name: LocalSnapshot(b"x" * 1000, {}) for name in "pq"}
    with Store(memory / "store", disk=QUICK) as store:
        assert store.read(take(store, parts)) == parts
        assert len(files_of(store, 1)) == 4


# --- the life of a snapshot ----------------------------------------------------------------------


def test_a_store_begins_empty_and_makes_its_directory(memory: Path):
    with Store(memory / "a" / "b", disk=QUICK) as store:
        assert store.latest() is None
        assert store.ids() == ()


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path):
    holiday = tmp_path / "20240807"
    holiday.mkdir()
    (holiday / "beach.png").write_bytes(b"!")
    with pytest.raises(
        ValueError, match="this is not a store, and not empty; give a new directory"
    ):
        Store(tmp_path, disk=QUICK)
    assert [f.name for f in holiday.iterdir()] == ["beach.png"]
    assert not (tmp_path / "LOCK").exists()


def test_at_least_one_snapshot_is_kept(tmp_path: Path):
    with pytest.raises(ValueError, match="keep=0 would keep no snapshot to restore"):
        Store(tmp_path, keep=0)


def test_what_was_stored_is_there_when_the_store_is_opened_again(memory: Path):
    with Store(memory / "store", disk=QUICK) as store:
        take(store, parts_of(1))
    with Store(memory / "store", disk=QUICK) as store:
        assert store.latest() == (1, assemble(parts_of(1)))
        assert read_part(store.path, 1, "p") == parts_of(1)["p"]
        with pytest.raises(NoSuchSnapshot, match="'s' is not among p, q, r"):
            read_part(store.path, 1, "s")


def test_snapshots_may_overlap(memory: Path):
    with Store(memory / "store", disk=QUICK) as store:
        ids = [store.begin("p"), store.begin("p")]
        receipts = [store.write(id, "p", LocalSnapshot(id, {})) for id in ids]
        store.commit(2, {"p": receipts[1]})
        store.commit(1, {"p": receipts[0]})
        assert store.ids() == (1, 2)


def test_an_id_is_not_used_again(two: Store):
    id = two.begin("p")
    two.abort(id)
    assert two.begin("p") == id + 1
    two.close()
    with Store(two.path, disk=QUICK) as store:
        assert store.begin("p") == id + 2


def test_when_all_ids_are_used_it_says_so(two: Store):
    (two.path / "99999999").mkdir()
    with pytest.raises(ValueError, match="all ids are used; give a new directory"):
        two.begin("p")
    assert not (two.path / "100000000").exists()


def test_a_store_stays_where_it_is_when_its_process_goes_elsewhere(memory: Path, monkeypatch):
    (memory / "elsewhere").mkdir()
    monkeypatch.chdir(memory)
    with Store("store", disk=QUICK) as store:
        take(store, parts_of(1))
        monkeypatch.chdir("elsewhere")
        assert store.path == memory / "store"
        assert store.latest() == (1, assemble(parts_of(1)))


def owing(number: int) -> LocalSnapshot:
    return LocalSnapshot(None, {}, {Channel("p", "q"): number})


def test_a_snapshot_is_not_complete_while_messages_are_owed(memory: Path):
    with Store(memory / "store", disk=QUICK) as store:
        id = store.begin("pq")
        receipts = {"p": store.write(id, "p", owing(2)), "q": store.write(id, "q", owing(-1))}
        with pytest.raises(
            ValueError, match=r"snapshot 1: messages are still owed: .* wait for them"
        ):
            store.commit(id, receipts)
        assert store.ids() == ()
        store.commit(id, receipts | {"q": store.write(id, "q", owing(-2))})
        assert store.read(id) == {"p": owing(2), "q": owing(-2)}


@pytest.mark.parametrize("counts", [0, 1])
def test_of_a_part_that_is_written_twice_the_one_counts_whose_receipt_is_committed(memory, counts):
    parts = parts_of(1)["p"], parts_of(2)["p"]
    with Store(memory / "store", disk=QUICK) as store:
        id = store.begin("p")
        receipts = [store.write(id, "p", part) for part in parts]
        store.commit(id, {"p": receipts[counts]})
        assert store.read(id) == {"p": parts[counts]}
        assert len(files_of(store, id)) == 5  # what only the other one needed is gone


@pytest.mark.parametrize("processes", ["p", "pqrs", "", "pqs"])
def test_a_snapshot_is_not_complete_without_all_members_and_only_them(two: Store, processes: str):
    id = two.begin("pqr")
    receipts = {name: two.write(id, name, LocalSnapshot(0, {})) for name in processes}
    with pytest.raises(
        ValueError, match=r"snapshot 3 has receipts of .*, not of \['p', 'q', 'r'\]"
    ):
        two.commit(id, receipts)
    assert two.ids() == (1, 2)


def test_what_does_not_run_cannot_be_written_or_completed(two: Store):
    receipts = {"p": two.write(id := two.begin("p"), "p", LocalSnapshot(0, {}))}
    two.abort(id)
    for over in (1, 2, id, 99):
        with pytest.raises(NoSuchSnapshot, match=f"snapshot {over} does not run: begin another"):
            two.commit(over, receipts)
        with pytest.raises(NoSuchSnapshot, match=f"snapshot {over} does not run: begin another"):
            two.write(over, "p", LocalSnapshot(0, {}))
    assert two.ids() == (1, 2)


def test_giving_up_twice_or_too_late_does_nothing(two: Store):
    id = two.begin("p")
    for each in (id, id, 2, 99):
        two.abort(each)
    assert two.ids() == (1, 2)
    assert files_of(two, id) == []


def test_a_late_part_does_no_harm(two: Store):
    id = two.begin("p")
    two.abort(id)
    write_part(two.path, id, "p", parts_of(3)["p"], QUICK)  # the process has not heard of it
    assert two.ids() == (1, 2)
    take(two, parts_of(4))
    with pytest.raises(
        NoSuchSnapshot, match="there is no snapshot 3: it never began, or it is over"
    ):
        write_part(two.path, id, "p", parts_of(3)["p"], QUICK)
    with pytest.raises(NoSuchSnapshot, match="this snapshot is complete, and changes no more"):
        write_part(two.path, 4, "p", parts_of(5)["p"], QUICK)
    assert two.latest() == (4, assemble(parts_of(4)))


class Busy(Disk):
    """A late process is at work in what is being removed."""

    def remove(self, path: Path) -> None:
        super().remove(path)
        super().remove(path)  # it was quicker

    def rmdir(self, path: Path) -> None:
        (path / "p.part.json.tmp").touch()
        super().rmdir(path)


def test_a_late_process_does_not_disturb_the_collection(two: Store):
    two.disk = Busy(sync=False)
    write_part(two.path, two.begin("p"), "p", parts_of(3)["p"], QUICK)
    two.abort(3)
    take(two, parts_of(4))
    assert two.ids() == (2, 4)
    two.disk = QUICK
    for _ in range(2):
        two.collect()
    assert sorted(d.name for d in two.path.iterdir()) == ["00000002", "00000004", "LOCK"]


def test_what_cannot_be_removed_does_not_disturb_the_collection_of_the_rest(two: Store):
    (two.path / "00000001" / "0 of somebody else").mkdir()
    assert two.ids() == (1, 2)
    take(two, parts_of(3))
    take(two, parts_of(4))
    assert two.ids() == (3, 4)
    assert [file.name for file in files_of(two, 1)] == ["0 of somebody else"]
    assert not (two.path / "00000002").exists()


class Stubborn(Disk):
    """Does not remove a manifest; or does, and cannot say whether it will come back."""

    def __init__(self, operation: str) -> None:
        super().__init__(sync=False)
        self.operation = operation

    def remove(self, path: Path) -> None:
        if self.operation == "remove" and path.name == "manifest.json":
            raise OSError("it stays")
        super().remove(path)

    def fsync(self, path: Path) -> None:
        if self.operation == "fsync" and (path / "r.tmp").exists():
            raise OSError("nobody knows")


@pytest.mark.parametrize("operation", ["remove", "fsync"])
def test_nothing_is_removed_from_under_a_manifest_that_may_stay(two: Store, operation: str):
    (two.path / "00000001" / "r.tmp").touch()
    before = {file.name for file in files_of(two, 1)} - {"manifest.json"}
    two.disk = Stubborn(operation)
    assert take(two, parts_of(3)) == 3  # it is complete, whatever becomes of the old ones
    assert two.latest() == (3, assemble(parts_of(3)))
    assert before <= {file.name for file in files_of(two, 1)}
    two.disk = QUICK
    two.collect()
    assert not (two.path / "00000001").exists()


@pytest.mark.parametrize("over", [Store.commit, Store.abort])
def test_a_collection_that_fails_is_not_a_failure_of_what_is_done_already(
    two: Store, monkeypatch, over: Callable
):
    id = two.begin("p")
    receipts = {"p": two.write(id, "p", LocalSnapshot(0, {}))}

    def fail(self: Store) -> None:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(Store, "collect", fail)
    over(two, id, receipts) if over is Store.commit else over(two, id)
    assert two.ids() == ((1, 2, 3) if over is Store.commit else (1, 2))
    two.abort(id)  # without effect
    assert two.ids() == ((1, 2, 3) if over is Store.commit else (1, 2))


def test_a_disk_is_waited_for_unless_it_need_not_be(tmp_path: Path, monkeypatch):
    waited = []
    monkeypatch.setattr(os, "fsync", waited.append)
    with Store(tmp_path / "fast", disk=QUICK) as store:
        take(store, parts_of(1))
    assert not waited
    with Store(tmp_path / "safe") as store:
        take(store, parts_of(1))
    assert len(waited) > 10


class Interrupted(Disk):
    """Calls something in the middle of writing a part."""

    def __init__(self, interrupt: Callable[[], object]) -> None:
        super().__init__(sync=False)
        self.interrupt = interrupt

    def rename(self, old: Path, new: Path) -> None:
        if new.suffix == ".json":
            self.interrupt()
        super().rename(old, new)


def test_a_snapshot_may_be_over_while_a_part_is_written(two: Store):
    id = two.begin("p")
    disk = Interrupted(lambda: (two.abort(id), two.begin("p")))
    with pytest.raises(NoSuchSnapshot, match="this snapshot is over; its files are gone"):
        write_part(two.path, id, "p", parts_of(3)["p"], disk)
    assert two.ids() == (1, 2)


def test_the_snapshot_with_the_shared_pieces_may_be_collected_while_a_part_is_written(memory: Path):
    with Store(memory / "store", keep=1, disk=QUICK) as store:
        take(store, parts_of(1))
        early = store.begin("pqr")
        receipts = {n: store.write(early, n, part) for n, part in parts_of(2).items()}
        late = store.begin("p")
        disk = Interrupted(lambda: store.commit(early, receipts))
        store.commit(late, {"p": write_part(store.path, late, "p", parts_of(3)["p"], disk)})
        assert store.ids() == (late,)
        assert store.read(late) == {"p": parts_of(3)["p"]}


def test_a_value_that_would_not_come_back_is_refused_before_anything_is_complete(two: Store):
    with pytest.raises(TypeError, match="a set, would not come back equal from JSON"):
        take(two, {"p": LocalSnapshot({1, 2}, {})})
    assert two.ids() == (1, 2)


def test_a_closed_store_begins_nothing(two: Store):
    id = two.begin("p")
    receipts = {"p": two.write(id, "p", LocalSnapshot(0, {}))}
    two.close()
    with pytest.raises(StoreInUse, match="it is closed, or its LOCK is gone; open another"):
        two.begin("p")
    with pytest.raises(NoSuchSnapshot):
        two.commit(id, receipts)


def test_a_receipt_travels_as_json(memory: Path):
    with Store(memory / "store", disk=QUICK) as store:
        part = LocalSnapshot(b"x" * 1000, {}, {Channel("p", "q"): 1, "white messages": -1})
        receipt = store.write(store.begin("p"), "p", part)
        assert Receipt.from_json(json.loads(json.dumps(receipt.to_json()))) == receipt
        assert receipt.owed == part.owed


@given(state=VALUES, messages=st.lists(VALUES).map(tuple), owed=st.integers())
def test_every_part_comes_back_equal(state: object, messages: tuple[object, ...], owed: int):
    p, q = Channel("p", "q"), Channel("q", "p")
    parts = {
        "p": LocalSnapshot(state, {q: messages}, {p: owed, "white messages": 0}),
        "q": LocalSnapshot(None, {p: ()}, {p: -owed}),
    }
    with TemporaryDirectory() as path, Store(path, disk=QUICK) as store:
        id = take(store, parts)
        assert store.read(id) == parts
        assert repr(store.read(id)) == repr(parts)
        assert read_part(path, id, "p") == parts["p"]


# --- names ---------------------------------------------------------------------------------------


def test_whatever_a_process_is_called_it_gets_a_file_of_its_own_in_the_directory(memory: Path):
    names = ["..", ".", "a/b", "/etc/x", "P", "p", "%50", "manifest", "LOCK", "é", "\0", "q.part"]
    names += ["x" * 224, " ", "\n", "a\\b", "~", "-rf", "中"]
    parts = {name: LocalSnapshot(name, {Channel("p", name): (name,)}) for name in names}
    with Store(memory / "store", disk=QUICK) as store:
        assert store.read(take(store, parts)) == parts
        stored = [file.name for file in files_of(store, 1)]
        assert len({name.casefold() for name in stored}) == len(names) + 1
        assert sorted(f.name for f in memory.iterdir()) == ["store"]
        assert {name.split(".")[0] for name in stored} > {"p", "%50", "a%2fb", "%2e%2e"}


@pytest.mark.parametrize("name", ["", "x" * 225, "中" * 27, "\ud83d"])
def test_a_name_that_makes_no_file_is_refused(two: Store, name: str):
    with pytest.raises(ValueError, match=r"cannot name a file; take 1 to 224|surrogates"):
        two.write(two.begin([name]), name, LocalSnapshot(0, {}))


# --- one writer ----------------------------------------------------------------------------------


def test_a_store_whose_lock_was_removed_begins_nothing(memory: Path):
    first = Store(memory, disk=QUICK)
    (memory / "LOCK").unlink()
    with pytest.raises(StoreInUse, match="LOCK is gone; open another Store"):
        first.begin("p")
    with Store(memory, disk=QUICK) as second:  # for now, there is no lock to be seen
        with pytest.raises(StoreInUse, match="LOCK is gone; open another Store"):
            first.begin("p")
        assert second.begin("p") == 1
    first.close()


def test_a_second_writer_is_refused_until_the_first_one_closes(two: Store):
    with pytest.raises(StoreInUse, match="another Store writes here; close it, end the process"):
        Store(two.path, disk=QUICK)
    assert two.latest() == (2, assemble(parts_of(2)))
    two.close()
    with Store(two.path, disk=QUICK) as store:
        assert store.ids() == (1, 2)


class Broken(Disk):
    def fsync(self, path: Path) -> None:
        raise OSError("this disk is broken")


def test_a_store_that_cannot_be_opened_is_not_locked(two: Store):
    two.close()
    with pytest.raises(OSError, match="this disk is broken") as caught:
        Store(two.path, disk=Broken())
    with Store(two.path, disk=QUICK) as store:
        assert store.ids() == (1, 2)
    assert caught  # and with it, all that was at work then


WRITER = """
import sys
from chandylamport import LocalSnapshot
from chandylamport.store import Disk, Store
store = Store(sys.argv[1], disk=Disk(sync=False))
store.write(store.begin("p"), "p", LocalSnapshot(1, {}))
print("ready", flush=True)
sys.stdin.read()
"""


def test_the_lock_of_a_writer_that_was_killed_is_free(two: Store):
    two.close()
    command = [sys.executable, "-c", WRITER, str(two.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout.readline() == b"ready\n"
            with pytest.raises(StoreInUse):
                Store(two.path, disk=QUICK)
        finally:
            writer.send_signal(signal.SIGKILL)
    with Store(two.path, disk=QUICK) as store:
        assert store.ids() == (1, 2)
        assert files_of(store, 3) == []  # begun by the dead writer
        assert take(store, parts_of(4)) == 4


def test_processes_write_their_parts_without_the_lock(two: Store):
    id = two.begin("pqr")
    code = """
import json, sys
from chandylamport import LocalSnapshot
from chandylamport.store import Disk, write_part
part = LocalSnapshot(sys.argv[3], {})
print(json.dumps(write_part(sys.argv[1], int(sys.argv[2]), sys.argv[3], part).to_json()))
"""
    receipts = {}
    for name in "pqr":
        command = [sys.executable, "-c", code, str(two.path), str(id), name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        receipts[name] = Receipt.from_json(json.loads(done.stdout))
    two.commit(id, receipts)
    assert two.latest()[1].states == {"p": "p", "q": "q", "r": "r"}
