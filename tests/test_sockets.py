"""Real processes and connections: what holds in the simulator holds there; no worker is left."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from types import SimpleNamespace

import pytest

import chandylamport as cl
from chandylamport import broken, sockets
from chandylamport.connections import LARGEST, PATIENCE, ROOM
from chandylamport.coordinator import Latest, SnapshotsFail
from chandylamport.dataflow.barriers import Aligned
from chandylamport.encoding import encode
from chandylamport.sockets import WorkerFailed, run_on_sockets
from chandylamport.store import Disk, Store
from chandylamport.workers import Place

RICH = 100_000  # whoever has this much never runs out of money


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store", disk=Disk(sync=False)) as opened:
        yield opened


def bank(transfers, network=cl.Fifo):
    accounts = cl.accounts(p=RICH, q=RICH, r=RICH, s=RICH, transfers=transfers)
    return cl.System(accounts, network(cl.complete("pqrs")))


def money(snapshot):
    return sum(snapshot.states.values()) + sum(map(sum, snapshot.channels.values()))


def workers_in(log):
    """Give the OS process of each worker that was ever started."""
    found = (re.fullmatch(r"\w+ is process (\d+)", line) for line in log)
    return [int(match[1]) for match in found if match]


def ports_of_ours():
    """Give the ports on which this OS process listens."""
    ours = set()
    for file in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            ours.add(str(file.readlink()))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in ours]
    return {int(row[1].partition(":")[2], 16) for row in listening}


def assert_no_worker_is_left(log):
    assert multiprocessing.active_children() == []
    for process in workers_in(log):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    at = re.compile(r"coordinator listens on \('127.0.0.1', (\d+)\)")
    ports = {int(port) for line in log for port in at.findall(line)}
    assert ports
    assert not ports_of_ours() & ports


# --- the same recorders ---------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [cl.ChandyLamport, cl.LaiYang, cl.Mattern])
def test_ten_thousand_messages_are_photographed_rightly_while_they_fly(algorithm, store):
    got = run_on_sockets(bank(2500), algorithm, store=store, every=0)
    assert got.faults == ()
    assert len(got.run.payloads) == 10_000
    assert len(got.snapshots) > 1
    assert {money(snapshot) for snapshot in (*got.snapshots.values(), got.final)} == {4 * RICH}
    assert not got.final.channels
    assert_no_worker_is_left(got.log)


def test_a_run_on_sockets_is_a_schedule_that_the_simulator_runs(store):
    system = bank(20)
    got = run_on_sockets(system, store=store, every=0, seed=3)
    again = cl.simulate(system, partial(Latest, cl.ChandyLamport), schedule=got.run.schedule)
    assert again.final == got.final
    assert again.snapshots == got.snapshots
    assert repr(got).endswith("right>")
    assert "\n" not in repr(got)


def test_colours_work_where_the_network_promises_no_order(store):
    got = run_on_sockets(bank(100, cl.Unordered), cl.LaiYang, store=store, every=0)
    assert got.faults == ()


@pytest.mark.parametrize("bounds", ["delays", "capacities"])
def test_delays_and_capacities_of_the_simulator_are_refused(bounds, store):
    network = cl.Fifo(cl.complete("pq"), **{bounds: {("p", "q"): 1}})
    with pytest.raises(ValueError, match="sockets have delays and capacities of their own"):
        run_on_sockets(cl.System(cl.accounts(p=1, q=1), network), store=store)


def test_a_message_waits_until_its_receiver_accepts_it(store):
    c = cl.computation("""
        p: m!
        q:    m?  n!
        r:            n?  m2?
        s: m2!
    """)
    system = cl.System(cl.actors(c), cl.Fifo(cl.complete(c.processes)))
    got = run_on_sockets(system, store=store, every=0)
    assert got.faults == ()
    assert got.final.states == {"p": 1, "q": 2, "r": 2, "s": 1}
    assert cl.count_consistent_cuts(got.run.computation) == cl.count_consistent_cuts(c)


def test_an_algorithm_can_hold_an_input_so_that_no_channel_has_to_be_recorded(store):
    writers = cl.letters(p=[("r", n) for n in range(300)], q=[("r", -n) for n in range(300)], r=[])
    system = cl.System(writers, cl.Fifo([("p", "r"), ("q", "r")]))
    how = {"initiators": ["p", "q"], "store": store, "every": 0}
    got = run_on_sockets(system, Aligned, kill={2: "p"}, **how)
    assert got.faults == ()
    assert not any(snapshot.channels for snapshot in got.snapshots.values())
    assert sorted(got.final.states["r"][1]) == sorted([*range(300), *(-n for n in range(300))])


def test_what_a_recorder_reports_is_logged(store):
    alone = cl.System(cl.accounts(p=1), cl.Fifo([]))
    got = run_on_sockets(alone, cl.AcknowledgedMarkers, store=store)
    assert got.faults == ()
    assert "p reports complete" in got.log


def test_any_process_can_initiate_and_others_are_refused(store):
    with pytest.raises(ValueError, match="there is no process z to begin a snapshot"):
        run_on_sockets(cl.textbook_bank(), store=store, initiators=["z"])
    got = run_on_sockets(cl.textbook_bank(), store=store, initiators=["B"])
    assert "B records 1" in got.run.schedule
    assert "A records 1" not in got.run.schedule


def test_it_runs_where_an_event_loop_is_running(store):
    async def cell():
        return run_on_sockets(cl.textbook_bank(), store=store)

    assert asyncio.run(cell()).faults == ()


@pytest.mark.parametrize("barriers", ["aligned", "unaligned"])
def test_a_dataflow_runs_on_sockets(barriers, store):
    words = ["to", "be", "or", "not"], ["that", "is"]
    flow = cl.source(*words) >> cl.key_by(len, into=2) >> cl.count() >> cl.sink()
    tasks = cl.deploy(flow, barriers)
    how = {"initiators": tasks.sources, "store": store, "every": 0, "kill": {1: "count-1"}}
    got = run_on_sockets(tasks.system, tasks.algorithm, **how)
    assert got.faults == ()
    assert sorted(got.final.states[tasks.sink][0][1]) == sorted(cl.execute(flow).output)


# --- wrong variants -------------------------------------------------------------------------------

SEEDS = range(5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "network"),
    [
        (broken.NoLog, cl.Fifo),
        (broken.LateMarker, cl.Fifo),
        (broken.LogsFromTheBeginning, cl.Fifo),
        (broken.ClosesAllChannels, cl.Fifo),
        (broken.RecordsAtEveryMarker, cl.Fifo),
        (cl.ChandyLamport, cl.Unordered),  # markers need FIFO
        (broken.NoForcedRed, cl.Unordered),
    ],
)
def test_a_broken_variant_goes_wrong(variant, network, tmp_path):
    for seed in SEEDS:
        path = tmp_path / str(seed)
        got = run_on_sockets(bank(300, network), variant, store=path, every=0, seed=seed)
        if got.faults:
            break
    assert got.faults
    assert got.faults[0] in repr(got)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_one_passes_on_the_same_seeds(seed, store):
    assert run_on_sockets(bank(300), store=store, every=0, seed=seed).faults == ()


def test_a_snapshot_that_was_changed_in_the_store_is_noticed(store, monkeypatch):
    def forged(parts):
        right = cl.assemble(parts)
        states = right.states | {"p": right.states["p"] - 1, "q": right.states["q"] + 1}
        return cl.Snapshot(states, right.channels)

    monkeypatch.setattr(sockets, "assemble", forged)
    got = run_on_sockets(bank(10), store=store)
    assert {money(snapshot) for snapshot in got.snapshots.values()} == {4 * RICH}
    assert "stored is" in got.faults[0]
    assert "the run was ended in" in got.faults[-1]


# --- crashes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [cl.ChandyLamport, cl.LaiYang])
def test_after_a_kill_all_go_on_from_the_last_complete_snapshot(algorithm, store):
    got = run_on_sockets(bank(1000), algorithm, store=store, every=0, kill={2: "q"})
    assert got.faults == ()
    assert (got.incarnations, got.killed) == (2, ("q",))
    first, second, *later = got.snapshots
    assert f"incarnation 2 starts from snapshot {second}" in got.log
    assert later == sorted(later)
    assert later[0] > second > first
    begun = [line.split()[1] for line in got.log if line.endswith("begins")]
    assert len(begun) == len(set(begun))
    assert {money(snapshot) for snapshot in (*got.snapshots.values(), got.final)} == {4 * RICH}
    assert_no_worker_is_left(got.log)


def test_what_a_snapshot_holds_in_a_channel_is_sent_again(store):
    mail = cl.System(cl.letters(p=[("q", "new")], q=[]), cl.Fifo(cl.complete("pq")))
    there = {cl.Channel("p", "q"): ("old", "older")}
    parts = {p: cl.LocalSnapshot(s, {}) for p, s in mail.start.states.items()}
    parts["q"] = cl.LocalSnapshot(parts["q"].state, there)
    id = store.begin("pq")
    store.commit(id, {p: store.write(id, p, part) for p, part in parts.items()})
    got = run_on_sockets(mail, store=store)
    assert got.faults == ()
    assert got.run.system.start.channels == there
    assert got.final.states["q"][1] == ("old", "older", "new")


def test_a_kill_before_any_snapshot_starts_from_the_beginning(store):
    got = run_on_sockets(bank(50), store=store, kill={0: "p"})
    assert got.faults == ()
    assert (got.incarnations, got.killed) == (2, ("p",))
    assert got.log.count("incarnation 2 starts from the beginning") == 1


def test_a_run_does_not_end_before_all_are_killed_who_are_to_be(store):
    got = run_on_sockets(bank(1), store=store, every=0, kill={1: "p", 4: "q"})
    assert got.faults == ()
    assert (got.incarnations, got.killed) == (3, ("p", "q"))


def test_only_processes_can_be_killed(store):
    with pytest.raises(ValueError, match="there is no process z to be killed"):
        run_on_sockets(bank(1), store=store, kill={1: "z"})


@pytest.mark.slow
def test_everybody_may_be_killed_one_after_the_other(store):
    kill = {0: "p", 1: "q", 2: "r", 3: "s"}
    got = run_on_sockets(bank(500), store=store, every=0, kill=kill)
    assert got.faults == ()
    assert (got.incarnations, got.killed) == (5, tuple("pqrs"))
    assert money(got.final) == 4 * RICH


@pytest.mark.slow
@pytest.mark.parametrize("moment", [r"q is process (\d+)", r"q listens on .*"])
def test_a_process_that_dies_again_and_again_is_given_up(moment, store):
    lines = []

    def kill(line):
        lines.append(line)
        if re.fullmatch(moment, line):
            [*_, worker] = [line for line in lines if line.startswith("q is process")]
            os.kill(int(worker.split()[-1]), signal.SIGKILL)

    with pytest.raises(WorkerFailed, match=r"has gone \(3 failures in a row, 2 tolerated\)"):
        run_on_sockets(bank(10), store=store, log=kill)
    assert_no_worker_is_left(lines)


def test_a_worker_that_is_killed_at_its_start_is_started_again(store):
    def kill(line):
        if line.startswith("q is process") and not killed:
            killed.append(int(line.split()[-1]))
            os.kill(killed[0], signal.SIGKILL)

    killed = []
    got = run_on_sockets(bank(10), store=store, log=kill)
    assert got.faults == ()
    assert got.incarnations == 2


def test_a_second_run_goes_on_with_new_ids(store):
    one = run_on_sockets(bank(50), store=store)
    two = run_on_sockets(bank(50), store=store)
    assert two.faults == ()
    assert f"incarnation 1 starts from snapshot {max(one.snapshots)}" in two.log
    assert min(two.snapshots) > max(one.snapshots)
    assert two.run.system.start == one.final


def test_snapshots_that_are_never_complete_fail_the_run(store):
    one_way = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Fifo([("p", "q")]))
    with pytest.raises(SnapshotsFail, match="nothing from p"):
        run_on_sockets(one_way, store=store, initiators=["q"], timeout=0.1)


@pytest.mark.parametrize("algorithm", [cl.ChandyLamport, cl.LaiYang])
def test_what_is_late_of_an_aborted_snapshot_does_no_harm(algorithm, store, monkeypatch):
    leaps = []  # of the clock, just after each second snapshot has begun

    def log(line):
        if re.fullmatch(r"snapshot \d*[13579] begins", line):
            leaps.append(1000)

    monkeypatch.setattr(sockets, "monotonic", lambda: monotonic() + sum(leaps))
    got = run_on_sockets(bank(1000), algorithm, store=store, every=0, log=log)
    assert got.faults == ()
    aborted = [line for line in got.log if "is aborted" in line]
    assert len(aborted) == len(leaps) > 0
    assert all(id % 2 == 0 for id in got.snapshots)


def test_a_marker_behind_a_message_that_nobody_takes_never_comes(store):
    deaf = {**cl.letters(p=[("q", "m")]), **cl.actors(cl.computation("q: a"))}
    with pytest.raises(SnapshotsFail, match=r"nothing from .*q"):
        run_on_sockets(cl.System(deaf, cl.Fifo([("p", "q")])), store=store, timeout=0.1)


@pytest.fixture
def coordinator(tmp_path):
    """A coordinator in another process, whose log is read line by line."""
    if not hasattr(os, "pidfd_open"):
        pytest.skip("only Linux can wait for processes that are not our own children")
    script = tmp_path / "bank.py"
    script.write_text(
        "import sys, chandylamport as cl\n"
        "from chandylamport.sockets import run_on_sockets\n"
        "if __name__ == '__main__':\n"
        "    accounts = cl.accounts(p=10, q=10, transfers=10**6)\n"
        "    bank = cl.System(accounts, cl.Fifo(cl.complete('pq')))\n"
        "    run_on_sockets(bank, store=sys.argv[1], log=lambda line: print(line, flush=True))\n"
    )
    command = [sys.executable, str(script), str(tmp_path / "store")]
    root = Path(cl.__file__).parents[1]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(root)},
    ) as process:
        yield process
        process.kill()


def workers_of(coordinator, until="snapshot 2 is complete"):
    """Read the log until a line; give a descriptor of each worker."""
    workers = []
    for line in coordinator.stdout:
        if match := re.match(r"[pq] is process (\d+)", line):
            workers.append(os.pidfd_open(int(match[1])))
        if re.match(until, line):
            return workers
    raise AssertionError(coordinator.stderr.read())


def assert_ended(workers):
    for worker in workers:
        assert select.select([worker], [], [], 30)[0], "a worker is still there"
        os.close(worker)


def test_workers_end_when_the_coordinator_is_killed_and_another_goes_on(coordinator, tmp_path):
    workers = workers_of(coordinator)
    coordinator.send_signal(signal.SIGKILL)
    assert_ended(workers)
    bank = cl.System(cl.accounts(p=10, q=10, transfers=100), cl.Fifo(cl.complete("pq")))
    got = run_on_sockets(bank, store=tmp_path / "store")
    assert got.faults == ()
    assert min(got.snapshots) > 2
    assert money(got.run.system.start) == money(got.final) == 20


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["q is process", "p listens", "snapshot 2 is complete"])
def test_control_c_ends_all_without_a_word_of_the_workers(moment, coordinator):
    workers = workers_of(coordinator, moment)
    os.killpg(coordinator.pid, signal.SIGINT)  # as a terminal does
    assert_ended(workers)
    _, complaints = coordinator.communicate()
    assert complaints.count("Traceback") == complaints.count("\nKeyboardInterrupt") == 1


# --- strangers ------------------------------------------------------------------------------------

SECRET = "not to be told"


def frame(data):
    return len(data).to_bytes(4, "big") + data


def hello(*values):
    return frame(json.dumps(encode(values)).encode())


HUNG_UP = "it hung up during the handshake"
INTRUSIONS = {
    b"": HUNG_UP,
    frame(b'"half a frame"')[:-3]: HUNG_UP,
    b"GET / HTTP/1.1\r\n\r\n": "it announces a frame of 1195725856 bytes, and 1048576 are allowed",
    b"\x00\x10\x00\x01": "it announces a frame of 1048577 bytes, and 1048576 are allowed",
    frame(b"\xff\xfe\x00"): "its frame is malformed (UnicodeDecodeError)",
    frame(b"{'a': 1}"): "its frame is malformed (JSONDecodeError)",
    frame(b""): "its frame is malformed (JSONDecodeError)",
    frame(b"[" * 100_000): "its frame is malformed (RecursionError)",
    frame(b'{"Control": "chalk"}'): "its frame is malformed (ValueError)",
    frame(b'{"KeyedState": ["x"]}'): "its frame is malformed (ValueError)",
    frame(b'{"tuple": ["\\ud800", 1, "p"]}'): "its frame is malformed (ValueError)",
    frame(b"17"): "its first frame is no handshake",
    hello(SECRET): "its first frame is no handshake",
    hello(SECRET, "1", "p"): "its first frame is no handshake",
    hello("a guess", 1, "p"): "it does not know the secret",
    hello("", 1, "p"): "it does not know the secret",
    hello("gu\u00e9ss", 1, "p"): "it does not know the secret",
    hello(SECRET, 0, "p"): "'p' of incarnation 0 is here, or not awaited",
    hello(SECRET, 1, "q"): "'q' of incarnation 1 is here, or not awaited",
    hello(SECRET, 1, "x"): "'x' of incarnation 1 is here, or not awaited",
}


def intrude(port, data, *, hang_up=True):
    """Send something to a port, wait until the other side closes, and say who we were."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as stranger:
        stranger.sendall(data)
        if hang_up:
            stranger.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
        return stranger.getsockname()


