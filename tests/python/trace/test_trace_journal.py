"""The tracer's files: what a reader makes of whole ones, of cut and of damaged ones."""

import pytest
from trace_made import BEGIN_UNIX_NS, head, made_trace, trace_text, write_file

from netsonde.errors import UsageError
from netsonde.trace.journal import Follower, TraceReader, read_trace, unix_ns
from netsonde.trace.show import progress_of


def values_of(folder, wanted=None):
    """(number or label, {name: value}) of each sample, and what was said of the trace."""
    reader, problems = TraceReader(wanted), list[str]()
    found = [
        (
            moment.label or moment.number,
            {
                counter.name: value
                for counter, value in zip(reader.counters, reader.values, strict=True)
                if value is not None
            },
        )
        for moment in read_trace(folder, reader, problems)
    ]
    return found, problems, reader


TEXT = (
    head()
    + "M rdma there is no port\n"
    + "N 0 c jiffies cpu.all.user\nN 1 g bytes memory.free_bytes\n"
    + "B start 0 1500 0=10 1=4096\n"
    + "S 1 250 1400 0+5\n"
    + "N 2 c0 count interrupt_cpu.3.eth0\n"
    + "S 2 0 1400 1-96 2=7\n"
    + "S 4 0 1400 0! 2+1\n"
    + "B end 4500000000 900 0=3\n"
    + "E 5 1 0 told to end\n"
)


def test_every_kind_of_line(tmp_path):
    write_file(tmp_path, TEXT)
    found, problems, reader = values_of(tmp_path)
    assert found == [
        ("start", {"cpu.all.user": 10, "memory.free_bytes": 4096}),
        (1, {"cpu.all.user": 15, "memory.free_bytes": 4096}),
        (2, {"cpu.all.user": 15, "memory.free_bytes": 4000, "interrupt_cpu.3.eth0": 7}),
        (4, {"memory.free_bytes": 4000, "interrupt_cpu.3.eth0": 8}),
        ("end", {"cpu.all.user": 3, "memory.free_bytes": 4000, "interrupt_cpu.3.eth0": 8}),
    ]
    assert problems == []
    assert reader.missing == {"rdma": "there is no port"}
    assert (reader.ending.samples, reader.ending.missed) == (5, 1)
    assert [(c.kind, c.unit, c.starts_at_zero) for c in reader.counters] == [
        ("c", "jiffies", False),
        ("g", "bytes", False),
        ("c", "count", True),
    ]


def test_times_of_samples(tmp_path):
    write_file(tmp_path, TEXT)
    reader = TraceReader()
    moments = list(read_trace(tmp_path, reader))
    assert [m.since_ns for m in moments] == [0, 10**9 + 250, 2 * 10**9, 4 * 10**9, 4_500_000_000]
    made_trace(tmp_path / "made", [{"a.x": 1}, {"a.x": 2}])
    reader = TraceReader()
    times = [unix_ns(reader, m) for m in read_trace(tmp_path / "made", reader)]
    assert times == [BEGIN_UNIX_NS, BEGIN_UNIX_NS + 10**9]


def test_a_file_that_was_cut_anywhere_is_read_up_to_there(tmp_path):
    """However few bytes are left, every whole sample among them comes out, and none that is not."""
    write_file(tmp_path, TEXT)
    whole, _, _ = values_of(tmp_path)
    starts = [i for i in range(len(TEXT)) if TEXT[:i].endswith("\n")]
    for size in range(len(head()), len(TEXT)):
        write_file(tmp_path, TEXT[:size])
        found, problems, _ = values_of(tmp_path)
        lines = TEXT[:size].split("\n")[:-1]
        expected = sum(line.startswith(("S", "B")) for line in lines)
        assert found == whole[:expected]
        assert bool(problems) == (size not in starts)


def test_a_file_that_is_damaged_in_the_middle(tmp_path):
    write_file(tmp_path, TEXT.replace("S 2 0 1400", "S two 0 1400"))
    found, problems, _ = values_of(tmp_path)
    assert [label for label, _ in found] == ["start", 1]
    assert len(problems) == 1
    assert "damaged in line 8" in problems[0]


