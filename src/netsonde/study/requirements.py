"""Requirements of a study: read from a file, and held beside what is planned."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, ValidationError

from netsonde.errors import UsageError
from netsonde.figures.requirements import Named, Requirement
from netsonde.study.requirement_table import MOST_REQUIREMENTS, RequirementTable
from netsonde.study.spec import parse_study
from netsonde.tables import Strict, first_problem, load_toml
from netsonde.units import format_size

FILE_LIMIT_BYTES = 1 << 20
SHOWN = 6


class _Requirements(Strict):
    """A file that has nothing else."""

    require: list[RequirementTable] = Field(min_length=1, max_length=MOST_REQUIREMENTS)


def read_requirements(path: Path) -> list[Requirement]:
    """Those of a study's file, or of a file that has only them. Raises UsageError."""
    try:
        with path.open("rb") as file:
            text = file.read(FILE_LIMIT_BYTES + 1).decode()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not TOML: it holds bytes that are no UTF-8 text") from error
    if len(text) > FILE_LIMIT_BYTES:
        raise UsageError(f"{path} is larger than {FILE_LIMIT_BYTES} bytes, which no study is")
    content = load_toml(text, str(path))
    if "require" not in content:
        raise UsageError(f"{path} requires nothing: it has no block [[require]]")
    if set(content) != {"require"}:
        return [table.requirement for table in parse_study(text, str(path)).require]
    try:
        tables = _Requirements.model_validate(content).require
    except ValidationError as error:
        raise UsageError(f"{path}: {first_problem(error)}") from error
    return [table.requirement for table in tables]


def refuse_unmet_by_plan(requirements: Iterable[Requirement], points: Iterable[Named]) -> None:
    """Raises UsageError where a requirement is of no point that is planned."""
    planned = list(points)
    for number, requirement in enumerate(requirements, 1):
        if not any(requirement.concerns(point) for point in planned):
            kinds = list(dict.fromkeys(_in_words(point) for point in planned))
            more = ", ..." if len(kinds) > SHOWN else ""
            raise UsageError(
                f"require {number}, {requirement.in_words()}: the study has no such point; it has "
                f"{', '.join(kinds[:SHOWN])}{more}"
            )


def _in_words(point: Named) -> str:
    spec = point.spec
    if point.transport == point.test:
        return point.test
    words = f"{point.transport} {spec.operation or point.test} {format_size(spec.message_bytes)}"
    return f"{words} ({spec.label})" if spec.label else words