def test_strangers_are_refused_with_a_line_each_and_harm_nobody(store, monkeypatch):
    monkeypatch.setattr(sockets, "token_hex", lambda: SECRET)
    expected, ports = [], {}

    def refused(data, why, **how):
        stranger = intrude(ports["q"], data, **how)
        expected.append((f"q refuses {stranger}: ", why))

    def log(line):
        if match := re.match(r"(\w+) listens on \('127.0.0.1', (\d+)\)", line):
            ports[match[1]] = int(match[2])
        if line.startswith("q listens"):
            for data, why in INTRUSIONS.items():
                refused(data, why)
            silent = f"no handshake within {PATIENCE:g} seconds"
            refused(frame(b'"half a frame"')[:-3], silent, hang_up=False)
        if line == "snapshot 1 is complete":  # now all channels are there, and cannot come twice
            refused(hello(SECRET, 1, "p"), "'p' of incarnation 1 is here, or not awaited")

    got = run_on_sockets(bank(200), store=store, every=0, log=log)
    assert got.faults == ()
    assert money(got.final) == 4 * RICH
    assert len(expected) == len(INTRUSIONS) + 2
    for stranger, why in expected:
        [line] = [line for line in got.log if line.startswith(stranger)]
        assert why in line
    assert sum("refuses" in line for line in got.log) == len(expected)
    assert SECRET not in "\n".join(got.log)
    assert_no_worker_is_left(got.log)


