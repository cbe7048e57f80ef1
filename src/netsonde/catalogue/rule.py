"""Rules: what excludes or needs what, each with one sentence that names options as whoever reads it
wrote them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Facts = Mapping[str, Any]
"""What was given, by key; what a rule asks for is there, as None where nothing was given."""


class Speaker(Protocol):
    """Names what was given as its user wrote it."""

    def name(self, key: str) -> str:
        """An option: ``wait`` of a study is ``--wait`` of a command."""
        ...

    def valued(self, key: str, value: Any) -> str:
        """An option with its value: ``wait = 'spin'``, ``--wait spin``."""
        ...


class StudySpeaker:
    """As a study file has it."""

    def name(self, key: str) -> str:
        return key

    def valued(self, key: str, value: Any) -> str:
        return f"test {value}" if key == "test" else f"{key} = {value!r}"


@dataclass(frozen=True)
class Rule:
    """``broken`` says whether facts go against it.

    ``says`` is the sentence: ``{wait}`` stands for the option's name, ``{wait:=}`` for it with what
    was given, ``{wait:=spin}`` with that value, and ``{wait:value}`` for what was given alone.
    """

    broken: Callable[[Facts], Any]
    says: str


class RefusalError(ValueError):
    """What does not go together; its text is that of a study file."""

    def __init__(self, says: str, facts: Facts) -> None:
        self._says, self._facts = says, facts
        super().__init__(self.by(StudySpeaker()))

    def by(self, speaker: Speaker) -> str:
        """The sentence of another speaker."""
        return self._says.format_map(_Names(speaker, self._facts))


def check(rules: Iterable[Rule], facts: Facts) -> None:
    """Raises RefusalError for the first rule that is broken."""
    for rule in rules:
        if rule.broken(facts):
            raise RefusalError(rule.says, facts)


class _Names(dict[str, "_Named"]):
    def __init__(self, speaker: Speaker, facts: Facts) -> None:
        super().__init__()
        self._speaker, self._facts = speaker, facts

    def __missing__(self, key: str) -> _Named:
        return _Named(self._speaker, key, self._facts.get(key))


@dataclass(frozen=True)
class _Named:
    speaker: Speaker
    key: str
    value: Any

    def __format__(self, how: str) -> str:
        if how == "value":
            return str(self.value)
        if how.startswith("="):
            return self.speaker.valued(self.key, how[1:] or self.value)
        return self.speaker.name(self.key)
