"""Snapshots on disk: atomic, checksummed, incremental, collected.

It may not know the algorithm, the network or the time. Nobody trusts it either: what it offers, it
has read and compared.

Version 1 of the layout. A store is a directory:

    LOCK                        held by the one writer; the system frees it when the writer dies
    00000007/                   the snapshot with the id 7
    00000007/1f…c0.piece        bytes, or a bucket of keyed state, under the name of its sha256
    00000007/p.4b…d1.part.json  what process p recorded: state, channels, messages owed; its pieces;
                                its sha256 begins like that
    00000007/manifest.json      the members, with size and sha256 of their parts; in a second line,
                                the sha256 of the first

In the name of a process, everything but a-z, 0-9, - and _ is written as %xx. Processes write their
own parts; the manifest comes last, so there is no snapshot before it is there, and it goes first.
A file is written under another name, made durable, and renamed. It is never changed: a piece that
the last snapshot has, too, is a hard link to it. So each directory is whole in itself, and the
file system counts who still needs a piece. But a sector that goes bad under a shared piece spoils
all snapshots that share it: that is always an error, never a wrong state, and only another disk
helps. An id is never used twice: the newest directory stays. Every later version will have these
two lines of a manifest, with "format" and "version", so that its snapshots are not taken for
damaged ones.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from .encoding import Json, decode, encode
from .recorder import LocalSnapshot, Snapshot, assemble, still_owed

FORMAT = {"format": "chandylamport snapshot", "version": 1}
MANIFEST, LOCK = "manifest.json", "LOCK"
LONGEST = 224  # for a process; file systems take 255 bytes, with the seal and .part.json
LARGEST = 64 * 1024 * 1024  # bytes of a manifest: enough for half a million members
Seal = tuple[int, str]  # size and sha256


class StoreInUse(Exception):
    """Somebody else writes to this directory."""


class NoSuchSnapshot(Exception):
    """There is no snapshot of this id: never begun, not complete, given up or collected."""


class DamagedSnapshot(Exception):
    """A snapshot that was complete once, and is not what was written; it names file and cause."""


class ForeignSnapshot(Exception):
    """A snapshot of another version, which this program cannot read, and leaves alone."""


class Disk:
    """All that changes the file system, in steps; a machine may stop after each of them."""

    def __init__(self, *, sync: bool = True) -> None:
        """Wait for the disk, or not: for directories that are thrown away."""
        self.sync = sync

    def write(self, path: Path, data: bytes) -> None:
        """Write a file."""
        path.write_bytes(data)

    def fsync(self, path: Path) -> None:
        """Wait until a file's content, or a directory's names, would survive a power cut.

        The file was written through another descriptor. Its data is synchronised all the same, and
        an error on its way to the disk is told to the first one who asks: to us.
        """
        if self.sync:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, in one step; a file that had this name is gone."""
        old.replace(new)

    def link(self, old: Path, new: Path) -> None:
        """Give a file a second name."""
        new.hardlink_to(old)

    def mkdir(self, path: Path) -> None:
        """Make a directory."""
        path.mkdir()

    def remove(self, path: Path) -> None:
        """Remove a name of a file; the file itself goes with its last name."""
        path.unlink()

    def rmdir(self, path: Path) -> None:
        """Remove an empty directory."""
        path.rmdir()


DISK = Disk()


class Receipt(NamedTuple):
    """What a process gets for its part: the seal of the file, and the messages it still owes."""

    seal: Seal
    owed: Mapping[Hashable, int]

    def to_json(self) -> Json:
        """Give it in JSON's terms, to send it to whoever commits."""
        return encode([self.seal, [[name, number] for name, number in self.owed.items()]])

    @classmethod
    def from_json(cls, value: Json) -> Receipt:
        """Read what `to_json` gave."""
        seal, owed = decode(value)
        return cls(seal, dict(owed))


# --- writing: one part ---------------------------------------------------------------------------


