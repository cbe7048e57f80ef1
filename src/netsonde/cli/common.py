"""Options that commands share, and how they measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import ValidationError

from netsonde.catalogue.options.commands import COMMAND
from netsonde.cli.row_options import option_of
from netsonde.cli.wording import problem_in_options
from netsonde.errors import UsageError
from netsonde.study.spec import StudySpec

PairOption = Annotated[str | None, option_of(COMMAND["pairing_code"], "tcp")]


def study_of(content: dict[str, Any]) -> StudySpec:
    """A study from what the command line gave. Raises UsageError with one sentence that names the
    option."""
    try:
        return StudySpec.model_validate(content)
    except ValidationError as error:
        raise UsageError(problem_in_options(error)) from error


def measure_and_show(
    spec: StudySpec,
    out: Path,
    as_json: bool,
    quiet: bool,
    *,
    pair: str | None = None,
    with_report: bool = False,
    groups: Sequence[str] = (),
) -> None:
    """Runs a study in a new run directory, shows it, and raises HostError where points failed."""
    # Imported late: `netsonde lab status` need not wait for the libraries of statistics and plots.
    from netsonde.cli.show import run_and_show

    run_and_show(spec, out, as_json, quiet, pair, with_report, groups)
