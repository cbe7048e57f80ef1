"""Commands of netsonde in forks of a process that has imported it: that spares up to a second each.

For what a command does; how it starts, is interrupted and killed is asked of one that is started as
a user does it. What is forked is a server of its own with one thread, not the tests' own process,
whose threads may hold locks.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import NoReturn

FAILED = 70
PRELOADED = [
    "netsonde.cli.main",
    "netsonde.study.execute",
    "netsonde.explain.table",
    "netsonde.report",
    "netsonde.launch.record_kinds",
    "warm",
]
"""What most commands need, without what starts threads (polars)."""


def run(
    words: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 90.0,
) -> subprocess.CompletedProcess[str]:
    """``netsonde WORDS`` in that folder, with that environment more; killed at the time-out."""
    with tempfile.TemporaryDirectory() as place:
        said = Path(place, "output"), Path(place, "errors")
        variables = {**os.environ, **(environment or {})}
        child = _server().Process(
            target=_become, args=([*words], said, folder or Path.cwd(), variables)
        )
        child.start()
        child.join(timeout_s)
        if child.exitcode is None:
            child.kill()
            child.join()
        texts = [path.read_text() if path.exists() else "" for path in said]
        code = child.exitcode
    assert code is not None
    return subprocess.CompletedProcess(["netsonde", *words], code, *texts)


@cache
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def begin() -> None:
    """Starts the server, where what one test alone has in its environment must not be in the
    server's: it stays."""
    _server()
    forkserver.ensure_running()


def _become(
    words: list[str], said: Sequence[Path], folder: Path, environment: Mapping[str, str]
) -> NoReturn:
    """The command, in the child: ends as the command does."""
    code = FAILED
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(said, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None  # which may be another there
        sys.argv = ["netsonde", *words]

        from netsonde.cli.entry import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILED
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