def write_part(
    path: str | Path, id: int, process: str, part: LocalSnapshot, disk: Disk = DISK
) -> Receipt:
    """Write one process's part of a snapshot that runs; the receipt says which part it is.

    The process does this itself, one part at a time, and needs no lock. A part that it writes again
    does not replace the first: the one counts whose receipt is committed.
    """
    directory, own = _directory(path, id), _plain(process)
    if _is_complete(directory):
        raise NoSuchSnapshot(f"{directory}: this snapshot is complete, and changes no more")
    last = [d for d in _directories(path).values() if _is_complete(d)][-1:]
    pieces: list[Seal] = []

    def put(name: str, data: bytes) -> None:
        _put(directory, name, data, disk, f"{own}.part", last)

    def keep(data: bytes) -> str:
        pieces.append(_seal(data))
        put(f"{pieces[-1][1]}.piece", data)
        return str(len(pieces) - 1)

    try:
        contents = {
            "id": id,
            "process": process,
            "state": encode(part.state, keep),
            "channels": encode([[c, held] for c, held in part.channels.items()], keep),
            "owed": encode([[name, number] for name, number in part.owed.items()]),
            "pieces": pieces,
        }
        data = json.dumps(contents).encode()
        put(_part_name(process, _seal(data)), data)
        disk.fsync(directory)
    except FileNotFoundError:
        raise NoSuchSnapshot(f"{directory}: this snapshot is over; its files are gone") from None
    return Receipt(_seal(data), dict(part.owed))


def _put(directory: Path, name: str, data: bytes, disk: Disk, by: str, last: list[Path]) -> None:
    for place in (directory, *last):
        # Looked at, so as not to inherit what is damaged. And there may be no links on this disk.
        with suppress(DamagedSnapshot, OSError):
            _content(place / name, _seal(data))
            if place != directory:
                disk.link(place / name, directory / name)
            return
    disk.write(temporary := directory / f"{by}.tmp", data)
    disk.fsync(temporary)
    disk.rename(temporary, directory / name)


def _seal(data: bytes) -> Seal:
    return len(data), sha256(data).hexdigest()


def _plain(process: str) -> str:
    plain = re.sub(rb"[^a-z0-9_-]", lambda byte: b"%%%02x" % ord(byte[0]), process.encode())
    if not 0 < len(plain) <= LONGEST:
        raise ValueError(f"{process!r} cannot name a file; take 1 to {LONGEST} plain letters")
    return plain.decode()


def _part_name(process: str, seal: Seal) -> str:
    return f"{_plain(process)}.{seal[1][:16]}.part.json"


def _directories(path: str | Path) -> dict[int, Path]:
    """Give all snapshots, complete or not, by their ids, oldest first."""
    found = [d for d in sorted(Path(path).iterdir()) if re.fullmatch("[0-9]{8}", d.name)]
    return {int(d.name): d for d in found if d.is_dir() and not d.is_symlink()}


def _directory(path: str | Path, id: int) -> Path:
    if id not in (directories := _directories(path)):
        raise NoSuchSnapshot(f"{path}: there is no snapshot {id}: it never began, or it is over")
    return directories[id]


def _is_complete(directory: Path) -> bool:
    with suppress(FileNotFoundError):  # any other error is none that we may take for an answer
        return bool((directory / MANIFEST).lstat())
    return False


# --- reading: nothing is believed ----------------------------------------------------------------


def read_part(path: str | Path, id: int, process: str) -> LocalSnapshot:
    """Read one process's part of a complete snapshot; all of it is compared with the manifest."""
    directory = _directory(path, id)
    members = _manifest(directory)
    if process not in members:
        raise NoSuchSnapshot(f"{directory}: {process!r} is not among {', '.join(members)}")
    part, pieces = _part(directory, process, members[process])
    fetch = pieces.__getitem__
    with _reading(directory / _part_name(process, members[process])):
        channels, owed = dict(decode(part["channels"], fetch)), dict(decode(part["owed"]))
        return LocalSnapshot(decode(part["state"], fetch), channels, owed)


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Take what is wrong with this file for damage; but not that the machine cannot read now."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise DamagedSnapshot(f"{file}: {error}") from None


def _content(file: Path, seal: Seal | None = None) -> bytes:
    """Read a file, once it has the right size, and compare it; one without a seal is a manifest."""
    with _reading(file):
        with suppress(FileNotFoundError):
            if S_ISREG((status := file.lstat()).st_mode):
                size = seal[0] if seal else min(status.st_size, LARGEST)
                if status.st_size != size:
                    raise ValueError(f"it has {status.st_size} bytes instead of {size}")
                data = file.read_bytes()
                if seal and _seal(data) != seal:
                    raise ValueError("its checksum is wrong; something has changed")
                return data
        raise ValueError("it is missing, or not a file")


