"""What tests over libfabric need: sonde-fabric with its headers, and a library to load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from netsonde.errors import HostError
from netsonde.launch.local import LocalHost
from netsonde.launch.pair import open_pair


def require_fabric(provider: str = "tcp", options: Mapping[str, Any] | None = None) -> None:
    """Skips where libfabric or the provider is not there; a failure of another kind fails."""
    try:
        open_pair(
            LocalHost(), LocalHost(), "fabric", options={"provider": provider, **(options or {})}
        ).close()
    except HostError as error:
        missing = ("libfabric", "sonde-fabric")
        if any(word in str(error) for word in missing):
            pytest.skip(str(error))
        raise
