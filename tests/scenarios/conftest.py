"""What the scenarios share."""

import sys

import pytest


@pytest.fixture
def netsonde_command():
    """How the command under test is started: this interpreter's own netsonde."""
    return [sys.executable, "-m", "netsonde"]