def _manifest(directory: Path) -> dict[str, Seal]:
    """Give the members of a complete snapshot, and the seals of their parts."""
    if not _is_complete(directory):
        raise NoSuchSnapshot(f"{directory}: this snapshot is not complete: it has no manifest")
    data = _content(directory / MANIFEST)
    with _reading(directory / MANIFEST):
        if data != b"%b\n%b\n" % (line := data.partition(b"\n")[0], _seal(line)[1].encode()):
            raise ValueError("its checksum is wrong; something has changed")
        manifest = json.loads(line)
        if (kind := {key: manifest[key] for key in FORMAT}) != FORMAT:
            raise ForeignSnapshot(f"{directory}: it is {kind}; take the program that wrote it")
        if manifest["id"] != int(directory.name):
            raise ValueError(f"it is of snapshot {manifest['id']}")
        members = manifest["members"].items()  # and none of them names a path
        return {p: (n, bytes.fromhex(text).hex()) for p, (n, text) in members if _plain(p)}


def _part(directory: Path, process: str, seal: Seal) -> tuple[dict[str, Json], dict[str, bytes]]:
    """Give a part, still encoded, and its pieces."""
    data = _content(file := directory / _part_name(process, seal), seal)
    with _reading(file):
        part = json.loads(data)
        seals = [(n, bytes.fromhex(text).hex()) for n, text in part["pieces"]]
        pieces = [_content(directory / f"{seal[1]}.piece", seal) for seal in seals]
        return part, {str(place): piece for place, piece in enumerate(pieces)}


def _verified(directory: Path) -> set[str]:
    """Give the names of all files of a snapshot, or none if it is not complete and undamaged."""
    names = {MANIFEST}
    with suppress(NoSuchSnapshot, DamagedSnapshot, ForeignSnapshot):
        for process, seal in _manifest(directory).items():
            part, _ = _part(directory, process, seal)
            names |= {_part_name(process, seal), *(f"{text}.piece" for _, text in part["pieces"])}
        return names
    return set()


# --- the whole -----------------------------------------------------------------------------------


