"""A pairing code that is kept in a file."""

from __future__ import annotations

import pytest

from netsonde.errors import UsageError
from netsonde.hosts import parse_hosts
from netsonde.launch.paired import PairedHost
from netsonde.serve.identity import kept_identity, make_identity


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
    with pytest.raises(UsageError, match="no file that --code-file made"):
        kept_identity(path)
    with pytest.raises(UsageError, match="cannot make"):
        kept_identity(tmp_path / "none" / "code")
    with pytest.raises(UsageError, match=r"no file that --code-file made|Is a directory"):
        kept_identity(tmp_path)


def test_of_several_hosts_the_code_is_for_those_with_a_port():
    code = make_identity().code.text()
    kinds = [type(host) for host in parse_hosts(["local", "n1:5959", "[::1]:5959"], code)]
    assert kinds[0] is not PairedHost
    assert kinds[1:] == [PairedHost, PairedHost]
    assert type(parse_hosts(["n1"], code)[0]) is PairedHost
    with pytest.raises(UsageError, match="add --pairing-code"):
        parse_hosts(["local", "n1:5959"])
