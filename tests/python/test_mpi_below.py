"""Variables of libfabric and UCX, asked of the libraries that are in the job."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mpi_needed import require_mpi
from netsonde.errors import HostError
from netsonde.launch.mpi import open_mpi
from netsonde.launch.mpi_found import find_mpi
from netsonde.launch.mpi_settings import IN_EFFECT

pytestmark = [pytest.mark.worker, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
BUFFER = "FI_OFI_RXM_BUFFER_SIZE"
UCX = "MPIR_CVAR_CH4_NETMOD=ucx"


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    require_mpi()
    monkeypatch.setenv("XDG_CACHE_HOME", str(ROOT / "build" / "cache"))
    for name in [*os.environ]:
        if name.startswith(("UCX_", "FI_", "MPIR_CVAR_")):
            monkeypatch.delenv(name)


def facts_of(mpi: str) -> Mapping[str, Any]:
    with open_mpi(None, 2, mpi=mpi, within="loopback") as session:  # by libfabric
        return next(iter(session.facts().values()))


def test_libfabric_says_what_it_reads() -> None:
    facts = facts_of(f"mpich+{BUFFER}=0x8000+FI_TCP_IFACE=lo+FI_FORK_UNSAFE=on")
    assert facts[f"mpi.in_effect.{BUFFER}"] == "32768"
    assert facts["mpi.in_effect.FI_TCP_IFACE"] == "lo"
    assert facts["mpi.in_effect.FI_FORK_UNSAFE"] == "1"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("FI_OFI_RXM_BUFER_SIZE=32768", f"no variable of the libfabric of .* are {BUFFER}"),
        (f"{BUFFER}=32k", r"not in effect: the libfabric of MPICH .* reads '32, .*no whole number"),
        ("FI_FORK_UNSAFE=maybe", r"not in effect: the libfabric of .* reads 'its default"),
    ],
)
def test_what_libfabric_does_not_take_is_refused(setting: str, words: str) -> None:
    with pytest.raises(HostError, match=words):
        open_mpi(None, 2, mpi=f"mpich+{setting}", within="loopback")


def test_ucx_says_what_it_reads() -> None:
    facts = facts_of(f"mpich+{UCX}+UCX_RNDV_THRESH=65536+UCX_TLS=tcp,self,sm")
    assert "64K" in facts["mpi.in_effect.UCX_RNDV_THRESH"]
    assert facts["mpi.in_effect.UCX_TLS"] == "tcp,self,sm"


def test_ucx_does_not_start_with_what_it_cannot_read() -> None:
    with pytest.raises(HostError, match=r"UCX_RNDV_THRESH=bogus was set.*Invalid param"):
        open_mpi(None, 2, mpi=f"mpich+{UCX}+UCX_RNDV_THRESH=bogus")


def test_of_the_library_that_mpi_does_not_use_nothing_is_said() -> None:
    """This MPICH has both."""
    both = "UCX_RNDV_THRESH=65536", f"{BUFFER}=32768", "UCX_TLS=tcp,self,sm"
    for netmod, other in (("ofi", "UCX_RNDV_THRESH"), ("ucx", BUFFER)):
        name = "+".join(("mpich", f"MPIR_CVAR_CH4_NETMOD={netmod}", *both))
        assert not facts_of(name).get(f"{IN_EFFECT}{other}")


@pytest.mark.soak
def test_an_mpich_with_ucx_alone_uses_it() -> None:
    """Debian's, for which sonde-mpi is built: the settings for all name libfabric's part. It is
    asked twice, which MPICH 4.0 survives only where its tool interface was not ended between."""
    try:
        find_mpi("mpich-debian")
    except HostError as error:
        pytest.skip(str(error))
    facts = facts_of("mpich-debian+UCX_RNDV_THRESH=65536")
    assert "64K" in facts["mpi.in_effect.UCX_RNDV_THRESH"]
