"""A transport is its engine files, its row, lines of the build and of the set-up: without them, the
rest is whole.

What is taken out here is what adding one adds. Tests and pages are apart, and what is made of the
rows (schemas, pages of the reference).
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from netsonde.catalogue.transport import TRANSPORTS

ROOT = Path(__file__).parents[2]
ROW_FILE = Path("src", "netsonde", "catalogue", "transport.py")
OWN = [row.name for row in TRANSPORTS.values() if row.library is not None]
"""Those with a program of their own."""
FOLDER = {"fabric": "libfabric"}
"""Of their files below engine/transport, where it has another name."""
LEAVES = """
import importlib, pkgutil, sys
import netsonde
for module in pkgutil.walk_packages(netsonde.__path__, "netsonde."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from netsonde.catalogue.transport import TRANSPORTS
from netsonde.cli.main import app
from typer.testing import CliRunner
said = CliRunner().invoke(app, ["--help"])
assert said.exit_code == 0, said.output
assert NAME not in TRANSPORTS and f" {NAME} " not in said.output
for name in ("udp", "tcp", "mpi"):
    assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0
planned = CliRunner().invoke(app, ["study", "plan", STUDY])
assert planned.exit_code == 0, planned.output
"""


def without_row(source: str, name: str) -> str:
    """The table of transports without one row."""
    for node in ast.walk(ast.parse(source)):
        is_row = isinstance(node, ast.Call) and ast.unparse(node.func) == "Transport" and node.args
        if is_row and ast.literal_eval(node.args[0]) == name:  # type: ignore[attr-defined]
            lines = source.splitlines(keepends=True)
            assert lines[node.end_lineno - 1].strip() == "),"  # type: ignore[attr-defined]
            return "".join(lines[: node.lineno - 1] + lines[node.end_lineno :])  # type: ignore[attr-defined]
    raise LookupError(f"no row is called {name}")


def taken_out(name: str, folder: Path) -> list[Path]:
    """A copy of the project without a transport; the engine's files that went with it."""
    words = ["git", "ls-files", "engine", "cmake", "CMakeLists.txt", "pyproject.toml"]
    held = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    own = re.compile(
        rf"engine/transport/{FOLDER.get(name, name)}/|engine/worker/({name}_|sonde_{name}\.)"
        rf"|cmake/{name}\.cmake"
    )
    gone = []
    for path in map(Path, held):
        if own.match(str(path)):
            gone.append(path)
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    # With what was compiled of them: times are copied, too, so it stays valid.
    shutil.copytree(ROOT / "src", folder / "src")
    row = folder / ROW_FILE
    row.write_text(without_row(row.read_text(), name))
    build = folder / "CMakeLists.txt"
    lines = build.read_text().splitlines(keepends=True)
    kept = [line for line in lines if f"include(cmake/{name}.cmake)" not in line]
    assert len(lines) - len(kept) == 1
    build.write_text("".join(kept))
    return gone


@pytest.mark.parametrize("name", OWN)
def test_the_rest_is_whole_without_it(name: str, tmp_path: Path) -> None:
    gone = taken_out(name, tmp_path)
    assert any(path.match(f"engine/worker/sonde_{name}.cpp") for path in gone)
    include = re.compile(r'#include "([^"]+)"')
    for path in (tmp_path / "engine").rglob("*.[ch]pp"):
        for header in include.findall(path.read_text()):
            assert Path("engine", header) not in gone, f"{path.name} includes {header}"
    study = ROOT / "studies" / "acceptance.toml"
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path / 'src'}{os.pathsep}{sysconfig.get_path('purelib')}",
    }
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            LEAVES.replace("NAME", repr(name)).replace("STUDY", repr(str(study))),
        ],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
