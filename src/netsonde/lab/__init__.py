"""Emulated clusters: hosts in network namespaces, joined by a bridge with shaped links.

Nothing is pinned in a file: a lab is a tree of processes in a pid namespace of its own, and the
kernel removes its namespaces, links and mounts when they end.
"""

from netsonde.lab.cluster import Lab, lab_up, permission_problem
from netsonde.lab.registry import find_lab, hosts_of, running_labs, start_named
from netsonde.lab.spec import LabSpec
from netsonde.lab.status import lab_status

__all__ = [
    "Lab",
    "LabSpec",
    "find_lab",
    "hosts_of",
    "lab_status",
    "lab_up",
    "permission_problem",
    "running_labs",
    "start_named",
]
