"""What tests of simulated runs share."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulation_fakes import SMALL, install


@pytest.fixture
def fake_sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which sonde-sim is the one of simulation_fakes."""
    folder: Path = install(tmp_path / "workers")
    monkeypatch.setenv("NETSONDE_WORKERS", str(folder))
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario's file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path
