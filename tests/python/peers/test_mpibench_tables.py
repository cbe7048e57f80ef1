"""MPIBench's printed tables, what follows from them, and where they contradict themselves."""

from __future__ import annotations

import pytest

from netsonde.peers.mpibench_2008 import contention, duplex, errata, tables


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
