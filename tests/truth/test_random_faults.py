"""The harness of random faults: what it draws, how it judges, and that it leaves nothing behind.

No lab and no measurement: those are random_faults.py's own command, which takes minutes.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import fault_actions
import pytest
import random_faults
from fault_actions import Bench
from fault_grammar import MEASURES, draw, draw_clean, harm_of
from fault_kinds import HELD_IN
from fault_kinds_held_out import HELD_OUT, NOT_A_HOSTS
from faults_harness import truths_of
from faults_table import CLEAN, FAULTS
from machine_watch import watched
from statements import MACHINE, Asked, Score, Statement, Truth, bucket, heard, judge, names

EXPLAIN = Path(__file__).parents[2] / "src" / "netsonde" / "explain"
pytestmark = pytest.mark.counts
KINDS = (*HELD_IN, *HELD_OUT)
QUIET = {"others": 0.0, "others_most": 0.0, "own_most": 0.0, "stolen": 0.0}
LOST = names("datagrams-lost", "network")
THERE = Statement("warning", "datagrams-lost", "network", "UDP lost 3 %, in the network.")
ABOVE = Statement("bad", "not-the-network", "", "The traffic did not cross a network interface.")


def test_a_false_statement_above_the_right_cause_counts():
    score = Score()
    score.add([ABOVE, THERE], [LOST], QUIET, "a case", Asked([LOST], 0.3))
    assert score.precision == 0.5
    assert score.recall("20 to 50 %") == 1
    assert score.confusion == [f"a case: {ABOVE}"]


@pytest.mark.parametrize("role_and_kind", ["late-switch", "counters-exact", "link-share", "new"])
def test_no_kind_is_true_by_its_name_alone(role_and_kind):
    said = Statement("bad", role_and_kind, "", "It carries 3 Mbit/s.")
    assert judge(said, [], QUIET) == "false"


def test_others_work_is_true_as_far_as_it_was_counted():
    said = Statement("warning", "idle-hosts", "", "Others used 1.50 CPUs or more.")
    assert judge(said, [], {**QUIET, "others_most": 1.6}) == "beside"
    assert judge(said, [], {**QUIET, "others_most": 0.4}) == "false"
    burnt = Statement("warning", "busy-processor", "h1, CPU 0", "Others used 80 %.")
    assert judge(burnt, [], {**QUIET, "others_on_0": 0.8}) == "beside"
    assert judge(burnt, [], {**QUIET, "others_on_1": 0.8}) == "false"


def test_a_loss_is_true_at_the_place_where_the_lab_counted_it():
    assert judge(THERE, [], {**QUIET, "drops_network": 3}) == "beside"
    assert judge(THERE, [], {**QUIET, "rcvbuf_h2": 3}) == "false"
    assert judge(THERE, [names("datagrams-lost", "sender")], QUIET) == "false"


def test_of_two_faults_only_the_one_that_is_asked_for_is_found():
    score = Score()
    other = names("busy-processor", "CPU 0")
    score.add([THERE], [LOST, other], QUIET, "a case", Asked([other], 0.6))
    assert (score.precision, score.recall("above 50 %")) == (1, 0)
    assert score.missed == ["a case: effect 60%, not named"]


def test_notes_and_what_is_good_are_not_above_a_note():
    findings = [
        {"level": level, "kind": "k", "claim": "c"} for level in ("good", "note", "warning", "bad")
    ]
    assert [statement.level for statement in heard(findings)] == ["warning", "bad"]


def test_effects_are_told_from_what_two_runs_without_differ_by():
    assert harm_of("more", [100, 60], 60) == 0
    assert harm_of("more", [100, 80], 20) == 0.75
    assert harm_of("less", [10, 20], 40) == 0.5
    assert harm_of("less", [10, 20], 15) == 0
    assert harm_of("more", [100], None) == 1
    assert [bucket(harm) for harm in (0, 0.1, 0.3, 0.8)] == [
        "none",
        "below 20 %",
        "20 to 50 %",
        "above 50 %",
    ]


def test_a_seed_draws_the_same_runs_and_every_kind():
    drawn = [draw(7, number, KINDS) for number in range(600)]
    assert [str(run) for run in drawn] == [str(draw(7, n, KINDS)) for n in range(600)]
    assert str(draw(8, 0, KINDS)) != str(drawn[0])
    seen = Counter(fault.kind.name for run in drawn for fault in run.faults)
    assert set(seen) == {kind.name for kind in KINDS}
    assert {len(run.faults) for run in drawn} == {1, 2}
    for run in drawn:
        for fault in run.faults:
            assert run.measure.name in fault.kind.measures
            assert fault.kind.least <= fault.size <= fault.kind.most * (1 + 1e-9)
        assert len({fault.kind.group for fault in run.faults}) == len(run.faults)


def test_a_third_of_the_kinds_is_held_out_by_chance():
    names_of_all = sorted(kind.name for kind in KINDS)
    assert len(set(names_of_all)) == len(names_of_all)
    held_out = {kind.name for kind in HELD_OUT}
    assert 3 * len(held_out) >= len(names_of_all)
    from_which = sorted((*names_of_all, *NOT_A_HOSTS))
    drawn = random.Random(20261123).sample(from_which, len(from_which) // 3 + 1)
    assert held_out == set(drawn) - set(NOT_A_HOSTS)
    assert all(kind.measures and set(kind.measures) <= set(MEASURES) for kind in KINDS)
    groups = {"sysctl", "qdisc", "cgroup", "offload", "link", "process", "peer"}
    assert {kind.group for kind in KINDS} == groups


def test_a_setting_that_a_host_does_not_take_is_no_fault():
    lab = FakeLab()
    lab.refused = "net.core.rmem_max"
    put = fault_actions.sysctl(Bench(lab, random.Random(1)), "h2", "net.core.rmem_max", "5")
    with pytest.raises(OSError, match=r"h2 does not take net.core.rmem_max=5"), put:
        pass


def test_clean_runs_differ_and_half_are_busy():
    runs = [draw_clean(3, number, busy=number % 2 == 1) for number in range(100)]
    assert sum(run.burners > 0 for run in runs) == 50
    assert len({run.command for run in runs}) >= 15
    assert {run.command.split()[0] for run in runs} == {"tcp", "udp"}


USUAL = {
    "4096 16384 4194304",
    "tbf rate 100Mbit burst 3200b latency 121ms",
    "10.77.0.0/24 dev v0 proto kernel scope link",
    "1500",
    json.dumps("usual"),
}
"""What a lab's settings are before and after."""


