"""What a search writes and says: lines, files, document and page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_bench import MadeBench
from test_tune_search import small_buffers
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import HostError, UsageError
from netsonde.tuning.sockets.bench import GOALS
from netsonde.tuning.sockets.data import Setup, Tuning
from netsonde.tuning.sockets.files import (
    document_of,
    options_in_words,
    read_former,
    settings_files,
    write_all,
)
from netsonde.tuning.sockets.judged import Rules
from netsonde.tuning.sockets.page import PAGE_NAME, write_page
from netsonde.tuning.sockets.search import search
from netsonde.tuning.sockets.settings import Place
from netsonde.tuning.sockets.text import percent, step_line, tuning_lines

ROUTE = "10.0.0.0/24 dev eth1 scope link src 10.0.0.1 mtu 600"
BEFORE = {
    "net.ipv4.tcp_rmem": "4096 131072 262144",
    "net.ipv4.tcp_wmem": "4096 16384 262144",
    "mtu": "1500",
    "route.mtu": ROUTE,
}
TUNED = Setup(
    {"congestion_control": "bbr", "no_delay": True, "buffer": 500_000},
    {"net.ipv4.tcp_rmem": "4096 131072 1048576", "mtu": "9000", "route.mtu": ""},
)
ABOUT = {"goals": ["rate"], "cap": "1s", "sizes": {"rate": "128k"}, "call": None}
LIST = list(GOALS.values())


def ends(*names: str) -> Any:
    place = Place("eth1", "10.0.0.2", ("ethtool",))
    made = [SimpleNamespace(name=name, before=BEFORE, place=place) for name in names]
    return SimpleNamespace(ends=made)


@pytest.fixture(scope="module")
def found() -> Tuning:
    def findings(setup):
        return () if setup.host else ("window-limited",)

    return search(MadeBench(small_buffers, findings), Setup({"buffer": 9000}), Rules())


def test_lines_fit_80_columns_and_say_all(found):
    lines = list(tuning_lines(found, LIST))
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for step in found.steps:
        assert step.knob in text
    assert "fresh pairs" in text
    assert "net.ipv4.tcp_rmem = 4096 131072 " in text
    assert step_line(found.steps[0], LIST).startswith("system-buffers, up to 3968k bytes: kept")


def test_gains_are_said_in_per_cent_or_in_times():
    assert percent(1.234) == "+23.4 %"
    assert percent(0.9) == "-10.0 %"
    assert percent(501.2) == "501 times"


def test_each_host_has_its_files_and_what_undoes_them():
    files = settings_files(TUNED, ends("a", "b"))
    assert {name for name in files if "a" in name.split("-")[-1]} >= {"undo-a.sh", "commands-a.sh"}
    assert "\nnet.ipv4.tcp_rmem = 4096 131072 1048576\n" in files["90-netsonde-a.conf"]
    commands = files["commands-b.sh"].splitlines()
    assert "ip link set dev eth1 mtu 9000" in commands
    assert "ip route replace 10.0.0.0/24 dev eth1 scope link src 10.0.0.1" in commands
    undo = files["undo-a.sh"].splitlines()
    assert undo[2:] == [
        f"ip route replace {ROUTE}",
        "ip link set dev eth1 mtu 1500",
        "sysctl -q -w 'net.ipv4.tcp_rmem=4096 131072 262144'",
    ], "the last change first, and exactly what was there"


def test_what_a_host_has_already_is_not_written():
    same = Setup(host={"mtu": "1500"})
    assert settings_files(same, ends("a")) == {}


def test_options_of_programs_are_said_for_both():
    lines = options_in_words(TUNED)
    assert "TCP_CONGESTION = bbr" in lines
    assert "TCP_NODELAY = 1" in lines
    assert "--congestion bbr --nodelay --buffer 500000" in lines[-1]
    assert options_in_words(Setup({"no_delay": False}))[-1].endswith("--nagle")
    assert options_in_words(Setup()) == []


def test_a_result_is_read_back(found, tmp_path):
    document = document_of(replace(found, tuned=TUNED), ends("a"), ABOUT)
    write_all(tmp_path, document, TUNED, ends("a"))
    former = read_former(tmp_path)
    assert former.tuned == TUNED
    assert former.before == {"a": BEFORE}
    assert former.sizes == {"rate": "128k"}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1}', "nothing", '"x"'])
def test_what_is_no_result_is_refused(text, tmp_path):
    with pytest.raises(UsageError, match="no result of netsonde tune sockets"):
        read_former(tmp_path)
    (tmp_path / "tuning.json").write_text(text)
    with pytest.raises(UsageError, match="no result of netsonde tune sockets"):
        read_former(tmp_path)


def test_a_result_with_settings_that_nobody_knows_is_refused(found, tmp_path):
    strange = Setup(host={"kernel.panic": "1"})
    write_all(
        tmp_path, document_of(replace(found, tuned=strange), ends("a"), ABOUT), Setup(), ends()
    )
    with pytest.raises(UsageError, match=r"another version: kernel\.panic"):
        read_former(tmp_path)


def test_the_page_has_every_step_and_plot(found, tmp_path):
    write_page(found, LIST, Rules(), "a and b", tmp_path / PAGE_NAME)
    page = (tmp_path / PAGE_NAME).read_text()
    for step in found.steps:
        assert step.knob in page
    assert "Gain in throughput" in page
    assert "What was left alone" in page


def test_the_page_of_nothing_says_so(tmp_path):
    nothing = search(MadeBench(lambda _: (1e9, 1e4)), Setup(), Rules())
    write_page(nothing, LIST, Rules(), "a and b", tmp_path / PAGE_NAME)
    page = (tmp_path / PAGE_NAME).read_text()
    assert "Nothing is proposed" in page
    assert "undo-HOST" not in page


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("local --buffer 64k,1M", "--buffer 64k,1M is several values"),
        ("lab:h1,h2,h3,h4 --prove nowhere", "is no result of netsonde tune sockets"),
        ("local --undo nowhere", "is no result of netsonde tune sockets"),
        ("local --budget soon", "soon"),
        ("local --least-gain much", "much"),
        ("local --cork --nodelay", "--cork holds back what"),
        ("host:5201", "--pair|serve"),
    ],
)
def test_bad_usage_is_a_sentence(words: str, sentence: str, tmp_path: Path):
    result = CliRunner().invoke(app, ["tune", "sockets", *words.split(), "--out", str(tmp_path)])
    assert isinstance(result.exception, UsageError)
    assert any(part in str(result.exception) for part in sentence.split("|"))
    assert list(tmp_path.iterdir()) == []


def test_hosts_that_are_no_lab_are_not_changed_unasked(tmp_path: Path):
    words = ["tune", "sockets", "local", "--apply", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, HostError)
    assert "say --allow-host-changes as well" in str(result.exception)
    assert list(tmp_path.iterdir()) == []
