"""A launcher that is added as CONTRIBUTING.md says is seen by every part of netsonde."""

import json
from pathlib import Path

import pytest
from house_copy import HouseCopy

from netsonde.catalogue.launcher import LAUNCHERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "launchers.md"
ROW = """    Launcher("flux", "Flux", needs="flux", has_job=True, carries_ranks="ssh"),
"""
NEW_ROW = """    Launcher("box", "A box", needs="boxrun", written="a name of a box"),
"""
CLASS = '''"""Boxes, which are this machine."""

from collections.abc import Sequence

from netsonde.launch.host import ChildProcess, Host
from netsonde.launch.named import HOSTS, Named
from netsonde.launch.remote import RemoteHost


class BoxHost(RemoteHost):
    kind = "box"

    def address(self, family: str) -> str:
        return "127.0.0.1"

    def _start_shell(self, words: Sequence[str]) -> ChildProcess:
        return ChildProcess(["sh", "-c", *words], explain=self._explained)

    def _explain(self, status: int, stderr_text: str) -> str | None:
        return None


@HOSTS.of("box")
def _named(named: Named) -> list[Host]:
    return [BoxHost(named.name)]
'''
STUDY = """
cap = "1s"
[path]
kind = "hosts"
target = "crate"
launcher = "box"
[[measure]]
transports = "tcp"
test = "latency"
sizes = "64"
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = HouseCopy(tmp_path_factory.mktemp("house"))
    house.change("catalogue/launcher.py", ROW, ROW + NEW_ROW)
    house.add("launch/box.py", CLASS)
    house.change("launch/named.py", 'FILES = ("flux",', 'FILES = ("box", "flux",')
    (house.folder / "s.toml").write_text(STUDY)
    return house


def test_the_copy_is_what_runs(house):
    found = house.ask("import json, netsonde; print(json.dumps(netsonde.__file__))")
    assert Path(found) == house.package / "__init__.py"


def test_help_offers_it(house):
    assert "<auto|ssh|slurm|flux|box>" in house.run("study", "run", "--help")


def test_the_schema_has_it(house):
    schema = json.loads(house.run("study", "schema"))
    path = next(t for t in schema["$defs"].values() if "launcher" in t["properties"])
    assert path["properties"]["launcher"]["enum"][-1] == "box"


def test_who_writes_no_host_is_told_of_it(house):
    assert "a name of a box" in house.run("tcp", "/bad", "latency", fails=True)


@pytest.mark.usefixtures("sonde_worker")
def test_a_study_runs_by_it_and_its_report_says_where(house):
    house.run("study", "run", "s.toml", "--out", "runs")
    (run,) = (house.folder / "runs").iterdir()
    assert "crate" in (run / "report.html").read_text()


def test_a_row_without_a_class_is_refused_at_the_start(tmp_path):
    house = HouseCopy(tmp_path)
    house.change("catalogue/launcher.py", ROW, ROW + NEW_ROW)
    said = house.run("study", "run", "--help", fails=True)
    assert "no class makes the hosts of the launcher box" in said


@pytest.mark.parametrize("row", [row for row in LAUNCHERS.values() if row.takes_names])
def test_each_that_can_be_chosen_stands_on_the_page(row):
    assert f"| a name, `{row.name}` |" in PAGE.read_text()
