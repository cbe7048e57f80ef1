"""Whether a launcher of MPI programs has started netsonde itself, several times at once."""

from __future__ import annotations

import os
from collections.abc import Mapping

from netsonde.errors import UsageError

_COUNTS = {
    "SLURM_STEP_NUM_TASKS": "srun",
    "PMI_SIZE": "mpiexec",
    "OMPI_COMM_WORLD_SIZE": "mpirun",
    "PMIX_SIZE": "mpirun",
}
"""How many processes a launcher has started, in the environment of each. A script of sbatch and a
shell of salloc have none of these but in a step of one task."""


def refuse_copies(environ: Mapping[str, str] | None = None) -> None:
    """Raises UsageError where a launcher has started several of this process: each would take
    itself for the only one, and they would measure at the same time."""
    environ = os.environ if environ is None else environ
    for name, launcher in _COUNTS.items():
        count = environ.get(name, "")
        if count.isdecimal() and int(count) > 1:
            raise UsageError(
                f"netsonde was started {count} times, by {launcher} ({name}={count}); start it "
                "once, without a launcher, and it starts workers and MPI's ranks by itself"
            )
