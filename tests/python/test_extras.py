"""What works without the libraries that extras bring, and what is said where one is needed."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
import json, os, tempfile, traceback
import netsonde.cli.main, netsonde.explain.table, netsonde.report, netsonde.study.execute
from netsonde.cli.entry import main

# Exit code, output and errors of a command in a fork: what is imported is so once for all.
def said(words):
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if child == 0:
            code = 70
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            sys.argv = ["netsonde", *words]
            try:
                main()
            except SystemExit as ending:
                code = ending.code or 0
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        errors.seek(0)
        return code, output.read(), errors.read()

print(json.dumps([said(words) for words in json.loads(sys.argv[1])]))
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


RUN = "runs/small"
NEEDLESS = [
    ("report", RUN, "--format", "text"),
    ("report", RUN, "--format", "csv", "--out", "csv"),
    ("report", RUN, "--format", "json", "--out", "json"),
    ("explain", RUN),
    ("export", RUN, "--format", "csv"),
    ("export", RUN, "--format", "jsonl", "--samples"),
    ("export", RUN, "--format", "openmetrics"),
    ("export", RUN, "--format", "junit"),
]
NEEDING = [
    (("report", RUN, "--format", "png"), "png"),
    (("export", RUN, "--format", "pdf"), "png"),
    (("export", RUN, "--format", "parquet"), "analysis"),
    (("history", "add", "h.duckdb", RUN), "history"),
    (("export", RUN, "--format", "hdr"), "analysis"),
    (("serve", "--port", "0", "--time", "2s"), "serve"),
]
MEASURED = ("tcp", "local", "latency", "--time", "40ms", "--json")


@dataclass(frozen=True)
class Without:
    """What each command said without the libraries, in a folder with the run of a study."""

    run: Path
    said: Mapping[tuple[str, ...], tuple[int, str, str]]


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory, sonde_worker: Path) -> Without:  # noqa: ARG001
    folder = tmp_path_factory.mktemp("core")
    (folder / "small.toml").write_text(STUDY)
    commands = [*NEEDLESS, *(words for words, _ in NEEDING), MEASURED]
    done = _said([("study", "run", "small.toml")], folder)[0]
    assert done[0] == 0, done[2]
    assert "Traceback" not in done[2]
    (directory,) = (folder / "runs").iterdir()
    directory.rename(folder / RUN)
    return Without(folder / RUN, dict(zip(commands, _said(commands, folder), strict=True)))


def _said(commands: Sequence[Sequence[str]], folder: Path) -> list[tuple[int, str, str]]:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(commands)],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=200,
        check=True,
    )
    return [(code, output, errors) for code, output, errors in json.loads(done.stdout)]


def test_a_study_is_measured_and_shown(without: Without) -> None:
    assert (without.run / "report.html").stat().st_size > 100_000
    assert not (without.run / "tables").exists()


@pytest.mark.parametrize("words", NEEDLESS)
def test_what_needs_no_extra(without: Without, words: tuple[str, ...]) -> None:
    code, _, errors = without.said[words]
    assert code == 0, errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(("words", "extra"), NEEDING)
def test_what_needs_one_is_a_sentence(without: Without, words: tuple[str, ...], extra: str) -> None:
    code, _, errors = without.said[words]
    assert code == 2
    assert f"pip install 'netsonde[{extra}]'" in errors
    assert len(errors.splitlines()) == 1


def test_json_of_a_measurement(without: Without) -> None:
    code, output, errors = without.said[MEASURED]
    assert code == 0, errors
    assert json.loads(output)["figures"]


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
