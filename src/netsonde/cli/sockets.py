"""``netsonde tcp`` and ``netsonde udp``."""

from __future__ import annotations

from typing import Any

import typer

from netsonde.cli.combinations import combinations
from netsonde.cli.common import (
    RUNS,
    JsonOption,
    OutOption,
    QuietOption,
    measure_and_show,
    study_of,
)
from netsonde.cli.like import measured_like
from netsonde.cli.required import AtLeastOption, AtMostOption, required
from netsonde.cli.socket_options import (
    BatchOption,
    BufferOption,
    BusyOption,
    BusyPollOption,
    CallOption,
    CheckOption,
    CongestionOption,
    CorkOption,
    CountOption,
    CpusOption,
    DepthOption,
    ForgetOption,
    FromOption,
    HostArgument,
    Ipv6Option,
    KernelTimesOption,
    LastArgument,
    LikeOption,
    LinkRateOption,
    LoadOption,
    MtuOption,
    MultipathOption,
    NoDelayOption,
    NotSentLowOption,
    OffloadOption,
    OmitOption,
    OwnIntervalOption,
    OwnTimeOption,
    PacingOption,
    PairOption,
    PerturbOption,
    PortOption,
    QualityOption,
    RateOption,
    ReceiveBufferOption,
    RefineOption,
    ReportOption,
    SeedOption,
    SegmentOption,
    SendfileOption,
    SizesOption,
    StreamsOption,
    TargetBufferOption,
    TestArgument,
    UringOption,
    WaitOption,
    ZerocopyOption,
)
from netsonde.cli.socket_tests import SocketTest, hosts_and_test
from netsonde.errors import UsageError
from netsonde.patterns import PATTERNS
from netsonde.study.measure_table import REFINE_POINTS
from netsonde.units import parse_rate_bit_per_s

PERTURB_BYTES = 3
"""Beside each size of a sweep, as NetPIPE does."""
DEFAULT_SIZES = {
    ("tcp", "latency"): "64",
    ("udp", "latency"): "64",
    ("tcp", "pingpong"): "64k",
    ("udp", "pingpong"): "1472",
    ("tcp", "stream"): "128k",
    ("udp", "stream"): "1472",
    ("tcp", "duplex"): "128k",
    ("udp", "duplex"): "1472",
    ("tcp", "sweep"): "1..1M",
    ("udp", "sweep"): "1..32k,65507",
    ("udp", "generate"): "1460",
    ("tcp", "incast"): "64k",
    ("tcp", "victim"): "64",
    ("udp", "victim"): "64",
}
USUAL_SIZE = {"tcp": "128k", "udp": "1472"}
NUMBERED_SIZES = "16..16k:4,65507"
"""A sweep of datagrams that all have room for their number."""
DEFAULT_TIME = "2s"
DEFAULT_INTERVAL = "1%"


