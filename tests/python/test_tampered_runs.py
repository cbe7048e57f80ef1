"""Whatever a run directory holds, commands work or say in one sentence what is the matter."""

from __future__ import annotations

import io
import os
import random
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest
import typer
from tampered import tampered
from test_stored_runs import unpacked

from netsonde.cli.main import app
from netsonde.errors import NetsondeError, UsageError

RUNS = ("imported", "simulated", "mpi_slowest", "all_pairs", "interrupted", "launches")
COMMANDS = (
    *(
        "report RUN",
        "report RUN --format json",
        "report RUN --format csv",
        "report RUN --format text",
    ),
    *("explain RUN --json", "explain RUN -v", "compare RUN SOUND", "compare SOUND RUN --json"),
    *(f"export RUN --format {f}" for f in ("csv", "jsonl", "parquet", "openmetrics", "junit")),
    *(
        "export RUN --format gnuplot",
        "export RUN --format hdr",
        "export RUN --format csv --samples",
    ),
    *(
        "study judge RUN",
        "study resume RUN",
        "report RUN SOUND --out OUT",
        "history add OUT/h.db RUN",
    ),
    "explain RUN --probe",
)
TRIES = int(os.environ.get("NETSONDE_TAMPERED", "20"))
SEED = int(os.environ.get("NETSONDE_TAMPERED_SEED", "1"))


def said_of(words: list[str]) -> str:
    """The sentence that a command ended with; empty where it worked."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    try:
        with redirect_stdout(output), redirect_stderr(output):
            typer.main.get_command(app).main(words, prog_name="netsonde", standalone_mode=False)
    except NetsondeError as error:
        return str(error)
    return ""


def test_no_command_fails_in_another_way(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    sound = {name: unpacked(name, tmp_path) for name in RUNS}
    run, out = tmp_path / "tampered", tmp_path / "out"
    out.mkdir()
    stop = mock.Mock(side_effect=UsageError("it would measure now"))
    with (
        mock.patch("netsonde.cli.show.resume_study", stop),
        mock.patch("netsonde.cli.probe.start_study", stop),
    ):
        for number in range(TRIES):
            name = chance.choice(RUNS)
            how = tampered(sound[name], run, chance)
            words = chance.choice(COMMANDS).split()
            places = {"RUN": str(run), "SOUND": str(sound[name])}
            words = [places.get(word, word.replace("OUT", str(out))) for word in words]
            try:
                said = said_of(words)
            except Exception as error:
                pytest.fail(f"try {number}, {name}, {how}, {' '.join(words)}: {error!r}")
            assert "\n" not in said.strip(), (how, said)