@pytest.mark.parametrize(
    "text",
    ["", "hello\n", "netsonde-trace 2 {}\n", "netsonde-trace 1 {}\n", "netsonde-trace 1 [\n"],
)
def test_what_is_no_trace(tmp_path, text):
    write_file(tmp_path, text)
    with pytest.raises(UsageError, match="holds no trace"):
        values_of(tmp_path)


def test_a_folder_without_a_trace(tmp_path):
    with pytest.raises(UsageError, match="holds no trace"):
        values_of(tmp_path)
    with pytest.raises(UsageError, match="cannot read"):
        values_of(tmp_path / "none")


def test_files_follow_each_other_and_what_is_gone_between_them_is_gone(tmp_path):
    write_file(tmp_path, trace_text([{"a.x": 1, "b.y": 5}, {"a.x": 2, "b.y": 6}]), 9)
    write_file(tmp_path, trace_text([{"c.z": 7, "a.x": 4}], numbers=[2]), 10)
    found, problems, reader = values_of(tmp_path, lambda name: not name.startswith("trace."))
    assert found == [
        (0, {"a.x": 1, "b.y": 5}),
        (1, {"a.x": 2, "b.y": 6}),
        (2, {"a.x": 4, "c.z": 7}),
    ]
    assert [c.name for c in reader.counters] == ["a.x", "b.y", "c.z"]
    assert problems == [f"{tmp_path}: the oldest 8 files were removed for their size"]


def test_counters_of_64_bits_go_on_over_their_end(tmp_path):
    text = head() + "N 0 c count a.x\nS 0 0 0 0=9223372036854775807\nS 1 0 0 0+2\n"
    write_file(tmp_path, text)
    assert [values["a.x"] for _, values in values_of(tmp_path)[0]] == [2**63 - 1, -(2**63) + 1]


def test_following_a_trace_that_grows(tmp_path):
    path = write_file(tmp_path, head() + "N 0 c count a.x\nS 0 0 0 0=5\nS 1 0")
    follower = Follower(tmp_path)
    assert follower.catch_up().number == 0
    assert follower.reader.value("a.x") == 5
    with path.open("a") as file:
        file.write(" 0 0+1\nS 2 0 0 0+1\n")
    assert follower.catch_up().number == 2
    assert follower.reader.value("a.x") == 7
    write_file(tmp_path, head() + "N 0 c count b.y\nS 3 0 0 0=1\n", 2)
    assert follower.catch_up().number == 3
    assert (follower.reader.value("a.x"), follower.reader.value("b.y")) == (None, 1)
    path.unlink()
    assert follower.catch_up().number == 3
    # One who comes when the newest file has no sample yet begins with the file before.
    write_file(tmp_path, head() + "N 0 c count b.y\n", 3)
    assert Follower(tmp_path).catch_up().number == 3
    write_file(tmp_path, head() + "N 0 c count c.z\nS 4 0 0 0=1\n", 3)
    late = Follower(tmp_path)
    assert late.catch_up().number == 4
    assert late.reader.value("b.y") is None


def test_how_far_a_trace_is(tmp_path):
    """Counted by lines, it is what a reader finds; also of a cut one, and of one without its
    oldest files."""
    write_file(tmp_path, TEXT)
    found = progress_of(tmp_path)
    assert (found.samples, found.missed, found.ended) == (5, 1, "told to end")
    assert found.missing == {"rdma": "there is no port"}
    assert found.last_unix_ns == BEGIN_UNIX_NS + 4_500_000_000
    write_file(tmp_path, TEXT[: TEXT.index("S 4 0") + 9])
    found = progress_of(tmp_path)
    assert (found.samples, found.missed, found.ended) == (3, 0, None)
    assert found.last_unix_ns == BEGIN_UNIX_NS + 2 * 10**9
    for number, numbers in ((3, range(50, 60)), (4, range(61, 70))):
        text = trace_text([{"a.x": n} for n in numbers], numbers=numbers)
        write_file(tmp_path / "later", text, number)
    found = progress_of(tmp_path / "later")
    assert (found.samples, found.missed) == (19, 1)
    assert found.last_unix_ns == BEGIN_UNIX_NS + 69 * 10**9
    write_file(tmp_path / "none", "netsonde-trace 1 nonsense\n")
    with pytest.raises(UsageError, match="no trace that is understood"):
        progress_of(tmp_path / "none")
