"""What makes netsonde fit into other tools: as far as each can be checked here."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main

from netsonde.cli.main import app
from netsonde.cli.manual import manual_pages

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "integrations"
FILES = sorted(p for p in FOLDER.rglob("*") if p.is_file() and p.suffix != ".pyc")
UNIT = FOLDER / "systemd" / "netsonde-serve.service"
MOST_EXPOSED = 2.0


def root_command() -> Any:
    return typer.main.get_command(app)


def needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"no {program} on this machine")
    return found


def run(
    *command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_no_file_names_a_registry_or_a_place_of_its_own(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"https?://|(?<![\w-])/(hom[e]|roo[t]|wor[k])/", text)


def test_the_recipe_asks_for_what_the_project_does() -> None:
    """Each package with its least version, the extras' behind the variants of their names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    source = (FOLDER / "spack" / "packages" / "netsonde" / "package.py").read_text()
    asked = {
        str(ast.literal_eval(node.args[0])): {
            k.arg: ast.literal_eval(k.value) for k in node.keywords
        }
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "depends_on"
    }
    found = {spec: more.get("when", "") for spec, more in asked.items() if spec.startswith("py-")}
    found.pop("py-scikit-build-core@0.10:")
    extras = project["optional-dependencies"]
    wanted = dict.fromkeys(map(in_spack, project["dependencies"]), "")
    for extra in ("analysis", "png", "history", "serve"):
        wanted |= dict.fromkeys(map(in_spack, extras[extra]), f"+{extra}")
    assert found == wanted
    assert "python@3.11:" in asked
    assert f'version("{project["version"]}")' in source


def in_spack(requirement: str) -> str:
    name, least = requirement.split(">=")
    return f"py-{name.lower()}@{least}:"


def test_the_container_and_the_reframe_test_name_what_there_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    definition = (FOLDER / "apptainer" / "netsonde.def").read_text()
    (extras,) = re.findall(r"/opt/source\[([a-z,]+)\]", definition)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    called = re.findall(r"netsonde (tcp|udp|mpi|quickstart|man)", definition)
    assert set(called) <= set(root_command().commands)


def test_the_unit_is_right_and_hardened() -> None:
    analyze = needs("systemd-analyze")
    checked = run(analyze, "verify", "--man=no", UNIT)
    assert checked.stderr.strip() == ""
    judged = run(analyze, "security", "--offline=true", "--threshold=20", UNIT)
    exposure = re.search(r"exposure level for \S+: ([\d.]+)", judged.stdout)
    assert exposure, judged.stdout + judged.stderr
    assert float(exposure[1]) <= MOST_EXPOSED


def test_the_unit_starts_a_command_that_there_is() -> None:
    (line,) = re.findall(r"(?m)^ExecStart=/usr/bin/env netsonde (.+)$", UNIT.read_text())
    command = root_command()
    name, *options = line.split()
    command.commands[name].make_context(name, options)


def test_the_container_has_every_part_of_a_definition() -> None:
    text = (FOLDER / "apptainer" / "netsonde.def").read_text()
    assert text.index("Bootstrap:") < text.index("From:") < text.index("%post")
    for script in ("post", "runscript", "test"):
        body = re.search(rf"(?ms)^%{script}\n(.*?)(?=^%|\Z)", text)
        assert body
        assert run("bash", "-n", "-c", body[1]).returncode == 0
    for line in re.findall(r"(?m)^    /opt/netsonde/bin/netsonde (.+)$", text):
        words = shlex.split(line)
        command = root_command()
        if words[0] in command.commands:
            command.commands[words[0]].make_context(words[0], words[1:])


def test_a_reframe_test_measures(tmp_path: Path) -> None:
    reframe = needs("reframe")
    scripts = tmp_path / "bin"
    scripts.mkdir()
    (scripts / "netsonde").write_text(f'#!/bin/sh\nexec {sys.executable} -m netsonde "$@"\n')
    (scripts / "netsonde").chmod(0o755)
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    words = ("-n", "NetsondeLatency", "-r", "--exec-policy=serial", "-S", "at_most=50ms")
    done = run(
        *(reframe, "-c", FOLDER / "reframe" / "netsonde_check.py", *words),
        *("--prefix", tmp_path),
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "round_trip_median" in done.stdout


def test_the_reframe_test_asks_for_figures_that_there_are() -> None:
    source = (FOLDER / "reframe" / "netsonde_check.py").read_text()
    names = set(re.findall(r'self\.figure\("(\w+)"\)', source))
    known = {"round_trip_median_ns", "round_trip_p99_ns", "throughput_bit_per_s"}
    assert names == known
    figures = (ROOT / "src" / "netsonde" / "figures" / "compute.py").read_text()
    assert "throughput_bit_per_s" in figures


def test_every_command_has_a_manual_page_that_formats() -> None:
    pages = dict(manual_pages(root_command()))
    assert {"netsonde", "netsonde-report", "netsonde-study-run"} <= pages.keys()
    groff = shutil.which("groff")
    for name, text in pages.items():
        assert text.startswith(".TH ")
        assert not re.search(r"(?m)^[.'](?!TH|SH|SS|PP|TP|BR |B )", text), name
    if groff:
        shown = subprocess.run(
            [groff, "-man", "-Tutf8", "-ww"],
            input="\n".join(pages.values()),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert shown.returncode == 0
        assert "error" not in shown.stderr
        assert "--format" in re.sub("\x1b\\[[0-9;]*m|.\b", "", shown.stdout)


def test_a_manual_page_says_what_help_says() -> None:
    page = dict(manual_pages(root_command()))["netsonde-report"]
    command = root_command().commands["report"]
    for parameter in command.params:
        for option in parameter.opts:
            if option.startswith("-"):
                assert option.replace("-", "\\-") in page
        assert parameter.help.split("`")[0].replace("-", "\\-") in page


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes(shell: str) -> None:
    python = "import sys; sys.argv[0] = 'netsonde'; sys.argv[1:] = []; "
    python += "from netsonde.cli.entry import main; main()"
    asked = {
        "bash": {"COMP_WORDS": "netsonde rep", "COMP_CWORD": "1"},
        "zsh": {"_TYPER_COMPLETE_ARGS": "netsonde rep"},
        "fish": {
            "_TYPER_COMPLETE_ARGS": "netsonde rep",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        },
    }[shell]
    environment = {**os.environ, "_NETSONDE_COMPLETE": f"complete_{shell}", **asked}
    done = run(sys.executable, "-c", python, env=environment)
    assert "report" in done.stdout, done.stderr


def test_the_script_for_bash_is_a_script() -> None:
    python = "import sys; sys.argv[0] = 'netsonde'; sys.argv[1:] = []; "
    python += "from netsonde.cli.entry import main; main()"
    environment = {**os.environ, "_NETSONDE_COMPLETE": "source_bash"}
    done = run(sys.executable, "-c", python, env=environment)
    assert "complete" in done.stdout
    assert run("bash", "-n", "-c", done.stdout).returncode == 0
