"""MPIBench's printed tables, what follows from them, and where they contradict themselves."""

from __future__ import annotations

import pytest
from mpibench_tables import contention, duplex, errata

from netsonde.peers.mpibench_2008 import tables


def test_every_table_is_a_table():
    for table in tables().values():
        assert all(len(row) == len(table.columns) for row in table.rows), table.id
        assert table.number
        assert table.unit


@pytest.mark.parametrize("id_", ["multiples_myrinet", "multiples_ethernet", "deviations_ethernet"])
def test_printed_bands_sum_to_all(id_):
    table = tables()[id_]
    for name in table.columns[1:]:
        assert sum(table.numbers(name)) == pytest.approx(100, abs=0.2), name


def test_printed_time_outs_sum_to_all_where_they_were_told():
    told = [row[2:6] for row in tables()["time_outs_alltoall"].rows if row[2] != "NA"]
    assert len(told) == 11
    assert all(sum(map(float, row)) == pytest.approx(100, abs=0.3) for row in told)


def test_tables_of_the_context_are_whole():
    """Shares of one year are of all systems."""
    shares = tables()["top500_interconnects"]
    for year in ("1999", "2003", "2007"):
        assert sum(shares.numbers(year)) == pytest.approx(100, abs=0.5), year
    kinds = tables()["top500_architecture"]
    for year in ("1997", "2007"):
        assert sum(kinds.numbers(year)) == 500
        for count, share in zip(kinds.numbers(year), kinds.numbers(f"{year}, %"), strict=True):
            assert share == pytest.approx(count / 5, abs=0.05)
    assert tables()["protocols"].numbers("bandwidth")[0] == 100
    assert len(tables()["network_costs"].rows) == 5


def test_every_error_says_where_what_and_why():
    assert len(errata()) == 28
    places = " ".join(error.place for error in errata())
    for place in ("1.3", "2.1", "5.5", "6.1", "6.3", "6.6", "6.7", "3.3.1", "3.3.3", "5.8"):
        assert place in places, place
    assert all(e.printed and e.right and e.why for e in errata())


def test_contention_and_duplex_of_then():
    assert contention("altix")[32] == pytest.approx(2.14, abs=0.01)
    assert contention("hydra") == pytest.approx(
        {2: 0.997, 4: 1.586, 8: 1.542, 16: 1.563, 32: 2.22}, abs=0.01
    )
    assert duplex("Ethernet")[4] == pytest.approx(1.98, abs=0.01)
    assert duplex("Myrinet")[200] == pytest.approx(1.90, abs=0.01)


def test_errors_are_corrected_by_the_tables_themselves():
    right = {(e.place, e.printed): e.right for e in errata()}
    assert right["Table 6.7", "MPICH2 gains 36.9 % at 370728 bytes"] == "12.9%"
    assert right["Section 6.4", "gains of up to 50 % over the default"] == "44.5% at most"
    values = {e.place: e.right for e in errata() if "half of the mean" in e.printed}
    assert values == {"Section 5.6": "down to 28%"}
    assert not any("{" in e.right for e in errata())


def test_the_columns_that_are_said_to_be_equal_are():
    table = tables()["deviations_myrinet"]
    assert table.column("32 CPUs, 16 KB") == table.column("32 CPUs, 64 KB")
    ring = tables()["bcast_ethernet"].column("8 CPUs, ring")
    mpich2 = tables()["bcast_versions"].column("MPICH2")
    assert mpich2[-4:] == ring[-4:]
