"""The files of a test: nothing that was measured is lost; gnuplot draws what is written for it."""

import shutil
import subprocess

import pytest

from netsonde.errors import HostError, UsageError
from netsonde.hpcbench.files import SUFFIXES, OutputFiles, check_place, move_earlier
from netsonde.hpcbench.options import Given, settings_of
from netsonde.hpcbench.plot import plot_text
from netsonde.hpcbench.results import columns_of
from netsonde.hpcbench.table import table


def test_earlier_files_are_moved_as_a_set(tmp_path):
    output = str(tmp_path / "out")
    for text in ("first", "second", "third"):
        with OutputFiles(output) as files:
            files.begin()
            files.append(f"{text}\n")
            files.write(".c_log", f"log of {text}\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        f"out{number}{suffix}" for number in ("", ".1", ".2") for suffix in ("", ".c_log")
    )
    assert (tmp_path / "out.1").read_text() == "first\n"
    assert (tmp_path / "out.2.c_log").read_text() == "log of second\n"
    assert (tmp_path / "out").read_text() == "third\n"


def test_a_number_is_free_only_for_the_whole_set(tmp_path):
    (tmp_path / "out.plot").write_text("plot")
    (tmp_path / "out.1.s_log").write_text("another's")
    assert move_earlier(str(tmp_path / "out"), SUFFIXES) == str(tmp_path / "out.2")
    assert (tmp_path / "out.2.plot").read_text() == "plot"


@pytest.mark.parametrize("output", ["", "a\nb", "/dev/null", "missing/out", "."])
def test_places_that_will_not_do(tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="-o"):
        check_place(output, SUFFIXES)


def test_a_full_disk_is_one_sentence(tmp_path):
    with OutputFiles(str(tmp_path / "out")) as files:
        (tmp_path / "out.plot").symlink_to("/dev/full")
        with pytest.raises(HostError, match=r"cannot write .*out\.plot: the disk is full"):
            files.write(".plot", "text")
        with pytest.raises(HostError, match="is not open"):
            files.append("text")


CASES = [
    ("tcp", {}),
    ("tcp", {"exponential": 4}),
    ("tcp", {"round_trip": True}),
    ("tcp", {"both_ways": True}),
    ("tcp", {"both_ways": True, "ready": True}),
    ("udp", {}),
    ("udp", {"exponential_datagrams": True}),
    ("udp", {"both_ways": True}),
    ("udp", {"generator": True, "rate": "1M"}),
]


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
@pytest.mark.parametrize(("transport", "given"), CASES)
def test_gnuplot_draws_it_unedited(tmp_path, transport, given):
    settings = settings_of(transport, Given("node7", **given))
    columns = columns_of(settings)
    name = "it's 100% out"
    folder = tmp_path / "here"
    folder.mkdir()
    rows = [[number, 2**number, *[10 * number] * (len(columns) - 2)] for number in range(1, 5)]
    (folder / name).write_text("# words\n" + table([n for n, _, _ in columns], rows))
    (folder / f"{name}.plot").write_text(plot_text(settings, columns, str(folder / name)))
    # Moved, renamed and drawn from elsewhere: the script finds what lies beside it.
    moved = folder.rename(tmp_path / "there it's")
    for suffix in ("", ".plot"):
        (moved / f"{name}{suffix}").rename(moved / f"{name}.1{suffix}")
    drawn = subprocess.run(
        ["gnuplot", f"there it's/{name}.1.plot"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (drawn.returncode, drawn.stderr) == (0, "")
    image = (moved / f"{name}.1.svg").read_text()
    assert image.count("<path") > 4
    assert ("by the server" in image) == (settings.mode in ("stream", "ping_pong"))


def test_the_plot_of_a_stream():
    settings = settings_of("tcp", Given("node7", exponential=4))
    text = plot_text(settings, columns_of(settings), "out")
    assert text.endswith(
        "set logscale x 2\n"
        "plot beside using 2:5 with linespoints title 'by the client', \\\n"
        "     beside using 2:6 with linespoints title 'by the server'\n"
    )
    settings = settings_of("tcp", Given("node7", repetitions=3))
    text = plot_text(settings, columns_of(settings), "out")
    assert "set xrange [0.5:3.5]\nplot beside using 1:5 " in text
