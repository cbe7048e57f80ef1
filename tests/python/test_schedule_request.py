"""What is asked of ``sonde-sim schedule``, from what a person writes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.errors import UsageError
from netsonde.schedules.request import (
    Options,
    parse_hierarchy,
    parse_ranks,
    request_fields,
    switch_points,
)

KNOWN = ("MPIR_BCAST_SHORT_MSG", "MPIR_BCAST_MIN_PROCS")


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("16", [16]),
        ("2..5", [2, 3, 4, 5]),
        ("2..4,16, 3,32", [2, 3, 4, 16, 32]),
        ("8,4", [8, 4]),
        ("1..4096", list(range(1, 4097))),
    ],
)
def test_ranks(text: str, ranks: list[int]) -> None:
    assert parse_ranks(text) == ranks


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("many", "ranks 'many' are not numbers"),
        ("", "are not numbers"),
        ("2-8", "are not numbers"),
        ("8..2", "count down"),
        ("1..4097", "more than 4096 numbers"),
        ("1..4000,5000..5100", "more than 4096 numbers"),
        ("1..1000000000000", "more than 4096 numbers"),
    ],
)
def test_ranks_that_are_none(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        parse_ranks(text)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=20, unique=True))
def test_ranks_come_back(ranks: list[int]) -> None:
    assert parse_ranks(",".join(map(str, ranks))) == ranks


def test_hierarchies() -> None:
    assert parse_hierarchy("8x4x2") == [8, 4, 2]
    assert parse_hierarchy("16") == [16]
    for text in ("4x", "x4", "4*4", "", "-1x4"):
        with pytest.raises(UsageError, match="is not like 4x4"):
            parse_hierarchy(text)


def test_only_what_was_given_is_asked() -> None:
    assert request_fields("alltoall/shift", Options()) == {
        "algorithm": "alltoall/shift",
        "block_packets": 1,
    }
    options = Options(
        size="64k",
        packet="1kB",
        root=3,
        fan_out=2,
        permutation="xor",
        window=8,
        hierarchy="4x2",
        remap=True,
        ordered=True,
        user_operation=True,
        switch_points={"MPIR_BCAST_SHORT_MSG": 5},
    )
    assert request_fields("x", options) == {
        "algorithm": "x",
        "block_bytes": 65536,
        "segment_bytes": 1000,
        "root": 3,
        "fan_out": 2,
        "permutation": "xor",
        "window": 8,
        "hierarchy": [4, 2],
        "remap": True,
        "commutative": False,
        "user_operation": True,
        "switch_points": {"MPIR_BCAST_SHORT_MSG": 5},
    }
    assert request_fields("x", Options(sizes="1k,0,5"))["sizes"] == [1024, 0, 5]


def test_a_block_has_one_size() -> None:
    with pytest.raises(UsageError, match="give one of them"):
        request_fields("x", Options(blocks=4, size="1k"))
    with pytest.raises(UsageError, match="give one of them"):
        request_fields("x", Options(sizes="1,2", size="1k"))


def test_switch_points_of_the_environment_a_file_and_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "points.toml"
    file.write_text("MPIR_BCAST_SHORT_MSG = 2\nMPIR_BCAST_MIN_PROCS = 3\n")
    environment = {"MPIR_BCAST_SHORT_MSG": "1", "MPIR_OTHER": "x", "PATH": "/bin"}
    assert switch_points(KNOWN, {}, [], None) == {}
    assert switch_points(KNOWN, environment, [], None) == {"MPIR_BCAST_SHORT_MSG": 1}
    assert switch_points(KNOWN, environment, [], file) == {
        "MPIR_BCAST_SHORT_MSG": 2,
        "MPIR_BCAST_MIN_PROCS": 3,
    }
    points = switch_points(KNOWN, environment, ["MPIR_BCAST_MIN_PROCS=4"], file)
    assert points == {"MPIR_BCAST_SHORT_MSG": 2, "MPIR_BCAST_MIN_PROCS": 4}


@pytest.mark.parametrize("value", ["", "12k", "-1", "1.5", "many", "1" * 14])
def test_garbage_in_the_environment_is_no_zero(value: str) -> None:
    with pytest.raises(UsageError, match=r"MPIR_BCAST_SHORT_MSG is .* in the environment"):
        switch_points(KNOWN, {"MPIR_BCAST_SHORT_MSG": value}, [], None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("MPIR_BCAST_SHORT_MSG = -1", "must be a whole number"),
        ("MPIR_BCAST_SHORT_MSG = true", "must be a whole number"),
        ("MPIR_BCAST_SHORT_MSG = '12k'", "must be a whole number"),
        ("MPIR_NONE = 1", "there is no switch point MPIR_NONE; there are MPIR_BCAST_SHORT_MSG"),
        ("MPIR_BCAST_SHORT_MSG", "is not TOML"),
        ("#" * 70000, "more than 64 KiB"),
    ],
)
def test_files_that_say_nothing_sensible(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "points.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        switch_points(KNOWN, {}, [], file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        switch_points(KNOWN, {}, [], tmp_path / "none.toml")


@pytest.mark.parametrize("setting", ["MPIR_BCAST_SHORT_MSG", "=4", "mpir=4"])
def test_settings_that_are_none(setting: str) -> None:
    with pytest.raises(UsageError, match="is not like MPIR_BCAST_SHORT_MSG=16384"):
        switch_points(KNOWN, {}, [setting], None)
