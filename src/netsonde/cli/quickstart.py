"""``netsonde quickstart``."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

import typer

from netsonde.cli.common import measure_and_show
from netsonde.cli.output import RUNS, JsonOption, OutOption, QuietOption


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

    Takes under 90 seconds and leaves a run directory with a report.

    Examples: `netsonde quickstart`, `netsonde quickstart --path loopback`,
    `netsonde quickstart --json`
    """
    from netsonde.study.spec import parse_study  # late, as in study_of

    text = files("netsonde.study").joinpath("quickstart.toml").read_text()
    spec = parse_study(text, "quickstart.toml")
    choice = type(spec.path).model_validate({**spec.path.model_dump(), "kind": path})
    measure_and_show(
        spec.model_copy(update={"path": choice}), out, as_json, quiet, with_report=True
    )
