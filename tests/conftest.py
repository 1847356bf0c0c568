"""The same examples in every run: what fails here fails everywhere."""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "course",
    derandomize=True,
    deadline=None,  # no test measures time
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("course")


@cache
def starts_spark(notebook: Path) -> bool:
    return "chandylamport import spark" in notebook.read_text(encoding="utf-8")


@pytest.hookimpl(tryfirst=True)  # before those that are not wanted are taken out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Count the cells of notebooks on Spark as slow."""
    for item in items:
        if item.path.suffix == ".ipynb" and starts_spark(item.path):
            item.add_marker(pytest.mark.slow)
