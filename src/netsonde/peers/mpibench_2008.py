"""The tables of MPIBench's thesis of 2008 as data, as they were printed. Old absolute times are a
reference and no limit for anything; `scripts/mpibench_tables.py` says where they are wrong."""

from __future__ import annotations

from netsonde.published import PublishedTable, tables_of

PACKAGE = "netsonde.peers"
FILE = "mpibench_2008.toml"
SOURCE = (
    "N. A. W. Abdul Hamid, *Communication Performance Measurement and Analysis on Commodity "
    "Clusters*, PhD thesis, University of Adelaide, 2008"
)


def tables() -> dict[str, PublishedTable]:
    """All tables by id."""
    return tables_of(PACKAGE, FILE)
