"""The nodes that a batch system has given to the job that we are in."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from netsonde.catalogue.launcher import LAUNCHERS
from netsonde.errors import HostError
from netsonde.launch.commands import answer_of
from netsonde.launch.host import last_words
from netsonde.limits import limit_s

ASK_TIMEOUT_S = limit_s("batch")


@dataclass(frozen=True)
class Allocation:
    """A job's nodes, in the batch system's order; ``system`` is its launcher's name."""

    system: str
    job: str
    nodes: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """``Slurm job 7``."""
        return f"{LAUNCHERS[self.system].title} job {self.job}"


def ask(argv: Sequence[str]) -> str:
    """What a command of the batch system says. Raises HostError."""
    try:
        answer = answer_of(argv, ASK_TIMEOUT_S)
    except OSError as error:
        raise HostError(f"cannot start {argv[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        words = " ".join(argv[:3])
        raise HostError(f"`{words}` did not answer within {ASK_TIMEOUT_S} s") from error
    if answer.returncode != 0:
        words = last_words(answer.stderr) or f"status {answer.returncode}"
        raise HostError(f"`{' '.join(argv[:3])}` failed: {words}")
    return answer.stdout.strip()
