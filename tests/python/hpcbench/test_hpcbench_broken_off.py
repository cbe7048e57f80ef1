"""What a client says when a test breaks off, and what it keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from netsonde.errors import HostError, InterruptedByUserError
from netsonde.hpcbench import client
from netsonde.hpcbench.client import run_client
from netsonde.hpcbench.options import Given, settings_of
from netsonde.launch.worker import WorkerError

S = 1_000_000_000


def records(sent: int) -> list[dict[str, Any]]:
    """Those of generated traffic: so many datagrams of 1000 bytes in a second."""
    lead = {"request": 1, "rank": 0, "host": "a"}
    counters = {
        **{"start_ns": 0, "end_ns": S, "last_send_ns": S, "messages_sent": sent},
        **{"bytes_sent": 1000 * sent, "refusals": 0, "calls_sent": sent, "cpu": 0},
    }
    return [{**lead, "record": "counters", "values": counters}]


class Session:
    """Answers so many times, then fails."""

    opened: Mapping[int, dict[str, Any]] = {}
    host_names = ("a",)

    def __init__(self, good: int, failure: Exception) -> None:
        self.good = good
        self.failure = failure

    def facts(self) -> dict[str, dict[str, Any]]:
        return {"a": {"host.name": "a"}}

    def snapshots(self) -> list[dict[str, Any]]:
        return []

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[dict[str, Any]]:
        assert fields["test"] == "stream"
        assert timeout_s > 0
        self.good -= 1
        if self.good < 0:
            raise self.failure
        return records(100)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def broken_off(
    monkeypatch: pytest.MonkeyPatch, folder: Path, good: int, failure: Exception, **given: Any
) -> tuple[str, list[str]]:
    """The sentence of the error, and the rows of the result file."""
    settings = settings_of("udp", Given("b", generator=True, datagram="1000", **given))
    monkeypatch.setattr(client, "open_session", lambda _: Session(good, failure))
    with pytest.raises((HostError, InterruptedByUserError)) as error:
        run_client(settings, "netsonde", lambda _: None, lambda _: None)
    out = folder / "out"
    lines = out.read_text().splitlines() if out.exists() else []
    return str(error.value), [line for line in lines if not line.lstrip().startswith("#")]


@pytest.mark.parametrize("good", [0, 1, 3])
@pytest.mark.parametrize("to_file", [False, True])
def test_what_is_kept_is_what_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, good: int, to_file: bool
) -> None:
    given = {"output": str(tmp_path / "out")} if to_file else {}
    failure = InterruptedByUserError("interrupted; what was measured is kept")
    said, rows = broken_off(monkeypatch, tmp_path, good, failure, **given)
    where = f"in {tmp_path / 'out'}" if to_file else "shown above, and in no file"
    assert said == "interrupted; " + (
        "nothing was measured by then"
        if good == 0
        else f"{good} repetition{'s are' if good > 1 else ' is'} {where}"
    )
    assert len(rows) == (good if to_file else 0)


@pytest.mark.parametrize("good", [0, 2])
def test_a_repetition_that_was_cut_short_is_kept_with_its_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, good: int
) -> None:
    failure = InterruptedByUserError("interrupted")
    failure.records = records(40)
    output = str(tmp_path / "out")
    said, rows = broken_off(monkeypatch, tmp_path, good, failure, output=output)
    assert f"repetition {good + 1} was cut short after 1.0 s" in said
    assert [row.split()[2] for row in rows] == ["100"] * good + ["40"]


def test_one_that_had_sent_nothing_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failure = InterruptedByUserError("interrupted")
    failure.records = records(0)
    said, rows = broken_off(monkeypatch, tmp_path, 0, failure, output=str(tmp_path / "out"))
    assert (said, rows) == ("interrupted; nothing was measured by then", [])


@pytest.mark.parametrize("code", ["timeout", "silent"])
def test_a_way_that_is_cut_is_said_in_the_users_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str
) -> None:
    failure = WorkerError("a: the request's timeout_ns passed while it sent", code, "a")
    said, rows = broken_off(monkeypatch, tmp_path, 1, failure, output=str(tmp_path / "out"))
    assert "_ns" not in said
    assert "does the way to b still carry traffic" in said
    assert said.endswith(f"1 repetition is in {tmp_path / 'out'}")
    assert len(rows) == 1


def test_another_failure_is_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failure = WorkerError("a: the worker was killed by SIGKILL", "died", "a")
    said, _ = broken_off(monkeypatch, tmp_path, 1, failure, output=str(tmp_path / "out"))
    assert said == "a: the worker was killed by SIGKILL"
