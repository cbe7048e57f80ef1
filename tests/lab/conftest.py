"""What the lab's tests share."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_marks import MARK, marked_processes

import warm
from netsonde.lab import permission_problem

ENDING_S = 3.0
"""So long the kernel may take to end what lived in a namespace."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "lab: needs namespaces, with root or in a user namespace")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs a lab where none can be had."""
    needing = [item for item in items if item.get_closest_marker("lab")]
    problem = permission_problem() if needing else None
    for item in needing if problem else []:
        item.add_marker(pytest.mark.skip(reason=f"no lab here: {problem}"))


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Labs of a test are noted in a folder of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "netsonde"


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A mark that every process started from the test carries in its environment."""
    warm.begin()
    value = uuid.uuid4().hex
    monkeypatch.setenv(MARK, value)
    yield value
    end = time.monotonic() + ENDING_S
    while marked_processes(value) and time.monotonic() < end:
        time.sleep(0.05)
    assert marked_processes(value) == [], "the test left processes"