def test_strangers_at_the_coordinator_are_refused_too(store):
    strangers, threads = [], []

    def attack(port):
        for data in INTRUSIONS:
            strangers.append(intrude(port, data))

    def log(line):
        if match := re.match(r"coordinator listens on \('127.0.0.1', (\d+)\)", line):
            threads.append(threading.Thread(target=attack, args=[int(match[1])]))
            threads[-1].start()

    got = run_on_sockets(bank(200), store=store, every=0, log=log)
    threads[0].join()
    assert got.faults == ()
    for stranger in strangers:
        assert sum(f"coordinator refuses {stranger}" in line for line in got.log) == 1
    assert len(strangers) == len(INTRUSIONS)


@pytest.mark.parametrize("junk", [b"{", b"17"])
def test_a_malformed_frame_in_a_channel_ends_the_incarnation_with_a_line(junk, store, monkeypatch):
    monkeypatch.setattr(sockets, "token_hex", lambda: SECRET)
    been_there = []

    def log(line):
        match = re.match(r"q listens on \('127.0.0.1', (\d+)\)", line)
        if match and not been_there:
            with socket.create_connection(("127.0.0.1", int(match[1])), timeout=30) as impostor:
                impostor.sendall(hello(SECRET, 1, "p") + frame(junk))
                while answer := impostor.recv(100):
                    been_there.append(answer)

    got = run_on_sockets(bank(10), store=store, log=log)
    [line] = [line for line in got.log if line.startswith("channel p→q: ")]
    assert "malformed" in line or "unpack" in line
    assert got.log.index(line) < got.log.index("incarnation 2 starts from the beginning")
    assert (got.incarnations, got.faults) == (2, ())


