"""The whole command line of ``netsonde``, for what describes or tests it."""

from netsonde.cli.commands import COMMANDS, app_with

app = app_with(COMMANDS)
