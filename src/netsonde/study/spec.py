"""A study as a person writes it, in TOML, and as the program uses it.

Unknown keys are refused. Sizes, rates and durations may be written as text (``64k``, ``1G``,
``500ms``) or as plain integers of bytes, bit/s and nanoseconds.
"""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import Field, ValidationError, model_validator

from netsonde.catalogue.launcher import is_closed
from netsonde.catalogue.transport import some_ranks
from netsonde.errors import UsageError
from netsonde.figures.requirements import Requirement
from netsonde.operations import operations as known_operations
from netsonde.operations import parse_pattern
from netsonde.study.all_pairs_table import AllPairsTable
from netsonde.study.budget_table import BudgetTable
from netsonde.study.former_keys import with_present_keys
from netsonde.study.measure_table import MTU_LEAST_IPV6_BYTES, MeasureTable
from netsonde.study.mpi_keys import part_bytes
from netsonde.study.mpi_table import MOST_LAUNCHES, MpiTable
from netsonde.study.place_tables import LabTable, PathTable
from netsonde.study.program_table import ProgramTable
from netsonde.study.requirement_table import MOST_REQUIREMENTS, RequirementTable
from netsonde.study.switches import SwitchPlace, UplinkPlace, problem_of_switches
from netsonde.study.values import Duration
from netsonde.study.vary import expand_blocks
from netsonde.tables import Strict, first_problem

BLOCKS = ("measure", "program", "require")
PAIR_POINTS_LIMIT = 10_000
"""Points that one block may make of all pairs of ranks."""


Share = Annotated[float, Field(gt=0, lt=1)]
PrecisionOf = Literal["p90", "p99", "p999"]
"""Quantiles besides the median, of which a precision may be asked for."""
TIMED_TESTS = (
    *("latency", "pingpong", "open_loop", "threads"),
    *("incast", "collective"),
)
"""Those that have quantiles of times."""


