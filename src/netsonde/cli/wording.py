"""A study's complaints in the words of the command line: options in place of keys."""

from __future__ import annotations

import re

from pydantic import ValidationError

OPTIONS = {
    "sizes": "--sizes",
    "call": "--call",
    "count": "--count",
    "rate": "--rate",
    "streams": "--streams",
    "port": "--port",
    "loads": "--load",
    "cap": "--time",
    "interval": "--interval",
    "seed": "--seed",
    "ranks": "-n",
    "mpi": "--mpi",
    "hosts": "--hosts",
    "target": "HOST",
    "origin": "--from",
    "family": "--ipv6",
    "check_data": "--check-data",
    "buffer": "--buffer",
    "receive_buffer": "--receive-buffer",
    "target_buffer": "--target-buffer",
    "no_delay": "--nodelay",
    "congestion_control": "--congestion",
    "max_segment": "--mss",
    "cork": "--cork",
    "not_sent_low": "--notsent-lowat",
    "traffic_class": "--qos",
    "busy_poll_us": "--busy-poll",
    "multipath": "--multipath",
    "pacing": "--rate",
    "kernel_times": "--kernel-times",
    "perturb": "--perturb",
    "refine": "--refine",
    "like": "--like",
    "omit": "--omit",
    "datagrams_per_call": "--batch",
    "segment_offload": "--offload",
    "wait": "--wait",
    "origin_cpu": "--cpus",
    "target_cpu": "--cpus",
}
"""The option behind each key of a study that a command line can set."""
_PHRASES = (
    (r"sending = '(\w+)'", r"--\1"),
    (r"wait = '(\w+)'", r"--wait \1"),
    (r"transports = \['udp'\] and tests? (\w+) and (\w+) only", r"netsonde udp, \1 and \2, only"),
    (r"transports = \['(\w+)'\]", r"netsonde \1"),
    (r"loads = '([^']+)'", r"--load \1"),
    (r"\btests? (latency|pingpong|stream|duplex|generate)\b", r"\1"),
    (r"\btest open_loop\b", "--load"),
    (r"\bstreams of\b", "--streams of"),
    (r"^rate \(pacing\)", "--rate"),
    (r"\band rate do not", "and --rate do not"),
    (r"^cork holds", "--cork holds"),
)
_KEYS = re.compile(rf"\b({'|'.join(sorted((k for k in OPTIONS if '_' in k), key=len)[::-1])})\b")


def problem_in_options(error: ValidationError) -> str:
    """The first of pydantic's complaints as a sentence that names the option."""
    problem = error.errors(include_url=False)[0]
    message = problem["msg"].removeprefix("Value error, ")
    keys = [str(part) for part in problem["loc"] if str(part) in OPTIONS]
    for pattern, words in _PHRASES:
        message = re.sub(pattern, words, message)
    message = _KEYS.sub(lambda found: OPTIONS[found.group()], message)
    if not keys:
        return message
    given = problem.get("input")
    shown = f" {given}" if isinstance(given, str | int) and str(given) not in message else ""
    return f"{OPTIONS[keys[-1]]}{shown}: {message}"
