"""From rules to a user's settings: which library reads what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netsonde.launch.mpi_found import find_mpi
from netsonde.launch.mpi_settings import MCA
from netsonde.launch.mpi_ways import library_ways
from netsonde.tuning.mpi.applied import apply, folder
from netsonde.tuning.mpi.library_files import write_for
from netsonde.tuning.mpi.rules import Rules, needs_drop_in
from netsonde.units import format_count

RULES_VARIABLE = "NETSONDE_RULES"
"""By which netsonde's own library, loaded before an MPI's, finds its rules."""


def apply_rules(read: Rules, path: Path, mpi_name: str) -> tuple[dict[str, Any], list[str]]:
    """Writes what an MPI reads, and says so: a document, and lines. Raises UsageError, HostError.

    Rules of our schedules are copied for netsonde's own library.
    """
    mpi = find_mpi(mpi_name)
    contents: dict[str, str] = {}
    environment: list[tuple[str, str]] = []
    parameters: list[tuple[str, str]] = []
    lines: list[str] = []
    of_library = [rule for rule in read.rules if rule.library_algorithm is not None]
    if of_library:
        written = write_for(mpi, of_library, library_ways(mpi_name))
        name = f"{mpi.family}-rules{written.suffix}"
        contents |= written.contents(name)
        for variable, value in written.settings_for(Path("{folder}") / name):
            if variable.startswith(MCA):
                parameters.append((variable.removeprefix(MCA), value))
            else:
                environment.append((variable, value))
        lines += [f"not said to {mpi.title}: {why}" for why in set(written.unsaid.values())]
        lines += [f"not proven: {written.unproven}"] if written.unproven else []
    ours = [rule for rule in read.rules if needs_drop_in(rule)]
    if ours:
        contents["rules.json"] = path.read_text()
        environment.append((RULES_VARIABLE, "{folder}/rules.json"))
        lines.append(
            f"{format_count(len(ours), 'rule')} of netsonde's schedules: they hold in programs "
            "that load netsonde's library"
        )
    done = apply(contents, environment, parameters)
    lines += [f"written: {each}" for each in (*done.files, *done.blocks)]
    if done.script is not None:
        lines.append(f"load it in your shell, or in your ~/.profile: . {done.script}")
    lines.append("`netsonde tune undo` takes all of it away")
    document = {
        "files": [str(each) for each in (*done.files, *done.blocks)],
        "script": None if done.script is None else str(done.script),
        "folder": str(folder()),
    }
    return document, lines