# --- no worker is left ----------------------------------------------------------------------------


def test_a_worker_that_raises_tells_its_traceback(store):
    lines = []
    odd = cl.System(cl.accounts(p=10, q="ten"), cl.Fifo(cl.complete("pq")))
    with pytest.raises(WorkerFailed, match=r"(?s)q has failed:.*in enabled.*TypeError"):
        run_on_sockets(odd, store=store, log=lines.append)
    assert_no_worker_is_left(lines)


def test_a_message_that_fits_into_no_frame_is_refused(store):
    large = cl.System(cl.letters(p=[("q", "x" * LARGEST)], q=[]), cl.Fifo(cl.complete("pq")))
    with pytest.raises(WorkerFailed, match="send less at a time"):
        run_on_sockets(large, store=store)


def test_an_interrupt_leaves_nobody_behind(store):
    main, threads, lines = threading.main_thread(), threading.enumerate(), []

    def log(line):
        lines.append(line)
        if line == "snapshot 1 is complete":
            signal.pthread_kill(main.ident, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_on_sockets(bank(10**6), store=store, log=log)
    finally:
        signal.signal(signal.SIGINT, before)
    assert_no_worker_is_left(lines)
    assert threads == threading.enumerate()


def test_what_cannot_be_sent_is_named(store):
    lines = []
    local = SimpleNamespace(initial=0, enabled=lambda state: (), step=None, receive=None)
    with pytest.raises(TypeError, match=r"cannot be sent .* no lambda"):
        run_on_sockets(cl.System({"p": local}, cl.Fifo([])), store=store, log=lines.append)
    with pytest.raises(TypeError, match=r"cannot be sent .* no lambda"):
        run_on_sockets(cl.textbook_bank(), lambda: cl.ChandyLamport(), store=store)
    assert_no_worker_is_left(lines)


def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "bare.py"
    script.write_text(
        "import chandylamport as cl\n"
        "from chandylamport.sockets import run_on_sockets\n"
        "bank = cl.System(cl.accounts(p=9, q=9, transfers=3), cl.Fifo(cl.complete('pq')))\n"
        f"run_on_sockets(bank, store={str(tmp_path / 'store')!r})\n"
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert ended.returncode != 0
    assert "under `if __name__ == '__main__':` in a script" in ended.stderr


def test_a_class_of_a_notebook_cannot_be_imported_and_the_error_says_so(store, monkeypatch, capfd):
    homemade = type("Homemade", (cl.ChandyLamport,), {"__module__": "__main__"})
    monkeypatch.setattr(sys.modules["__main__"], "Homemade", homemade, raising=False)
    with pytest.raises(WorkerFailed, match="not in a notebook"):
        run_on_sockets(cl.textbook_bank(), homemade, store=store)


# --- full channels --------------------------------------------------------------------------------


class Hasty:
    """Sends letters of 4 KiB, as many as it can."""

    initial = 0
    receive = None  # nobody writes to it

    def enabled(self, sent):
        if sent < 400:
            yield cl.Action("", (("q", "x" * 4096),))

    def step(self, sent, action):
        return sent + 1


class Slow:
    """Thinks for a long time, and then takes letters."""

    initial = (3000, 0)  # thoughts to come, and letters

    def enabled(self, state):
        if state[0]:
            yield cl.Action("think")

    def step(self, state, action):
        assert sum(range(20_000))
        return state[0] - 1, state[1]

    def accepts(self, state, channel, letter):
        return not state[0]

    def receive(self, state, channel, letter):
        return state[0], state[1] + 1


def test_a_slow_receiver_bounds_what_is_in_its_channel(store):
    system = cl.System({"p": Hasty(), "q": Slow()}, cl.Fifo(cl.complete("pq")))
    got = run_on_sockets(system, store=store, initiators=["q"], every=0.2)
    assert got.faults == ()
    assert got.final.states == {"p": 400, "q": (0, 400)}
    assert max(len(snapshot.channels["p", "q"]) for snapshot in got.snapshots.values()) < 100


def test_full_channels_hold_senders_back_and_block_nobody(store):
    long = [("q", "x" * 50_000)] * 200, [("p", "y" * 50_000)] * 200
    system = cl.System(cl.letters(p=long[0], q=long[1]), cl.Fifo(cl.complete("pq")))
    got = run_on_sockets(system, store=store, every=0)
    assert got.faults == ()
    assert [len(letters) for _, letters in got.final.states.values()] == [200, 200]


@pytest.mark.parametrize(("waiting", "closing"), [(ROOM + 1, False), (0, True), (0, False)])
def test_a_process_sends_only_where_there_is_room(waiting, closing):
    transport = SimpleNamespace(get_write_buffer_size=lambda: waiting)
    writer = SimpleNamespace(transport=transport, is_closing=lambda: closing)
    system = cl.System(cl.letters(p=[("q", "m")], q=[]), cl.Fifo([("p", "q")]))
    place = Place(system, Latest, {cl.Channel("p", "q"): writer})
    sends = [option for option in place.options() if option.method == "act"]
    assert bool(sends) == (waiting == 0 and not closing)
