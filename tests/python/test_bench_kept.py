"""Documents of the bench that are kept with the sources, and the page's tables made of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bench.alternate import Outcome
from bench.comparisons import comparisons
from bench.kept import ENDING, FOLDER, keep, plain, read_kept, rows_of, table_of
from bench.measured import Extent

from netsonde.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "methods" / "bench.md"
KEPT = sorted(FOLDER.glob(f"*{ENDING}"))
MOST_KEPT_BYTES = 256 * 1024


def document(ratio: float = 1.25) -> dict[str, object]:
    """Six rounds of a stream: netsonde's rate is ``ratio`` times iperf3's."""
    [stream] = [one for one in comparisons() if one.id == "tcp-stream"]
    outcome = Outcome("loopback", stream, Extent(1))
    for pair in range(6):
        for tool, rate in (("netsonde", ratio * 1e9), ("iperf3", 1e9)):
            rate *= 1 + 0.001 * pair
            run = {"pair": pair, "place": 0, "tool": tool, "value": rate, "error": None}
            run |= {"figures": {stream.figures[0].id: rate}, "usage": None}
            run |= {"begun_unix_s": 1.0, "elapsed_s": 1.0}
            details = {"retransmits": 3, "command": "/srv/tools/iperf3 -c"}
            outcome.runs.append({**run, "details": details})
    comparison = {"path": "loopback", "id": "tcp-stream", "peers": ["iperf3"], "controls": []}
    comparison |= {"settings": {"duration_s": 1, "repeats": 0}, "absent": {}, "skipped": None}
    facts = {"cpu.model": "a CPU", "kernel.release": "6.1", "host.name": "mine"}
    path = {"name": "loopback", "hosts": {"mine": facts}, "load_before": [0.1, 0.1, 0.1]}
    return {
        "format": 2,
        "seed": 1,
        "pairs": 6,
        "duration_s": 1,
        "versions": {"netsonde": "1"},
        "command": ["/srv/tools/bench"],
        "paths": [path],
        "comparisons": [{**comparison, "runs": outcome.runs}],
    }


def test_a_kept_document_gives_the_same_verdicts_again(tmp_path: Path) -> None:
    path = keep(document(), "a-name", tmp_path)
    assert path.name == f"a-name{ENDING}"
    [row] = rows_of(read_kept(path))
    [verdict] = row.verdicts
    assert verdict.ratio.ratio == pytest.approx(1.25)
    assert verdict.met
    assert "1.250" in table_of(read_kept(path))
    slower = keep(document(0.5), "slower", tmp_path)
    assert "missed" in table_of(read_kept(slower))


def test_nothing_that_names_a_machine_is_kept() -> None:
    text = json.dumps(plain(document()))
    assert "/srv" not in text
    assert "mine" not in text
    assert "a CPU" in text
    assert '"seed": 1' in text
    assert '"load_before"' in text


def test_what_is_no_document_is_refused(tmp_path: Path) -> None:
    for name, content in (("a.json", b"{}"), ("b.json", b"none"), ("c.json", b"[1]")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match="no document of the bench"):
            read_kept(tmp_path / name)
    with pytest.raises(UsageError, match="expected letters"):
        keep(document(), "../a", tmp_path)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_the_pages_table_comes_out_of_what_is_kept(path: Path) -> None:
    marked = re.search(
        rf"<!-- made from {re.escape(path.name)} -->\n```\n(.*?)\n```", PAGE.read_text(), re.DOTALL
    )
    assert marked is not None, f"the page has no table of {path.name}"
    assert marked[1] == table_of(read_kept(path))
    assert path.stat().st_size < MOST_KEPT_BYTES
    kept = read_kept(path)
    assert {"seed", "versions", "paths"} <= kept.keys()
    assert all(entry["hosts"] for entry in kept["paths"])


def test_something_is_kept() -> None:
    assert KEPT
