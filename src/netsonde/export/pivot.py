"""All pairs of a run as a pivot with totals (CSV, HTML, XLSX), and as a row for each pair."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO

from netsonde.csv_rows import write_rows
from netsonde.errors import UsageError
from netsonde.export.source import Cell, Source
from netsonde.figures.pair_sets import WORDS, Pivot, Way, pivot_of, ways_of
from netsonde.model.meetings import COMPANIES, Company
from netsonde.report.page import Section, sections_page
from netsonde.report.plot import Column, Table
from netsonde.units import format_count

ENDINGS = (".csv", ".html", ".xlsx")
PAIR_COLUMNS = (
    *("run", "started_utc", "netsonde", "origin", "way", "options", "hosts", "company"),
    *("from", "to", "from_facts", "to_facts", "message_bytes", "items", "count"),
    *("average_s", "least_s", "most_s"),
)
ITEM_BYTES = 4
"""Of an item, as studies of PVM and MPI count them."""
_FACTS = ("cpu.model", "os.kernel")
_SHEET_NAME = 31
"""Characters of a sheet's name, at most."""
_OF_SHEETS = str.maketrans(dict.fromkeys("[]:*?/\\'", "-"))
"""What a sheet's name may not hold."""
Named = tuple[Way, int, Company, Pivot]


def pivots_of(source: Source) -> list[Named]:
    """Each way, number of hosts and company. Raises UsageError of a run without all pairs."""
    found = [
        (way, hosts, company, pivot)
        for way in ways_of(source.run)
        for hosts in way.hosts
        for company in COMPANIES
        if (pivot := pivot_of(way, hosts, company)) is not None
    ]
    if not found:
        raise UsageError(
            f"{source.directory} has no all pairs; measure some first, as with netsonde tcp HOSTS "
            "all-pairs"
        )
    return found


def _title(way: Way, hosts: int, company: Company) -> str:
    return f"{way.name}, {format_count(hosts, 'host')}, {WORDS[company]}"


def pair_rows(source: Source) -> Iterator[tuple[Cell, ...]]:
    """A row for each pair, size and company, its cells those of ``PAIR_COLUMNS``."""
    pivots_of(source)  # says where there are none
    manifest = source.manifest
    run: tuple[Cell, ...] = (
        *(source.name, manifest.get("started_utc")),
        *((manifest.get("versions") or {}).get("netsonde"), source.run.origin),
    )
    facts = {name: _facts(source, name) for way in ways_of(source.run) for name in _hosts(way)}
    for way in ways_of(source.run):
        options = ", ".join(f"{name} {text}".replace('"', "") for name, text in way.key.parameters)
        for (hosts, size, company), times in way.sets.items():
            for (a, b), own in sorted(times.times_ns.items()):
                if not len(own):
                    continue
                names = times.hosts[a], times.hosts[b]
                yield (
                    *(*run, way.name, options, hosts, company),
                    *(*names, *(facts[name] for name in names)),
                    *(size, size // ITEM_BYTES, len(own)),
                    *(float(own.mean()) / 1e9, float(own.min()) / 1e9, float(own.max()) / 1e9),
                )


def _hosts(way: Way) -> set[str]:
    return {name for times in way.sets.values() for name in times.hosts}


def _facts(source: Source, host: str) -> str:
    known = source.run.host_facts(host)
    return ", ".join(str(known[name]) for name in _FACTS if name in known)


def write_pairs(source: Source, file: IO[bytes]) -> None:
    """A heading and a row for each pair, as CSV."""
    text = io.StringIO()
    write_rows(text, [PAIR_COLUMNS, *pair_rows(source)])
    file.write(text.getvalue().encode())


def write_pivot(source: Source, target: Path, part: Path) -> None:
    """By the ending of ``target``, into ``part``. Raises UsageError for another ending."""
    if target.suffix not in ENDINGS:
        raise UsageError(
            f"a pivot is written as {', '.join(ENDINGS)}, by the end of the file's name; "
            f"{target.name} has none of these"
        )
    pivots = pivots_of(source)
    if target.suffix == ".xlsx":
        _write_xlsx(source, pivots, part)
    elif target.suffix == ".html":
        part.write_text(_page(source, pivots))
    else:
        text = io.StringIO()
        write_rows(text, _csv_rows(pivots))
        part.write_text(text.getvalue())


def _csv_rows(pivots: Sequence[Named]) -> Iterator[Sequence[Cell]]:
    """One table of all: a column for each host of any of them."""
    to = list(dict.fromkeys(name for *_, pivot in pivots for name in pivot.to))
    yield ("way", "hosts", "company", "from", "length_bytes", *to, "total")
    for way, hosts, company, pivot in pivots:
        for origin, length, *cells in pivot.lines():
            own = dict(zip(pivot.to, cells, strict=False))
            yield (way.name, hosts, company, origin, length, *map(own.get, to), cells[-1])


def _page(source: Source, pivots: Sequence[Named]) -> str:
    sections = [
        Section(
            f"pivot-{number}",
            _title(way, hosts, company),
            ["Average round trips. A total is the plain mean of what it is of."],
            _table(number, pivot),
        )
        for number, (way, hosts, company, pivot) in enumerate(pivots, 1)
    ]
    return sections_page("All pairs as a pivot", source.name, sections)


def _table(number: int, pivot: Pivot) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (origin, length, *(cell * 1e9 if isinstance(cell, float) else cell for cell in cells))
        for origin, length, *cells in pivot.lines()
    ]
    return Table(
        f"pivot_{number}",
        "From, length, to",
        (
            Column("from", "From"),
            Column("message_bytes", "Length", "size"),
            *(Column(f"{name}_ns", name, "time_ns") for name in pivot.to),
            Column("total_ns", "Total", "time_ns"),
        ),
        rows,
    )


def _write_xlsx(source: Source, pivots: Sequence[Named], path: Path) -> None:
    """A sheet for each pivot, and one with a row for each pair. No text is a formula or a link."""
    from xlsxwriter import Workbook  # an extra

    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with Workbook(str(path), plain) as book:
        book.set_properties({"title": source.name, "created": _started(source)})
        bold, seconds = (
            book.add_format({"bold": True}),
            book.add_format({"num_format": "0.000E+00"}),
        )
        for number, (way, hosts, company, pivot) in enumerate(pivots, 1):
            sheet = book.add_worksheet(_sheet_name(number, way, hosts, company))
            sheet.write_row(0, 0, pivot.heading, bold)
            for place, (origin, length, *cells) in enumerate(pivot.lines(), 1):
                is_total = length is None
                sheet.write_string(place, 0, origin, bold if is_total else None)
                if not is_total:
                    sheet.write_number(place, 1, length)
                for column, cell in enumerate(cells, 2):
                    if cell is not None:
                        sheet.write_number(place, column, cell, seconds)
            sheet.freeze_panes(1, 2)
        sheet = book.add_worksheet("pairs")
        sheet.write_row(0, 0, PAIR_COLUMNS, bold)
        for place, row in enumerate(pair_rows(source), 1):
            sheet.write_row(place, 0, row)
        sheet.freeze_panes(1, 0)


def _sheet_name(number: int, way: Way, hosts: int, company: Company) -> str:
    return f"{number} {way.name} {hosts} {company}".translate(_OF_SHEETS)[:_SHEET_NAME]


def _started(source: Source) -> datetime:
    """When the run was, so that the same run gives the same file."""
    try:
        found = datetime.fromisoformat(str(source.manifest.get("started_utc")))
    except ValueError:
        found = datetime(2001, 1, 1)
    return found.replace(tzinfo=None)
