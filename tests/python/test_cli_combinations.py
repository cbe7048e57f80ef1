"""Options with several values on the command line."""

import pytest

from netsonde.cli.combinations import combinations
from netsonde.errors import UsageError


def test_one_value_each_is_one_block():
    block = {"test": "stream", "options": {"buffer": "64k", "wait": "spin", "max_segment": None}}
    assert combinations(block) == [block]


def test_every_combination_has_its_label():
    options = {"buffer": "64k,1M", "congestion_control": "cubic,reno", "wait": "spin"}
    blocks = combinations({"test": "stream", "options": options})
    assert [b["label"] for b in blocks] == [
        *("buffer 64k, cubic", "buffer 64k, reno", "buffer 1M, cubic", "buffer 1M, reno")
    ]
    assert blocks[2]["options"] == {"buffer": "1M", "congestion_control": "cubic", "wait": "spin"}


def test_classes_of_service_as_a_range():
    blocks = combinations({"options": {"traffic_class": "1..6"}})
    assert [b["options"]["traffic_class"] for b in blocks] == ["1", "2", "3", "4", "5", "6"]


def test_too_many():
    many = ",".join(str(size) for size in range(1, 21))
    with pytest.raises(UsageError, match="400 combinations"):
        combinations({"options": {"buffer": many, "max_segment": many}})
