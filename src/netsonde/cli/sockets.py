"""Commands that measure a transport between two hosts, such as ``netsonde tcp``, or what the other
host's kernel answers, such as ``netsonde icmp``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netsonde.catalogue.options.commands import BLOCK, ORDER, PATH, REFINE_POINTS
from netsonde.catalogue.options.endpoints import TRESPASSES
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.test import TESTS as ROWS
from netsonde.catalogue.test import names_of
from netsonde.catalogue.transport import Transport, commands
from netsonde.cli.combinations import combinations
from netsonde.cli.common import measure_and_show, study_of
from netsonde.cli.help_pages import CommandInGroups
from netsonde.cli.like import measured_like
from netsonde.cli.output import RUNS, HtmlOption, JsonOption, OutOption, QuietOption
from netsonde.cli.required import required
from netsonde.cli.row_options import given_of, with_rows
from netsonde.cli.socket_tests import TESTS, SocketTest, hosts_and_tests
from netsonde.errors import UsageError
from netsonde.launch.given_code import given_code
from netsonde.units import parse_rate_bit_per_s

if TYPE_CHECKING:
    from netsonde.study.spec import StudySpec

PERTURB_BYTES = 3
"""Beside each size of a sweep, as NetPIPE does."""
NUMBERED_SIZES = "16..16k:4,65507"
"""A sweep of datagrams that all have room for their number."""
TAGGED_SIZES = "32..32k:4,65507"
"""The same of number and tag."""
DEFAULT_TIME = "2s"
QUICK_TIME = "800ms"
"""Of round trips where no more is asked: ten thousand and more, and the answer within 2 s."""
NAME_LETTERS = 40
DEFAULT_PRECISION = "1%"


HostArgument = Annotated[
    str,
    typer.Argument(
        metavar="HOST|HOSTS",
        help="The other end: an ssh name, ADDRESS:PORT of a `netsonde serve` (with "
        "--code-file), `local`, or `lab:h1,h2`. Of a test of many hosts: all of them, or all "
        "but the one that comes next, as in `node[1-8] node9 incast`.",
    ),
]
TestArgument = Annotated[
    str,
    typer.Argument(
        metavar="TEST|HOST",
        help=f"One of {TESTS}, or several as `latency,stream`. Of a test of many hosts also the "
        "last of them, before the test.",
    ),
]
LastArgument = Annotated[
    str | None,
    typer.Argument(metavar="TEST", help="The test, where two words of hosts come first."),
]
AskedArgument = Annotated[
    str,
    typer.Argument(
        metavar="HOST",
        help="Who is to answer: a name for ssh, `local`, or `lab:h1,h2`. Nothing runs there.",
    ),
]
ECHO_TEST = names_of("asks_round_trip")[0]
"""All that an echo can tell."""
EchoArgument = Annotated[
    str, typer.Argument(metavar="TEST", help=f"{ECHO_TEST}, there is no other.")
]


def command_of(carrier: Transport) -> Callable[..., None]:
    """What measures a transport, as its command."""

    @with_rows(carrier.name)
    def command(
        host: HostArgument,
        test_or_host: TestArgument,
        last: LastArgument = None,
        *,
        out: OutOption = RUNS,
        html: HtmlOption = False,
        as_json: JsonOption = False,
        quiet: QuietOption = False,
        **given: Any,
    ) -> None:
        hosts, tests = hosts_and_tests(host, test_or_host, last)
        groups = _groups(given.get("report"), tests, as_json or quiet)
        spec = _study(carrier, hosts, tests, given)
        if any(test.kind.is_unanswered for test in tests) and not (quiet or as_json):
            typer.echo(
                f"Sending to {hosts[0]} unasked: it and the way there may suffer. Ctrl-C ends it.",
                err=True,
            )
        pair = given_code(given.get("pairing_code"), given.get("code_file"))
        measure_and_show(spec, out, as_json, quiet, pair=pair, with_report=html, groups=groups)

    return command


def echo_command_of(carrier: Transport) -> Callable[..., None]:
    """What measures a transport that the other host's kernel answers, as its command."""

    @with_rows(carrier.name)
    def command(
        host: AskedArgument,
        test: EchoArgument,
        *,
        out: OutOption = RUNS,
        html: HtmlOption = False,
        as_json: JsonOption = False,
        quiet: QuietOption = False,
        **given: Any,
    ) -> None:
        if test.lower() != ECHO_TEST:
            raise UsageError(
                f"test {test!r} is not one of {carrier.title}: the other host's kernel sends back "
                f"each echo, which is {ECHO_TEST}, and does nothing else"
            )
        block = {
            "transports": [carrier.name],
            "test": ECHO_TEST,
            "sizes": ROWS[ECHO_TEST].sizes_of(carrier),
            **given_of(BLOCK.values(), carrier.name, given),
            "options": given_of(SOCKETS.values(), carrier.name, given),
        }
        path = {
            "kind": "hosts",
            "target": host,
            **given_of(PATH.values(), carrier.name, given),
        }
        spec = study_of(
            {
                "name": f"{carrier.name}-{ECHO_TEST}",
                "path": path,
                "measure": combinations(block),
                **stopping(carrier.name, given),
            }
        )
        measure_and_show(spec, out, as_json, quiet, with_report=html)

    return command


