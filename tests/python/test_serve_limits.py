"""Limits of `netsonde serve` that hold: of each run, of all sessions of a code, of classes."""

import inspect
import json
import os
import signal
import socket
from pathlib import Path

import pytest
from launch_fakes import RUN, Serving, gone, in_a_loop

from netsonde.cli.serve import serve
from netsonde.errors import HostError, UsageError
from netsonde.launch.keep_alive import NOT_FROM_HERE
from netsonde.launch.paired import PairedHost
from netsonde.launch.worker import WorkerError
from netsonde.serve.account import Account
from netsonde.serve.confine import confined_worker, cpu_time_s
from netsonde.serve.identity import kept_identity, make_identity
from netsonde.serve.limits import Limits, QueueLimits
from netsonde.serve.limits_file import read_limits_file
from netsonde.serve.policy import Peer, RefusedError, SessionPolicy
from netsonde.serve.proof import Proof
from netsonde.serve.rulebook import Holder, Rulebook
from netsonde.serve.wire import VisitRefusedError

PEER = Peer("192.0.2.7", "192.0.2.1", "ipv4")
DAY_NS = 86400 * 10**9
COUNTED = {"verb": "run", "request": 3, **RUN, "timeout_ns": DAY_NS}
STREAM = {
    **{"verb": "run", "request": 3, "test": "stream", "message_bytes": 1000},
    **{"duration_ns": 10**9, "rate_bit_per_s": 10**6, "timeout_ns": 10**10},
}
FILE = """
[default]
from = ["127.0.0.0/8", "192.0.2.0/24"]
run = "20s"
refusals = 3

[class.guests]
bytes = 1
session = "1min"
code_bytes = "10k"
from = ["127.0.0.1", "2001:db8::/32"]

[class.near]
bytes = "1M"
from = ["192.0.2.128/25"]

[code.alice]
class = "guests"

[code.bob]
"""


def of_code(account, **limits):
    return SessionPolicy(Limits(**limits), PEER, account=account)


def test_options_begin_with_what_the_table_says():
    given = {p.name: p.default for p in inspect.signature(serve).parameters.values()}
    rows = {**Limits.rows(), **QueueLimits.rows()}.values()
    flagged = {row.flag: row for row in rows if row.flag}
    assert {"--max-seconds", "--max-idle", "--max-bytes", "--max-rate", "--queue"} == {*flagged}
    for flag, row in flagged.items():
        default = given[flag.removeprefix("--").replace("-", "_")]
        parsed = row.unit.value.parse(default) if isinstance(default, str) else default
        assert parsed == row.default


class TestRuns:
    def test_a_run_by_count_is_bounded_in_time(self):
        most = {**COUNTED, "count": 1 << 24}
        assert SessionPolicy(Limits(), PEER).admit(most)["timeout_ns"] <= 70 * 10**9
        paced = {**STREAM, "count": 10**6}
        del paced["duration_ns"]
        with pytest.raises(RefusedError, match=r"a run of 8e.03 s was asked for"):
            SessionPolicy(Limits(), PEER).admit(paced)

    def test_a_port_does_not_wait_for_ever(self):
        request = {"verb": "open", "request": 1, "role": "target", "timeout_ns": DAY_NS}
        assert SessionPolicy(Limits(), PEER).admit(request)["timeout_ns"] <= 30 * 10**9


