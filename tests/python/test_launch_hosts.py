"""What a user writes for a host."""

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.errors import HostError, UsageError
from netsonde.hosts import Endpoint, parse_endpoint, parse_host
from netsonde.launch.binaries import find_worker
from netsonde.launch.local import LocalHost, source_address
from netsonde.launch.pairing import PairingCode

CODE = PairingCode.make(b"x").text()


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("node7", Endpoint("node7", None)),
        ("me@node7", Endpoint("me@node7", None)),
        ("node7:5959", Endpoint("node7", 5959)),
        ("10.0.0.1:1", Endpoint("10.0.0.1", 1)),
        ("2001:db8::1", Endpoint("2001:db8::1", None)),
        ("::1", Endpoint("::1", None)),
        ("[::1]", Endpoint("::1", None)),
        ("[2001:db8::1]:5959", Endpoint("2001:db8::1", 5959)),
        ("[fe80::1%eth0]:5959", Endpoint("fe80::1%eth0", 5959)),
    ],
)
def test_endpoints(text, endpoint):
    assert parse_endpoint(text) == endpoint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-oProxyCommand=x",
        "a b",
        "[::1",
        "[::1]5959",
        "node:",
        "node:0",
        "node:65536",
        "node:http",
        "[]:1",
        "node:٣",
        "a/b",
        "x" * 300,
        "$(x)",
        "a\n",
    ],
)
def test_what_is_no_endpoint_is_a_usage_error(text):
    with pytest.raises(UsageError, match=r"is not a (host|number)"):
        parse_endpoint(text)


@given(st.text(max_size=40))
def test_any_text_is_a_host_or_a_sentence(text):
    try:
        endpoint = parse_endpoint(text)
    except UsageError:
        return
    assert not endpoint.name.startswith("-")
    assert not set(endpoint.name) & set(" \t\n'\"$`;|&<>()\\/")


def test_kinds_of_hosts():
    assert [h.kind for h in parse_host("local")] == ["local"]
    assert [h.kind for h in parse_host("node7")] == ["ssh"]
    [paired] = parse_host("[2001:db8::1]", pair=CODE)
    assert (paired.kind, paired.name) == ("paired", "[2001:db8::1]:5959")
    assert parse_host("node7:77", pair=CODE)[0].name == "node7:77"


@pytest.mark.parametrize(
    ("text", "pair", "sentence"),
    [
        ("node7:5959", None, "--code-file FILE or NETSONDE_PAIR"),
        ("local", CODE, "leave out the code"),
        ("node7", CODE[:-1] + ("0" if CODE[-1] != "0" else "8"), "pairing code has a typing error"),
    ],
    ids=["no code", "not paired", "typing error"],
)
def test_wrong_combinations(text, pair, sentence):
    with pytest.raises(UsageError) as caught:
        parse_host(text, pair=pair)
    assert sentence in str(caught.value)


def test_addresses_of_this_machine():
    assert LocalHost().address("ipv4") == "127.0.0.1"
    assert LocalHost().address("ipv6") == "::1"
    assert source_address("ipv4", "127.0.0.1") == "127.0.0.1"
    assert source_address("ipv4", "no address") is None
    with pytest.raises(UsageError, match="ipv4 or ipv6"):
        LocalHost().address("ipx")


class TestBinaries:
    def place(self, directory, mode=stat.S_IRWXU):
        path = directory / "sonde-worker"
        path.write_text("#!/bin/sh\n")
        path.chmod(mode)
        return path

    def test_the_variable_is_taken_first_and_alone(self, tmp_path, monkeypatch):
        path = self.place(tmp_path)
        monkeypatch.setenv("NETSONDE_WORKERS", str(tmp_path))
        assert find_worker("sonde-worker") == path
        with pytest.raises(HostError, match="there is no executable sonde-mpi in it"):
            find_worker("sonde-mpi")

    def test_beside_python_then_on_path(self, tmp_path, monkeypatch):
        scripts, other = tmp_path / "scripts", tmp_path / "other"
        for directory in (scripts, other):
            directory.mkdir()
        monkeypatch.delenv("NETSONDE_WORKERS", raising=False)
        monkeypatch.setenv("PATH", str(other))
        monkeypatch.setattr("sysconfig.get_path", lambda _: str(scripts))
        with pytest.raises(HostError, match=r"neither in .* nor on PATH"):
            find_worker("sonde-worker")
        on_path = self.place(other)
        assert find_worker("sonde-worker") == on_path
        beside = self.place(scripts)
        assert find_worker("sonde-worker") == beside

    def test_what_cannot_be_executed_is_not_found(self, tmp_path, monkeypatch):
        path = self.place(tmp_path, 0o644)
        monkeypatch.setenv("NETSONDE_WORKERS", str(tmp_path))
        assert not os.access(path, os.X_OK)
        with pytest.raises(HostError, match="no executable"):
            find_worker("sonde-worker")
