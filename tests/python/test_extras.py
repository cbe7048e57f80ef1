"""What works without the libraries that extras bring, and what is said where one is needed."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from netsonde.extras import EXTRAS, how_to_get, is_installed, missing_in_words

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = f"""
import sys

class NotThere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted({*EXTRAS, "fontTools"})!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotThere())
import importlib.util
real = importlib.util.find_spec
def find_spec(name, package=None):
    try:
        return real(name, package)
    except ModuleNotFoundError:
        return None
importlib.util.find_spec = find_spec
from netsonde.cli.entry import main
main()
"""
STUDY = """
cap = "40ms"
[path]
kind = "loopback"
[[measure]]
transports = ["tcp", "udp"]
test = "latency"
sizes = "1,64,1k,4k,16k,60000"
[[measure]]
transports = ["tcp", "udp"]
test = "stream"
sizes = "1k"
"""


def without_extras(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=100,
        check=False,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, sonde_worker: Path) -> Path:  # noqa: ARG001
    folder = tmp_path_factory.mktemp("core")
    (folder / "small.toml").write_text(STUDY)
    done = without_extras("study", "run", "small.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    (directory,) = (folder / "runs").iterdir()
    return directory


def test_a_study_is_measured_and_shown(run: Path) -> None:
    assert (run / "report.html").stat().st_size > 100_000
    assert not (run / "tables").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--format", "text"),
        ("report", "--format", "csv", "--out", "csv"),
        ("report", "--format", "json", "--out", "json"),
        ("explain",),
        ("export", "--format", "csv"),
        ("export", "--format", "jsonl", "--samples"),
        ("export", "--format", "openmetrics"),
        ("export", "--format", "junit"),
    ],
)
def test_what_needs_no_extra(run: Path, words: tuple[str, ...]) -> None:
    done = without_extras(words[0], run, *words[1:], cwd=run.parent)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("report", "{run}", "--format", "png"), "png"),
        (("export", "{run}", "--format", "pdf"), "png"),
        (("export", "{run}", "--format", "parquet"), "analysis"),
        (("history", "add", "h.duckdb", "{run}"), "history"),
        (("export", "{run}", "--format", "hdr"), "analysis"),
        (("serve", "--port", "0", "--time", "2s"), "serve"),
    ],
)
def test_what_needs_one_is_a_sentence(run: Path, words: tuple[str, ...], extra: str) -> None:
    done = without_extras(*(word.format(run=run) for word in words), cwd=run.parent)
    assert done.returncode == 2
    assert f"pip install 'netsonde[{extra}]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_json_of_a_measurement(run: Path) -> None:
    done = without_extras("tcp", "local", "latency", "--time", "40ms", "--json", cwd=run.parent)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["figures"]


def test_each_extra_is_one_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for library, extra in EXTRAS.items():
        package = {"hdrh": "hdrhistogram"}.get(library, library)
        assert any(one.partition(">")[0].strip() == package for one in extras[extra])
        assert not any(one.startswith(package) for one in project["dependencies"])
    (everything,) = extras["all"]
    assert set(everything.removeprefix("netsonde[").removesuffix("]").split(",")) == set(extras) - {
        "all"
    }


def test_other_modules_are_no_extras() -> None:
    assert missing_in_words(ModuleNotFoundError("x", name="netsonde.nothing")) is None
    assert missing_in_words(ModuleNotFoundError("x", name="scipy.stats")) == (
        f"this needs scipy, which is not installed: {how_to_get('scipy')}"
    )
    assert not is_installed("no_such_library_at_all")
