"""Settings of an MPI library: only what the library itself says is in effect counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpi_needed import require_mpi
from netsonde.errors import HostError
from netsonde.explain.data import Seen
from netsonde.explain.setting_rules import unknown_mpi_settings, what_the_library_said
from netsonde.launch.mpi import open_mpi
from netsonde.launch.mpi_found import Mpi
from netsonde.launch.mpi_settings import (
    is_as_set,
    of_the_user,
    require_in_effect,
    unused_in_ucx,
)
from netsonde.launch.mpi_words import explain_end, library_lines
from netsonde.records.data import Run
from netsonde.report.side_by_side import _unseen

BCAST = "MPIR_CVAR_BCAST_INTRA_ALGORITHM"
LIMIT = "OMPI_MCA_btl_tcp_eager_limit"
OPEN_MPI_SAYS = """--------------------------------------------------------------------------
An invalid value was supplied for an enum variable.

  Variable     : coll_tuned_bcast_algorithm
  Value        : bogus
  Valid values : 0:"ignore", 1:"basic_linear"
--------------------------------------------------------------------------
"""


def mpi(*settings: tuple[str, str], family: str = "mpich") -> Mpi:
    return Mpi("m", family, "4.0", Path("/none/mpiexec"), None, None, settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "read", "same"),
    [
        ("1024", "1024", True),
        ("1024", "65536", False),
        ("0x", "0", True),  # no number: MPICH would have ended
        ("self,tcp", "self,tcp", True),
        ("self,tcp", "self", False),
        ("true", "1 (true)", True),
        ("yes", "1", True),
        ("no", "1", False),
        ("0", "0 (false)", True),
        ("basic_linear", "1 (basic_linear)", True),
        ("1", "1 (basic_linear)", True),
        ("bogus", "0 (ignore)", False),
        ("6", "0 (ignore)", False),
        ("binomial", "1", True),
        ("1e3", "1000.000000", True),
    ],
)
def test_what_is_read_is_what_was_set(asked: str, read: str, same: bool) -> None:
    assert is_as_set(asked, read) is same


def test_a_name_that_is_none_is_refused_with_the_most_like() -> None:
    name = BCAST.replace("ALGORITHM", "ALGORITM")
    facts = {f"mpi.unknown.{name}": f"{BCAST} MPIR_CVAR_IBCAST_INTRA_ALGORITHM"}
    with pytest.raises(HostError) as error:
        require_in_effect(mpi((name, "binomial")), facts, "")
    assert f"{name} is no variable of MPICH 4.0" in str(error.value)
    assert f"the most like it are {BCAST}," in str(error.value)


def test_a_value_that_was_not_taken_is_refused_in_the_librarys_words() -> None:
    name = "OMPI_MCA_coll_tuned_bcast_algorithm"
    found = mpi((name, "bogus"), family="openmpi")
    with pytest.raises(HostError) as error:
        require_in_effect(found, {f"mpi.in_effect.{name}": "0 (ignore)"}, OPEN_MPI_SAYS)
    assert "=bogus is not in effect: Open MPI 4.0 reads '0 (ignore)'" in str(error.value)
    assert 'valid values are 0:"ignore", 1:"basic_linear"' in str(error.value)
    require_in_effect(found, {}, "")  # what cannot be asked for is not refused
    require_in_effect(found, {f"mpi.in_effect.{name}": ""}, "")  # nor what cannot be read


UCX_SAYS = (
    "[1795459559.169183] [vm:20728:0]  parser.c:2355 UCX  WARN  unused environment variable: "
    "UCX_TLSS (maybe: UCX_TLS?)\n"
    "[1795459559.169183] [vm:20728:0]  parser.c:2355 UCX  WARN  (set UCX_WARN_UNUSED_ENV_VARS=n to "
    "suppress this warning)\n"
)


def test_a_variable_that_ucx_says_is_unused_is_refused() -> None:
    assert unused_in_ucx(UCX_SAYS) == {"UCX_TLSS": "UCX_TLS"}
    several = "UCX  WARN  unused environment variables: UCX_NOSUCH; UCX_TLSS (maybe: UCX_TLS?)\n"
    assert unused_in_ucx(several) == {"UCX_NOSUCH": "", "UCX_TLSS": "UCX_TLS"}
    with pytest.raises(HostError, match=r"UCX_TLSS is no variable of the UCX of .*is UCX_TLS$"):
        require_in_effect(mpi(("UCX_TLSS", "tcp")), {}, UCX_SAYS)
    require_in_effect(mpi(("UCX_TLS", "tcp")), {}, UCX_SAYS)  # only named as what was meant
    require_in_effect(mpi(("UCX_TLSS", "tcp")), {}, "")  # where UCX is not in the job


def test_a_variable_of_a_library_below_is_judged_by_what_that_says() -> None:
    name = "FI_OFI_RXM_BUFFER_SIZ"
    facts = {f"mpi.unknown.{name}": "FI_OFI_RXM_BUFFER_SIZE"}
    with pytest.raises(HostError, match=r"the libfabric of MPICH 4.0, .* are FI_OFI_RXM_BUFFER_S"):
        require_in_effect(mpi((name, "1")), facts, "")
    size = "FI_OFI_RXM_BUFFER_SIZE"
    read = {f"mpi.in_effect.{size}": "64, for it is no whole number"}
    with pytest.raises(HostError, match=r"64k is not in effect: the libfabric of MPICH 4.0 reads"):
        require_in_effect(mpi((size, "64k")), read, "")
    require_in_effect(mpi((size, "0x40")), {f"mpi.in_effect.{size}": "64"}, "")
    # UCX has forms of its own, and does not start with what it cannot read.
    facts = {"mpi.in_effect.UCX_RNDV_THRESH": "intra:64K,inter:64K"}
    require_in_effect(mpi(("UCX_RNDV_THRESH", "65536")), facts, "")


def test_what_was_not_seen_is_not_called_a_setting() -> None:
    facts = {f"mpi.in_effect.{BCAST}": "1"}
    name = f"mpich+{BCAST}=binomial+UCX_TLS=tcp"
    assert _unseen(name, {name: facts}) == "; not seen whether in effect: UCX_TLS"
    assert _unseen(f"mpich+{BCAST}=binomial", {f"mpich+{BCAST}=binomial": facts}) == ""


def test_variables_of_netsondes_own_are_no_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPIR_CVAR_MINE", "1")
    facts = {
        "mpi.unknown.MPIR_CVAR_CH4_NETMOD": "",
        "mpi.unknown.MPIR_CVAR_MINE": "MPIR_CVAR_MIN",
        f"mpi.in_effect.{BCAST}": "1",
        "mpi.library": "M",
    }
    kept = of_the_user(facts, mpi((BCAST, "binomial")))
    assert set(kept) == set(facts) - {"mpi.unknown.MPIR_CVAR_CH4_NETMOD"}
    run = Run(Path("x"), {"hosts": {"h": {**kept, "mpi.said": "WARN unused"}}}, [], True)
    (finding,) = unknown_mpi_settings(Seen(run, []))
    assert finding.claim.startswith("MPIR_CVAR_MINE in the environment: no variable of this MPI")
    assert "MPIR_CVAR_MIN." in finding.evidence
    (note,) = what_the_library_said(Seen(run, []))
    assert "WARN unused" in note.claim


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "Abort(336741391): Fatal error in internal_Init: Other MPI error, \n"
            f"Invalid {BCAST} value (bogus)\n",
            f"was ended by MPI: Invalid {BCAST} value (bogus)",
        ),
        (
            "Abort(1) on node 0: Fatal error in internal_Init: Other MPI error, Invalid character "
            "b in MPIR_CVAR_BCAST_SHORT_MSG_SIZE\n",
            "was ended by MPI: Invalid character b in MPIR_CVAR_BCAST_SHORT_MSG_SIZE",
        ),
        (
            "Abort(873612303): Fatal error in internal_Init: Other MPI error, \n",
            "was ended by MPI: Fatal error in internal_Init: Other MPI error",
        ),
    ],
)
def test_the_library_is_heard_where_it_ends_at_its_start(said: str, words: str) -> None:
    assert explain_end(said) == words


def test_rules_and_words_of_ranks_are_not_the_librarys() -> None:
    assert library_lines("-----\nUCX  WARN  x\nsonde-mpi: rank 0 ends\n====\n") == "UCX WARN x"


@pytest.mark.worker
def test_a_real_library_is_asked() -> None:
    require_mpi()
    with open_mpi(None, 1, mpi=f"mpich+{BCAST}=binomial+MPIR_CVAR_BCAST_MIN_PROCS=3") as session:
        (facts,) = session.facts().values()
    assert facts["mpi.in_effect.MPIR_CVAR_BCAST_MIN_PROCS"] == "3"
    assert f"mpi.in_effect.{BCAST}" in facts
    assert "mpi.in_effect.MPIR_CVAR_NOLOCAL" not in facts
    with pytest.raises(HostError, match=r"BCST_MIN_PROCS is no variable.*R_BCAST_MIN_PROCS"):
        open_mpi(None, 1, mpi="mpich+MPIR_CVAR_BCST_MIN_PROCS=3")
    with pytest.raises(HostError, match=f"{BCAST}=bogus was set for it"):
        open_mpi(None, 1, mpi=f"mpich+{BCAST}=bogus")


@pytest.mark.worker
def test_a_real_ucx_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes to standard output, between the records."""
    require_mpi()
    monkeypatch.setenv("UCX_NET_DEVICES", "all")
    with pytest.raises(HostError, match="UCX_TLSS is no variable of the UCX of MPICH"):
        open_mpi(None, 2, mpi="mpich+MPIR_CVAR_CH4_NETMOD=ucx+UCX_TLSS=tcp")
