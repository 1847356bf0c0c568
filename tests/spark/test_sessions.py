"""The session: silent, on loopback, one at a time, and gone when Python ends."""

import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chandylamport import spark as cls
from chandylamport.spark import sessions

START = "from chandylamport import spark as cls\nspark = cls.session()\n"
JVM = "print(spark._jvm.java.lang.ProcessHandle.current().pid(), flush=True)\n"


@pytest.fixture
def surroundings(tmp_path):
    """A home, a cache and a directory for temporary files of one's own."""
    (tmp_path / "tmp").mkdir()
    return os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp")}


def run(script, surroundings, **how):
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, env=surroundings, **how)


QUERIES = """
print(spark.range(1000).selectExpr("sum(id)").first()[0])
print(spark.sparkContext.parallelize(range(4), 4).map(lambda n: n + 1).collect())
try:
    spark.sql("select nobody")
except Exception as error:
    print(error.getCondition())
"""


@pytest.mark.slow
def test_it_says_nothing_leaves_nothing_and_archives_its_classes_for_the_next(
    surroundings, tmp_path
):
    for archived in (False, True):
        archives = list(tmp_path.glob("cache/chandylamport/spark-*.jsa"))
        assert bool(archives) == archived
        options = 'print("Archive" in spark.conf.get("spark.driver.extraJavaOptions"))'
        said = run(START + QUERIES + options + "\n" + JVM, surroundings, cwd=tmp_path)
        *lines, jvm = said.stdout.splitlines()
        assert lines[:2] == ["499500", "[1, 2, 3, 4]"], said.stderr
        assert lines[2].startswith("UNRESOLVED_COLUMN")
        assert lines[3] == "True"
        assert said.stderr == ""
        assert not Path(f"/proc/{jvm}").exists()
        assert list((tmp_path / "tmp").iterdir()) == []
        assert {file.name for file in tmp_path.iterdir()} == {"tmp", "cache"}


@pytest.mark.slow
def test_a_damaged_archive_or_a_cache_that_cannot_be_written_costs_only_time(
    surroundings, tmp_path
):
    script = START + "print(spark.range(3).count())"
    assert run(script, surroundings).stdout == "3\n"
    for archive in tmp_path.glob("cache/chandylamport/*.jsa"):
        archive.write_bytes(b"torn")
    assert run(script, surroundings).stdout == "3\n"
    (tmp_path / "file").touch()
    nowhere = surroundings | {"XDG_CACHE_HOME": str(tmp_path / "file")}
    if "java" in nowhere.get("JAVA_HOME", "") or any(
        (Path(p) / "java").exists() for p in nowhere["PATH"].split(os.pathsep)
    ):  # without a Java of the machine, the wrapper needs the cache
        assert run(script, nowhere).stdout == "3\n"


@pytest.mark.slow
def test_the_jvm_goes_when_python_is_killed_and_the_next_session_clears_up(surroundings, tmp_path):
    script = START + JVM + "import time\ntime.sleep(600)"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings) as python:
        jvm = os.pidfd_open(int(python.stdout.readline()))
        python.send_signal(signal.SIGKILL)
        assert select.select([jvm], [], [], 60)[0], "the JVM is still there"
        os.close(jvm)
    assert len(list((tmp_path / "tmp").glob("chandylamport-*"))) == 1
    assert run(START, surroundings).returncode == 0
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_java_that_does_not_start_is_explained_and_its_log_is_kept(surroundings, tmp_path):
    script = "from chandylamport import spark as cls\n"
    script += 'cls.session(conf={"spark.driver.memory": "1m"})'
    said = run(script, surroundings)
    assert said.returncode == 1
    *_, what, where = said.stderr.splitlines()
    assert "heap" in said.stderr
    log = re.fullmatch(r"The log of the JVM: (.+)", where)
    assert "heap" in Path(log[1]).read_text(), what


def test_there_is_one_session_and_it_listens_on_loopback_only():
    spark = cls.session()
    assert cls.session() is spark
    assert cls.session(spark.sparkContext.master) is spark
    with pytest.raises(ValueError, match=r"spark.master=local\[8\] is running, and not local\[3\]"):
        cls.session("local[3]")
    with pytest.raises(ValueError, match=r"spark.sql.shuffle.partitions=2 is running, and not 7"):
        cls.session(conf={"spark.sql.shuffle.partitions": "7"})
    jvm = spark._jvm.java.lang.ProcessHandle.current().pid()
    assert listening(jvm)
    assert listening(jvm) <= {"127.0.0.1"}


def test_a_cluster_finds_the_driver_where_spark_says_it_is(monkeypatch):
    given = []

    def start(conf):
        given.append(dict(conf.getAll()))
        raise cls.SparkFailed("it is not started here")

    monkeypatch.setattr(sessions, "_Jvm", start)
    monkeypatch.setattr(sessions, "_jvm", None)
    for name in ("_gateway", "_jvm"):  # which the running session will need again
        monkeypatch.setattr(sessions.SparkContext, name, getattr(sessions.SparkContext, name))
    monkeypatch.setattr(sessions.SparkSession, "getActiveSession", lambda: None)
    for master in ("spark://there:7077", "local-cluster[2,1,1024]"):
        with pytest.raises(cls.SparkFailed, match="not started here"):
            cls.session(master)
    assert "spark.driver.host" not in given[0]
    assert given[1]["spark.driver.host"] == "127.0.0.1"


def listening(process):
    """Give the addresses on which a process listens."""
    links = (file for file in Path(f"/proc/{process}/fd").iterdir())
    own = {str(link.readlink()) for link in links if link.is_symlink()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            row = line.split()
            if row[3] == "0A" and f"socket:[{row[9]}]" in own:
                found.add(readable(row[1].partition(":")[0]))
    return found


def readable(address):
    """Give an address of /proc as people write it; Java writes IPv4 ones as IPv6."""
    mapped = "0000000000000000FFFF0000"
    last = address.removeprefix(mapped)
    if len(last) != 8:
        return address
    return ".".join(str(byte) for byte in reversed(bytes.fromhex(last)))