class StudySpec(Strict):
    """A whole study. ``relative_precision`` is how well the median has to be known, as a share of
    it, and ``relative_precisions`` how well other quantiles, where a test has them.
    ``launches``: so often everything is measured, each time all of it before the next, in an order
    of its own; those of MPI where ``mpi`` has no number of its own."""

    name: str = Field("study", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    seed: int | None = Field(None, ge=0, le=2**53 - 1)
    relative_precision: Share = 0.01
    relative_precisions: dict[PrecisionOf, Share] = Field({})
    cap: Duration = 2 * 10**9
    launches: int = Field(1, ge=1, le=MOST_LAUNCHES)
    budget: BudgetTable = BudgetTable()
    path: PathTable = PathTable()
    lab: LabTable = LabTable()
    mpi: MpiTable = MpiTable()
    measure: list[MeasureTable] = Field([])
    all_pairs: AllPairsTable | None = None
    program: list[ProgramTable] = Field([], max_length=1000)
    switch: list[SwitchPlace] = Field([], max_length=1024)
    uplink: list[UplinkPlace] = Field([], max_length=4096)
    require: list[RequirementTable] = Field([], max_length=MOST_REQUIREMENTS)

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
        if not self.measure and self.all_pairs is None:
            raise ValueError("nothing is measured: give a block [[measure]] or a table [all_pairs]")
        return self

    @model_validator(mode="after")
    def _precisions_possible(self) -> StudySpec:
        tests = {block.test for block in self.measure if block.count is None and not block.like}
        if self.relative_precisions and not tests & set(TIMED_TESTS):
            name = next(iter(self.relative_precisions))
            raise ValueError(
                f"relative_precisions: nothing here is measured until its {name} is known; they go "
                f"with the tests {', '.join(TIMED_TESTS)}, without count and like"
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
        if not self.mtus:
            return self
        if not all(block.mtu for block in self.measure):
            raise ValueError(
                "mtu is given in some blocks only; give it in all, so that every point says which "
                "one it had"
            )
        named = (self.path.target, *self.path.hosts, *self.mpi.hosts)
        has_lab = any(map(is_closed, named))
        if self.path.kind == "loopback" or (self.path.kind == "hosts" and not has_lab):
            raise ValueError(
                "mtu goes with hosts of a lab only, such as lab:h1,h2: interfaces of real hosts "
                "are not changed"
            )
        if self.path.family == "ipv6" and self.mtus[0] < MTU_LEAST_IPV6_BYTES:
            raise ValueError(
                f"mtu {self.mtus[0]} is less than the {MTU_LEAST_IPV6_BYTES} bytes that family "
                "ipv6 asks of a link"
            )
        return self

    @model_validator(mode="after")
    def _between_possible(self) -> StudySpec:
        if not self.path.between:
            return self
        if self.all_pairs is not None:
            raise ValueError("between and [all_pairs] do not go together: give hosts")
        if self.program:
            raise ValueError("between and [[program]] do not go together")
        for block in self.measure:
            if some_ranks(block.transports) or block.kind.is_pattern:
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
    def _threads_are_free(self) -> StudySpec:
        if self.mpi.pin != "none" and any(block.threads for block in self.measure):
            raise ValueError(
                "pin binds a rank with all its threads to one processor: leave it out with threads"
            )
        return self

    @model_validator(mode="after")
    def _enough_ranks(self) -> StudySpec:
        ranks = min(self.mpi.ranks)
        if self.mpi.ppn and not self.mpi.hosts:
            raise ValueError("ppn places ranks on hosts: it goes with hosts only")
        if len(set(self.mpi.ppn)) < len(self.mpi.ppn):
            raise ValueError("ppn has a number twice")
        for block in self.measure:
            if isinstance(block.root, int) and block.root >= ranks:
                raise ValueError(
                    f"root {block.root} is no rank of {ranks}; the last is {ranks - 1}"
                )
            for operation in block.operations:
                if known_operations()[operation].partnered != "none" and ranks < 2:
                    raise ValueError(f"{operation} is between two ranks, and ranks is {ranks}")
            if block.pattern is not None and parse_pattern(block.pattern)[1] >= ranks:
                raise ValueError(
                    f"pattern {block.pattern} leads past all of the {ranks} ranks; the largest "
                    f"distance is {ranks - 1}"
                )
            self._require_ranks(block)
        return self

    def _require_ranks(self, block: MeasureTable) -> None:
        """Raises ValueError where a block names ranks that are not there, or leaves one nothing."""
        ranks = min(self.mpi.ranks)
        own = block.pair if isinstance(block.pair, tuple) else ()
        named = [*(rank for pair in block.partners for rank in pair), *own]
        if isinstance(block.pair, str):
            self._require_pairs(block.pair, len(block.sizes))
        if named and max(named) >= ranks:
            key = "pair" if own else "partners"
            raise ValueError(f"{key}: {max(named)} is no rank of {ranks}; the last is {ranks - 1}")
        if block.size_of == "total":
            for operation, size, number in product(block.operations, block.sizes, self.mpi.ranks):
                part_bytes(size, number, known_operations()[operation])

    def _require_pairs(self, pair: str, sizes: int) -> None:
        """Raises ValueError where there is no pair, or there are too many of them."""
        if min(self.mpi.ranks) < 2:
            raise ValueError(f"pair = '{pair}' is between two ranks, and ranks is 1")
        ranks = max(self.mpi.ranks)
        points = sizes * (ranks * (ranks - 1) // 2 if pair == "all" else ranks - 1)
        if points > PAIR_POINTS_LIMIT:
            raise ValueError(
                f"pair = '{pair}' of {ranks} ranks makes {points} points; the limit is "
                f"{PAIR_POINTS_LIMIT}"
            )
        if pair == "slowest" and len(self.mpi.ranks) > 1:
            raise ValueError(
                "pair = 'slowest' and several numbers of ranks do not go together: each would find "
                "its own; measure pair = 'each'"
            )
        if pair == "slowest" and self.mpi.launch_count > 1:
            raise ValueError(
                "pair = 'slowest' and several launches do not go together: each would find its "
                "own; measure pair = 'each'"
            )


def parse_study(text: str, source: str) -> StudySpec:
    """A study from TOML. Raises UsageError with one sentence that names the place."""
    try:
        return StudySpec.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} is not TOML: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{source}: {first_problem(error)}") from error


def read_study(path: Path) -> StudySpec:
    try:
        return parse_study(path.read_text(), str(path))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not TOML: it holds bytes that are no UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def to_toml(spec: StudySpec) -> str:
    """The study with every default filled in; reads back to an equal study."""
    content = spec.model_dump(exclude_none=True)
    return tomli_w.dumps(
        {key: value for key, value in content.items() if value or key not in BLOCKS}
    )
