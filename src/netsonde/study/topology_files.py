"""Files that say which hosts hang below which switch: Slurm's, and netsonde's own scenarios."""

from __future__ import annotations

import re
from pathlib import Path

from netsonde.errors import UsageError
from netsonde.hosts import split_hosts
from netsonde.study.switches import Switches
from netsonde.tables import checked, load_toml, read_toml_text

FILE_LIMIT_BYTES = 1 << 22
LINES_LIMIT = 100_000
SLURM_NAME = ".conf"
_KEY = re.compile(r"(\w+)\s*=\s*(\S+)")


def read_topology(path: Path) -> dict[str, list[str]]:
    """The hosts below each switch, over all levels, by the switch's name.

    A file whose name ends in ``.conf`` is Slurm's topology.conf; any other a TOML file with tables
    ``switch`` and ``uplink``, as a lab's scenario has them. Raises UsageError.
    """
    if path.name.endswith(SLURM_NAME):
        try:
            if path.stat().st_size > FILE_LIMIT_BYTES:
                raise UsageError(f"{path} is larger than {FILE_LIMIT_BYTES >> 20} MiB")
            return slurm_switches(path.read_text(), str(path))
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} holds bytes that are no UTF-8 text") from error
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}") from error
    described = _toml_switches(path)
    below = {switch.name: list(switch.hosts) for switch in described.switch}
    above = {uplink.lower: uplink.upper for uplink in described.uplink}
    return _over_all_levels(below, above, str(path))


def _toml_switches(path: Path) -> Switches:
    """Of a scenario, which says much more: only what hangs where. Raises UsageError."""
    content = load_toml(read_toml_text(path, FILE_LIMIT_BYTES, "larger than 4 MiB"), str(path))
    wanted = {"switch": ("name", "hosts"), "uplink": ("lower", "upper")}
    tables: dict[str, list[dict[str, object]]] = {}
    for kind, keys in wanted.items():
        rows = content.get(kind, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise UsageError(f"{path}: {kind} is no list of tables [[{kind}]]")
        tables[kind] = [{key: row[key] for key in keys if key in row} for row in rows]
    if not tables["switch"]:
        raise UsageError(f"{path} has no table [[switch]]; Slurm's topology ends in .conf")
    return checked(Switches, tables, str(path))


def slurm_switches(text: str, source: str) -> dict[str, list[str]]:
    """From the text of a topology.conf: lines ``SwitchName=s1 Nodes=n[1-8]`` or ``SwitchName=s0
    Switches=s[1-4]``; comments begin with #. Raises UsageError with the line's number."""
    below: dict[str, list[str]] = {}
    above: dict[str, str] = {}
    lines = text.replace("\\\n", " ").splitlines()
    if len(lines) > LINES_LIMIT:
        raise UsageError(f"{source} has more than {LINES_LIMIT} lines")
    for number, line in enumerate(lines, 1):
        words = {key.lower(): value for key, value in _KEY.findall(line.partition("#")[0])}
        if not words:
            continue
        name = words.get("switchname")
        if name is None:
            raise UsageError(
                f"{source}, line {number}: expected SwitchName=NAME and Nodes= or Switches="
            )
        below.setdefault(name, []).extend(split_hosts(words["nodes"]) if "nodes" in words else [])
        for lower in split_hosts(words["switches"]) if "switches" in words else []:
            above[lower] = name
    if not below:
        raise UsageError(f"{source} names no switch; expected lines SwitchName=s1 Nodes=n[1-8]")
    return _over_all_levels(below, above, source)


def _over_all_levels(
    below: dict[str, list[str]], above: dict[str, str], source: str
) -> dict[str, list[str]]:
    """Adds to each switch what hangs below the switches under it. Raises UsageError for one that
    is not described, or a ring of them."""
    found = {name: dict.fromkeys(hosts) for name, hosts in below.items()}
    missing = next((name for name in above if name not in found), None)
    if missing is not None:
        raise UsageError(f"{source}: switch {missing} is named, but not described")
    for lowest, hosts in below.items():
        name, steps = lowest, 0
        while name in above:
            name, steps = above[name], steps + 1
            if name not in found:
                raise UsageError(f"{source}: switch {name} is named, but not described")
            if steps > len(below):
                raise UsageError(f"{source}: the switches above {lowest} are a ring")
            found[name].update(dict.fromkeys(hosts))
    return {name: list(hosts) for name, hosts in found.items()}
