"""Documents of the bench that are kept with the sources, and the tables made of them again.

A kept document has every single run with its figures, the seed, the settings, the versions and the
hosts' facts; what names a machine, its users or its folders is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.alternate import Outcome
from bench.comparisons import comparisons
from bench.control import Control
from bench.measured import Extent
from bench.table import Row, legend, table
from bench.verdict import judge
from netsonde.errors import UsageError

FOLDER = Path(__file__).parent / "results"
ENDING = ".json"
_FACTS = ("kernel.", "cpu.", "memory.", "sysctl.", "clock.", "netsonde.")
_OF_RUNS = ("pair", "place", "tool", "begun_unix_s", "elapsed_s", "value", "figures", "error")
_DETAILS = (
    *("observations", "p99_ns", "minimum_ns", "lost_ratio", "retransmits"),
    *("origin_calls_sent", "target_calls_received"),
)


def keep(document: Mapping[str, Any], name: str, folder: Path = FOLDER) -> Path:
    """Writes a document under a name. Raises UsageError where that is no plain name."""
    if not name.replace("-", "").isalnum() or len(name) > 64:
        raise UsageError(f"--keep {name[:80]}: expected letters, digits and - for a file's name")
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}{ENDING}"
    path.write_text(_lines_of(plain(document)) + "\n")
    return path


def _lines_of(document: Mapping[str, Any]) -> str:
    """JSON with a line for each run: text that can be looked at, and half as long as one that is
    indented throughout."""
    runs: list[str] = []

    def taken_out(value: Any) -> Any:
        if isinstance(value, dict) and "tool" in value:
            runs.append(json.dumps(value, sort_keys=True, allow_nan=False))
            return f"run {len(runs) - 1}"
        if isinstance(value, dict):
            return {key: taken_out(inner) for key, inner in value.items()}
        return [taken_out(inner) for inner in value] if isinstance(value, list) else value

    text = json.dumps(taken_out(document), indent=1, sort_keys=True, allow_nan=False)
    return re.sub(r'"run (\d+)"', lambda found: runs[int(found[1])], text)


def plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a document: nothing that names a machine or a folder of it."""
    names = ("format", "begun_unix_s", "elapsed_s", "seed", "pairs", "duration_s", "versions")
    return {
        **{name: document[name] for name in names if name in document},
        "paths": [_path(path) for path in document["paths"]],
        "comparisons": [_comparison(one) for one in document["comparisons"]],
    }


def _path(path: Mapping[str, Any]) -> dict[str, Any]:
    names = ("name", "origin_cpu", "target_cpu", "load_before", "load_after", "skipped")
    kept = {name: path[name] for name in names if name in path}
    hosts = list((path.get("hosts") or {}).values())
    kept["hosts"] = [{k: v for k, v in facts.items() if k.startswith(_FACTS)} for facts in hosts]
    return kept


def _comparison(one: Mapping[str, Any]) -> dict[str, Any]:
    names = ("path", "id", "peers", "settings", "absent", "skipped", "taken_away")
    kept = {name: one[name] for name in names if name in one}
    kept["runs"] = [_run(run) for run in one["runs"]]
    kept["controls"] = [_comparison(control) for control in one.get("controls", ())]
    return kept


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: run[name] for name in _OF_RUNS}
    kept["details"] = {name: run["details"][name] for name in _DETAILS if name in run["details"]}
    kept["usage"] = run.get("usage")
    return kept


def read_kept(path: Path) -> dict[str, Any]:
    """A document, kept or as ``make bench`` writes it. Raises UsageError where it is none."""
    try:
        document = json.loads(path.read_text())
        if not isinstance(document, dict) or "comparisons" not in document:
            raise ValueError("it has no comparisons")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: no document of the bench: {error}") from error
    return document


def rows_of(document: Mapping[str, Any]) -> list[Row]:
    """The rows of the table, judged anew from the runs by the document's seed."""
    seed = int(document["seed"])
    rows = []
    for one in document["comparisons"]:
        outcome = _outcome(one)
        controls = [
            Control(control["taken_away"], own := _outcome(control), judge(own, seed))
            for control in one["controls"]
        ]
        rows.append(Row(outcome, judge(outcome, seed), controls))
    return rows


def _outcome(one: Mapping[str, Any]) -> Outcome:
    known = {comparison.id: comparison for comparison in comparisons()}
    if one["id"] not in known:
        raise UsageError(f"no comparison is called {one['id']} any more; measure anew")
    settings = one["settings"]
    extent = Extent(int(settings["duration_s"]), int(settings.get("repeats", 0)))
    runs: Sequence[dict[str, Any]] = one["runs"]
    comparison = known[one["id"]]
    then = {peer: run for peer, run in comparison.peers.items() if peer in one["peers"]}
    comparison = replace(comparison, peers=then)  # others came later
    return Outcome(one["path"], comparison, extent, list(runs), one["absent"], one["skipped"])


def table_of(document: Mapping[str, Any], explain_all: bool = False) -> str:
    """The table that the bench printed, and what its columns mean."""
    return f"{table(rows_of(document), explain_all)}\n\n{legend()}"
