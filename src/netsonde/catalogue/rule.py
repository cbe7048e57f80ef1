"""Rules: what excludes or needs what, each with one sentence that names options as whoever reads it
wrote them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from netsonde.catalogue.option import Option

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
        if key == "test":
            return f"test {value}"
        return f"{key} = {[value] if key in LISTS else value!r}"


LISTS = ("transports",)
"""Keys that a study has a list of, where a sentence has one."""


@dataclass(frozen=True)
class Rule:
    """``broken`` says whether facts go against it, or with which further facts.

    ``says`` is the sentence: ``{wait}`` stands for the option's name, ``{wait:=}`` for it with what
    was given, ``{wait:=spin}`` with that value, and ``{wait:value}`` for what was given alone.
    Where what was given is the key of an option, or several, ``{given:key}`` stands for their
    names, and ``{given:key=}`` for that one with its value. ``each`` is a fact of which there are
    several, in the plural as ``sizes``: the rule holds for each, as ``size``.
    """

    broken: Callable[[Facts], Any]
    says: str
    each: Literal["transports", "operations", "sizes"] | None = None

    def cases(self, facts: Facts) -> Iterable[Facts]:
        """The facts for each of what it holds for."""
        if self.each is None:
            return (facts,)
        return ({**facts, self.each.removesuffix("s"): one} for one in facts[self.each])


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
        for own in rule.cases(facts):
            found = rule.broken(own)
            if found:
                raise RefusalError(rule.says, {**own, **found} if isinstance(found, dict) else own)


def first_given(facts: Facts, rows: Iterable[Option]) -> dict[str, Any] | None:
    """Facts of the first of some options that is not as usual: its key, as ``given``."""
    found = next((row for row in rows if _is_given(row, facts[row.key])), None)
    return None if found is None else {"given": found.key}


def _is_given(row: Option, value: object) -> bool:
    if value is None or value is False:
        return value is False and row.default is True
    return value != row.default and value != []


class _Names(dict[str, "_Named"]):
    def __init__(self, speaker: Speaker, facts: Facts) -> None:
        super().__init__()
        self._speaker, self._facts = speaker, facts

    def __missing__(self, key: str) -> _Named:
        return _Named(self._speaker, key, self._facts)


@dataclass(frozen=True)
class _Named:
    speaker: Speaker
    key: str
    facts: Facts

    def __format__(self, how: str) -> str:
        value = self.facts.get(self.key)
        match how:
            case "":
                return self.speaker.name(self.key)
            case "value":
                return str(value)
            case "key":
                keys = [value] if isinstance(value, str) else value or ()
                return ", ".join(map(self.speaker.name, keys))
            case "key=":
                return self.speaker.valued(str(value), self.facts.get(str(value)))
        return self.speaker.valued(self.key, how[1:] or value)