def _groups(report: str | None, tests: Sequence[SocketTest], silent: bool) -> tuple[str, ...]:
    """The groups of figures that the terminal is to show; none where it was not asked."""
    if report is None:
        return ()
    from netsonde.report.groups import parse_groups  # takes the report's libraries along

    groups = parse_groups(report)
    if not any(test.kind.is_one_way_stream for test in tests):
        raise UsageError(f"--report goes with stream, not with {tests[0].name}")
    if silent:
        raise UsageError("--report says what is printed; --json has every figure, --quiet none")
    return groups


def precisions_of(text: str | None) -> dict[str, Any]:
    """The keys of a study for ``1%`` or ``0.01``, which are of the median, ``p99:5%``, or several
    with commas. Raises UsageError."""
    keys: dict[str, Any] = {
        "relative_precision": _share(DEFAULT_PRECISION),
        "relative_precisions": {},
    }
    for part in (text or DEFAULT_PRECISION).split(","):
        name, colon, share = part.strip().rpartition(":")
        if name not in ("median", "p90", "p99", "p999") and colon:
            raise UsageError(
                f"--relative-precision {part.strip()!r} is of no quantile that is known; they are "
                "median, p90, p99 and p999, as in p99:5%"
            )
        if name in ("", "median"):
            keys["relative_precision"] = _share(share)
        else:
            keys["relative_precisions"][name] = _share(share)
    return keys


