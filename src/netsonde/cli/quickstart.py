"""``netsonde quickstart``."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Any

import typer

from netsonde.catalogue.transport import in_quickstart
from netsonde.cli.common import measure_and_show
from netsonde.cli.output import RUNS, JsonOption, OutOption, QuietOption

APART = {"placement": "apart"}
"""A CPU for each end, as quickstart.toml has it."""


def quickstart(
    out: OutOption = RUNS,
    path: Annotated[
        str,
        typer.Option(help="auto: the lab, or loopback where no lab can be had; lab; loopback."),
    ] = "auto",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure TCP, UDP and MPI on an emulated two-host cluster of this machine.

    Also what else this machine has, such as libfabric and PVM.

    Takes under 90 seconds and leaves a run directory with a report.

    Examples: `netsonde quickstart`, `netsonde quickstart --path loopback`,
    `netsonde quickstart --json`
    """
    from netsonde.study.measure_table import MeasureTable  # late, as in study_of
    from netsonde.study.spec import parse_study

    text = files("netsonde.study").joinpath("quickstart.toml").read_text()
    spec = parse_study(text, "quickstart.toml")
    more = [MeasureTable.model_validate(block) for block in further_curves()]
    choice = type(spec.path).model_validate({**spec.path.model_dump(), "kind": path})
    measure_and_show(
        spec.model_copy(update={"path": choice, "measure": [*spec.measure, *more]}),
        out,
        as_json,
        quiet,
        with_report=True,
    )


def further_curves() -> list[dict[str, Any]]:
    """A block for each further transport that this machine has what it needs for; where it has a
    CPU for each end, as TCP's, beside which it stands."""
    from netsonde.launch.binaries import is_installed
    from netsonde.launch.library import has_library

    return [
        {"transports": row.name, "test": "latency", "sizes": row.quick_sizes}
        | ({"options": APART} if row.has_endpoints else {})
        for row in in_quickstart()
        if is_installed(row.worker) and has_library(row)
    ]
