"""What mpibench was asked for: sizes, routines, processes, and what is refused."""

import pytest
from typer.testing import CliRunner

from netsonde.cli import mpibench
from netsonde.cli.main import app
from netsonde.cli.mpibench import shapes_of as mpibench_shapes
from netsonde.errors import UsageError
from netsonde.mpibench.options import (
    ALLTOALL_REPETITIONS,
    USUAL_REPETITIONS,
    Summing,
    parse_ranks,
    parse_routine,
    parse_size_of,
    routine_of,
    size_multiple_bytes,
    sizes_of,
)
from netsonde.study.spec import StudySpec


def test_sizes_are_added_or_multiplied():
    assert sizes_of(None, None, None, None) == tuple(4**power for power in range(10))
    assert sizes_of("0", "10", "5", None) == (0, 5, 10)
    assert sizes_of("0", "8", None, 2.0) == (0, 1, 2, 4, 8)
    assert sizes_of("8k", "16k", None, 2**0.5) == (8192, 11585, 16384)
    assert sizes_of("1", "64", None, 4.0, multiple_bytes=8) == (8, 16, 64)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("1", "8", "1", 2.0), "--increment and --factor"),
        (("9", "8", None, None), "--min 9 and --max 8"),
        (("1", "1M", "1", None), "--increment"),
        (("1", "8", "0", None), "--increment"),
        (("1", "8", None, 1.0), "--factor 1"),
        (("x", None, None, None), "x"),
    ],
)
def test_sizes_that_cannot_be_had(given, words):
    with pytest.raises(UsageError, match=words):
        sizes_of(*given)


def test_routines_by_either_name():
    assert parse_routine("MPI_Bcast") == ("bcast", "bcast")
    assert parse_routine("Isend") == ("isend", "one_way_isend")
    assert parse_routine("send") == ("send", "one_way")
    assert parse_routine("MPI_Reduce_scatter") == ("reduce_scatter", "reduce_scatter")
    with pytest.raises(UsageError, match="did you mean bcast"):
        parse_routine("bcats")
    with pytest.raises(UsageError, match="put_fence"):
        parse_routine("put_fence")


def test_repetitions_and_sizes_of_a_routine():
    assert routine_of("bcast", (8,), None, "each", 4).repetitions == USUAL_REPETITIONS
    assert routine_of("MPI_Alltoall", (8,), None, "each", 4).repetitions == ALLTOALL_REPETITIONS
    assert routine_of("barrier", (8, 16), 5, "each", 4).sizes == (0,)
    assert routine_of("gather", (8, 16), 5, "total", 4).sizes == (8, 16)
    with pytest.raises(UsageError, match="size 10 with --size-of total and -n 4"):
        routine_of("gather", (8, 10), 5, "total", 4)
    with pytest.raises(UsageError, match="--size-of total and bcast"):
        routine_of("bcast", (8,), 5, "total", 4)


@pytest.mark.parametrize("processes", range(1, 18))
def test_usual_sizes_go_with_every_number_of_processes_and_either_meaning(processes):
    for text in ("gather", "allgather", "alltoall", "reduce_scatter", "bcast", "reduce"):
        for size_of in ("each", "total"):
            if size_of == "total" and text in ("bcast", "reduce"):
                continue
            sizes = sizes_of(None, None, None, None, size_multiple_bytes(text, size_of, processes))
            found = routine_of(text, sizes, None, size_of, processes)
            assert len(found.sizes) > 2
            largest = sizes_of("1", "64k", None, 2.0, size_multiple_bytes(text, size_of, processes))
            assert max(largest) <= 1 << 16
    with pytest.raises(UsageError, match="--max 8 is too small: here sizes are multiples of 24"):
        sizes_of("1", "8", None, None, size_multiple_bytes("reduce_scatter", "total", 3))


