"""A study as a person writes it, in TOML, and as the program uses it.

Unknown keys are refused. Sizes, rates and durations may be written as text (``64k``, ``1G``,
``500ms``) or as plain integers of bytes, bit/s and nanoseconds.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import Field, model_validator

from netsonde.catalogue.launcher import is_closed
from netsonde.catalogue.options.commands import ORDER, STOPPING
from netsonde.catalogue.options.study_rules import JOB_RULES, MTU_LEAST_IPV6_BYTES, MTU_RULES
from netsonde.catalogue.rule import RefusalError, check
from netsonde.catalogue.test import names_of, test_row
from netsonde.catalogue.transport import some_ranks
from netsonde.figures.requirements import Requirement
from netsonde.operations import operations as known_operations
from netsonde.study.all_pairs_table import TournamentTable
from netsonde.study.budget_table import BudgetTable
from netsonde.study.former_keys import with_present_keys
from netsonde.study.measure_table import MeasureTable
from netsonde.study.mpi_keys import part_bytes
from netsonde.study.mpi_table import MpiTable
from netsonde.study.place_tables import LabTable, PathTable
from netsonde.study.program_table import ProgramTable
from netsonde.study.requirement_table import MOST_REQUIREMENTS, RequirementTable
from netsonde.study.switches import SwitchPlace, UplinkPlace, problem_of_switches
from netsonde.study.values import Duration, Wait, of
from netsonde.study.vary import expand_blocks
from netsonde.tables import Strict, checked, load_toml, read_toml_text

BLOCKS = ("measure", "program", "require")


Share = Annotated[float, Field(gt=0, lt=1)]
PrecisionOf = Literal["p90", "p99", "p999"]
"""Quantiles besides the median, of which a precision may be asked for."""
TIMED_TESTS = sorted(
    names_of("by_quantiles"),
    key=lambda name: test_row(name).is_pattern or test_row(name).is_operation,
)
"""Those that have quantiles of times, the ones between two ends first."""


class StudySpec(Strict):
    """A whole study. ``relative_precision`` is how well the median has to be known, as a share of
    it, and ``relative_precisions`` how well other quantiles, where a test has them.
    ``launches``: so often everything is measured, each time all of it before the next, in an order
    of its own; those of MPI where ``mpi`` has no number of its own."""

    name: str = Field(
        "study",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="Name of the run's directory: letters, digits, dots and dashes.",
    )
    seed: int | None = of(ORDER["seed"])
    relative_precision: Share = of(STOPPING["relative_precision"], 0.01)
    relative_precisions: dict[PrecisionOf, Share] = of(STOPPING["relative_precisions"], {})
    cap: Duration = of(STOPPING["cap"], 2 * 10**9)
    launches: int = of(ORDER["launches"])
    wait_for_others: Wait = of(ORDER["wait_for_others"], 60 * 10**9)
    budget: BudgetTable = Field(BudgetTable(), description="What the study may take.")
    path: PathTable = Field(PathTable(), description="Where the study measures.")
    lab: LabTable = Field(LabTable(), description="The emulated cluster, for kind = 'lab'.")
    mpi: MpiTable = Field(MpiTable(), description="How MPI programs are started.")
    measure: list[MeasureTable] = Field(
        [], description="What is measured: a block makes a point for each combination of its lists."
    )
    tournament: TournamentTable | None = Field(
        None, description="Every host with every other one, round by round."
    )
    program: list[ProgramTable] = Field(
        [], max_length=1000, description="A program of yours, run on the same hosts."
    )
    switch: list[SwitchPlace] = Field(
        [], max_length=1024, description="A switch and the hosts on it, as you know them."
    )
    uplink: list[UplinkPlace] = Field(
        [], max_length=4096, description="A link between two switches."
    )
    require: list[RequirementTable] = Field(
        [],
        max_length=MOST_REQUIREMENTS,
        description="What a figure has to be; the exit code is 1 where it is not.",
    )

    @model_validator(mode="before")
    @classmethod
    def _made_of_factors(cls, content: Any) -> Any:
        """Blocks that vary something become a block for each combination."""
        if not isinstance(content, dict):
            return content
        content = with_present_keys(content)
        blocks = content.get("measure")
        if isinstance(blocks, list):
            content["measure"] = expand_blocks(blocks)
        mpi = content.get("mpi", {})
        if content.get("launches", 1) != 1 and isinstance(mpi, dict):
            content["mpi"] = {"launches": content["launches"], **mpi}
        return content

    @model_validator(mode="after")
    def _measures_something(self) -> StudySpec:
        if not self.measure and self.tournament is None:
            raise ValueError(
                "nothing is measured: give a block [[measure]] or a table [tournament]"
            )
        return self

    @model_validator(mode="after")
    def _precisions_possible(self) -> StudySpec:
        tests = {block.test for block in self.measure if block.count is None and not block.like}
        if self.relative_precisions and not tests & set(TIMED_TESTS):
            raise RefusalError(
                "{relative_precisions}: nothing here is measured until its {name:value} is known; "
                f"they go with the tests {', '.join(TIMED_TESTS)}, without {{count}} and {{like}}",
                {"name": next(iter(self.relative_precisions))},
            )
        return self

    @model_validator(mode="after")
    def _switches_possible(self) -> StudySpec:
        problem = problem_of_switches(self.switch, self.uplink)
        if problem is not None:
            raise ValueError(problem)
        return self

    @property
    def requirements(self) -> list[Requirement]:
        """What the figures have to be."""
        return [table.requirement for table in self.require]

    @property
    def mtus(self) -> list[int]:
        """Every MTU that is asked for, bytes."""
        return sorted({mtu for block in self.measure for mtu in block.mtu})

    @model_validator(mode="after")
    def _mtu_possible(self) -> StudySpec:
        named = (self.path.target, *self.path.hosts, *self.mpi.hosts)
        has_lab = self.path.kind in ("auto", "lab") or (
            self.path.kind == "hosts" and any(map(is_closed, named))
        )
        facts = {
            "mtu": self.mtus,
            "least": min(self.mtus, default=MTU_LEAST_IPV6_BYTES),
            "all_have_one": all(block.mtu for block in self.measure),
            "has_lab": has_lab,
            "family": self.path.family,
        }
        if self.mtus:
            check(MTU_RULES, facts)
        return self

    @model_validator(mode="after")
    def _between_possible(self) -> StudySpec:
        if not self.path.between:
            return self
        if self.tournament is not None:
            raise ValueError("between and [tournament] do not go together: give hosts")
        if self.program:
            raise ValueError("between and [[program]] do not go together")
        for block in self.measure:
            if some_ranks(block.transports) or block.kind.is_of_many:
                what = "transport mpi" if some_ranks(block.transports) else f"test {block.test}"
                raise ValueError(
                    f"between is of tests between two hosts: it does not go with {what}"
                )
            if self.path.concurrent > 1 and (block.mtu or block.background_load):
                key = "mtu" if block.mtu else "background_load"
                raise ValueError(
                    f"{key} and concurrent do not go together: it changes hosts that others measure"
                )
        return self

    @model_validator(mode="after")
    def _enough_ranks(self) -> StudySpec:
        job = {
            "ranks": self.mpi.ranks,
            "least": min(self.mpi.ranks),
            "most": max(self.mpi.ranks),
            "launches": self.mpi.launch_count,
            "pin": self.mpi.pin,
        }
        for block in self.measure:
            check(JOB_RULES, {**vars(block), **job})
            if block.size_of == "total":
                for name, size, ranks in product(block.operations, block.sizes, self.mpi.ranks):
                    part_bytes(size, ranks, known_operations()[name])
        return self


def parse_study(text: str, source: str) -> StudySpec:
    """A study from TOML. Raises UsageError with one sentence that names the place."""
    return checked(StudySpec, load_toml(text, source), source)


def read_study(path: Path) -> StudySpec:
    return parse_study(read_toml_text(path), str(path))


def to_toml(spec: StudySpec) -> str:
    """The study with every default filled in; reads back to an equal study."""
    content = spec.model_dump(exclude_none=True)
    return tomli_w.dumps(
        {key: value for key, value in content.items() if value or key not in BLOCKS}
    )