class TestAccounts:
    def test_bytes_of_all_sessions_count(self):
        account = Account()
        first = of_code(account, code_bytes=1000)
        first.admit(COUNTED)
        first.count_bytes(900)
        first.close()
        second = of_code(account, code_bytes=1000)
        with pytest.raises(RefusedError, match="1000 bytes that this server allows all sessions"):
            second.admit(COUNTED)
        of_code(Account(), code_bytes=1000).admit(COUNTED)

    def test_rates_of_sessions_at_once_count(self):
        account = Account()
        first, second = (of_code(account, code_rate_bit_per_s=1_500_000) for _ in range(2))
        first.admit(STREAM)
        with pytest.raises(RefusedError, match=r"1.000 Mbit/s beside 1.000 Mbit/s was asked"):
            second.admit(STREAM)
        first.ended()
        second.admit(STREAM)
        with pytest.raises(RefusedError, match="no rate was asked for"):
            first.admit({k: v for k, v in STREAM.items() if k != "rate_bit_per_s"})

    def test_time_and_cpu_time_of_all_sessions_count(self):
        account = Account(cpu_s=3.0, _ended_s=50.0)
        policies = [of_code(account, code_cpu_s=3) for _ in range(2)]
        assert 0 < account.left_s(Limits(code_time_s=60)) <= 5  # two go on
        assert account.cpu_left_s(Limits(code_cpu_s=4)) == 1
        assert account.spent(Limits(code_time_s=60, code_cpu_s=4)) is None
        assert "the 3 s of CPU time" in account.spent(Limits(code_cpu_s=3))
        assert "the 40 s that" in account.spent(Limits(code_time_s=40))
        with pytest.raises(RefusedError, match="of CPU time"):
            policies[0].admit(COUNTED)
        policies[0].close()
        assert 5 < account.left_s(Limits(code_time_s=60)) <= 10
        assert account.left_s(Limits()) is account.cpu_left_s(Limits()) is None

    def test_the_kernel_ends_a_worker_whose_cpu_time_is_over(self):
        async def spin():
            async with confined_worker(Path("/bin/sh"), 0.5) as worker:
                worker.stdin.write(b"while :; do :; done\n")
                return await worker.wait()

        assert in_a_loop(spin()) == -signal.SIGXCPU
        assert cpu_time_s(os.getpid()) > 0
        assert cpu_time_s(2**30) == 0


class TestFile:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "limits.toml"
        path.write_text(FILE.replace("bytes = 1\n", "", 1))
        return path

    def test_who_gets_which_limits(self, path):
        rules = Rulebook(make_identity(), Limits(idle_s=7), path)
        alice = rules.limits_of(Holder("alice", 1), "127.0.0.1")
        assert (alice.session_s, alice.run_s, alice.code_bytes) == (60, 20, 10 << 10)
        assert (alice.refusals, alice.idle_s) == (3, 7)
        bob = Holder("bob", 1)
        assert rules.limits_of(bob, "127.0.0.1").session_s == 60  # by the network
        assert rules.limits_of(bob, "192.0.2.200").total_bytes == 1 << 20
        assert rules.limits_of(bob, "192.0.2.7").total_bytes == Limits().total_bytes
        assert rules.limits_of(bob, "2001:db8::1%eth0").session_s == 60
        for holder, address in ((bob, "198.51.100.1"), (Holder("alice", 1), "192.0.2.7")):
            with pytest.raises(VisitRefusedError, match=f"no clients from {address}"):
                rules.limits_of(holder, address)
        assert rules.takes("2001:db8::1")
        assert not rules.takes("198.51.100.1")

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("[default", "is not TOML"),
            ("[default]\nsession = 'long'", "default.session: duration 'long' is not a duration"),
            ("[default]\nruns = -1", "default.runs: must be at least 0"),
            ("[default]\nmessage = '4G'", "default.message: must be at most 1073741824"),
            ("[default]\nbandwidth = 1", "unknown key default.bandwidth"),
            ("[class.a]\nfrom = ['x']", "class.a.from.0: 'x' is no network"),
            ("[class.a]\nfrom = ['192.0.2.1/24']", "is no network; write it like"),
            ("[code.a]\nclass = 'b'", "code.a: there is no class 'b' in it"),
            ("[code.'a b']", "code.a b"),
        ],
    )
    def test_what_is_wrong_is_a_sentence(self, tmp_path, text, sentence):
        path = tmp_path / "limits.toml"
        path.write_text(text)
        with pytest.raises(UsageError) as caught:
            read_limits_file(path)
        assert str(path) in str(caught.value)
        assert sentence in str(caught.value)

    def test_codes_come_and_go(self, path, tmp_path):
        identity = kept_identity(tmp_path / "code")
        rules = Rulebook(identity, Limits(), path)
        codes = {holder.name: code.text() for holder, code in rules.codes.items()}
        assert codes.keys() == {"alice", "bob"}
        again = Rulebook(kept_identity(tmp_path / "code"), Limits(), path)
        assert {h.name: c.text() for h, c in again.codes.items()} == codes
        account = rules.account_of(Holder("bob", 1))
        path.write_text("[code.bob]\n[code.carol]\nnumber = 2\n")
        assert rules.has_changed()
        assert [*rules.read()] == ["carol"]
        assert not rules.has_changed()
        with pytest.raises(VisitRefusedError, match="its pairing code was revoked"):
            rules.limits_of(Holder("alice", 1), "127.0.0.1")
        assert rules.account_of(Holder("bob", 1)) is account
        assert rules.codes[Holder("carol", 2)] != identity.code_of("carol", 1)
        path.write_text("[code.bob]\nclass = 'no'")
        with pytest.raises(UsageError):
            rules.read()
        assert {holder.name for holder in rules.codes} == {"bob", "carol"}

    def test_a_proof_is_of_one_code(self, path):
        identity = make_identity()
        rules = Rulebook(identity, Limits(), path)

        def proof_of(code):
            said = code.proof(identity.certificate_der, b"s" * 16, b"c" * 16)
            return Proof(b"c" * 16, said.encode(), "client", "key")

        for holder, code in rules.codes.items():
            assert rules.holder_of(proof_of(code), b"s" * 16) == holder
        # Where codes have names, that of the file --code-file is none.
        assert rules.holder_of(proof_of(identity.code), b"s" * 16) is None


