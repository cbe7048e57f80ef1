"""``netsonde man``: manual pages, made of what ``--help`` says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
import typer.main

import netsonde
from netsonde.cli.method_pages import method_text
from netsonde.errors import UsageError

EXIT_CODES = (
    ("0", "done"),
    ("1", "a verdict failed"),
    ("2", "bad usage or input"),
    ("3", "a host or peer failed"),
    ("4", "interrupted"),
)


def man(
    context: typer.Context,
    place: Annotated[
        str | None,
        typer.Argument(
            metavar="PLACE", help="Of a report, as latency#quantiles: how that is obtained."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a page for each command into this directory."),
    ] = None,
) -> None:
    """Write manual pages, a page for each command, from what --help says.

    Without --out the page of netsonde itself is printed, for `man -l -`. With PLACE it prints that
    part of the methods, which reports name.

    Examples: `netsonde man --out share/man/man1`, `netsonde man latency#quantiles`
    """
    if place is not None:
        if out is not None:
            raise UsageError("--out writes manual pages; PLACE is printed, without --out")
        typer.echo(method_text(place), nl=False)
        return
    pages = dict(manual_pages(context.find_root().command))
    if out is None:
        typer.echo(pages["netsonde"], nl=False)
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (out / f"{name}.1").write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot write to {out}: {error.strerror}; choose another directory with --out"
        ) from error
    typer.echo(f"{len(pages)} pages in {out}")


def manual_pages(command: Any) -> Iterator[tuple[str, str]]:
    """(name, text) of the page of a command and of each below it."""
    yield from _below(command, ["netsonde"])


def _below(command: Any, words: list[str]) -> Iterator[tuple[str, str]]:
    yield "-".join(words), _page(command, words)
    for name, sub in getattr(command, "commands", {}).items():
        if not sub.hidden:
            yield from _below(sub, [*words, name])


def _page(command: Any, words: list[str]) -> str:
    context = typer.Context(command, info_name=" ".join(words))
    first, *rest = [p for p in re.split(r"\n\s*\n", (command.help or "").strip()) if p.strip()]
    title = "-".join(words)
    lines = [
        f'.TH "{_text(title.upper())}" 1 "" "netsonde {netsonde.__version__}" "netsonde"',
        ".SH NAME",
        f"{_text(title)} \\- {_text(first.rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_text(' '.join(words))}",
        _text(" ".join(command.collect_usage_pieces(context))),
    ]
    calls = [line for part in rest if part.startswith("- `") for line in part.splitlines()]
    prose = [part for part in rest if not part.startswith("- `")]
    if prose:
        lines += [".SH DESCRIPTION", *(line for part in prose for line in (".PP", _prose(part)))]
    if calls:
        examples = (line for call in calls for line in (".PP", _prose(call.removeprefix("- "))))
        lines += [".SH EXAMPLES", *examples]
    shown = [p for p in command.get_params(context) if not getattr(p, "hidden", False)]
    for heading, kind in (("ARGUMENTS", "argument"), ("OPTIONS", "option")):
        found = [p for p in shown if p.param_type_name == kind]
        if found:
            lines += [f".SH {heading}", *_parameters(found)]
    subs = {n: s for n, s in getattr(command, "commands", {}).items() if not s.hidden}
    if subs:
        lines.append(".SH COMMANDS")
        for name, sub in subs.items():
            about = (sub.get_short_help_str(200) or "").strip()
            lines += [".TP", f".BR {_text(title)}\\-{_text(name)} (1)", _prose(about)]
    lines.append(".SH EXIT STATUS")
    lines += [line for code, meaning in EXIT_CODES for line in (".TP", f".B {code}", meaning)]
    return "\n".join(lines) + "\n"


def _parameters(found: list[Any]) -> Iterator[str]:
    """In the groups of --help, where the command has them."""
    for group, members in groupby(found, lambda p: getattr(p, "rich_help_panel", None)):
        if group is not None:
            yield f".SS {_text(group)}"
        for parameter in members:
            yield from _parameter(parameter)


def _parameter(parameter: Any) -> list[str]:
    if parameter.param_type_name == "argument":
        name = f"\\fI{_text(_metavar(parameter))}\\fP"
    else:
        names = ", ".join(
            f"\\fB{_text(o)}\\fP" for o in [*parameter.opts, *parameter.secondary_opts]
        )
        value = "" if parameter.is_flag else f" \\fI{_text(_metavar(parameter))}\\fP"
        name = names + value
    return [".TP", name, _prose(f"{parameter.help or ''}{_default(parameter)}")]


def _default(parameter: Any) -> str:
    given = parameter.default
    if given is None or isinstance(given, bool) or callable(given) or given == ():
        return ""
    return f" [{given}]"


def _metavar(parameter: Any) -> str:
    annotation = parameter.type_descriptor.annotation
    if parameter.metavar:
        return str(parameter.metavar)
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    return str(parameter.name).upper()


def _prose(text: str) -> str:
    """Words in a line; what stands between backticks is bold."""
    parts = re.split(r"`([^`]*)`", " ".join(text.split()))
    made = [_text(part) if n % 2 == 0 else f"\\fB{_text(part)}\\fP" for n, part in enumerate(parts)]
    line = "".join(made)
    return f"\\&{line}" if line[:1] in (".", "'") else line


def _text(text: str) -> str:
    """Nothing in it is a command to the formatter; a dash is one that can be copied."""
    return text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
