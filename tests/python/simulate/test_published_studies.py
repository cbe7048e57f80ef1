"""The studies of published clusters: every point of them can be simulated, and says what it is
compared with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netsonde.errors import UsageError
from netsonde.lab.tables import switch_presets
from netsonde.simulate.plan import plan_sweep
from netsonde.simulate.recognise import is_simulation_study
from netsonde.simulate.scenario import SimulationScenario
from netsonde.simulate.study import parse_simulation_study, plan_study, read_simulation_study
from netsonde.tables import load_toml

ROOT = Path(__file__).resolve().parents[3]
STUDIES = [p for p in sorted((ROOT / "studies").glob("*.toml")) if is_simulation_study(p)]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_point_can_be_simulated(path: Path) -> None:
    read = read_simulation_study(path)
    assert read.study.name == path.stem
    assert read.study.about
    points = plan_study(read)
    assert len(points) == len({point.id for point in points}) > 1
    labels = [point.spec.label for point in points]
    assert all(labels)
    for point in points:
        if point.spec.published is not None:
            assert point.spec.source
            assert point.spec.compared


def test_table_4_1_is_in_its_study() -> None:
    """Figures of Tam 2001, table 4.1: the digest's first and last rows, and the number of rows."""
    points = plan_study(read_simulation_study(ROOT / "studies" / "gather-output.toml"))
    rows = [p.spec for p in points if p.spec.source == "Tam 2001, table 4.1"]
    assert len(rows) == 18
    for row, wanted in (
        (rows[0], (7, 18, 400, 0.8375, 0.7639)),
        (rows[-1], (15, 36, 1600, 0.6877, 0.8238)),
    ):
        names = ("senders", "window", "timeout_slots", "published", "published_prediction")
        assert tuple(getattr(row, name) for name in names) == wanted
        assert row.buffer_packets == 95
        assert row.packets == 30_000


def test_formulas_beside_the_points() -> None:
    """Ceilings of section 6.3 in bit/s, and Eq. (4.2) where a window is beyond the buffer."""
    points = plan_study(read_simulation_study(ROOT / "studies" / "hierarchy.toml"))
    found = {
        p.spec.scenario: p.spec.formula_value / 8e6
        for p in points
        if p.spec.formula_value is not None
    }
    # 103 x 23 / (2 x 18 x 6) is 10.967; the source cuts it to 10.96.
    assert found == pytest.approx(
        {
            "exchange-8x2": 12.07,
            "exchange-8x3": 9.25,
            "exchange-6x4": 10.96,
            "exchange-8x4": 8.32,
        },
        abs=0.008,
    )
    points = plan_study(read_simulation_study(ROOT / "studies" / "gather-input.toml"))
    values = {(p.spec.senders, p.spec.window): p.spec.formula_value for p in points}
    assert values[7, 43] == 1.0
    assert values[7, 48] == pytest.approx(0.4608, abs=1e-4)
    assert values[15, 60] == pytest.approx(0.4720, abs=1e-4)
    assert values[23, 80] == pytest.approx(0.4718, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = 's'", "simulate: must be given"),
        ("[[simulate]]\nscenario = 'gather-416'\nrows = [[1]]", "columns and rows go together"),
        (
            "[[simulate]]\nscenario = 's'\ncolumns=['window']\nrows=[[1,2]]",
            "not one value for each",
        ),
        (
            "[[simulate]]\nscenario = 's'\ncolumns=['published']\nrows=[[1]]",
            "needs a figure to compare",
        ),
        (
            "[[simulate]]\nscenario='s'\nfigure='f'\ncolumns=['published']\nrows=[['x']]",
            "published is 'x'",
        ),
        ("[[simulate]]\nscenario='s'\nspeed=1", "unknown key simulate.0.speed"),
    ],
)
def test_what_is_no_study(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_simulation_study(text, "file")
    assert words in str(refused.value)
    assert str(refused.value).startswith("file")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scenario='nowhere'", "neither a scenario file nor one of"),
        ("scenario='nowhere.toml'", "cannot read"),
        (
            "scenario='gather-416'\ncolumns=['wndow']\nrows=[[1]]",
            "block 1: no key is called 'wndow'",
        ),
        ("scenario='gather-416'\nfigure='f'\nformula='magic'", "no formula is called 'magic'"),
        (
            "scenario='gather-416'\nfigure='f'\nformula='hierarchy'",
            "formula hierarchy does not hold",
        ),
        ("scenario='gather-416'\nsweep=['window=0']", "(with window = 0)"),
    ],
)
def test_what_cannot_be_planned(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f"[[simulate]]\n{text}\n")
    with pytest.raises(UsageError) as refused:
        plan_study(read_simulation_study(path))
    assert words in str(refused.value)


def test_scenarios_and_studies_that_are_shown_can_be_simulated(tmp_path: Path) -> None:
    shown = 0
    for page in ("reference/simulation-scenarios.md", "how-to/plan-a-cluster.md"):
        for text in re.findall(r"(?ms)^```toml\n(.*?)^```$", (ROOT / "docs" / page).read_text()):
            if "[[simulate]]" in text:
                path = tmp_path / "study.toml"
                path.write_text(text)
                assert plan_study(read_simulation_study(path))
            else:
                whole = text if "[simulation" in text else text + WORKLOAD
                scenario = SimulationScenario(page, whole, load_toml(whole, page))
                assert plan_sweep(scenario, [], None)
            shown += 1
    assert shown == 4


WORKLOAD = "[simulation.workload]\nkind = 'uniform'\npackets = 1\n"


def test_the_table_of_switches_is_whole() -> None:
    """Tam 2001, table A.1: six switches; the uplinks of two of them are keys of theirs."""
    assert len(switch_presets()) == 6