def stopping(transport: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a study that say when points end, how often and in which order they are measured,
    and what their figures have to be."""
    return {
        "cap": given["time"],
        **precisions_of(given["relative_precision"]),
        "require": required(given["at_least"], given["at_most"]),
        **given_of(ORDER.values(), transport, given),
    }


def _share(text: str) -> float:
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError as error:
        raise UsageError(
            f"--relative-precision {text!r} is not a share; write it like 1%, or p99:5% for a "
            "quantile"
        ) from error


def sweep_keys(is_sweep: bool, perturb: str | None, refine: bool) -> dict[str, Any]:
    """The keys of a block that make its sizes a sweep. Raises UsageError where it is none."""
    if not is_sweep and (perturb is not None or refine):
        raise UsageError("--perturb and --refine go with the test sweep, which measures many sizes")
    if not is_sweep:
        return {}
    return {"perturb": perturb or PERTURB_BYTES, "refine": REFINE_POINTS if refine else 0}


def _with_processors(options: dict[str, Any]) -> dict[str, Any]:
    """With a CPU for each end in the place of ``--cpus``. Raises UsageError."""
    cpus = options.get("target_cpu")
    if cpus is None:
        return options
    parts = cpus.split(",")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise UsageError(f"--cpus {cpus!r} is not two CPUs; write it like 0,1")
    origin_cpu, target_cpu = (int(part) for part in parts)
    return {**options, "origin_cpu": origin_cpu, "target_cpu": target_cpu}


def _block(
    carrier: Transport, test: SocketTest, tests: Sequence[SocketTest], given: dict[str, Any]
) -> dict[str, Any]:
    """The block of a study for one of the tests that are asked for."""
    asked = given_of(BLOCK.values(), carrier.name, given)
    options = _with_processors(given_of(SOCKETS.values(), carrier.name, given))
    if "loads" in asked and not any(one.kind.asks_round_trip for one in tests):
        raise UsageError(f"--load goes with latency and sweep, not with {test.name}")
    if not test.kind.asks_round_trip:
        asked.pop("loads", None)
    if not test.is_sweep:
        asked = {key: value for key, value in asked.items() if key not in ("perturb", "refine")}
    if "loads" in asked and "count" in asked:
        raise UsageError("--load and --count do not go together: the load says how many messages")
    usual = test.sizes_of(carrier)
    if test.is_sweep:  # else the scheduler's choices would be steps in the curve
        options = {**options, "placement": "apart"}
        if options.get("kernel_times") and carrier.has_datagrams:
            usual = NUMBERED_SIZES
        if options.get("authenticated") and carrier.has_datagrams:
            usual = TAGGED_SIZES
    if test.kind.is_bounds:  # which need memory that the other end opens
        options = {"operation": "write", **options}
    block = {
        "transports": [carrier.name],
        "test": names_of("by_load")[0] if "loads" in asked else test.kind.name,
        "sizes": None,
        "cap": given["time"],
        **asked,
        "options": options,
    }
    if test.is_sweep or not any(one.is_sweep for one in tests):
        block |= sweep_keys(test.is_sweep, given["perturb"], given["refine"])
    like, omit = given.get("like"), given.get("omit")
    if like is not None or omit is not None:
        block = measured_like(block, like, omit, given["relative_precision"])
    precise = given["relative_precision"] is not None
    more_asked = block["sizes"] or precise or asked.keys() & {"count", "loads"}
    is_quick = test.kind.asks_round_trip and not (test.is_sweep or more_asked)
    time = QUICK_TIME if is_quick else DEFAULT_TIME
    return {**block, "sizes": block["sizes"] or usual, "cap": block["cap"] or time}


def _with_attempts(test: SocketTest, block: dict[str, Any]) -> list[dict[str, Any]]:
    """Of bounds also a block of attempts at the other end's memory."""
    if not test.kind.is_bounds:
        return [block]
    (tried,) = names_of("tries_memory")
    options = {**block["options"], "trespass": ",".join(TRESPASSES)}
    attempts = {**block, "test": tried, "sizes": ROWS[tried].usual_size, "options": options}
    return [attempts] if test.kind.tries_memory else [block, attempts]


def _path(
    transport: str, hosts: list[str], is_of_many: bool, given: dict[str, Any]
) -> dict[str, Any]:
    """The table of the path: its ends, or those of a pattern, and what is said of it."""
    asked = given_of(PATH.values(), transport, given)
    try:
        if "rate" in asked:
            asked["rate"] = parse_rate_bit_per_s(asked["rate"])
    except UsageError as error:
        raise UsageError(f"--link-rate: {error}") from error
    return {
        "kind": "hosts",
        "target": hosts[-1],
        "hosts": hosts if is_of_many else [],
        **asked,
    }


def _study(
    carrier: Transport, hosts: list[str], tests: Sequence[SocketTest], given: dict[str, Any]
) -> StudySpec:
    blocks = [
        one for test in tests for one in _with_attempts(test, _block(carrier, test, tests, given))
    ]
    names = "-".join((carrier.name, *(test.name for test in tests)))
    return study_of(
        {
            **stopping(carrier.name, given),
            "name": names[:NAME_LETTERS],
            "cap": blocks[0]["cap"],
            "path": _path(carrier.name, hosts, tests[0].kind.is_of_many, given),
            "measure": [made for block in blocks for made in combinations(block)],
        }
    )


def register(app: typer.Typer) -> None:
    for row in commands():
        if row.is_pair:
            app.command(row.name, help=row.help, cls=CommandInGroups)(command_of(row))
        if row.is_echoed:
            app.command(row.name, help=row.help)(echo_command_of(row))
