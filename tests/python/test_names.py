"""Names whose bytes are no text: it works, or one sentence says what is the matter."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from compare_made import write_run

from netsonde.errors import UsageError
from netsonde.export import export_run
from netsonde.history.store import add_runs
from netsonde.names import as_text, is_text, require_text
from netsonde.report.links import link_to_report
from netsonde.report.page import write_whole
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec
from netsonde.trace.convert import convert

NO_TEXT = os.fsdecode(b"n\xff")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run: Path = write_run(tmp_path_factory.mktemp("names") / NO_TEXT, {64: [20e3, 21e3]})
    return run


def test_what_is_no_text_is_shown() -> None:
    assert (is_text("ü"), is_text(NO_TEXT)) == (True, False)
    assert (as_text("ü"), as_text(NO_TEXT)) == ("ü", "n\\xff")
    with pytest.raises(UsageError, match=r"'n\\\\xff' is no UTF-8 text, which a file needs"):
        require_text(NO_TEXT, "a file needs")


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "openmetrics", "hdr", "html"])
def test_a_run_of_such_a_name_is_exported(format: str, directory: Path) -> None:
    assert export_run(directory, format, directory / f"{NO_TEXT}.{format}")


def test_pages_and_histories_of_it(directory: Path, tmp_path: Path) -> None:
    (directory / "report.html").write_text("")
    link = link_to_report(NO_TEXT, directory, directory.parent)
    assert link.href == "n%FF/report.html"  # type: ignore[attr-defined]
    write_whole(tmp_path / NO_TEXT, f"<p>{link}</p>", "choose another")
    assert (tmp_path / NO_TEXT).read_text() == "<p>n\\udcff</p>"
    assert add_runs(tmp_path / "h.duckdb", [directory]) == {directory: "added"}


def test_what_needs_text_says_so(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no UTF-8 text, which the library of histories"):
        add_runs(tmp_path / NO_TEXT, [directory])
    with pytest.raises(UsageError, match="is no UTF-8 text, which the library that writes"):
        convert(tmp_path, tmp_path / f"{NO_TEXT}.parquet")
    block = {"transports": ["tcp"], "test": "latency", "sizes": "64"}
    path = {"kind": "hosts", "target": NO_TEXT}
    spec = StudySpec.model_validate({"measure": [block], "path": path})
    with pytest.raises(UsageError, match=r"target = .* is no UTF-8 text, which a study needs"):
        start_study(spec, tmp_path / "runs", [], Mock())
    assert not (tmp_path / "runs").exists()
