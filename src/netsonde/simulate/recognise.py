"""Whether a study is one of simulations; apart, since every study is asked."""

from __future__ import annotations

from pathlib import Path

from netsonde.errors import UsageError

KEY = "simulate"


def is_simulation_study(path: Path) -> bool:
    """Whether a study's file has blocks to simulate; False where it cannot be read, which whoever
    reads it as something else will say."""
    from netsonde.tables import load_toml  # late: `netsonde study` is completed without it

    try:
        text = path.read_text()
        return KEY in load_toml(text, str(path)) if KEY in text else False
    except (OSError, UnicodeDecodeError, UsageError):
        return False
