"""Commands of netsonde in forks of this process, which has imported it: that spares up to a second.

For what a command does; how it starts, is interrupted and killed is asked of one that is started as
a user does it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import netsonde.explain.table
import netsonde.figures.compute
import netsonde.study.execute  # noqa: F401  (what most commands need)
from netsonde.cli.entry import main

FAILED = 70
POLL_S = 0.005


def run(
    words: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 90.0,
) -> subprocess.CompletedProcess[str]:
    """``netsonde WORDS`` in that folder, with that environment more; killed at the timeout."""
    with tempfile.TemporaryDirectory() as place:
        said = Path(place, "output"), Path(place, "errors")
        child = os.fork()
        if child == 0:
            _become(words, said, folder, environment or {})
        code = _ended(child, timeout_s)
        texts = [path.read_text() for path in said]
    return subprocess.CompletedProcess(["netsonde", *words], code, *texts)


def _ended(child: int, timeout_s: float) -> int:
    deadline = time.monotonic() + timeout_s
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(POLL_S)
        ended, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status)


def _become(
    words: Sequence[str],
    said: Sequence[Path],
    folder: Path | None,
    environment: Mapping[str, str],
) -> NoReturn:
    """The command, in the child: ends as the command does."""
    code = FAILED
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(said, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        os.chdir(folder or Path.cwd())
        os.environ.update(environment)
        tempfile.tempdir = None  # which may be another there
        sys.argv = ["netsonde", *words]
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILED
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