def test_roots_and_partners_go_with_a_routine_that_has_them():
    assert mpibench_shapes(["bcast", "alltoall"], "1", None) == [{"root": 1}, {}]
    assert mpibench_shapes(["bcast", "one_way"], None, "pairs") == [{}, {"pattern": "pairs"}]
    with pytest.raises(UsageError, match=r"--root 1 .*alltoall has none"):
        mpibench_shapes(["alltoall"], "1", None)
    with pytest.raises(UsageError, match=r"--pattern ring .*alltoall is not between two"):
        mpibench_shapes(["alltoall"], None, "ring")


def content_of(monkeypatch, line):
    """The study that a command would measure, and what it says."""
    made = []
    monkeypatch.setattr(mpibench, "_measure", lambda content, *_: made.append(content))
    result = CliRunner().invoke(app, ["mpibench", *line.split()])
    return (made[0] if made else None), str(result.exception or "") + result.output


def test_options_that_mpi_has_are_those_of_its_study(monkeypatch):
    content, _ = content_of(
        monkeypatch,
        "bcast allreduce send --hosts a,b --ppn 2 --pin 0,1 --oversubscribe --sizes 8,64k "
        "--cache rotate --cache-bytes 1M --clock-method jones-koenig --compare-clocks apart "
        "--align 64 --reduction max --start none",
    )
    assert content["mpi"] == {
        **{"mpi": "mpich", "ranks": 4, "hosts": ["a", "b"], "ppn": [2], "within": "memory"},
        **{"pin": "0,1", "oversubscribe": True},
    }
    usual = {"start": "none", "cache": "rotate", "cache_bytes": "1M", "align": 64,
             "compare_clocks": "apart", "clock_method": "jones_koenig"}  # fmt: skip
    for block in content["measure"]:
        assert block["sizes"] == [8, 65536]
        assert block.items() >= usual.items()
        assert block.get("reduction") == ("max" if block["operations"] == ["allreduce"] else None)
    spec = StudySpec.model_validate(content)
    assert spec.mpi.pin == [0, 1]
    assert {block.cache_bytes for block in spec.measure} == {1 << 20}
    assert content_of(monkeypatch, "bcast --within loopback")[0]["mpi"]["within"] == "loopback"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("bcast --sizes 8 --min 4", "--sizes and --min do not go together"),
        ("bcast --sizes 5x", "--sizes size '5x' is not a size"),
        ("bcast --reduction max", "--reduction goes with operations that join words"),
        ("--from x --pin all", "--from and --pin do not go together"),
        ("--from x --sizes 8", "--from and --sizes do not go together"),
        ("--from x --within loopback", "--from and --within do not go together"),
        ("bcast --pin x", "--pin x is unknown"),
    ],
)
def test_options_without_an_effect_are_refused(monkeypatch, line, words):
    content, said = content_of(monkeypatch, line)
    assert content is None
    assert words in said


def test_a_file_of_pairs(tmp_path):
    (tmp_path / "pairs.txt").write_text("0 3\n1 2\n")
    asked = str(tmp_path / "pairs.txt")
    assert mpibench_shapes(["one_way"], None, asked) == [{"partners": [(0, 3), (1, 2)]}]
    (tmp_path / "pairs.txt").write_text("0 3\n1 3\n")
    with pytest.raises(UsageError, match="line 2: rank 3 has a partner already"):
        mpibench_shapes(["one_way"], None, asked)


def test_lists_of_processes():
    assert parse_ranks("0,3-5, 4") == (0, 3, 4, 5)
    for text in ("", "a", "5-3", "-1", "1,,2", "99999999"):
        with pytest.raises(UsageError, match="--ranks"):
            parse_ranks(text)


def test_ways_of_summing_up():
    assert Summing(bin_width_ns=2500.0).bin_width_ns == 2500
    with pytest.raises(UsageError, match="--bin-width and --log-bins"):
        Summing(bin_width_ns=1000.0, log_bins=True)
    with pytest.raises(UsageError, match="--size-of"):
        parse_size_of("half")
