"""The record format's number rises when the format does: a digest of it is kept with the number.

Who changes the schema of records, the kinds and fields of journal entries or the keys of a manifest
raises ``FORMAT`` in netsonde/records/rundir.py and the schema's ``$id``, notes it in CHANGELOG.md,
and adds a line here. Runs of earlier numbers are still read.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from netsonde.errors import UsageError
from netsonde.records.rundir import FORMAT, MANIFEST_NAME, read_manifest

ROOT = Path(__file__).resolve().parents[2]
DIGESTS = {1: "8a6cf2e2d3fe94c4"}
"""By number, of ``what_it_is``."""
IN_NO_RUN = "hello"
"""The greeting of a worker, which stands in no run."""
PROSE = {"title", "description", "$comment", "examples"}


def without_prose(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: without_prose(value) for key, value in node.items() if key not in PROSE}
    return [without_prose(each) for each in node] if isinstance(node, list) else node


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([a-z_0-9]+)`", cell)


def what_it_is(schema: dict[str, Any], page: str) -> dict[str, Any]:
    """The schema of records without its prose, fields of journal entries by kind, and the keys of a
    manifest, as docs/reference/records.md has them."""
    table = page.split("Journal entries are", 1)[1].split("\n\n", 2)[1]
    rows = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    (manifest,) = [line for line in page.splitlines() if line.startswith("| `manifest.json`")]
    keys = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", manifest.split("|")[2])
    kept = {name: kind for name, kind in schema["$defs"].items() if name != IN_NO_RUN}
    return {
        "records": without_prose({**schema, "$defs": kept}),
        "journal": {names_in(kind)[0]: names_in(fields) for kind, fields in rows},
        "manifest": names_in(keys),
    }


def digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


@pytest.fixture
def here() -> tuple[dict[str, Any], str]:
    schema = json.loads((ROOT / "schema" / "record.schema.json").read_text())
    return schema, (ROOT / "docs" / "reference" / "records.md").read_text()


def test_the_number_is_that_of_this_format(here: tuple[dict[str, Any], str]) -> None:
    assert max(DIGESTS) == FORMAT
    assert here[0]["$id"] == f"netsonde/record-{FORMAT}"
    assert digest(what_it_is(*here)) == DIGESTS[FORMAT], "the format is another: see above"


def test_what_it_is_made_of(here: tuple[dict[str, Any], str]) -> None:
    content = what_it_is(*here)
    assert content["journal"]["batch"] == ["point", "attempt", "batch", "records"]
    assert {"format", "hosts", "points", "sessions"} <= set(content["manifest"])
    schema, page = here
    prose = {**schema, "title": "another"}
    assert digest(what_it_is(prose, page)) == digest(content)
    more = {**schema, "$defs": {**schema["$defs"], "pause": {}}}
    assert digest(what_it_is(more, page)) != digest(content)
    entry = page.replace("`batch`, `records`", "`batch`, `records`, `zone`")
    assert digest(what_it_is(schema, entry)) != digest(content)


def test_changes_are_noted() -> None:
    notes = (ROOT / "CHANGELOG.md").read_text()
    for number in range(2, FORMAT + 1):
        assert f"record format {number}" in notes


@pytest.mark.parametrize("number", [*range(1, FORMAT + 1), 0, FORMAT + 1, "1", None])
def test_earlier_numbers_are_read_and_later_ones_are_not(number: object, tmp_path: Path) -> None:
    (tmp_path / MANIFEST_NAME).write_text(json.dumps({"format": number}))
    if number in DIGESTS:
        assert read_manifest(tmp_path)["format"] == number
    else:
        with pytest.raises(UsageError, match="format"):
            read_manifest(tmp_path)
