"""How long does a process stop to record a large state, and how long does the write take?

    python benchmarks/asynchronous.py [keys]

The default is 10,000 keys and 100,000. We capture a KeyedState by copy-on-write: the process stops
until the recorder has it, and works on while the store writes. The peer has a dict, and stops:
either while copy.deepcopy copies it, or, without a copy, while json.dump writes it and fsync waits
for the disk. Both write to the same disk, in the same run.

Two prices are measured, too. Every change copies a bucket; and a bucket is a file, so there are 256
files to be made durable instead of one, but for those that did not change. Where the changes
are spread over all buckets, that saves nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import chandylamport as cl

CHANGED = 10  # keys between two snapshots
ROWS = {  # what is measured: what the peer does for it
    "pause, captured": "copy.deepcopy",
    "pause, written at once": "json.dump and fsync",
    "write, everything": "json.dump and fsync",
    f"write, {CHANGED} keys changed": "json.dump and fsync",
    "1,000 changes": "1,000 assignments",
}


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(keys: int, directory: Path) -> dict[str, list[float]]:
    """Give, in the order of ROWS, what the package needs and what a dict needs."""
    names = [f"key {n}" for n in range(keys)]
    state = cl.KeyedState(dict.fromkeys(names, 0))
    capture = min(seconds(lambda: record(state)) for _ in range(100))
    with cl.Store(directory / "store") as store:
        full = seconds(lambda: keep(store, state))
        changed = state
        for name in names[:CHANGED]:
            changed = changed.put(name, 1)
        again = seconds(lambda: keep(store, changed))
        assert cl.assemble(store.read(1)) == cl.Snapshot({"p": state}, {})
        assert cl.assemble(store.read(2)) == cl.Snapshot({"p": changed}, {})
    changes = seconds(lambda: put_all(state, names[:1_000]))

    plain = dict.fromkeys(names, 0)
    copy = min(seconds(lambda: deepcopy(plain)) for _ in range(3))
    dump = min(seconds(lambda: write(directory / "plain.json", plain)) for _ in range(3))
    assignments = seconds(lambda: plain.update(dict.fromkeys(names[:1_000], 1)))
    ours = [capture, capture, full, again, changes]
    return {"ours": ours, "peer": [copy, dump, dump, dump, assignments]}


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
            line += f"{ours * 1e3:>14.4f} ms{peer * 1e3:>9.2f} ms{ratio:>9}"
        print(f"{line}   ({theirs})")
    pauses = " and ".join(f"{one['peer'][0] / one['ours'][0]:,.0f}" for one in found)
    writes = " and ".join(f"{one['ours'][2] / one['ours'][3]:.1f}" for one in found)
    print(f"\nThe pause was {pauses} times shorter than that of a deep copy;")
    print(f"to write only what changed was {writes} times faster than to write everything.")


if __name__ == "__main__":
    report([int(sys.argv[1])] if len(sys.argv) > 1 else [10_000, 100_000])
