"""Quality of service as people write it."""

import pytest

from netsonde.errors import UsageError
from netsonde.study.quality import parse_traffic_class


@pytest.mark.parametrize(
    ("text", "byte"),
    [
        # Hpcbench's six: minimise delay, maximise throughput, then DiffServ classes 1 and 4 with
        # low and high drop precedence (RFC 1349, RFC 2597).
        *(("1", 0x10), ("2", 0x08), ("3", 0x28), ("4", 0x38), ("5", 0x88), ("6", 0x98)),
        *(("af11", 10 << 2), ("AF43", 38 << 2), ("cs5", 40 << 2), ("ef", 46 << 2), ("le", 4)),
        *(("dscp0", 0), ("dscp63", 252), ("0xb8", 0xB8), (" cs0 ", 0)),
    ],
)
def test_classes(text, byte):
    assert parse_traffic_class(text) == byte


@pytest.mark.parametrize(
    "text", ["", "0", "7", "af15", "af51", "dscp64", "dscp-1", "0x100", "0xzz"]
)
def test_what_is_no_class(text):
    with pytest.raises(UsageError, match="none of 1 to 6"):
        parse_traffic_class(text)
