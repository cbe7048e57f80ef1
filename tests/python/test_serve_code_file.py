"""A pairing code that is kept in a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.hosts import parse_hosts
from netsonde.launch.given_code import given_code
from netsonde.launch.paired import PairedHost
from netsonde.launch.pairing import PairingCode
from netsonde.serve.identity import kept_identity, make_identity

CODE = PairingCode.make(b"no certificate").text()


def test_the_same_code_and_certificate_after_a_restart(tmp_path):
    path = tmp_path / "code"
    first, second = kept_identity(path), kept_identity(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_text().splitlines()[0] == first.code.text() == second.code.text()
    assert first.certificate_der == second.certificate_der
    assert first.code.secret == second.code.secret
    assert first.code.is_of(first.certificate_der)
    assert make_identity().code.text() != first.code.text()


def test_a_file_that_others_read_or_that_is_another_is_refused(tmp_path):
    path = tmp_path / "code"
    kept_identity(path)
    path.chmod(0o640)
    with pytest.raises(UsageError, match=r"others can read or change .*chmod 600"):
        kept_identity(path)
    path.chmod(0o600)
    lines = path.read_text().splitlines(keepends=True)
    foreign = make_identity().code.text()
    for text in ("", "x\n", lines[0], foreign + "\n" + "".join(lines[1:]), "".join(lines[:-3])):
        path.write_text(text)
        with pytest.raises(UsageError, match="no file that --code-file made"):
            kept_identity(path)
    path.write_bytes(b"\xff" * 20_000)
    with pytest.raises(UsageError, match="it has 20000 bytes"):
        kept_identity(path)
    with pytest.raises(UsageError, match="cannot make"):
        kept_identity(tmp_path / "none" / "code")
    with pytest.raises(UsageError, match=r"no plain file|Is a directory"):
        kept_identity(tmp_path)


def test_of_several_hosts_the_code_is_for_those_with_a_port():
    code = make_identity().code.text()
    kinds = [type(host) for host in parse_hosts(["local", "n1:5959", "[::1]:5959"], code)]
    assert kinds[0] is not PairedHost
    assert kinds[1:] == [PairedHost, PairedHost]
    assert type(parse_hosts(["n1"], code)[0]) is PairedHost
    with pytest.raises(UsageError, match="--code-file FILE or NETSONDE_PAIR"):
        parse_hosts(["local", "n1:5959"])


def test_the_code_of_the_environment_is_for_hosts_with_a_port(monkeypatch):
    monkeypatch.setenv("NETSONDE_PAIR", CODE)
    kinds = [type(host) for host in parse_hosts(["local", "n1", "n1:5959"])]
    assert kinds[2] is PairedHost
    assert PairedHost not in kinds[:2]
    monkeypatch.setenv("NETSONDE_PAIR", CODE[:-1])
    with pytest.raises(UsageError, match="the pairing code has 44 characters"):
        parse_hosts(["n1:5959"])
    assert type(parse_hosts(["n1:5959"], CODE)[0]) is PairedHost
    monkeypatch.setenv("NETSONDE_PAIR", "")
    with pytest.raises(UsageError, match="NETSONDE_PAIR"):
        parse_hosts(["n1:5959"])


def test_a_code_of_a_file(tmp_path):
    path = tmp_path / "code"
    path.write_text(f"{CODE}\nanything\n")
    path.chmod(0o600)
    assert given_code(None, path) == CODE
    assert given_code(CODE, None) == CODE
    assert given_code(None, None) is None
    with pytest.raises(UsageError, match="do not go together"):
        given_code(CODE, path)
    path.write_bytes(b"\xff" * 100)
    with pytest.raises(UsageError, match="does not begin with a pairing code"):
        given_code(None, path)
    path.write_bytes(b"x" * 20_000)
    with pytest.raises(UsageError, match="it has 20000 bytes"):
        given_code(None, path)
    with pytest.raises(UsageError, match=r"cannot read .*No such file"):
        given_code(None, tmp_path / "none")
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(UsageError, match="no plain file"):
        given_code(None, tmp_path / "pipe")


def test_the_file_of_a_server_is_one_of_a_client(tmp_path):
    code = kept_identity(tmp_path / "code").code.text()
    assert given_code(None, tmp_path / "code") == code


def pairing(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """The commands that take a pairing code, with their options."""
    for name, below in getattr(command, "commands", {}).items():
        yield from pairing(below, (*words, name))
    names = {name for option in command.params for name in option.opts}
    if "--pairing-code" in names:
        yield " ".join(words), names


TAKE_A_CODE = {
    "tcp": ["tcp", "n1:5959", "latency"],
    "udp": ["udp", "n1:5959", "latency"],
    "link": ["link", "n1:5959", "latency"],
    "fabric": ["fabric", "n1:5959", "latency"],
    "watch": ["watch", "n1:5959"],
    "explain": ["explain", "runs/none", "--probe"],
    "study run": ["study", "run", "none.toml"],
    "study resume": ["study", "resume", "runs/none"],
    "hpcbench tcptest": ["hpcbench", "tcptest", "-h", "n1", "-p", "5677"],
    "hpcbench udptest": ["hpcbench", "udptest", "-h", "n1", "-p", "5677"],
}


def test_every_command_that_takes_a_code_takes_a_file(tmp_path):
    """All by the one function that refuses a file that others can read."""
    whole = typer.main.get_command(app)
    found = dict(pairing(whole))
    assert sorted(found) == sorted(TAKE_A_CODE)
    assert [name for name, options in found.items() if "--code-file" not in options] == []
    path = tmp_path / "code"
    path.write_text(CODE)
    path.chmod(0o644)
    for words in TAKE_A_CODE.values():
        with pytest.raises(UsageError, match=r"others can read or change .*/code"):
            whole.main([*words, "--code-file", str(path)], standalone_mode=False)
