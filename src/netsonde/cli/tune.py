"""``netsonde tune``: settings that make programs faster."""

from __future__ import annotations

import typer

from netsonde.cli import tune_mpi, tune_sockets
from netsonde.cli.tune_library import library

app = typer.Typer(no_args_is_help=True)
tune_sockets.register(app)
tune_mpi.register(app)
app.command()(library)
