"""What makes hosts of the words that a user writes: each launcher's, registered in its own file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from netsonde.catalogue.behind import Behind
from netsonde.catalogue.launcher import LAUNCHERS, batch_launchers
from netsonde.launch.allocation import Allocation
from netsonde.launch.host import Host


@dataclass(frozen=True)
class Named:
    """What was written for hosts: ``name`` is without the launcher's word. ``job`` is the one that
    it is a node of; ``code`` and ``port`` are those of a stranger's server."""

    name: str
    job: Allocation | None = None
    code: str = ""
    port: int | None = None


FILES = ("flux", "local", "paired", "slurm", "ssh")
"""Each is imported for the launcher of its name where a host of that is asked for."""
HOSTS: Behind[Callable[[Named], list[Host]]] = Behind(
    LAUNCHERS, {f"netsonde.launch.{name}": (name,) for name in FILES}
)
"""By launcher, the hosts that are meant: one, but where a word stands for several."""

JOBS: Behind[Callable[[Mapping[str, str]], Allocation | None]] = Behind(
    batch_launchers(), {f"netsonde.launch.{name}": (name,) for name in batch_launchers()}
)
"""By launcher of a batch system, the job that a process with such an environment is in."""
