"""A command of this machine that is asked once, and answers."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence


def answer_of(
    argv: Sequence[str],
    timeout_s: float,
    given: str | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """What it wrote and its status; ``given`` is its input, none where it is None.

    Raises OSError where it cannot be started, and TimeoutExpired, with the command ended.
    """
    return subprocess.run(
        argv,
        input="" if given is None else given,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        env=env,
        check=False,
    )