def test_codes_are_revoked_while_it_serves(tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text("[code.alice]\n[code.bob]\n")
    serving = Serving(tmp_path, options=("--limits", str(path)))
    codes = serving.announcement["codes"]
    assert [*codes] == ["alice", "bob"]
    with serving.host(codes["alice"]).start_worker() as worker:
        path.write_text("[code.bob]\n[code.carol]\n")
        serving.process.send_signal(signal.SIGHUP)
        assert gone(worker.hello["pid"], 20)
        with pytest.raises(WorkerError, match="the session ended: its pairing code was revoked"):
            worker.request("facts", 10)
    with pytest.raises(HostError, match="the pairing code is wrong"):
        serving.host(codes["alice"]).start_worker()
    new = json.loads(serving.process.stdout.readline())["codes"]
    with serving.host(new["carol"]).start_worker() as worker:
        assert worker.request("facts", 10)
    path.write_text("[code.bob")
    assert serving.logged("the limits stay as they were")  # it looks by itself
    with serving.host(codes["bob"]).start_worker():
        pass
    assert serving.logged("127.0.0.1 (bob): session of")
    serving.end()


def test_a_run_that_takes_too_long_is_told_of_the_limit(tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text("[default]\nrun = '1s'\nfrom = ['127.0.0.1']\n")
    serving = Serving(tmp_path, "timeout", options=("--limits", str(path)))
    with serving.host().start_worker() as worker:
        with pytest.raises(WorkerError, match=r"more than 11 s was asked for; .* allows 1 s"):
            worker.request("run", 10, **RUN, timeout_ns=DAY_NS)
        with pytest.raises(WorkerError, match="the fake says timeout"):
            worker.request("run", 10, **RUN, timeout_ns=10**9)
    with socket.socket() as sock:
        sock.bind(("127.0.0.2", 0))
        sock.settimeout(10)
        sock.connect(("127.0.0.1", serving.port))
        assert sock.recv(100) == NOT_FROM_HERE
    serving.end()


def test_who_may_not_come_from_here_is_told_so(monkeypatch):
    host = PairedHost("127.0.0.1", 1, make_identity().code.text())
    here, there = socket.socketpair()
    with there:
        there.sendall(NOT_FROM_HERE)
        monkeypatch.setattr(host, "_connect", lambda _: here)
        with pytest.raises(HostError, match="it takes no clients from this address"):
            host.start_worker()
