"""A Spark session that is silent, on loopback, quick to start, and gone when Python ends.

It knows nothing of snapshots. Everything that the JVM says goes to a file, and our errors name it.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from ..java import cache_directory, find_java

HOST = "127.0.0.1"
PREFIX = "chandylamport-"  # of our directory among the temporary ones, before our number
MASTER = "local[8]"  # slots for a small dataflow: its tasks wait more than they work
GRACE = 60  # seconds for the JVM to end by itself; to archive its classes it takes some
ATTEMPTS = 1_000  # how often Spark may run a stage again: whoever coordinates the tasks, gives up
LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1}: %m%n%ex
"""
SETTINGS = {
    "spark.app.name": "chandylamport",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "2g",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.stage.maxConsecutiveAttempts": str(ATTEMPTS),
    # The default of 40 tries, each after 15 seconds, is for executors that are still to come.
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "3",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    # transformWithState keeps its state in nothing else.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}

LOOPBACK = {"spark.driver.host": HOST, "spark.driver.bindAddress": HOST}


class SparkFailed(RuntimeError):
    """Spark has not started, or has ended: the text names the cause, the remedy and the log."""


class _Jvm:
    """The one Java process of this Python process, and the directory in which it works."""

    def __init__(self, conf: SparkConf) -> None:
        """Start it: its output goes to a file, and its classes come from an archive."""
        java = find_java()
        os.environ["JAVA_HOME"] = str(java.home)
        if conf.get("spark.driver.host") == HOST:
            os.environ["SPARK_LOCAL_IP"] = HOST
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        _clear(Path(gettempdir()))
        self.directory = Path(mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self.log, self.left = self.directory / "spark.log", list[Path]()
        atexit.register(self.end)
        (self.directory / "tmp").mkdir()
        (self.directory / "log4j2.properties").write_text(LOGGING)
        name = cache_directory() / f"spark-{pyspark.__version__}-java-{java.version}"
        self.archive, self.draft = name.with_name(f"{name.name}.jsa"), self.directory / "draft.jsa"
        base = name.with_name(f"{name.name}-base.jsa")
        try:
            self._launch(conf, self._archived(java.home / "bin" / "java", base))
        except Exception:
            for archive in (self.archive, base):  # perhaps one of them is damaged
                with suppress(OSError):
                    archive.unlink()
            try:
                self._launch(conf, [])
            except Exception as error:
                raise self.failure("Java has not started", error) from error

    def _launch(self, conf: SparkConf, more: list[str]) -> None:
        options = [
            f"-Dlog4j2.configurationFile={self.directory / 'log4j2.properties'}",
            f"-Djava.io.tmpdir={self.directory / 'tmp'}",
            *more,
        ]
        quoted = " ".join(f'"{option}"' for option in options)
        conf.set("spark.driver.extraJavaOptions", quoted)
        conf.set("spark.local.dir", str(self.directory / "local"))
        conf.set("spark.sql.warehouse.dir", str(self.directory / "warehouse"))
        with self.log.open("wb") as file:
            self.gateway = launch_gateway(conf, {"stdout": file, "stderr": file})

    def _archived(self, java: Path, base: Path) -> list[str]:
        """Options that load classes from an archive, or make one at the end.

        The archive of all that Spark loads stands on one of Java's own classes. One that does not
        fit, Java leaves alone.
        """
        quiet = ["-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
        with suppress(OSError):
            base.parent.mkdir(parents=True, exist_ok=True)
            if not base.exists():
                draft = self.directory / "base.jsa"
                dump = [str(java), "-Xshare:dump", f"-XX:SharedArchiveFile={draft}"]
                subprocess.run(dump, capture_output=True, check=False)
                _publish(draft, base)
            if self.archive.exists():
                return [*quiet, f"-XX:SharedArchiveFile={base}:{self.archive}"]
            made = f"-XX:ArchiveClassesAtExit={self.draft}"
            return [*quiet, f"-XX:SharedArchiveFile={base}", made]
        return []

    def failure(self, what: str, error: Exception) -> SparkFailed:
        """Say what has failed, with the last lines of the log, which stays where it is."""
        atexit.unregister(self.end)
        self.stop()
        said = self.log.read_text(errors="replace").strip() if self.log.exists() else ""
        last = "\n".join(said.splitlines()[-5:]) or str(error)
        return SparkFailed(f"{what}: {last}\nThe log of the JVM: {self.log}")

    def stop(self) -> None:
        """End the JVM, and wait until it has gone."""
        gateway: Any = getattr(self, "gateway", None)
        if gateway is not None:
            with suppress(Exception):
                gateway.shutdown()
            with suppress(OSError):
                gateway.proc.stdin.close()
            try:
                gateway.proc.wait(GRACE)
            except subprocess.TimeoutExpired:
                gateway.proc.kill()
                gateway.proc.wait()
            SparkContext._gateway = SparkContext._jvm = None

    def end(self) -> None:
        """Stop Spark and the JVM, keep the archive that it has made, and leave nothing behind."""
        with suppress(Exception):
            stop()
        self.stop()
        with suppress(OSError):
            _publish(self.draft, self.archive)
        for left in (self.directory, *self.left):
            rmtree(left, ignore_errors=True)


def _publish(draft: Path, final: Path) -> None:
    """Move a file to its place in one step; several processes may come here at once."""
    beside = final.with_name(f"{final.name}.{os.getpid()}")
    if draft.exists():
        beside.write_bytes(draft.read_bytes())
        beside.replace(final)


def _clear(directory: Path) -> None:
    """Remove what those have left behind who were killed before they could end their JVM."""
    for left in directory.glob(f"{PREFIX}*-*"):
        with suppress(ValueError, OSError):
            if (
                not Path(f"/proc/{int(left.name.split('-')[1])}").exists()
                and Path("/proc").exists()
            ):
                rmtree(left, ignore_errors=True)


_jvm: _Jvm | None = None


def session(master: str = MASTER, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark, or give the session that is running.

    The master is any that Spark knows: `local[8]` for eight slots in this process, `local-cluster`,
    or the address of a cluster. Settings of your own win over ours; those of the JVM, such as
    `spark.driver.memory`, count when it starts.
    """
    global _jvm
    running = SparkSession.getActiveSession()
    if running is not None and running.sparkContext._jsc is not None:
        _refuse_another(running, master, conf or {})
        return running
    near = LOOPBACK if master.startswith("local") else {}  # a cluster has to find the driver
    settings = {"spark.master": master, **SETTINGS, **near, **(conf or {})}
    made = SparkConf(loadDefaults=False).setAll([*settings.items()])
    if _jvm is None or _jvm.gateway.proc.poll() is not None:
        SparkContext._gateway = SparkContext._jvm = None
        _jvm = _Jvm(made)
    # They print a caught error of a query once more, with its time, where nbval would trip on it.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).disabled = True
    try:
        context = SparkContext(gateway=_jvm.gateway, conf=made)
        if master.startswith("local-cluster"):  # whose workers write beside Spark's own files
            _jvm.left.append(Path(pyspark.__file__).parent / "work" / str(context.applicationId))
        return SparkSession(context)
    except Exception as error:
        reason = str(error).strip().splitlines()[:3]
        raise SparkFailed(
            f"Spark has not started on {master}: {' '.join(reason)}\nThe log of the JVM: {_jvm.log}"
        ) from error


def _refuse_another(running: SparkSession, master: str, conf: Mapping[str, str]) -> None:
    found = {"spark.master": running.sparkContext.master}
    for name, value in {"spark.master": master, **conf}.items():
        found.setdefault(name, running.conf.get(name, None) or "")
        if found[name] != value and (name, value) != ("spark.master", MASTER):
            raise ValueError(
                f"a session with {name}={found[name]} is running, and not {value}: "
                "stop() it first, or call session() without arguments"
            )


def stop() -> None:
    """Stop the session, if one is running; the next `session` may have another master."""
    running = SparkSession.getActiveSession()
    if running is not None:
        running.stop()
