"""What the tests of several parts share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from raw_worker import RawWorker, workers

from netsonde.errors import HostError
from netsonde.launch.binaries import find_worker


@pytest.fixture(scope="session")
def sonde_worker() -> Path:
    """The executable of sonde-worker; skips where it is not built."""
    try:
        return find_worker("sonde-worker")
    except HostError as error:
        pytest.skip(str(error))


@pytest.fixture
def address_space_limits(sonde_worker: Path) -> None:
    """For tests that limit a worker's address space; a sanitizer build needs it without limit."""
    if b"__asan_init" in sonde_worker.read_bytes():
        pytest.skip("the sanitizer needs an address space without limit")


@pytest.fixture
def lone(sonde_worker: Path) -> Iterator[RawWorker]:
    with workers(sonde_worker, 1) as (worker,):
        yield worker
