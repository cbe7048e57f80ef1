"""A study as a batch job of Slurm: the script, and handing it over."""

from __future__ import annotations

import math
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netsonde.errors import HostError, UsageError
from netsonde.launch.commands import answer_of
from netsonde.launch.host import last_words
from netsonde.limits import limit_s

SUBMIT_TIMEOUT_S = limit_s("submit")
RESERVE_SHARE = 0.25
AROUND_S = 120.0
"""Reaching the nodes, and the report."""
WARNING_S = 60
_NAME = re.compile(r"[A-Za-z0-9_.:@+-]{1,100}\Z")
_OPTION = re.compile(r"-[A-Za-z0-9-]+(=[^\n\r]*)?\Z")


@dataclass(frozen=True)
class Batch:
    """What is asked of Slurm. ``time_s`` is the job's limit; ``options`` are further ones of
    sbatch, each a word such as ``--qos=short``."""

    nodes: int
    time_s: float
    partition: str | None = None
    account: str | None = None
    options: tuple[str, ...] = ()


def time_of(longest_ns: int) -> float:
    """The limit, s, of a job for a study that is estimated to take at most so long."""
    return longest_ns / 1e9 * (1 + RESERVE_SHARE) + AROUND_S


def batch_script(batch: Batch, name: str, study: Path, out: Path) -> str:
    """The script of a job that runs a study between its nodes. Raises UsageError."""
    if batch.nodes < 2:
        raise UsageError(f"a study between {batch.nodes} nodes cannot be had; ask for 2 or more")
    named = {"partition": batch.partition, "account": batch.account}
    for option, value in named.items():
        if value is not None and not _NAME.match(value):
            raise UsageError(f"--{option} {value!r} is no name that Slurm knows")
    for word in batch.options:
        if not _OPTION.match(word):
            raise UsageError(f"{word!r} is no option of sbatch; give one as a word: --qos=short")
    asked = {
        "job-name": f"netsonde-{name}",
        "nodes": batch.nodes,
        "ntasks-per-node": 1,
        "time": _as_slurm_writes(batch.time_s),
        "output": f"{out}/netsonde-%j.log",
        **{option: value for option, value in named.items() if value is not None},
    }
    lines = [f"#SBATCH --{option}={value}" for option, value in asked.items()]
    # Some time before the limit netsonde is told, so that it keeps what it has and ends in order.
    lines += [
        f"#SBATCH --signal=B:TERM@{WARNING_S}",
        "#SBATCH --exclusive",
        *(f"#SBATCH {word}" for word in batch.options),
    ]
    command = [sys.executable, "-m", "netsonde", "study", "run", str(study), "--out", str(out)]
    return "\n".join(["#!/bin/sh", *lines, f"exec {shlex.join(command)}", ""])


def submit(script: str) -> str:
    """Hands a script over to sbatch; the job's number. Raises HostError."""
    try:
        answer = answer_of(["sbatch", "--parsable"], SUBMIT_TIMEOUT_S, script)
    except OSError as error:
        raise HostError(
            f"cannot start sbatch ({error.strerror}); submit from a machine that has Slurm"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise HostError(f"sbatch did not answer within {SUBMIT_TIMEOUT_S} s") from error
    job = answer.stdout.strip().partition(";")[0]
    if answer.returncode != 0 or not job:
        raise HostError(f"Slurm does not take the job: {_reason(answer.stderr.splitlines())}")
    return job


def _reason(lines: Sequence[str]) -> str:
    said = [line.removeprefix("sbatch: error:").strip() for line in lines if line.strip()]
    said = [line for line in said if "Batch job submission failed" not in line] or said
    return last_words("\n".join(said)) or "sbatch said no reason"


def _as_slurm_writes(seconds: float) -> str:
    minutes = max(1, math.ceil(seconds / 60))
    days, rest = divmod(minutes, 24 * 60)
    hours = f"{rest // 60:02d}:{rest % 60:02d}:00"
    return f"{days}-{hours}" if days else hours
