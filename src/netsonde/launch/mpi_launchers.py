"""How the mpiexec of each family is told what to start, where, and when to keep MPI on TCP.

Hydra is that of MPICH and Intel MPI; Open MPI's is ORTE's up to version 4 and PRRTE's from 5 on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from netsonde.catalogue.within import MEMORY, Within
from netsonde.errors import HostError, UsageError
from netsonde.launch.host import Host, launcher_row
from netsonde.launch.mpi_found import Mpi

# MPI libraries prefer shared memory wherever both ranks are on one machine, which between hosts of
# a lab would pass for its network. These settings keep MPICH on TCP: its UCX part ignores
# MPIR_CVAR_NOLOCAL, so the libfabric part is chosen where there are both, which is also the better
# of the two where there are more ranks than CPUs. Where there is UCX alone (Debian's MPICH 4.0),
# UCX_TLS keeps it on TCP. Intel MPI reads the others.
NETWORK_SETTINGS: Mapping[str, str] = {
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "I_MPI_FABRICS": "ofi",
    "UCX_TLS": "tcp,self",
}
LOOPBACK_SETTINGS: Mapping[str, str] = {
    **NETWORK_SETTINGS,
    "MPIR_CVAR_NOLOCAL": "1",
    "FI_TCP_IFACE": "lo",
    "UCX_NET_DEVICES": "lo",
}
# Open MPI: its own messages over TCP, and no other way that a library beside it may offer.
OPENMPI_SETTINGS: Mapping[str, str] = {
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,tcp",
}
OPENMPI_LOOPBACK_SETTINGS: Mapping[str, str] = {
    **OPENMPI_SETTINGS,
    "OMPI_MCA_btl_tcp_if_include": "lo",
}
# One-sided operations have ways of their own: without this, Open MPI 4 takes shared memory between
# ranks of one host, and makes no window over TCP between several.
OPENMPI_4_SETTINGS: Mapping[str, str] = {"OMPI_MCA_osc": "pt2pt"}
# More ranks than CPUs: whoever waits must let the others run, or they wait for each other
# until the scheduler takes the CPU away, some milliseconds later.
CROWDED_SETTINGS: Mapping[str, str] = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "4",
}
OPENMPI_CROWDED_SETTINGS: Mapping[str, str] = {"OMPI_MCA_mpi_yield_when_idle": "1"}
# Without rules of a user's, Open MPI decides as it does without this; but its algorithms can then
# be named for each communicator.
FORCED_SETTINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "openmpi": (("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),)
}
# Who starts netsonde as root wants its ranks as root, too; Open MPI asks for both to be said.
OPENMPI_ROOT_SETTINGS: Mapping[str, str] = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def launcher_arguments(mpi: Mpi, hosts: Sequence[Host], ranks: int, ppn: int = 1) -> list[str]:
    """What mpiexec is told about hosts and ranks: no hosts for this machine alone. Hosts get
    ``ppn`` ranks in turn, and none is bound to a CPU. Raises UsageError."""
    if mpi.family == "openmpi":
        return _openmpi_arguments(mpi, hosts, ranks, ppn)
    if not hosts:
        # Also inside a batch job: its hosts are not what was asked for.
        return ["-rmk", "user", "-launcher", "fork", "-n", str(ranks)]
    names = ",".join(host.name for host in hosts)
    # Open MPI finds a batch system by itself.
    row = launcher_row(hosts[0])
    arguments = ["-launcher", row.carries_ranks, "-hosts", names, "-ppn", str(ppn)]
    if row.is_closed:
        arguments += ["-launcher-exec", str(_lab_wrapper())]
    return [*arguments, "-n", str(ranks)]


def _openmpi_arguments(mpi: Mpi, hosts: Sequence[Host], ranks: int, ppn: int) -> list[str]:
    # Without --bind-to none, rank 0 of every host of a lab would be bound to the same CPU.
    names = [host.name for host in hosts] or ["localhost"]
    by = "node"
    each = -(-ranks // len(names))
    if hosts and ppn > 1:
        if ranks > ppn * len(names):
            raise UsageError(
                f"{ranks} ranks with --ppn {ppn} need {-(-ranks // ppn)} hosts with Open MPI, "
                f"which does not begin again at the first; {len(names)} are given"
            )
        by, each = "slot", ppn
    arguments = ["--bind-to", "none", "--host", ",".join(f"{name}:{each}" for name in names)]
    if mpi.major < 5:
        arguments += ["--map-by", by, "--oversubscribe"]
    else:
        arguments += ["--map-by", f"{by}:OVERSUBSCRIBE"]
    if hosts and launcher_row(hosts[0]).is_closed:
        if mpi.major < 5:
            arguments += ["--mca", "plm_rsh_agent", str(_lab_wrapper())]
        else:
            arguments += ["--prtemca", "plm_ssh_agent", str(_lab_wrapper())]
    return [*arguments, "-np", str(ranks)]


def default_environment(
    mpi: Mpi, hosts: Sequence[Host], busy: int, within: Within = MEMORY
) -> dict[str, str]:
    """The settings that keep MPI on TCP, between hosts of a lab and where that is asked for
    ``within`` one node; and those that keep its ranks, or their threads, out of each other's way
    where so many are busy and that is more than CPUs of this machine. Without those that the
    user's environment has.

    Between hosts of a cluster there are none of them: its MPI knows its network.
    """
    is_openmpi = mpi.family == "openmpi"
    is_lab = bool(hosts) and launcher_row(hosts[0]).is_closed
    settings: dict[str, str] = {}
    if is_lab:
        settings |= OPENMPI_SETTINGS if is_openmpi else NETWORK_SETTINGS
    elif within.keeps_on and len(hosts) <= 1:
        settings |= OPENMPI_LOOPBACK_SETTINGS if is_openmpi else LOOPBACK_SETTINGS
    if settings and is_openmpi and mpi.major < 5:
        settings |= OPENMPI_4_SETTINGS
    if (is_lab or not hosts) and busy > len(os.sched_getaffinity(0)):
        settings |= OPENMPI_CROWDED_SETTINGS if is_openmpi else CROWDED_SETTINGS
    return {name: value for name, value in settings.items() if name not in os.environ}


def environment_of(mpi: Mpi) -> dict[str, str]:
    """What every start of an MPI needs, whatever the network: its own library before any other, and
    leave to run as root; and what was set for it by name."""
    settings: dict[str, str] = {}
    if mpi.abi_folder is not None:
        rest = os.environ.get("LD_LIBRARY_PATH")
        settings["LD_LIBRARY_PATH"] = f"{mpi.abi_folder}:{rest}" if rest else str(mpi.abi_folder)
    if mpi.family == "openmpi" and os.geteuid() == 0:
        settings |= OPENMPI_ROOT_SETTINGS
    return settings | dict(mpi.settings)


def _lab_wrapper() -> Path:
    wrapper = Path(__file__).with_name("enter_lab_host.sh")
    if not os.access(wrapper, os.X_OK):
        raise HostError(f"{wrapper} is missing or not executable; install netsonde again")
    return wrapper
