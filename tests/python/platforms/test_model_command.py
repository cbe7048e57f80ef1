"""``netsonde model``: what it prints, in 80 columns and as JSON, and what it refuses."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.platforms.published import tables
from netsonde.platforms.read import preset_names, read_platform

SAMPLE = "P^6 N TO^2 P^2 N TO P^32 N P^6 N P^106 N TO P^13 N P^6"
PREDICT = ("predict", "alltoall/group-shuffle", "--platform", "fe-326", "-p", "16", "--size", "1M")


def run(*words: str) -> str:
    """What a command writes. An error of the command is raised."""
    result = CliRunner().invoke(app, ["model", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words: str) -> str:
    """The sentence of a usage error, which ends netsonde with 2."""
    result = CliRunner().invoke(app, ["model", *words])
    assert isinstance(result.exception, UsageError), (result.exception, result.output)
    assert result.exception.exit_code == 2
    assert "\n" not in str(result.exception)
    assert result.stdout == ""
    return str(result.exception)


EVERY = [
    *(("show", name) for name in preset_names()),
    *(("published", table.id) for table in tables().values()),
    ("show",),
    ("published",),
    ("predict", "list"),
    PREDICT,
    ("predict", "alltoall", *PREDICT[2:]),
    ("predict", "broadcast", "--platform", "hydra-myrinet", "-p", "32", "--size", "12k"),
    ("predict", "alltoall/modified-shuffle", "--platform", "fe-326", "-p", "32", "--tree", "8x4"),
    ("predict", "reduce-scatter/recursive-halving", "--platform", "hydra-ethernet", "-p", "6"),
    ("what-if", "gedp-smp", "--copies", "0"),
    ("what-if", "gedp-up", "--coalescing", "8", "--hold", "20us", "--receive-copies", "2"),
    ("what-if", "fe-326", "--link-rate", "1G", "--overhead", "all=x0.5"),
    ("what-if", "fe-326", "--overhead", "o_s=x0"),
    ("safe-window", "--architecture", "output", "--buffer", "95", "--senders", "15"),
    ("safe-window", "--platform", "fe-326", "--senders", "7", "--window", "48"),
    ("safe-window", "--platform", "fe-416", "--senders", "200", "--window", "1"),
    ("safe-window", "--platform", "fe-326", "--tree", "8x2"),
    ("safe-window", "--buffer", "45", "--tree", "4x4x4"),
    ("estimate", SAMPLE, "P^10 TO N P^4"),
    ("estimate", SAMPLE, "--window", "18", "--senders", "7", "--buffer", "95", "--timeout", "400"),
]


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_lines_fit_a_terminal_and_json_is_json(words: tuple[str, ...]) -> None:
    text = run(*words)
    assert text.strip()
    assert [line for line in text.splitlines() if len(line) > 80] == []
    document = run(*words, "--json")
    json.loads(document, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def test_a_prediction_says_what_it_is_made_of() -> None:
    text = run(*PREDICT)
    assert "Eq. (5.4)" in text
    assert "1.297 s" in text
    assert "12.12 MB/s" in text or "12.13 MB/s" in text
    assert "no schedule is faster than" in text
    assert "12.50 MB/s" in text  # nominal
    document = json.loads(run(*PREDICT, "--json"))
    assert document["time_ns"] == pytest.approx(703 * 15 * 123_000 + 3 * 70_919.2)


def test_a_family_says_whose_note_is_whose() -> None:
    text = run("predict", "broadcast", "--platform", "hydra-myrinet", "-p", "32", "--size", "12k")
    assert "Note (broadcast/scatter-recursive-doubling):" in text
    assert "bandwidth" not in text  # nodes send unequally
    fastest = run("predict", "alltoall", *PREDICT[2:]).splitlines()[3]
    assert fastest.startswith("alltoall/synchronous-shuffle")
    assert fastest.endswith("MB/s  Eq. (5.3)")


def test_zero_copies() -> None:
    text = run("what-if", "gedp-smp", "--copies", "0")
    assert "79.96 MB/s" in text
    assert "91.46 MB/s" in text
    steps = json.loads(run("what-if", "gedp-smp", "--copies", "0", "--json"))["steps"]
    assert any("M_ctm" in step for step in steps)


def test_a_changed_platform_is_a_platform(tmp_path: Path) -> None:
    path = tmp_path / "fast.json"
    run("what-if", "fe-326", "--link-rate", "1G", "--out", str(path))
    assert read_platform(path).link_bit_per_s == 1e9
    assert "1 Gbit/s" in run("show", str(path)) or "1.000 Gbit/s" in run("show", str(path))


def test_safe_windows() -> None:
    words = ("safe-window", "--architecture", "output", "--buffer", "95", "--senders", "15")
    document = json.loads(run(*words, "--json"))
    assert document["largest_safe_window"] == 6
    assert [round(s) for s in document["time_out_slots"]] == [258, 702]
    lossy = json.loads(run(*words, "--window", "7", "--json"))
    assert lossy["loses"]
    assert lossy["most_senders"] == 13
    on_input = json.loads(
        run("safe-window", "--platform", "fe-326", "--senders", "7", "--window", "48", "--json")
    )
    assert on_input["efficiency"] == pytest.approx(0.4608, abs=5e-5)
    assert on_input["time_out_ns"][0] == pytest.approx(602 * 123_000)
    more = ("safe-window", "--platform", "fe-326", "--buffer", "60", "--senders", "7", "--json")
    assert json.loads(run(*more))["largest_safe_window"] == 60  # an option goes before the platform
    tree = json.loads(run("safe-window", "--platform", "fe-326", "--tree", "8x2", "--json"))
    assert (tree["window"], tree["levels"][0]["window_without_control"]) == (5, 10)
    assert tree["best_node_byte_per_s"] == pytest.approx(12.07e6, rel=1e-3)
    assert tree["under_way"] == 2


def test_programs_share_uplinks() -> None:
    words = ("safe-window", "--tree", "8x2", "--buffer", "45", "--json")
    both = ("--program", "h[1-4,9-12]", "--program", "h[5-8,13-16]")
    rows = json.loads(run(*words, *both))["programs"]
    assert [(row["window_alone"], row["window"]) for row in rows] == [(9, 4), (9, 4)]
    local = json.loads(run(*words, "--program", "ring=h[1-8]"))["programs"]
    assert local[0]["window"] is None
    assert max(map(len, run(*words[:-1], *both).splitlines())) <= 80
    assert "is a host of" in refused(*words, "--program", "h[1-4]", "--program", "h[4-6]")
    assert "is none of incast" in refused(*words, "--program", "storm=h[1-4]")
    assert "needs at least 2" in refused(*words, "--program", "h1")
    assert "goes with --tree" in refused(
        "safe-window", "--senders", "3", "--platform", "fe-326", "--program", "h1,h2"
    )


def test_estimates() -> None:
    document = json.loads(run("estimate", SAMPLE, "--json"))
    assert (document["c"], document["severity"], document["f"]) == pytest.approx(
        (6 / 171, 0.5, 0.75)
    )
    assert "efficiency" not in document


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("show", "fe-999"), "no platform is called 'fe-999'"),
        (("show", "none/such.json"), "cannot be read"),
        (("predict", "alltoall/shift"), "needs --platform"),
        (("predict", "alltoall/magic", "--platform", "fe-326"), "no algorithm"),
        (("predict", "magic", "--platform", "fe-326"), "no family"),
        (("predict", "alltoall/shift", "--platform", "fe-326", "-p", "1"), "processes"),
        (("predict", "alltoall/shift", "--platform", "fe-326", "-p", "1000000000"), "processes"),
        (("predict", "alltoall/shift", "--platform", "fe-326", "--size", "x"), "not a size"),
        (("predict", "alltoall/shift", "--platform", "fedp"), r"\(O_s\)"),
        (("predict", "reduce/binomial", "--platform", "fe-326", "--gamma", "nan"), "--gamma"),
        (("predict", "broadcast/chain", "--platform", "fe-326", "--tree", "8xx2"), "--tree"),
        (("what-if", "fe-326"), "nothing is to change"),
        (("what-if", "fe-326", "--overhead", "o_x=1us"), "--overhead 'o_x=1us'"),
        (("what-if", "fe-326", "--overhead", "o_s=xx"), "factor"),
        (("what-if", "fe-326", "--overhead", "o_s=xnan"), "factor"),
        (("what-if", "fe-326", "--overhead", "o_s=1us", "--overhead", "all=x2"), "before"),
        (("what-if", "fe-326", "--link-rate", "0"), "expected more than 0"),
        (("what-if", "fe-326", "--copies", "0"), "what a copy costs"),
        (("safe-window",), "--senders"),
        (("safe-window", "--senders", "3", "--tree", "8x2"), "one of"),
        (("safe-window", "--senders", "3"), "--architecture"),
        (("safe-window", "--senders", "0", "--platform", "fe-326"), "0 senders"),
        (("safe-window", "--senders", "3", "--architecture", "round", "--buffer", "9"), "round"),
        (("safe-window", "--senders", "3", "--architecture", "input", "--buffer", "-9"), "-9"),
        (("safe-window", "--tree", "8x2"), "--buffer"),
        (("safe-window", "--tree", "16", "--buffer", "45"), "no uplink"),
        (("safe-window", "--tree", "0x2", "--buffer", "45"), "a tree of"),
        (("safe-window", "--tree", "8x2", "--buffer", "45", "--window", "3"), "--window"),
        (("estimate", "P^5"), "nothing to estimate"),
        (("estimate", "P^5 Q"), "event 2 is 'Q'"),
        (("estimate", SAMPLE, "--window", "3"), "all of"),
        (("published", "9.9"), "no table"),
    ],
)
def test_bad_usage_is_a_sentence(words: tuple[str, ...], sentence: str) -> None:
    assert re.search(sentence, refused(*words))
