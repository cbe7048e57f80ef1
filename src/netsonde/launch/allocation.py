"""The nodes that a batch system has given to the job that we are in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from netsonde.errors import HostError
from netsonde.launch.host import last_words
from netsonde.launch.nodes import expand

System = Literal["slurm", "flux"]
TITLES: Mapping[System, str] = {"slurm": "Slurm", "flux": "Flux"}
ASK_TIMEOUT_S = 20


@dataclass(frozen=True)
class Allocation:
    """A job's nodes, in the batch system's order."""

    system: System
    job: str
    nodes: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """``Slurm job 7``."""
        return f"{TITLES[self.system]} job {self.job}"


def allocation_here(environ: Mapping[str, str] | None = None) -> Allocation | None:
    """The allocation that this process is in; None outside of any. Raises HostError where the batch
    system does not say which nodes are in it."""
    environ = os.environ if environ is None else environ
    job, nodes = environ.get("SLURM_JOB_ID"), environ.get("SLURM_JOB_NODELIST")
    if job and nodes:
        return Allocation("slurm", job, tuple(expand(nodes)))
    if environ.get("FLUX_URI") and (job := environ.get("FLUX_JOB_ID")):
        return Allocation("flux", job, tuple(expand(ask(["flux", "getattr", "hostlist"]))))
    return None


def ask(argv: Sequence[str]) -> str:
    """What a command of the batch system says. Raises HostError."""
    try:
        answer = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ASK_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError as error:
        raise HostError(f"cannot start {argv[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        words = " ".join(argv[:3])
        raise HostError(f"`{words}` did not answer within {ASK_TIMEOUT_S} s") from error
    if answer.returncode != 0:
        words = last_words(answer.stderr) or f"status {answer.returncode}"
        raise HostError(f"`{' '.join(argv[:3])}` failed: {words}")
    return answer.stdout.strip()
