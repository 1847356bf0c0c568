"""How long does a process stop to record a large state, and how long does the write take?

    python benchmarks/asynchronous.py [keys]

The default is 10,000 keys and 100,000. We capture a KeyedState by copy-on-write: the process stops
until the recorder has it, and works on while the store writes. The peer has a dict, and stops:
either while copy.deepcopy copies it, or, without a copy, while json.dump writes it and fsync waits
for the disk. Both write to the same disk, in the same run; everything is done TIMES times, and the
best of them counts.

Three prices are measured, too. Every change copies a bucket. A bucket is a file, so there are 256
files to be made durable instead of one, but for those that did not change; where the changes are
spread over all buckets, that saves nothing. And the thread that writes shares the interpreter with
the process: its changes go on meanwhile, but more slowly. There, the peer is the same process
while nothing is written.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from types import SimpleNamespace

import chandylamport as cl

TIMES = 3
CHANGED = 10  # keys between two snapshots
RATE = "changes/s during a write"
ROWS = {  # what is measured: what the peer does for it
    "pause, captured": "copy.deepcopy",
    "pause, written at once": "json.dump and fsync",
    "write, everything": "json.dump and fsync",
    f"write, {CHANGED} keys changed": "json.dump and fsync",
    "1,000 changes": "1,000 assignments",
    RATE: "the same without a write",
}


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(work: Callable[[], object]) -> float:
    return min(seconds(work) for _ in range(TIMES))


def measure(keys: int, directory: Path) -> dict[str, list[float]]:
    """Give, in the order of ROWS, what the package needs and what a dict needs."""
    names = [f"key {n}" for n in range(keys)]
    state = changed = cl.KeyedState(dict.fromkeys(names, 0))
    for name in names[:CHANGED]:
        changed = changed.put(name, 1)
    capture = best(lambda: record(state))
    written = [both(directory / f"store {n}", state, changed) for n in range(TIMES)]
    full, again = map(min, zip(*written, strict=True))
    changes = best(lambda: put_all(state, names[:1_000]))
    during = [while_written(directory / f"busy {n}", state, names) for n in range(TIMES)]
    with_write, without = map(max, zip(*during, strict=True))

    plain = dict.fromkeys(names, 0)
    copy = best(lambda: deepcopy(plain))
    dump = best(lambda: write(directory / "plain.json", plain))
    assignments = best(lambda: plain.update(dict.fromkeys(names[:1_000], 1)))
    ours = [capture, capture, full, again, changes, with_write]
    return {"ours": ours, "peer": [copy, dump, dump, dump, assignments, without]}


def both(path: Path, state: cl.KeyedState, changed: cl.KeyedState) -> tuple[float, float]:
    """Write a state to a new store, then the changed one, and read them again."""
    with cl.Store(path) as store:
        times = seconds(lambda: keep(store, state)), seconds(lambda: keep(store, changed))
        assert cl.assemble(store.read(1)) == cl.Snapshot({"p": state}, {})
        assert cl.assemble(store.read(2)) == cl.Snapshot({"p": changed}, {})
    return times


def while_written(path: Path, state: cl.KeyedState, names: list[str]) -> tuple[float, float]:
    """Give the changes a second while a thread writes the state, then for as long without it."""

    def write_all() -> None:
        with cl.Store(path) as store:
            keep(store, state)

    start = time.perf_counter()
    writer = Thread(target=write_all)
    writer.start()
    with_write = change_until(lambda: not writer.is_alive(), state, names)
    end = 2 * time.perf_counter() - start
    return with_write, change_until(lambda: time.perf_counter() > end, state, names)


def change_until(over: Callable[[], bool], state: cl.KeyedState, names: list[str]) -> float:
    """Change one key after the other until it is over; give the changes a second."""
    start, number = time.perf_counter(), 0
    for name in cycle(names):
        if over():
            break
        state = state.put(name, number)
        number += 1
    return number / (time.perf_counter() - start)


def record(state: cl.KeyedState) -> cl.LocalSnapshot | None:
    """Let a recorder take the state of a process without channels: all that a process stops for."""
    recorder = cl.ChandyLamport()
    recorder.begin(SimpleNamespace(inputs=(), outputs=(), record=lambda: state))
    return recorder.result()


def keep(store: cl.Store, state: cl.KeyedState) -> None:
    """Write a snapshot of one process, durably, and make it complete."""
    id = store.begin(["p"])
    store.commit(id, {"p": store.write(id, "p", cl.LocalSnapshot(state, {}))})


def put_all(state: cl.KeyedState, names: list[str]) -> None:
    for name in names:
        state = state.put(name, 1)


def write(path: Path, plain: dict[str, int]) -> None:
    with path.open("w") as file:
        json.dump(plain, file)
        file.flush()
        os.fsync(file.fileno())


def report(sizes: list[int]) -> None:
    print(f"{'':27}" + "".join(f"{n:>12,} keys{'peer':>12}{'ratio':>9}" for n in sizes))
    found = []
    for keys in sizes:
        with TemporaryDirectory() as directory:
            found.append(measure(keys, Path(directory)))
    for i, (what, theirs) in enumerate(ROWS.items()):
        line = f"{what:27}"
        for one in found:
            ours, peer = one["ours"][i], one["peer"][i]
            ratio = f"{ours / peer:.1f}" if ours > peer else f"{ours / peer:.5f}"
            if what == RATE:
                line += f"{ours:>17,.0f}{peer:>12,.0f}{ratio:>9}"
            else:
                line += f"{ours * 1e3:>14.4f} ms{peer * 1e3:>9.2f} ms{ratio:>9}"
        print(f"{line}   ({theirs})")
    pauses = " and ".join(f"{one['peer'][0] / one['ours'][0]:,.0f}" for one in found)
    writes = " and ".join(f"{one['ours'][2] / one['ours'][3]:.1f}" for one in found)
    print(f"\nThe pause was {pauses} times shorter than that of a deep copy;")
    print(f"to write only what changed was {writes} times faster than to write everything.")


if __name__ == "__main__":
    report([int(sys.argv[1])] if len(sys.argv) > 1 else [10_000, 100_000])