def tcp(
    host: HostArgument,
    test_or_host: TestArgument,
    last: LastArgument = None,
    sizes: SizesOption = None,
    perturb: PerturbOption = None,
    refine: RefineOption = False,
    call: CallOption = None,
    count: CountOption = None,
    load: LoadOption = None,
    streams: StreamsOption = 1,
    rate: PacingOption = None,
    time: OwnTimeOption = None,
    interval: OwnIntervalOption = None,
    like: LikeOption = None,
    omit: OmitOption = None,
    buffer: BufferOption = None,
    receive_buffer: ReceiveBufferOption = None,
    target_buffer: TargetBufferOption = None,
    mtu: MtuOption = None,
    busy: BusyOption = None,
    no_delay: NoDelayOption = None,
    cork: CorkOption = False,
    congestion: CongestionOption = None,
    mss: SegmentOption = None,
    not_sent_low: NotSentLowOption = None,
    multipath: MultipathOption = False,
    sendfile: SendfileOption = False,
    zerocopy: ZerocopyOption = False,
    uring: UringOption = False,
    quality: QualityOption = None,
    busy_poll: BusyPollOption = None,
    wait: WaitOption = "block",
    kernel_times: KernelTimesOption = False,
    depth: DepthOption = False,
    cpus: CpusOption = None,
    origin: FromOption = "local",
    pair: PairOption = None,
    ipv6: Ipv6Option = False,
    link_rate: LinkRateOption = None,
    forget: ForgetOption = False,
    check_data: CheckOption = False,
    at_least: AtLeastOption = None,
    at_most: AtMostOption = None,
    seed: SeedOption = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure TCP between this host and another.

    Examples: `netsonde tcp node7 latency --sizes 1..64k`,
    `netsonde tcp node[1-8] node9 incast`
    """
    hosts, test = hosts_and_test(host, test_or_host, last)
    if test is SocketTest.generate:
        raise UsageError("generate sends datagrams: netsonde udp HOST generate --rate RATE")
    ways = [
        name
        for name, given in (("sendfile", sendfile), ("zerocopy", zerocopy), ("uring", uring))
        if given
    ]
    if len(ways) > 1:
        raise UsageError(
            f"--{ways[0]} and --{ways[1]} do not go together: each is a way of sending"
        )
    if ways and wait != "block":
        raise UsageError(f"--{ways[0]} goes with wait block, not with --wait {wait}")
    if kernel_times and (ways or multipath):
        other = ways[0] if ways else "multipath"
        raise UsageError(f"--kernel-times and --{other} do not go together")
    options = {
        **_options(buffer, receive_buffer, target_buffer, quality, busy_poll, wait, cpus),
        **({} if no_delay is None else {"no_delay": no_delay}),
        "congestion_control": congestion,
        "max_segment": mss,
        "cork": cork or None,
        "not_sent_low": not_sent_low,
        "multipath": multipath or None,
        "pacing": rate,
        "sending": ways[0] if ways else None,
        "kernel_times": _kernel_times(kernel_times, test, load),
        "depth": depth or None,
    }
    block = _block("tcp", test, sizes, call, count, load, check_data, options)
    block |= {"streams": streams, "cap": time, "mtu": mtu or [], "busy": busy or []}
    block |= sweep_keys(test is SocketTest.sweep, perturb, refine)
    if like is not None or omit is not None:
        block = measured_like(block, like, omit, interval)
    measure_and_show(
        _study(
            "tcp",
            test,
            block,
            _path(hosts, origin, test, ipv6, link_rate) | {"forget": forget},
            interval,
            seed,
            required(at_least, at_most),
        ),
        out,
        as_json,
        quiet,
        pair=pair,
    )


def udp(
    host: HostArgument,
    test_or_host: TestArgument,
    last: LastArgument = None,
    sizes: SizesOption = None,
    perturb: PerturbOption = None,
    refine: RefineOption = False,
    count: CountOption = None,
    load: LoadOption = None,
    streams: StreamsOption = 1,
    rate: RateOption = None,
    port: PortOption = None,
    time: OwnTimeOption = None,
    interval: OwnIntervalOption = None,
    like: LikeOption = None,
    omit: OmitOption = None,
    buffer: BufferOption = None,
    receive_buffer: ReceiveBufferOption = None,
    target_buffer: TargetBufferOption = None,
    mtu: MtuOption = None,
    busy: BusyOption = None,
    batch: BatchOption = None,
    offload: OffloadOption = False,
    quality: QualityOption = None,
    busy_poll: BusyPollOption = None,
    wait: WaitOption = "block",
    kernel_times: KernelTimesOption = False,
    depth: DepthOption = False,
    cpus: CpusOption = None,
    origin: FromOption = "local",
    pair: PairOption = None,
    ipv6: Ipv6Option = False,
    link_rate: LinkRateOption = None,
    check_data: CheckOption = False,
    report: ReportOption = None,
    at_least: AtLeastOption = None,
    at_most: AtMostOption = None,
    seed: SeedOption = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure UDP between this host and another, with loss, reordering and duplicates.

    `generate` sends paced traffic to a host on which nothing of netsonde runs.

    Examples: `netsonde udp node7 stream --rate 400M`,
    `netsonde udp node7 generate --rate 10M --time 30s`
    """
    hosts, test = hosts_and_test(host, test_or_host, last)
    if test is SocketTest.generate and rate is None:
        raise UsageError("generate needs --rate: traffic that nobody asked for must be bounded")
    if test is SocketTest.generate and like is not None:
        raise UsageError(f"--like {like} and generate do not go together: {like} needs an answer")
    if offload and (batch or 1) == 1:
        raise UsageError("--offload needs --batch of 2 or more: so many datagrams are cut from one")
    groups = _groups(report, test, as_json or quiet)
    if test is SocketTest.generate and not (quiet or as_json):
        typer.echo(
            f"Sending to {hosts[0]} unasked: it and the way there may suffer. Ctrl-C ends it.",
            err=True,
        )
    options = {
        **_options(buffer, receive_buffer, target_buffer, quality, busy_poll, wait, cpus),
        "datagrams_per_call": batch,
        "segment_offload": offload or None,
        "kernel_times": _kernel_times(kernel_times, test, load),
        "depth": depth or None,
    }
    if kernel_times and test is SocketTest.sweep:
        sizes = sizes or NUMBERED_SIZES
    block = _block("udp", test, sizes, None, count, load, check_data, options)
    block |= {
        "streams": streams,
        "rate": rate,
        "port": port,
        "cap": time,
        "mtu": mtu or [],
        "busy": busy or [],
    }
    block |= sweep_keys(test is SocketTest.sweep, perturb, refine)
    if like is not None or omit is not None:
        block = measured_like(block, like, omit, interval)
    measure_and_show(
        _study(
            "udp",
            test,
            block,
            _path(hosts, origin, test, ipv6, link_rate),
            interval,
            seed,
            required(at_least, at_most),
        ),
        out,
        as_json,
        quiet,
        pair=pair,
        groups=groups,
    )


def _groups(report: str | None, test: SocketTest, silent: bool) -> tuple[str, ...]:
    """The groups of figures that the terminal is to show; none where it was not asked."""
    if report is None:
        return ()
    from netsonde.report.groups import parse_groups  # takes the report's libraries along

    groups = parse_groups(report)
    if test is not SocketTest.stream:
        raise UsageError(f"--report goes with stream, not with {test.value}")
    if silent:
        raise UsageError("--report says what is printed; --json has every figure, --quiet none")
    return groups


def intervals_of(text: str | None) -> dict[str, Any]:
    """The keys of a study for ``1%`` or ``0.01``, which are of the median, ``p99:5%``, or several
    with commas. Raises UsageError."""
    keys: dict[str, Any] = {"interval": _share(DEFAULT_INTERVAL), "intervals": {}}
    for part in (text or DEFAULT_INTERVAL).split(","):
        name, colon, share = part.strip().rpartition(":")
        if name not in ("median", "p90", "p99", "p999") and colon:
            raise UsageError(
                f"interval {part.strip()!r} is of no quantile that is known; they are median, p90, "
                "p99 and p999, as in p99:5%"
            )
        if name in ("", "median"):
            keys["interval"] = _share(share)
        else:
            keys["intervals"][name] = _share(share)
    return keys


def _share(text: str) -> float:
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError as error:
        raise UsageError(
            f"interval {text!r} is not a share; write it like 1%, or p99:5% for a quantile"
        ) from error


def _kernel_times(asked: bool, test: SocketTest, load: str | None) -> bool | None:
    """True where it is asked for, else the worker's default. Raises UsageError."""
    if asked and load is not None:
        raise UsageError("--kernel-times and --load do not go together")
    if asked and test not in (SocketTest.latency, SocketTest.sweep, SocketTest.pingpong):
        raise UsageError(
            f"--kernel-times goes with latency, sweep and pingpong, not with {test.value}"
        )
    return asked or None


def sweep_keys(is_sweep: bool, perturb: str | None, refine: bool) -> dict[str, Any]:
    """The keys of a block that make its sizes a sweep. Raises UsageError where it is none."""
    if not is_sweep and (perturb is not None or refine):
        raise UsageError("--perturb and --refine go with the test sweep, which measures many sizes")
    if not is_sweep:
        return {}
    return {"perturb": perturb or PERTURB_BYTES, "refine": REFINE_POINTS if refine else 0}


def _options(
    buffer: str | None,
    receive_buffer: str | None,
    target_buffer: str | None,
    quality: str | None,
    busy_poll_us: int | None,
    wait: str,
    cpus: str | None,
) -> dict[str, Any]:
    options: dict[str, Any] = {
        "buffer": buffer,
        "receive_buffer": receive_buffer,
        "target_buffer": target_buffer,
        "traffic_class": quality,
        "busy_poll_us": busy_poll_us,
        "wait": wait,
    }
    if cpus is not None:
        parts = cpus.split(",")
        if len(parts) != 2 or not all(part.isdecimal() for part in parts):
            raise UsageError(f"--cpus {cpus!r} is not two processors; write it like 0,1")
        options["origin_cpu"], options["target_cpu"] = (int(part) for part in parts)
    return options


def _block(
    transport: str,
    test: SocketTest,
    sizes: str | None,
    call: str | None,
    count: int | None,
    load: str | None,
    check_data: bool,
    options: dict[str, Any],
) -> dict[str, Any]:
    if load is not None and test not in (SocketTest.latency, SocketTest.sweep):
        raise UsageError(f"--load goes with latency and sweep, not with {test.value}")
    if load is not None and count is not None:
        raise UsageError("--load and --count do not go together: the load says how many messages")
    measured = "latency" if test is SocketTest.sweep else test.value
    if test is SocketTest.sweep:  # else the scheduler's choices would be steps in the curve
        options = {**options, "placement": "apart"}
    return {
        "transports": [transport],
        "test": measured if load is None else "open_loop",
        "loads": [] if load is None else load,
        "sizes": sizes,
        "call": call,
        "count": count,
        "check_data": check_data,
        "options": options,
    }


def _path(
    hosts: list[str], origin: str, test: SocketTest, ipv6: bool, link_rate: str | None
) -> dict[str, Any]:
    """The table of the path: its ends, or those of a pattern, and what is said of it."""
    try:
        rate = None if link_rate is None else parse_rate_bit_per_s(link_rate)
    except UsageError as error:
        raise UsageError(f"--link-rate: {error}") from error
    return {
        "kind": "hosts",
        "origin": origin,
        "target": hosts[-1],
        "hosts": hosts if test.value in PATTERNS else [],
        "family": "ipv6" if ipv6 else "ipv4",
        "rate": rate,
    }


def _study(
    transport: str,
    test: SocketTest,
    block: dict[str, Any],
    path: dict[str, Any],
    interval: str | None,
    seed: int | None,
    requirements: list[dict[str, Any]],
) -> Any:
    usual = DEFAULT_SIZES.get((transport, test.value), USUAL_SIZE[transport])
    block["sizes"] = block["sizes"] or usual
    block["cap"] = block["cap"] or DEFAULT_TIME
    return study_of(
        {
            "name": f"{transport}-{test.value}",
            "seed": seed,
            "cap": block["cap"],
            **intervals_of(interval),
            "path": path,
            "measure": combinations(block),
            "require": requirements,
        }
    )


def register(app: typer.Typer) -> None:
    app.command()(tcp)
    app.command()(udp)
