"""The tables of the packet model's thesis of 2001 as data, and what the equations give for them.

Printed values stay as they were printed; computed ones stand beside with their deviation. Each
column says whether it was given, measured, estimated from traces, predicted, or is theory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from netsonde.errors import UsageError
from netsonde.model import congestion, windows
from netsonde.published import PublishedTable, Value, markdown, tables_of

FILE = "tam_2001.toml"
SOURCE = (
    "A. T. C. Tam, *Performance Studies of High-Speed Communication on Commodity Cluster*, PhD "
    "thesis, The University of Hong Kong, 2001"
)
KINDS = ("given", "measured", "estimated", "predicted", "reference", "computed")
UPLINK_CEILING_BYTE_PER_S = 103e6


def tables() -> dict[str, PublishedTable]:
    """All tables by id. ``kinds`` has one of :data:`KINDS` for each column."""
    return tables_of("netsonde.platforms", FILE)


def find_table(word: str) -> PublishedTable:
    """A table by its id or by its number, with what is computed. Raises UsageError for neither."""
    for table in tables().values():
        if word == table.id or word in table.number.replace(",", " ").split():
            return with_computed(table)
    known = ", ".join(f"{table.number} ({table.id})" for table in tables().values())
    raise UsageError(f"no table is called {word!r}; there are {known}")


def with_computed(table: PublishedTable) -> PublishedTable:
    """The table with what the equations give for each row; itself where they give nothing."""
    if table.id not in _COMPUTED:
        return table
    added = _COMPUTED[table.id](table)
    rows = zip(table.rows, *added.values(), strict=True)
    return replace(
        table,
        columns=(*table.columns, *added),
        kinds=(*table.kinds, *["computed"] * len(added)),
        rows=tuple((*row, *values) for row, *values in rows),
    )


_Columns = dict[str, list[float]]


def _efficiencies(table: PublishedTable) -> _Columns:
    """Eq. (4.10) of each row."""
    names = ("P", "W_FC", "TO", "c", "1-a", "f")
    found = []
    for senders, window, time_out, c, severity, f in zip(
        *(table.numbers(name) for name in names), strict=True
    ):
        chances = congestion.Chances(c, 1.0 - severity, f)
        share = congestion.output_efficiency(chances, int(window), int(senders), 95, time_out)
        found.append(round(share, 4))
    return {"Eq. (4.10)": found, "Deviation": _less(found, table.numbers("Predicted"))}


def _predicted_less_measured(table: PublishedTable) -> _Columns:
    """How far the source's prediction is from its measurement: c, a and f are not printed."""
    predicted, measured = table.numbers("Predicted"), table.numbers("Measured")
    return {"Predicted - measured": _less(predicted, measured)}


def _best_rates(table: PublishedTable) -> _Columns:
    """What follows from Eq. (6.4), in MB/s."""
    pairs = zip(table.numbers("d_1"), table.numbers("d_2"), strict=True)
    found = [
        round(
            windows.best_node_byte_per_s(int(d1), int(d1 * d2), UPLINK_CEILING_BYTE_PER_S) / 1e6, 3
        )
        for d1, d2 in pairs
    ]
    return {"Eq. (6.4)": found, "Deviation": _less(found, table.numbers("Expected best"))}


def _less(values: Sequence[float], others: Sequence[float]) -> list[float]:
    return [round(v - o, 4) for v, o in zip(values, others, strict=True)]


_COMPUTED: Mapping[str, Callable[[PublishedTable], _Columns]] = MappingProxyType(
    {
        "efficiency_output": _efficiencies,
        "efficiency_switches": _predicted_less_measured,
        "hierarchies": _best_rates,
    }
)


def page() -> str:
    """docs/reference/communication-tables.md."""
    parts = [_HEADING]
    for plain in tables().values():
        table = with_computed(plain)
        parts += table.section(f"{table.number}: {table.title}", _body(table))
    return "\n\n".join(parts) + "\n"


def _body(table: PublishedTable) -> str:
    headed = zip(table.columns, table.kinds, strict=True)
    names = [f"{name} ({kind})" if name else kind for name, kind in headed]
    return markdown(names, ([_cell(v) for v in row] for row in table.rows))


def _cell(value: Value) -> str:
    return str(value) if value != "" else "–"


_HEADING = f"""<!-- Made by scripts/reference.py from {FILE}; do not edit. -->

# Tables of the packet model

What {SOURCE} prints, by number or section. Each column says what it is: given
(set or chosen), measured, estimated (from traces of the measurement), predicted (by the thesis's
model), reference (theory and data sheets), or computed here by the equation named, with its
deviation from the printed prediction. `netsonde model published` shows one of them."""
