"""What a command line cannot mean is said in its own words."""

from typing import Any

import pytest

from netsonde.cli.common import study_of
from netsonde.errors import UsageError

BLOCK = {"transports": ["tcp"], "test": "stream", "sizes": "64"}


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({"sizes": "12q"}, "--sizes: size '12q' is not a size"),
        ({"options": {"buffer": "3z"}}, "--buffer: size '3z' is not a size"),
        ({"options": {"cork": True, "no_delay": True}}, "--cork holds back what --nodelay sends"),
        (
            {"options": {"target_buffer": "1k", "receive_buffer": "2k"}},
            "--target-buffer and --receive-buffer both",
        ),
        ({"options": {"sending": "zerocopy", "wait": "spin"}}, "--zerocopy goes with --wait block"),
        ({"options": {"wait": "maybe"}}, "--wait maybe: "),
        ({"options": {"origin_cpu": 9999}}, "--cpus 9999: "),
        ({"transports": ["udp"], "rate": "fast"}, "--rate: rate 'fast'"),
        ({"rate": "1M"}, "--rate goes with netsonde udp, stream and generate, only"),
        ({"test": "latency", "streams": 2}, "--streams of more than 1 are for stream"),
        ({"cap": "soon"}, "--time: duration 'soon'"),
    ],
)
def test_the_option_is_named(block: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        study_of({"measure": [{**BLOCK, **block}]})
    assert str(refused.value).startswith(sentence)
    assert "measure" not in str(refused.value)
    assert "_" not in str(refused.value)
