"""Requirements of a study: read from a file, and held beside what is planned."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from netsonde.errors import UsageError
from netsonde.figures.requirements import Named, Requirement
from netsonde.study.requirement_table import MOST_REQUIREMENTS, RequirementTable
from netsonde.study.spec import parse_study
from netsonde.tables import Strict, checked, load_toml, read_toml_text
from netsonde.units import format_size

FILE_LIMIT_BYTES = 1 << 20
SHOWN = 6


class _Requirements(Strict):
    """A file that has nothing else."""

    require: list[RequirementTable] = Field(min_length=1, max_length=MOST_REQUIREMENTS)


def read_requirements(path: Path) -> list[Requirement]:
    """Those of a study's file, or of a file that has only them. Raises UsageError."""
    too_long = f"larger than {FILE_LIMIT_BYTES} bytes, which no study is"
    text = read_toml_text(path, FILE_LIMIT_BYTES, too_long)
    content = load_toml(text, str(path))
    if "require" not in content:
        raise UsageError(f"{path} requires nothing: it has no block [[require]]")
    if set(content) != {"require"}:
        return [table.requirement for table in parse_study(text, str(path)).require]
    tables = checked(_Requirements, content, str(path))
    return [table.requirement for table in tables.require]


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
