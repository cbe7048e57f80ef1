"""What a traced command used by itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandUse:
    """What the kernel says that the command and its children used, and how it ended."""

    exit_code: int
    user_us: int
    system_us: int
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    most_resident_bytes: int
