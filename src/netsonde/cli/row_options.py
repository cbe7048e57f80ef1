"""A command's options from the catalogue's rows: their types and help, and what was given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

import typer

from netsonde.catalogue.option import ANY_MOST, Choice, Count, Flag, Option, Switch
from netsonde.catalogue.options.commands import COMMAND_ROWS
from netsonde.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])


def with_rows(
    transport: str, rows: Iterable[Option] | None = None
) -> Callable[[Function], Function]:
    """For Typer, in the place of a command's ``**given``: the options of a transport's rows, which
    are those of sockets where none are named."""

    def changed(command: Function) -> Function:
        own = inspect.signature(command, eval_str=True).parameters.values()
        positional = [p for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]
        behind = [p for p in own if p.kind is p.KEYWORD_ONLY]
        made = [
            *positional,
            *_parameters(transport, COMMAND_ROWS if rows is None else rows),
            *behind,
        ]
        command.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
        return command

    return changed


def given_of(rows: Iterable[Option], transport: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given of some rows, by key, and defaults; Typer's None and switches that are off are
    left out. Raises UsageError for two words of one option."""
    found: dict[str, Any] = {}
    for row in rows:
        flags = row.flags_of(transport)
        words = [flag for flag in flags if flag.value and given[_name(flag)]]
        if len(words) > 1:
            raise UsageError(
                f"{words[0].first} and {words[1].first} do not go together: each is a way of "
                f"{row.key}"
            )
        value = words[0].value if words else row.default
        for flag in flags:
            if flag.value is None:
                value = given[_name(flag)]
        if flags and value is not None and (value is not False or "/" in flags[0].name):
            found[row.key] = value
    return found


def option_of(row: Option, transport: str) -> Any:
    """For Typer: the one flag of a row, in the signature of a command."""
    (flag,) = row.flags_of(transport)
    return _info(flag, row)


def _parameters(transport: str, rows: Iterable[Option]) -> Iterator[inspect.Parameter]:
    seen: set[str] = set()
    for row in rows:
        for flag in row.flags_of(transport):
            if flag.name not in seen:  # one that is shared stands in several rows
                seen.add(flag.name)
                yield _parameter(flag, row)


def _parameter(flag: Flag, row: Option) -> inspect.Parameter:
    kind, default = _type_and_default(flag, row)
    return inspect.Parameter(
        _name(flag),
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, _info(flag, row)],
    )


def _info(flag: Flag, row: Option) -> Any:
    least, most = _bounds(flag, row)
    return typer.Option(
        *(name for name in (flag.name, flag.letter) if name),
        metavar=flag.metavar,
        help=flag.help,
        min=least,
        max=most,
        show_default=flag.usual or "/" not in flag.name,
        rich_help_panel=flag.group.value,
    )


def _bounds(flag: Flag, row: Option) -> tuple[int | None, int | None]:
    if not _is_number(row) or not isinstance(row.kind, Count):
        return None, None
    if flag.shared or flag.shows == "none":
        return None, None
    is_told = flag.shows == "both" and row.kind.most != ANY_MOST
    return row.kind.least, row.kind.most if is_told else None


def _type_and_default(flag: Flag, row: Option) -> tuple[Any, Any]:
    if flag.repeated:
        return list[str] | None, None
    if flag.value is not None:
        return bool, False
    if isinstance(row.kind, Switch):
        return (bool | None, None) if "/" in flag.name else (bool, False)
    kind: Any = int if _is_number(row) and not flag.shared else str
    if row.choices and flag.metavar is None:
        kind = Literal.__getitem__(row.choices)  # Typer lists the words and holds them
    default = row.default if flag.default is None else flag.default
    if default is None or flag.usual is not None:
        return kind | None, None
    return kind, default


def _is_number(row: Option) -> bool:
    if isinstance(row.kind, Choice):
        return all(isinstance(word, int) for word in row.kind.words)
    return isinstance(row.kind, Count) and not row.listed  # several are a text


def _name(flag: Flag) -> str:
    """Of the parameter: the flag's, with a dash where Python has that word itself."""
    name = flag.first.lstrip("-").replace("-", "_")
    return f"{name}_" if name == "from" else name
