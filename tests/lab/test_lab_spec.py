"""What a lab may be, and the commands that follow from it."""

from __future__ import annotations

from typing import Any

import pytest

from netsonde.errors import UsageError
from netsonde.lab import LabSpec, links


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"hosts": 0}, "a lab of 0 hosts"),
        ({"hosts": 65}, "1 to 64"),
        ({"rate_bit_per_s": 999_999}, "1.000 Mbit/s"),
        ({"rate_bit_per_s": 100_000_000_001}, "100.0 Gbit/s"),
        ({"buffer_bytes": 1513}, "one frame"),
        ({"buffer_bytes": 1 << 31}, "1G"),
        ({"burst_bytes": 100}, "burst of 100"),
        ({"rate_bit_per_s": None, "burst_bytes": 4000}, "needs a rate"),
        ({"name": "Lab"}, "'Lab' cannot name a lab"),
        ({"name": "../x"}, "cannot name a lab"),
        ({"name": ""}, "cannot name a lab"),
        ({"name": "x\n"}, "cannot name a lab"),
    ],
)
def test_limits(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        LabSpec(**given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"hosts": 1, "rate_bit_per_s": 10**6, "buffer_bytes": 1514, "burst_bytes": 1514},
        {"hosts": 64, "rate_bit_per_s": 10**11, "buffer_bytes": 1 << 30},
        {"rate_bit_per_s": None},
    ],
)
def test_the_limits_themselves_are_allowed(given: dict[str, Any]) -> None:
    LabSpec(**given)


def test_the_bucket_grows_with_the_rate() -> None:
    buckets = [LabSpec(rate_bit_per_s=10**power).bucket_bytes for power in range(6, 12)]
    assert buckets == sorted(buckets)
    assert buckets[0] >= 1514
    assert LabSpec(burst_bytes=5000).bucket_bytes == 5000
    assert LabSpec(rate_bit_per_s=None).bucket_bytes == 0


def test_a_port_has_the_buffer_and_a_host_a_longer_queue() -> None:
    spec = LabSpec(hosts=2, rate_bit_per_s=10**9, buffer_bytes=65536, burst_bytes=20000)
    assert links.switch_buckets(spec) == [
        f"qdisc replace dev {port} root tbf rate 1000000000bit burst 80000b limit 65536b"
        for port in ("p1", "p2")
    ]
    assert links.host_buckets(spec, 1) == [
        "qdisc replace dev v0 root tbf rate 1000000000bit burst 20000b limit 1514000b"
    ]
    assert links.host_buckets(LabSpec(rate_bit_per_s=None), 1) == []


def test_hosts_know_each_other_for_good() -> None:
    lines = links.host_links(LabSpec(hosts=3), 2, ipv6=True)
    neighbours = [line for line in lines if line.startswith("neighbour")]
    assert len(neighbours) == 4
    assert all(line.endswith("nud permanent") for line in neighbours)
    assert not any("10.77.0.2 " in line for line in neighbours)
    assert not any(
        ":" in line.split()[2] for line in links.host_links(LabSpec(hosts=2), 1, ipv6=False)[-1:]
    )
    assert links.hosts_file(2, ipv6=True).splitlines()[-2:] == ["10.77.0.2 h2", "fd77::2 h2"]
