"""A study's complaints in the words of the command line: options in place of keys."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from netsonde.catalogue.options.commands import BLOCK, PATH, SEED, STOPPING
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.rule import RefusalError
from netsonde.tables import in_our_words

_ROWS = (PATH, SEED, STOPPING, BLOCK, SOCKETS)
OPTIONS = {
    **{key: row.typed for rows in _ROWS for key, row in rows.items() if row.typed},
    "ranks": "-n",
    "mpi": "--mpi",
    "hosts": "--hosts",
    "launches": "--launches",
    "ppn": "--ppn",
    "pin": "--pin",
    "target": "HOST",
    "root": "--root",
    "pattern": "--pattern",
    "uneven": "--uneven",
    "partners": "--pattern FILE",
    "pair": "--pair",
    "size_of": "--size-of",
    "window": "--window",
    "threads": "--threads",
    "reduction": "--reduction",
    "overlap": "--overlap",
    "polls": "--polls",
    "cache": "--cache",
    "cache_bytes": "--cache-bytes",
    "align": "--align",
    "both_timers": "--compare-timers",
    "timer_overhead": "--without-timer-overhead",
    "start": "--start",
    "clocks": "--clocks",
    "outstanding": "--outstanding",
}
"""The option behind each key of a study that a command line can set."""
_PHRASES = (
    (r"transports = \['udp'\] and tests? (\w+) and (\w+) only", r"netsonde udp, \1 and \2, only"),
    (r"transports = \['(\w+)'\]", r"netsonde \1"),
    (r"loads = '([^']+)'", r"--load \1"),
    (r"\btests? (latency|pingpong|stream|duplex|generate)\b", r"\1"),
    (r"\btest open_loop\b", "--load"),
    (r"\bstreams of\b", "--streams of"),
    (r"^(?:rate \(pacing\)|pacing)", "--rate"),
    (r"\band rate do not", "and --rate do not"),
    (r"^mtu\b", "--mtu"),
    (r"^outstanding\b", "--outstanding"),
    (r"^depth\b", "--depth"),
    (r"\band (outstanding|root|pattern|uneven|keep) do not", r"and --\1 do not"),
    (r"\bstart = '(\w+)'", r"--start \1"),
    (r"\bfamily ipv6\b", "--ipv6"),
    (r"\b(cache|start|size_of) = '(\w+)'", r"--\1 \2"),
    (r"^ranks has\b", "-n has"),
    (r"^pin\b", "--pin"),
    (r"^threads has\b", "--threads has"),
    (r"^(root|pattern|uneven|pair|window|reduction|align|overlap|polls|ppn)\b", r"--\1"),
    (r"^partners\b", "--pattern FILE"),
    (r"--size_of\b", "--size-of"),
    (r"\bpolls go with overlap\b", "polls goes with --overlap"),
    (r"--root = 'rotate'", "--root rotate"),
    (r" and test collective\b", " and operations"),
)
_KEYS = re.compile(rf"\b({'|'.join(sorted((k for k in OPTIONS if '_' in k), key=len)[::-1])})\b")


class _CommandSpeaker:
    """As a command line has it."""

    def name(self, key: str) -> str:
        return OPTIONS.get(key, key)

    def valued(self, key: str, value: Any) -> str:
        flags = SOCKETS[key].flags
        own = next((flag.first for flag in flags if flag.value == value), None)
        return own or f"{self.name(key)} {value}"


def problem_in_options(error: ValidationError) -> str:
    """The first of pydantic's complaints as a sentence that names the option."""
    problem = error.errors(include_url=False)[0]
    refused = problem.get("ctx", {}).get("error")
    if isinstance(refused, RefusalError):
        return refused.by(_CommandSpeaker())
    message = in_our_words(problem["msg"])
    keys = [str(part) for part in problem["loc"] if str(part) in OPTIONS]
    for pattern, words in _PHRASES:
        message = re.sub(pattern, words, message)
    message = _KEYS.sub(lambda found: OPTIONS[found.group()], message)
    if "windows" in problem["loc"]:
        bound = str(problem["loc"][-1]).replace("_", "-")
        return f"--start window{'' if bound == 'windows' else f':{bound}'}: {message}"
    if not keys or message.startswith("-"):  # it names its option itself
        return message
    given = problem.get("input")
    shown = f" {given}" if isinstance(given, str | int) and str(given) not in message else ""
    return f"{OPTIONS[keys[-1]]}{shown}: {message}"
