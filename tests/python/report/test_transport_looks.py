"""How transports are drawn is known to everything that draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netsonde.catalogue.transport import TRANSPORTS, commands
from netsonde.export import gnuplot
from netsonde.report import image, page
from netsonde.report.theme import LIGHT, SYMBOLS


@pytest.mark.parametrize("name", TRANSPORTS)
def test_its_symbol_and_colour_are_known(name: str) -> None:
    row = TRANSPORTS[name]
    assert row.symbol in SYMBOLS
    assert row.colour in LIGHT


def test_no_two_that_are_measured_look_alike() -> None:
    looks = [(row.symbol, row.colour) for row in commands()]
    assert len(set(looks)) == len(looks)


def test_pages_images_and_gnuplot_have_every_symbol() -> None:
    script = (Path(page.__file__).parent / "templates" / "draw.js").read_text()
    shapes = script[script.index("const SHAPES") : script.index("};", script.index("const SHAPES"))]
    assert set(SYMBOLS) <= set(re.findall(r'^  "?([a-z-]+)"?:', shapes, re.MULTILINE))
    assert set(SYMBOLS) <= set(image._SYMBOLS)
    assert set(SYMBOLS) <= set(gnuplot._POINTS)
