"""netsonde's own ethtool says what the system's does, in its words."""

from __future__ import annotations

import subprocess
import sys

import pytest

from netsonde.lab.ethtool import main
from netsonde.lab.offload import feature_states
from netsonde.tuning.sockets.settings import SETTINGS, Place


def test_loopback_is_told_as_the_setting_reads_it(capsys):
    assert main(["-k", "lo"]) == 0
    said = capsys.readouterr().out
    assert "tcp-segmentation-offload: on" in said
    states = feature_states("lo")
    assert states["tx-tcp-segmentation"].is_on
    state = SETTINGS["offloads"].state_of(said, Place("lo", "127.0.0.1"))
    words = {"tso": "tx-tcp-segmentation", "gso": "tx-generic-segmentation", "gro": "rx-gro"}
    expected = [
        f"{short}={'on' if states[name].is_on else 'off'}"
        for short, name in words.items()
        if states[name].can_change
    ]
    assert state == " ".join(expected)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("-k no-such-device", 1),
        ("-k", 2),
        ("-K lo tso", 2),
        ("", 2),
        ("-K lo tso perhaps", 2),
        ("-K lo rxhash on", 2),
    ],
)
def test_what_cannot_be_ends_with_a_sentence(words, status, capsys):
    assert main(words.split()) == status
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_it_is_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "netsonde.lab.ethtool", "-k", "lo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert done.returncode == 0
    assert "generic-segmentation-offload" in done.stdout