class Store(AbstractContextManager["Store"]):
    """A directory of snapshots, with one writer.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as path, Store(path, disk=Disk(sync=False)) as store:
    ...     id = store.begin(["p"])
    ...     store.commit(id, {"p": store.write(id, "p", LocalSnapshot({"money": 100}, {}))})
    ...     store.latest()
    (1, Snapshot(states={'p': {'money': 100}}, channels={}))
    """

    def __init__(self, path: str | Path, *, keep: int = 2, disk: Disk = DISK) -> None:
        """Open the store, or make one; what is incomplete from an earlier time is collected."""
        if keep < 1:
            raise ValueError(f"keep={keep} would keep no snapshot to restore; take 1 or more")
        self.path, self.keep, self.disk = Path(path).absolute(), keep, disk
        self._running: dict[int, frozenset[str]] = {}  # begun here: the members
        for made in (*reversed(self.path.parents), self.path):
            if not made.exists():
                disk.mkdir(made)
                disk.fsync(made.parent)
        if {f.name for f in self.path.iterdir()} - {LOCK} and not (self.path / LOCK).exists():
            raise ValueError(f"{path}: this is not a store, and not empty; give a new directory")
        self._lock = (self.path / LOCK).open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # What we saw might still be lost in a power cut. Before we build upon it, it must not.
            for directory in (*_directories(self.path).values(), self.path):
                disk.fsync(directory)
            self.collect()
        except BaseException as error:
            self.close()
            if not isinstance(error, BlockingIOError):
                raise
            remedy = "close it, end the process that has it, or give another directory"
            raise StoreInUse(f"{path}: another Store writes here; {remedy}") from None

    def begin(self, members: Iterable[str]) -> int:
        """Begin a snapshot of these processes, and give its id, which no other ever had."""
        locks = [file.stat().st_ino for file in self.path.glob(LOCK)]
        if self._lock.closed or os.fstat(self._lock.fileno()).st_ino not in locks:
            raise StoreInUse(f"{self.path}: it is closed, or its LOCK is gone; open another Store")
        id = max(_directories(self.path), default=0) + 1
        if id > 99_999_999:
            raise ValueError(f"{self.path}: all ids are used; give a new directory")
        self.disk.mkdir(self.path / f"{id:08}")
        self.disk.fsync(self.path)
        self._running[id] = frozenset(members)
        return id

    def write(self, id: int, process: str, part: LocalSnapshot) -> Receipt:
        """Write one part here; other processes do it with `write_part`."""
        self._members(id)
        return write_part(self.path, id, process, part, self.disk)

    def _members(self, id: int) -> frozenset[str]:
        if id not in self._running:
            raise NoSuchSnapshot(f"{self.path}: snapshot {id} does not run: begin another one")
        return self._running[id]

    def commit(self, id: int, receipts: Mapping[str, Receipt]) -> None:
        """Make a snapshot complete: all parts are durable, then the manifest is; then collect."""
        members, directory = sorted(self._members(id)), self.path / f"{id:08}"
        if sorted(receipts) != members:
            raise ValueError(f"snapshot {id} has receipts of {sorted(receipts)}, not of {members}")
        if owed := still_owed(receipt.owed for receipt in receipts.values()):
            raise ValueError(f"snapshot {id}: messages are still owed: {owed}; wait for them")
        seals = {process: receipts[process].seal for process in members}
        line = json.dumps({**FORMAT, "id": id, "members": seals}).encode()
        data = b"%b\n%b\n" % (line, _seal(line)[1].encode())
        _put(directory, MANIFEST, data, self.disk, MANIFEST, [])
        self.disk.fsync(directory)
        del self._running[id]
        with suppress(OSError):  # it is complete, whatever becomes of the old ones
            self.collect()

    def abort(self, id: int) -> None:
        """Give a snapshot up; without effect when it is complete or given up already."""
        if self._running.pop(id, None) is not None:
            with suppress(OSError):
                self._empty(self.path / f"{id:08}")  # with a manifest, if `commit` failed behind it
                self.collect()

    def ids(self) -> tuple[int, ...]:
        """Give the ids of the snapshots that are complete and undamaged, oldest first."""
        return tuple(id for id, d in _directories(self.path).items() if _verified(d))

    def read(self, id: int) -> dict[str, LocalSnapshot]:
        """Read all parts of a complete snapshot."""
        members = _manifest(_directory(self.path, id))
        return {process: read_part(self.path, id, process) for process in members}

    def latest(self) -> tuple[int, Snapshot] | None:
        """Give the newest snapshot that is complete and undamaged, to restore it; with its id.

        None means that none was ever complete: it is an error if all of them are damaged.
        """
        complete, damage = [id for id, d in _directories(self.path).items() if _is_complete(d)], ""
        for id in reversed(complete):
            try:
                if snapshot := assemble(self.read(id)):
                    return id, snapshot
            except DamagedSnapshot as error:
                damage += f"\n{error}"
        if complete:
            raise DamagedSnapshot(f"{self.path}: no snapshot is whole; all are damaged:{damage}")
        return None

    def collect(self) -> None:
        """Remove what is incomplete, and all that is older than the last undamaged ones we keep.

        What is foreign stays, and what cannot be read or removed now.
        """
        directories, kept = _directories(self.path), 0
        for id in sorted(directories.keys() - self._running.keys(), reverse=True):
            directory = directories[id]
            with suppress(ForeignSnapshot, OSError):
                if kept < self.keep and _is_complete(directory):
                    if names := _verified(directory):
                        kept += 1
                        self._empty(directory, but=names)
                else:
                    with suppress(NoSuchSnapshot, DamagedSnapshot):
                        _manifest(directory)  # unless it is foreign
                    self._empty(directory)
                    if id != max(directories):  # which tells the next id
                        self.disk.rmdir(directory)

    def _empty(self, directory: Path, but: Iterable[str] = ()) -> None:
        """Remove the files; the manifest first, and durably, so that it is not offered any more."""
        names = {file.name for file in directory.iterdir()} - set(but)
        if MANIFEST in names:  # without which the others stay
            self.disk.remove(directory / MANIFEST)
            self.disk.fsync(directory)
        for name in sorted(names - {MANIFEST}):
            with suppress(OSError):  # a late process is at it; the next collection tries again
                self.disk.remove(directory / name)

    def close(self) -> None:
        """Free the lock; what runs is not complete, and whoever comes next collects it."""
        self._running.clear()
        self._lock.close()

    def __exit__(self, *_: object) -> None:
        self.close()
