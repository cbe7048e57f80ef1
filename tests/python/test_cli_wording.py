"""What a command line cannot mean is said in its own words."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from netsonde.cli.common import study_of
from netsonde.cli.main import app
from netsonde.errors import UsageError

BLOCK = {"transports": ["tcp"], "test": "stream", "sizes": "64"}


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({"sizes": "12q"}, "--sizes: size '12q' is not a size"),
        ({"options": {"buffer": "3z"}}, "--buffer: size '3z' is not a size"),
        ({"options": {"cork": True, "no_delay": True}}, "--cork holds back what --nodelay sends"),
        (
            {"options": {"target_buffer": "1k", "receive_buffer": "2k"}},
            "--target-buffer and --receive-buffer both",
        ),
        ({"options": {"sending": "zerocopy", "wait": "spin"}}, "--zerocopy goes with --wait block"),
        ({"options": {"wait": "maybe"}}, "--wait maybe: "),
        ({"options": {"origin_cpu": 9999}}, "--cpus 9999: "),
        ({"transports": ["udp"], "rate": "fast"}, "--rate: rate 'fast'"),
        ({"rate": "1M"}, "--rate goes with netsonde udp, stream and generate, only"),
        ({"test": "latency", "streams": 2}, "--streams of more than 1 are for stream"),
        ({"cap": "soon"}, "--time: duration 'soon'"),
        ({"mtu": "9k,100"}, "--mtu 100: "),
    ],
)
def test_the_option_is_named(block: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        study_of({"measure": [{**BLOCK, **block}]})
    assert str(refused.value).startswith(sentence)
    assert "measure" not in str(refused.value)
    assert "_" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--at-most", "lost_ratio"), "--at-most lost_ratio: write a figure's name and its limit"),
        (("--at-most", "=3"), "--at-most =3: write a figure's name and its limit"),
        (("--at-most", "lost_ratio=0"), "--at-most lost_ratio=0: that lost_ratio is 0 can be"),
        (("--at-least", "Rate=3"), "--at-least Rate=3: 'Rate' is no name of a figure"),
        (
            ("--at-least", "throughput_bit_per_s=3q"),
            "--at-least throughput_bit_per_s=3q: rate '3q' is not a rate",
        ),
    ],
)
@pytest.mark.parametrize("command", ["tcp local stream", "icmp local latency", "mpi latency"])
def test_what_cannot_be_required_is_said(
    command: str, words: tuple[str, str], sentence: str
) -> None:
    done = CliRunner().invoke(app, [*command.split(), *words])
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(sentence)


def test_what_a_command_requires_is_its_study_s(tmp_path: Path) -> None:
    words = ["--at-least", "throughput_bit_per_s=1k", "--at-most", "retransmitted_segments=0"]
    words += ["--time", "20ms", "--quiet", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, ["tcp", "local", "stream", *words])
    (run,) = tmp_path.iterdir()
    shown = CliRunner().invoke(app, ["study", "judge", str(run), "--fail-on", "never"]).stdout
    assert "throughput_bit_per_s at least 1.000 kbit/s" in shown
    assert "retransmitted_segments at most 0" in shown
    missed = "missed" in shown
    assert (done.exit_code == 1) == missed


def test_an_mtu_is_for_labs() -> None:
    hosts = {"kind": "hosts", "target": "node7"}
    with pytest.raises(UsageError, match=r"^--mtu goes with hosts of a lab only"):
        study_of({"path": hosts, "measure": [{**BLOCK, "mtu": "9000"}]})
    lab = {"kind": "hosts", "target": "lab:h1,h2", "family": "ipv6"}
    with pytest.raises(
        UsageError, match=r"^--mtu 576 is less than the 1280 bytes that --ipv6 asks"
    ):
        study_of({"path": lab, "measure": [{**BLOCK, "mtu": "576"}]})


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("local stream", "sends back each echo, which is latency, and does nothing else"),
        ("local latency --sizes 65508", "does not fit an ICMP echo"),
        ("local latency --wait maybe", "--wait maybe"),
        ("local latency --nodelay", "No such option: --nodelay"),
        ("local latency --buffer 64k", "No such option: --buffer"),
        ("local latency --streams 2", "No such option: --streams"),
    ],
)
def test_what_echoes_cannot_do_is_refused(words: str, sentence: str, tmp_path: Path) -> None:
    said = CliRunner().invoke(app, ["icmp", *words.split(), "--out", str(tmp_path)])
    assert said.exit_code != 0
    assert sentence in f"{said.output} {said.exception}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("latency --start window", "--start window goes with operations such as bcast, not with"),
        (
            "latency --compare-clocks apart",
            "--compare-clocks apart goes with clock and operations such as bcast",
        ),
        ("bcast --start later", "--start later is unknown; choose from barrier"),
        ("clock --compare-clocks well", "--compare-clocks well: "),
        ("clock --count 1", "needs a count of 2 or more"),
    ],
)
def test_starts_and_clocks_that_mean_nothing_are_refused(words: str, sentence: str) -> None:
    said = CliRunner().invoke(app, ["mpi", *words.split()])
    assert said.exit_code != 0
    assert sentence in f"{said.output} {said.exception}"
