"""What does not go together in ``[measure.options]``."""

from __future__ import annotations

from netsonde.catalogue.rule import Facts, Rule

_NOT_TOGETHER = "do not go together"


def _is_special(facts: Facts) -> bool:
    """Whether messages are sent in a way of their own."""
    return facts["sending"] not in (None, "copy")


SOCKET_RULES = (
    Rule(
        lambda o: o["cork"] and o["no_delay"],
        "{cork} holds back what {no_delay} sends at once; ask for one of them",
    ),
    Rule(
        lambda o: o["target_buffer"] is not None and o["receive_buffer"] is not None,
        "{target_buffer} and {receive_buffer} both say what the target's is",
    ),
    Rule(
        lambda o: _is_special(o) and o["wait"] != "block",
        "{sending:=} goes with {wait:=block}, not with {wait:value}",
    ),
    Rule(
        lambda o: o["segment_offload"] and (o["datagrams_per_call"] or 1) == 1,
        "{segment_offload} needs {datagrams_per_call} of 2 or more",
    ),
    Rule(
        lambda o: o["kernel_times"] and _is_special(o),
        f"{{kernel_times}} and {{sending:=}} {_NOT_TOGETHER}",
    ),
    Rule(
        lambda o: o["kernel_times"] and o["multipath"],
        f"{{kernel_times}} and {{multipath}} {_NOT_TOGETHER}",
    ),
    Rule(
        lambda o: o["pacing"] and o["multipath"],
        f"{{pacing}} and {{multipath}} {_NOT_TOGETHER}: the kernel paces no connection of several "
        "paths",
    ),
    Rule(
        lambda o: o["window_clamp"] and o["multipath"],
        f"{{window_clamp}} and {{multipath}} {_NOT_TOGETHER}: each path has a window of its own",
    ),
    Rule(
        lambda o: o["sending"] == "zerocopy" and o["multipath"],
        f"{{sending:=}} and {{multipath}} {_NOT_TOGETHER}",
    ),
)
