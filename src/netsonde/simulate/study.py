"""Studies of published clusters: which scenarios with which values, and what was published of them.

A file names scenarios; each row of a table is a point, with the values of the scenario's keys that
it has and the published figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field, model_validator

from netsonde.errors import UsageError
from netsonde.lab.scenario import SCENARIO_LIMIT_BYTES
from netsonde.simulate.formulas import formula_value
from netsonde.simulate.plan import Reference, SimulatedPoint, plan_point, require_few
from netsonde.simulate.scenario import SimulationScenario, read_simulation
from netsonde.simulate.sweep import LEFT_OUT, Change, combinations, full_name, parse_sweep, said
from netsonde.tables import Strict, checked, load_toml, read_toml_text

PUBLISHED = "published"
PREDICTED = "predicted"
LABEL = "label"
WORDS = (PUBLISHED, PREDICTED, LABEL)
"""Columns that are no keys of a scenario."""
Cell = int | float | bool | str


class Block(Strict):
    """Points of one scenario. ``set`` holds for all of them; each row sets the keys that
    ``columns`` name, or ``sweep`` makes the points. Published values times ``scale`` have the unit
    of ``figure``. A cell that is ``none`` leaves its key out."""

    scenario: str
    figure: str | None = Field(None, pattern=r"^[a-z][a-z0-9_]{0,63}$")
    formula: str | None = Field(None, max_length=64)
    source: str = Field("", max_length=200)
    reason: str = Field("", max_length=1000)
    scale: float = Field(1.0, gt=0, le=1e12)
    set: dict[str, Cell] = Field({})
    columns: list[str] = Field([], max_length=32)
    rows: list[list[Cell]] = Field([], max_length=1000)
    sweep: list[str] = Field([], max_length=8)

    @model_validator(mode="after")
    def _possible(self) -> Block:
        if self.sweep and self.rows:
            raise ValueError("give rows or a sweep, not both")
        if bool(self.columns) != bool(self.rows):
            raise ValueError("columns and rows go together")
        if len(set(self.columns)) < len(self.columns):
            raise ValueError("columns names one twice")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"the row {row} has not one value for each of {self.columns}")
        compares = {PUBLISHED, PREDICTED} & {*self.columns}
        if (compares or self.formula) and self.figure is None:
            raise ValueError(
                "what was published or follows from a formula needs a figure to compare"
            )
        for row in self.rows:
            for name, value in zip(self.columns, row, strict=True):
                number = isinstance(value, int | float) and not isinstance(value, bool)
                if name in (PUBLISHED, PREDICTED) and not (number or value == ""):
                    raise ValueError(f"{name} is {value!r}; expected a number, or '' for none")
        return self


class SimulationStudy(Strict):
    """A whole study."""

    name: str = Field("study", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    about: str = ""
    seed: int | None = Field(None, ge=0, le=2**53 - 1)
    simulate: list[Block] = Field(min_length=1, max_length=100)


@dataclass(frozen=True)
class StudyFile:
    """A study and the text that it was read from."""

    study: SimulationStudy
    text: str
    path: Path


def read_simulation_study(path: Path) -> StudyFile:
    """Raises UsageError with one sentence that names the place."""
    text = read_toml_text(path, SCENARIO_LIMIT_BYTES, "longer than 1 MiB")
    return StudyFile(parse_simulation_study(text, str(path)), text, path)


def parse_simulation_study(text: str, source: str) -> SimulationStudy:
    """Raises UsageError with one sentence that names the place."""
    return checked(SimulationStudy, load_toml(text, source), source)


def plan_study(file: StudyFile, seed: int | None = None) -> list[SimulatedPoint]:
    """Every point of a study. Raises UsageError where one cannot be."""
    chosen = file.study.seed if seed is None else seed
    points: list[SimulatedPoint] = []
    for number, block in enumerate(file.study.simulate, 1):
        scenario = _scenario(block.scenario, file.path)
        try:
            for changes, words in _rows(block):
                name = f"p{len(points) + 1:03d}"
                points.append(_point(name, scenario, block, changes, words, chosen))
        except UsageError as error:
            raise UsageError(f"{file.path}: block {number}: {error}") from error
        require_few(points)
    return points


def _scenario(name: str, study: Path) -> SimulationScenario:
    """A preset, or a file beside the study."""
    beside = study.parent / name
    return read_simulation(str(beside) if Path(name).suffix else name)


def _rows(block: Block) -> Iterator[tuple[dict[str, Change], dict[str, Cell]]]:
    """Of each point, the keys to set and the words that are none."""
    for name in (*block.set, *(c for c in block.columns if c not in WORDS)):
        full_name(name)
    if not block.rows:
        for changes in combinations([parse_sweep(text) for text in block.sweep]):
            yield {**_cells(block.set), **changes}, {}
        return
    for row in block.rows:
        cells = dict(zip(block.columns, row, strict=True))
        words = {name: cells.pop(name) for name in WORDS if name in cells}
        yield {**_cells(block.set), **_cells(cells)}, words


def _cells(cells: Mapping[str, Cell]) -> dict[str, Change]:
    return {key: None if value == LEFT_OUT else value for key, value in cells.items()}


def _point(
    name: str,
    scenario: SimulationScenario,
    block: Block,
    changes: Mapping[str, Change],
    words: Mapping[str, Cell],
    seed: int | None,
) -> SimulatedPoint:
    reference = None
    if block.figure is not None:
        reference = Reference(
            block.figure,
            _scaled(words.get(PUBLISHED, ""), block.scale),
            _scaled(words.get(PREDICTED, ""), block.scale),
            block.formula,
            block.source,
        )
    label = str(words[LABEL]) if LABEL in words else _label(scenario.name, block, changes)
    point = plan_point(name, scenario, changes, seed, reference, label)
    value = None if block.formula is None else formula_value(block.formula, point.spec, point.plan)
    spec = replace(point.spec, reason=block.reason or None, formula_value=value)
    return replace(point, spec=spec)


def _label(scenario: str, block: Block, changes: Mapping[str, Change]) -> str:
    """What tells a point from the others of its block."""
    own = {key: value for key, value in said(changes).items() if key not in block.set}
    words = ", ".join(f"{k.split('.')[-1].replace('_', ' ')} {v}" for k, v in own.items())
    return f"{scenario}: {words}" if words else scenario


def _scaled(value: Cell, scale: float) -> float | None:
    return None if isinstance(value, str) else float(value) * scale
