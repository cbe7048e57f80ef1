"""What tests of PVM need, or are skipped for the lack of."""

from __future__ import annotations

from pathlib import Path

import pytest

from netsonde.errors import HostError
from netsonde.launch.binaries import find_worker

DAEMON = Path("/usr/lib/pvm3/lib/pvmd")


def require_pvm() -> Path:
    """sonde-pvm. Skips the test where it cannot be had, or its daemon is missing."""
    if not DAEMON.exists():
        pytest.skip("PVM is not installed")
    try:
        return find_worker("sonde-pvm")
    except HostError as error:
        pytest.skip(str(error))
