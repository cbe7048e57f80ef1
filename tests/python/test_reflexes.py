"""Words of other tools are answered with netsonde's, which exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
from typer.main import get_command

from netsonde.catalogue.reflexes import CALLS, REFLEXES, Place, reflex
from netsonde.cli import common, mpi, sockets
from netsonde.cli.commands import COMMANDS, app_with
from netsonde.cli.socket_tests import SOCKET_TESTS
from netsonde.study.plan import plan_points

COMMANDS_OF: dict[Place, tuple[str, ...]] = {
    "sockets": ("tcp", "udp"),
    "mpi": ("mpi",),
    "serve": ("serve",),
}
OPTION = re.compile(r"--[a-z-]+")


def options_of(*names: str) -> set[str]:
    commands = get_command(app_with(names)).commands  # type: ignore[attr-defined]
    return {word for name in names for one in commands[name].params for word in one.opts}


def said(*arguments: str) -> str:
    command = [sys.executable, "-c", "from netsonde.cli.entry import main; main()", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 2
    return run.stderr


@pytest.mark.parametrize("place", COMMANDS_OF)
def test_no_word_is_netsondes_own_and_what_it_says_is(place):
    own = options_of(*COMMANDS_OF[place])
    rows = [row for row in REFLEXES if place in row.places]
    words = [word for row in rows for word in row.words]
    assert len(set(words)) == len(words)
    assert own.isdisjoint(words)
    for row in rows:
        assert set(OPTION.findall(row.says)) <= own, row


def test_names_of_tests_and_commands_are_no_own():
    for place, known in (("test", SOCKET_TESTS), ("command", COMMANDS)):
        words = [word for row in REFLEXES if place in row.places for word in row.words]
        assert len(set(words)) == len(words)
        assert set(known).isdisjoint(words)
    for row in (row for row in REFLEXES if row.says.startswith("netsonde")):
        assert row.says.split()[1] in COMMANDS, row


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.theirs)
def test_netsondes_call_beside_another_tools_is_one(call, monkeypatch):
    """It is understood up to the plan of what is measured."""
    specs = []
    for module in (common, mpi, sockets):
        monkeypatch.setattr(module, "measure_and_show", lambda spec, *_, **__: specs.append(spec))
    program, *words = shlex.split(call.ours)
    assert program == "netsonde"
    app_with([words[0]])(words, standalone_mode=False)
    (spec,) = specs
    assert plan_points(spec)


def test_a_word_of_another_tool_is_answered_where_it_is_typed():
    assert said("tcp", "local", "stream", "-P", "4").startswith(
        "netsonde: -P is iperf3's; netsonde says --streams N: so many flows at once"
    )
    assert "netsonde says netsonde tcp HOST TEST" in said("latency", "node7")
    assert "--count N is the number of messages or repetitions" in said("mpi", "bcast", "-i", "9")
    assert "latency is a test, which comes behind the host: node7 latency" in said(
        "tcp", "latency", "node7"
    )
    assert "netsonde says latency" in said("tcp", "node7", "TCP_RR")
    assert "No such option: --frobnicate" in said("tcp", "local", "stream", "--frobnicate")


def test_a_value_behind_an_equals_sign_and_capitals():
    assert reflex("--len=64", "sockets") is reflex("--len", "sockets") is not None
    assert reflex("-p", "sockets") is not reflex("-P", "sockets")
    assert reflex("UDP_RR", "test") is reflex("udp_rr", "test") is not None
