"""What holds for the findings of all tests here: the commands in their advice can be typed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from command_lines import parse, whole_commands
from netsonde.explain.data import Finding


@pytest.fixture(autouse=True)
def _commands_in_advice_can_be_typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    said: set[str] = set()
    make = Finding.__init__

    def noted(self: Finding, *args: object, **more: object) -> None:
        make(self, *args, **more)  # type: ignore[arg-type]
        said.add(self.advice)

    monkeypatch.setattr(Finding, "__init__", noted)
    yield
    for advice in sorted(said):
        for words in whole_commands(advice):
            try:
                parse(words)
            except Exception as error:
                pytest.fail(f"{advice!r}: {error}")
