"""Functions behind rows: a module that is named is imported when its row is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from netsonde.catalogue.behind import Behind

ROWS = ("near", "far", "nobody")


@pytest.fixture
def functions(tmp_path, monkeypatch):
    """Of ``near`` here, of ``far`` in a module of its own."""
    found: Behind[Callable[..., object]] = Behind(ROWS, {"written_far_away": ("far",)})
    found.of("near")(lambda: "near")
    (tmp_path / "written_far_away.py").write_text(
        'import test_behind\n@test_behind.FOUND.of("far")\ndef far():\n    return "far"\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "FOUND", found, raising=False)
    yield found
    sys.modules.pop("written_far_away", None)


def test_a_module_is_imported_for_its_row_alone(functions):
    assert functions.get("nobody") is None
    assert functions["near"]() == "near"
    assert "written_far_away" not in sys.modules
    assert functions["far"]() == "far"
    assert "written_far_away" in sys.modules


def test_a_row_lacks_its_function_where_no_module_is_named(functions):
    assert functions.missing(ROWS) == ["nobody"]


def test_a_module_for_a_row_that_is_not_there_is_refused():
    with pytest.raises(LookupError, match="no row is called 'gone'"):
        Behind(ROWS, {"somewhere": ("gone",)})