class UsualLine:
    """A line of the topology in which everything is as usual."""

    def get(self, _name, _default=None):
        return "usual"


class FakeLab:
    """Keeps what commands set, as the kernel would; answers what they ask."""

    def __init__(self) -> None:
        topology = {
            "links": [{"lower": f"h{n}", "up": UsualLine(), "down": UsualLine()} for n in (1, 2, 3)]
        }
        self.spec = SimpleNamespace(host_names=["h1", "h2", "h3"], fabric={"topology": topology})
        self.state: dict[str, str] = {}
        self.refused = ""

    def host(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(
            name=name, holder=0, address=lambda _family: "127.0.0.1", command=list
        )

    def in_host(self, host: SimpleNamespace, argv: list[str]) -> str:
        return self._kept(host.name, list(argv))

    def in_switch(self, argv: list[str]) -> str:
        return self._kept("switch", list(argv))

    def _kept(self, where: str, argv: list[str]) -> str:
        match argv:
            case ["sysctl", "-n", name]:
                return self.state.get(f"{where} {name}", "4096 16384 4194304")
            case ["sysctl", "-q", "-w", setting]:
                name, _, value = setting.partition("=")
                if name != self.refused:
                    self.state[f"{where} {name}"] = value
            case ["tc", "-d", "qdisc", "show", *_]:
                return "qdisc tbf 1: root rate 100Mbit burst 3200b/8 lat 121ms linklayer ethernet"
            case ["tc", "qdisc", "replace", "dev", device, "root", *words]:
                self.state[f"{where} {device}"] = " ".join(words)
            case ["tc", "qdisc", "del", "dev", device, "root"]:
                del self.state[f"{where} {device}"]
            case ["ip", "route", "show", *_]:
                return "10.77.0.0/24 dev v0 proto kernel scope link"
            case ["ip", "route", "replace", *words]:
                self.state[f"{where} route"] = " ".join(words)
            case ["ip", "link", "set", "dev", device, "mtu", size]:
                self.state[f"{where} {device} mtu"] = size
        return ""

    def set_line(self, link: str, way: str, plan: dict[str, object]) -> None:
        self.state |= {f"{link} {way} {name}": json.dumps(value) for name, value in plan.items()}


def _noted(started, process):
    started.append(process)
    return process


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_fault_is_taken_out_again_when_the_run_breaks(kind, monkeypatch):
    """Whatever was set is as in a lab whose fault was put in and taken out in peace, and neither a
    process, nor a thread, nor a group of processes is left."""
    if kind.group == "cgroup" and not os.access(fault_actions.CGROUPS, os.W_OK):
        pytest.skip("no groups of processes with a quota can be made here")
    checksums = {}
    monkeypatch.setattr(
        fault_actions, "_set_checksums", lambda _bench, host, on: checksums.update({host: on})
    )
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen
    monkeypatch.setattr(
        fault_actions.subprocess,
        "Popen",
        lambda *words, **how: _noted(started, popen(*words, **how)),
    )
    threads = threading.active_count()
    lab = FakeLab()
    inside = {}

    def broken() -> None:
        with kind.put(Bench(lab, random.Random(1)), kind.most):
            inside.update(lab.state)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert set(lab.state.values()) <= USUAL
    acts = set(inside.values()) - USUAL or started or checksums
    assert acts or kind.group in ("cgroup", "process", "link")  # these wait for a worker
    assert all(process.poll() is not None for process in started)
    assert threading.active_count() == threads
    assert all(on == 1 for on in checksums.values())
    assert not (fault_actions.CGROUPS / f"netsonde-{os.getpid()}").exists()


def test_a_run_that_cannot_be_made_does_not_end_the_others(monkeypatch, tmp_path):
    made = []

    def broken(_drawn, _folder, _scores):
        made.append(1)
        raise OSError("no lab here")

    monkeypatch.setattr(random_faults, "make_run", broken)
    asked = random_faults.arguments(["--runs", "3", "--kinds", "all"])
    scores = random_faults.make_all(asked, tmp_path)
    assert (len(made), len(scores.broken)) == (3, 3)
    assert "no lab here" in scores.words()


def test_an_interrupted_harness_says_what_it_found(monkeypatch, tmp_path):
    def interrupted(_clean, _folder, _scores):
        raise KeyboardInterrupt

    monkeypatch.setattr(random_faults, "make_clean", interrupted)
    scores = random_faults.make_all(random_faults.arguments(["--clean", "2"]), tmp_path)
    assert scores.broken == ["2 of 2: interrupted"]


def test_what_was_started_before_counts_as_others():
    """A fault's own process is no part of netsonde; one that is started meanwhile is."""
    burn = ["python3", "-S", "-c", "import time; t = time.time()\nwhile time.time() < t + 9: pass"]
    stranger = subprocess.Popen(burn)
    try:
        with watched(0) as use:
            own = subprocess.Popen(burn)
            try:
                own.wait(1.2)
            except subprocess.TimeoutExpired:
                own.kill()
            own.wait()
        assert use.others > 0
        assert use.own_most > 0
        assert max(use.of_processor.values()) > 0
    finally:
        stranger.kill()
        stranger.wait()


def test_the_words_of_a_score_have_each_false_and_missed_statement():
    score = Score()
    score.add([ABOVE], [], QUIET, "run 1.2", Asked([LOST], 0.4))
    words = score.words("runs with faults")
    assert f"FALSE  run 1.2: {ABOVE}" in words
    assert "MISSED run 1.2: effect 40%, not named" in words
    assert "precision 0.000" in words


def test_a_truth_holds_only_where_its_counter_does():
    truth = Truth("kind", holds=lambda counters, _said: counters["x"] > 1)
    said = Statement("bad", "kind", "", "")
    assert judge(said, [truth], {**QUIET, "x": 2}) == "beside"
    assert judge(said, [truth], {**QUIET, "x": 1}) == "false"


def test_what_truths_speak_of_is_said_by_a_rule():
    """A rule that is renamed leaves no truth behind that covers nothing."""
    said = "".join(path.read_text() for path in EXPLAIN.glob("*.py"))
    truths = [truth for kind in KINDS for truth in kind.truths]
    truths += [truth for case in (*FAULTS, *CLEAN) for truth in truths_of(case)]
    kinds = {kind for truth in (*truths, *MACHINE) for kind in truth.kind.split("|")}
    literal = {kind for kind in kinds if re.fullmatch("[a-z-]+", kind)}
    assert len(literal) > 20
    assert {kind for kind in literal if f'"{kind}"' not in said} == set()
