"""Writes docs/reference/cli.md from the command line itself, the tables of two theses (MPIBench's
and the packet model's) from their data, what MPI benchmarks have beside each other, what users of
other tools type, the schema and the page of the study file from its models, the options in the
schema of a request from the catalogue's rows, and the limits of netsonde serve from its rows.

    scripts/reference.py            write them
    scripts/reference.py --check    exit with 1 where one is not up to date

The text of each command is its docstring and its options' help in netsonde.cli.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import mpi_tools
import mpibench_tables
import other_words
import serve_limits

from netsonde.catalogue import option
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.test import engine_names
from netsonde.catalogue.transport import names_with
from netsonde.limits import LIMITS
from netsonde.platforms import published
from netsonde.study import schema as study_schema

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "cli.md"
TABLES = ROOT / "docs" / "reference" / "mpibench-tables.md"
TOOLS = ROOT / "docs" / "reference" / "mpi-tools.md"
PACKET_TABLES = ROOT / "docs" / "reference" / "communication-tables.md"
OTHER_WORDS = ROOT / "docs" / "reference" / "from-other-tools.md"
LIMITS_PAGE = ROOT / "docs" / "reference" / "limits.md"
SERVE = ROOT / "docs" / "reference" / "serve.md"
STUDY = ROOT / "docs" / "reference" / "study.md"
SCHEMA = ROOT / "schema" / "study.schema.json"
REQUESTS = ROOT / "schema" / "request.schema.json"
SOCKETS_OF_BOTH = sorted(names_with("has_sockets"))
(ECHOED,) = names_with("is_echoed")
OPTION_TABLES = {
    r'"options": {\n      "type": "object"': SOCKETS_OF_BOTH,
    rf'"transport": {{"const": "{ECHOED}"}}.*?"options": {{': [ECHOED],
}
"""What stands before a table of options, and the transports it is for."""
RUN = list(engine_names("has_sockets", "is_echoed", "has_ranks"))
NAMES = {"transport": SOCKETS_OF_BOTH, "test": RUN}
"""Words of a request that are names of rows."""
HEADER = """<!-- Made by scripts/reference.py from the commands themselves; do not edit. -->

"""
LIMITS_HEADER = """<!-- Made by scripts/reference.py from src/netsonde/limits.py; do not edit. -->

# How long netsonde waits

Whatever stands still, each command comes back. What a user sets stands on other pages: the
[cap of a point, budgets](study.md), the length of a program, the limits of
[netsonde serve](serve.md).

| awaited | s | then |
| --- | --- | --- |"""
LIMITS_FOOT = """
A run of two hosts whose worker is stopped therefore ends within four times its own length and
21 s: its limit, what a late answer is given, and the end of the workers. Of UDP round trips and
of echoes up to 60 s are added, for answers that do not come.

Where an end meets its limit and another one says nothing, the silent one is named: `h1: the worker
did not answer within 16 s; h2 waited for it in vain`. Where both say that they waited, what was
lost was lost on the way.
"""


def reference() -> str:
    """The page: every command with its arguments, options and example."""
    command = [sys.executable, "-m", "typer", "netsonde.cli.main", "utils", "docs"]
    made = subprocess.run(
        [*command, "--name", "netsonde", "--title", "Commands"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if made.returncode != 0:
        sys.exit(f"the commands could not be read:\n{made.stderr}")
    return HEADER + made.stdout.strip() + "\n"


def request_schema() -> str:
    """The schema of requests, its options as the rows have them."""
    text = REQUESTS.read_text()
    for key, names in NAMES.items():
        made = f'"{key}": {{"enum": {json.dumps(names)}}}'
        text, count = re.subn(rf'"{key}": \{{"enum": \[.*?\]\}}', made, text)
        if count != 1:
            sys.exit(f"{REQUESTS} lists the names of {key} {count} times")
    for heading, transports in OPTION_TABLES.items():
        known = {
            name: _schema_of(row.kind)
            for row in SOCKETS.values()
            for name in row.wire
            if set(transports) & set(row.of)
        }
        lines = ",\n".join(f'INDENT"{name}": {json.dumps(one)}' for name, one in known.items())
        pattern = rf'({heading}.*?\n +"properties": {{\n)( +)(.*?)(\n +}}\n)'
        found = re.search(pattern, text, re.DOTALL)
        if found is None:
            sys.exit(f"{REQUESTS} has no table of options behind {heading}")
        start, end = found.span()
        made = found[1] + lines.replace("INDENT", found[2]) + found[4]
        text = text[:start] + made + text[end:]
    return text


def limits_page() -> str:
    """How long netsonde waits for what."""
    rows = [f"| {row.awaited} | {row.seconds:g} | {row.then} |" for row in LIMITS]
    return "\n".join((LIMITS_HEADER, *rows, LIMITS_FOOT))


def _schema_of(kind: option.Kind) -> dict[str, object]:
    match kind:
        case option.Number(least, most):
            return {"type": "integer", "minimum": least, "maximum": most}
        case option.Choice(words):
            return {"enum": list(words)}
        case option.Text(pattern):
            return {"type": "string", "pattern": pattern}
        case option.Switch():
            return {"type": "boolean"}


def main() -> int:
    stale = [
        (path, text)
        for path, text in (
            (PAGE, reference()),
            (TABLES, mpibench_tables.page()),
            (TOOLS, mpi_tools.page()),
            (OTHER_WORDS, other_words.page()),
            (PACKET_TABLES, published.page()),
            (LIMITS_PAGE, limits_page()),
            (SERVE, serve_limits.page(SERVE)),
            (STUDY, study_schema.reference_page()),
            (SCHEMA, study_schema.as_text()),
            (REQUESTS, request_schema()),
        )
        if not path.exists() or path.read_text() != text
    ]
    if sys.argv[1:] == ["--check"]:
        for path, _ in stale:
            print(f"{path.relative_to(ROOT)} is not up to date: run scripts/reference.py")
        return 1 if stale else 0
    for path, text in stale:
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
