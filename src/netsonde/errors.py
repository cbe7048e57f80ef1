"""Errors that a user sees: one sentence each, and the exit code of the command line.

The sentence says what was given, what was expected and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class NetsondeError(Exception):
    """Base of every error that netsonde raises on purpose."""

    exit_code = 3


class UsageError(NetsondeError):
    """Bad usage or input: exit code 2."""

    exit_code = 2


class HostError(NetsondeError):
    """A host, peer or worker failed: exit code 3."""

    exit_code = 3


class UnsupportedError(HostError):
    """What was asked for is not in the library that it was asked of: nothing is broken."""


class StorageError(HostError):
    """What is measured cannot be kept, so nothing more is measured."""


class VerdictError(NetsondeError):
    """A check that was asked for failed: exit code 1."""

    exit_code = 1


class InterruptedByUserError(NetsondeError):
    """Ctrl-C or a termination signal, whose name ``signal`` is: exit code 4."""

    signal = ""
    exit_code = 4
    records: Sequence[Mapping[str, Any]] = ()
    """What a run that was cut short had done by then; empty where nothing of it is known."""
