"""Options that commands share, and how they measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from netsonde.catalogue.options.commands import COMMAND
from netsonde.catalogue.transport import first_with
from netsonde.cli.row_options import option_of
from netsonde.errors import UsageError

if TYPE_CHECKING:
    from netsonde.study.spec import StudySpec

_SOCKETS = first_with("has_connection").name
CodeFileOption = Annotated[Path | None, option_of(COMMAND["code_file"], _SOCKETS)]
PairOption = Annotated[str | None, option_of(COMMAND["pairing_code"], _SOCKETS)]


def study_of(content: dict[str, Any]) -> StudySpec:
    """A study from what the command line gave. Raises UsageError with one sentence that names the
    option."""
    # Late: a shell that completes a word waits for all that is imported before.
    from pydantic import ValidationError

    from netsonde.cli.wording import problem_in_options
    from netsonde.study.spec import StudySpec

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
    # Late as well, with the libraries of statistics and plots.
    from netsonde.cli.show import run_and_show

    run_and_show(spec, out, as_json, quiet, pair, with_report, groups)
