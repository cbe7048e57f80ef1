"""A study between other hosts, or started otherwise, than its file says."""

from __future__ import annotations

from pathlib import Path

from netsonde.catalogue.launcher import HERE, takes_nodes
from netsonde.errors import UsageError
from netsonde.hosts import LauncherName, allocation_here, parse_hosts, split_hosts
from netsonde.study.spec import StudySpec


def between_hosts(spec: StudySpec, hosts: str, file: Path) -> StudySpec:
    """The study with the hosts of ``--hosts`` as its path, and for MPI where it names none there.

    Raises UsageError for fewer than two, and where the study has a path that is no hosts'.
    """
    if spec.path.kind not in ("auto", "hosts"):
        raise UsageError(
            f"--hosts and kind = '{spec.path.kind}' of {file} do not go together; leave out one"
        )
    if spec.path.between:
        raise UsageError(
            f"--hosts and between of {file} do not go together: the file says which hosts are pairs"
        )
    names = split_hosts(hosts)
    if names == [HERE.word]:
        return spec.model_copy(update={"path": spec.path.model_copy(update={"kind": "loopback"})})
    if len(names) < 2:
        raise UsageError(f"--hosts {hosts!r}: a study needs two hosts or more, such as n1,n2")
    parse_hosts(names, launcher=spec.path.launcher)
    return _between(spec, names)


def on_own_nodes(spec: StudySpec) -> StudySpec:
    """The study between the nodes of the job that we are in, where it says nothing of its path; as
    it is outside of a job, and in a job of one node. Raises HostError."""
    allocation = allocation_here()
    if allocation is None or len(allocation.nodes) < 2:
        return spec
    return on_nodes_of(spec, list(allocation.nodes))


def on_nodes_of(spec: StudySpec, nodes: list[str]) -> StudySpec:
    """The study between these nodes; as it is where it says something of its path."""
    path = spec.path
    named = (path.hosts, path.between, spec.mpi.hosts)
    names_some = any(named) or {path.origin, path.target} != {HERE.word}
    if path.kind not in ("auto", "hosts") or not takes_nodes(path.launcher) or names_some:
        return spec
    return _between(spec, nodes)


def started_by(spec: StudySpec, launcher: LauncherName) -> StudySpec:
    """The study with another launcher."""
    return spec.model_copy(update={"path": spec.path.model_copy(update={"launcher": launcher})})


def _between(spec: StudySpec, names: list[str]) -> StudySpec:
    for_mpi = spec.mpi.hosts or ([] if HERE.word in names else names)
    return spec.model_copy(
        update={
            "path": spec.path.model_copy(update={"kind": "hosts", "hosts": names}),
            "mpi": spec.mpi.model_copy(update={"hosts": for_mpi}),
        }
    )
