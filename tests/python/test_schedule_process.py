"""sonde-sim as a process, here a program that misbehaves."""

from pathlib import Path
from typing import Any

import pytest

from netsonde.errors import HostError, UsageError
from netsonde.launch.schedules import ask_schedules


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a script of sh in the place of sonde-sim."""
    monkeypatch.setenv("NETSONDE_WORKERS", str(tmp_path))

    def write(script: str) -> None:
        path = tmp_path / "sonde-sim"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return write


def test_records_come_until_it_ends(program: Any) -> None:
    program("""cat > "$0.request"; echo '{"record": "a"}'; echo '{"record": "b"}'""")
    assert list(ask_schedules({"verb": "list"})) == [{"record": "a"}, {"record": "b"}]


@pytest.mark.parametrize(
    ("code", "kind"), [("bad_request", UsageError), ("system", HostError), ("", HostError)]
)
def test_what_it_refuses_is_said(program: Any, code: str, kind: type[Exception]) -> None:
    program(f"""echo '{{"record":"error","code":"{code}","message":"request: no such thing"}}'""")
    with pytest.raises(kind, match=r"^no such thing$"):
        list(ask_schedules({"verb": "list"}))


def test_a_request_that_nobody_reads_is_no_failure_of_its_own(program: Any) -> None:
    program("""exec < /dev/null; echo '{"record":"error","code":"bad_request","message":"long"}'""")
    with pytest.raises(UsageError, match="long"):
        list(ask_schedules({"sizes": list(range(1_000_000))}))


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo nonsense", "says what is not understood"),
        ("echo 3", "says what is not understood"),
        ("exit 9", "ended with status 9"),
        ("kill -KILL $$", "ended with status -9"),
    ],
)
def test_what_makes_no_sense_is_a_failure(program: Any, script: str, sentence: str) -> None:
    program(script)
    with pytest.raises(HostError, match=sentence):
        list(ask_schedules({"verb": "list"}))


def test_it_has_a_time_out(program: Any) -> None:
    program("exec sleep 60")
    with pytest.raises(HostError, match="took more than 0 s"):
        list(ask_schedules({"verb": "list"}, timeout_s=0.2))


def test_it_ends_when_nobody_listens_any_more(program: Any, tmp_path: Path) -> None:
    program("""echo $$ > "$0.pid"; echo '{"record": "a"}'; exec sleep 60""")
    records = ask_schedules({"verb": "list"})
    assert next(records) == {"record": "a"}
    records.close()  # type: ignore[attr-defined]
    pid = (tmp_path / "sonde-sim.pid").read_text().strip()
    assert not Path("/proc", pid).exists()


def test_a_missing_program_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETSONDE_WORKERS", str(tmp_path))
    with pytest.raises(HostError, match="no executable sonde-sim"):
        list(ask_schedules({"verb": "list"}))
