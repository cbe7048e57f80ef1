"""Tests: what is asked of the workers, how a test is planned and stopped, what stands for it.

Functions behind a row (measured how, turned into which figures) are registered where they are
written, by the row's name or family; a test holds that none is missing. Whoever treats a test
differently asks for the trait that is the reason, never for its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from netsonde.catalogue.transport import TRANSPORTS, Transport, names_with


class Family(Enum):
    """What is alike in how tests are planned, measured and read."""

    ROUND_TRIPS = "a message there and back, one at a time"
    STREAMS = "as much as goes, one way or both"
    OPEN_LOOP = "messages at fixed times, whatever comes back"
    GENERATED = "traffic that nobody answers or counts"
    PATTERN = "flows between many hosts"
    OPERATIONS = "MPI's operations, repetition by repetition"
    CLOCKS = "clocks compared"
    THREADS = "round trips of several threads"
    BOUNDS = "what limits a transport, beside messages"
    COSTS = "what a message costs its hosts"
    PROGRAM = "runs of a user's own program"
    ROUNDS = "rounds in which all hosts meet in pairs"
    ALL_PAIRS = "round trips of all pairs of hosts, alone and all at once"
    MODEL = "simulated"


@dataclass(frozen=True)
class Test:
    """One row.

    ``title`` is the name for people, ``engine`` what the workers are asked for, ``asked_of_ranks``
    what ranks are where that is another word, ``main`` the figure that stands for the test,
    ``tells`` the figures of its row in the report's table, with the word before each.

    ``asks_round_trip``: the time of one message there and back is what is asked for. ``both_ways``:
    both ends send as much as goes. ``by_quantiles``: it goes on until further quantiles are known,
    where they are asked for. ``is_refined``: its curve over size can break. ``wtime``: MPI's own
    timer can time it between two ranks. ``numbers_messages``: messages hold a number, so they have
    a least size. ``has_rounds``: all origins send one block at one instant. ``has_victim``: one
    flow is unlike the others, and alone in every other batch. ``one_in_all``: the last host is an
    end of every flow. ``by_sets``: flows can be between hosts that share none.
    ``in_pairs``: each host has one partner, so that their number is even. ``grows``: asked of more
    and more pairs at once. ``overflows``: all origins begin one block at one instant, in silence,
    and blocks grow until somebody has no room. ``fitted_cap``: how long it is measured at most
    where a platform is fitted to it, empty where none is; ``fitted_from``: hosts from which on it
    says more than two do. ``held_out``: at how many sizes a platform's predictions are held
    against it, between two hosts and among many. ``usual_count``: each origin sends so many
    messages in a batch, where nobody says how many, and all of them are to come.
    ``fewest_hosts`` is how many a pattern needs.
    ``shown_with``: parameters of a point that its name has already. ``mains``: figures that stand
    for it together. ``one_run``: what a sample is called that is a run of its own. ``usual_size``
    is what a command measures where no sizes are given; where it is empty, the transport says it,
    and ``in_blocks`` says which of its sizes. ``by_load``: it is asked for by loads, not by its
    name. ``tries_memory``: attempts are made at memory without a right to it.
    """

    __test__ = False  # for pytest, that this is no class of tests

    name: str
    title: str
    family: Family | None = None
    main: str = ""
    tells: tuple[tuple[str, str], ...] = ()
    asked: str = ""
    asked_of_ranks: str = ""
    asks_round_trip: bool = False
    both_ways: bool = False
    by_quantiles: bool = False
    is_refined: bool = False
    wtime: bool = False
    numbers_messages: bool = False
    has_rounds: bool = False
    has_victim: bool = False
    one_in_all: bool = False
    by_sets: bool = False
    in_pairs: bool = False
    grows: bool = False
    overflows: bool = False
    fitted_cap: str = ""
    fitted_from: int = 2
    held_out: tuple[int, int] = (0, 0)
    usual_count: int = 0
    fewest_hosts: int = 0
    shown_with: frozenset[str] = frozenset()
    mains: tuple[str, ...] = ()
    one_run: str = ""
    usual_size: str = ""
    in_blocks: bool = False
    by_load: bool = False
    tries_memory: bool = False

    @property
    def engine(self) -> str:
        return self.asked or self.name

    def engine_of(self, carrier: Transport) -> str:
        """What the workers of a transport are asked for."""
        return (self.asked_of_ranks if carrier.has_ranks else "") or self.engine

    @property
    def is_round_trip(self) -> bool:
        return self.family is Family.ROUND_TRIPS

    @property
    def is_stream(self) -> bool:
        """One stream or one each way, between two ends."""
        return self.family is Family.STREAMS

    @property
    def is_one_way_stream(self) -> bool:
        return self.is_stream and not self.both_ways

    @property
    def is_between_two(self) -> bool:
        """Whether two ends exchange messages or stream, each as fast as the other allows."""
        return self.is_round_trip or self.is_stream

    @property
    def against_size(self) -> str:
        """The figure that is drawn over size: of both ways at once, that of one."""
        return self.main if self.asks_round_trip else THROUGHPUT[0]

    @property
    def is_pattern(self) -> bool:
        """Whether flows are between many hosts."""
        return self.family is Family.PATTERN

    @property
    def is_all_pairs(self) -> bool:
        """Whether each host asks every host, itself too, alone and while all others do."""
        return self.family is Family.ALL_PAIRS

    @property
    def takes_some_hosts(self) -> bool:
        """Whether it can be asked of fewer hosts than are named, several numbers of them."""
        return self.is_all_pairs or self.in_pairs

    @property
    def is_of_many(self) -> bool:
        """Whether it takes all hosts that are named, not two of them."""
        return self.is_pattern or self.is_all_pairs

    @property
    def has_like_flows(self) -> bool:
        """Whether its flows can be compared with each other."""
        return self.is_pattern and not (self.has_victim or self.grows or self.overflows)

    @property
    def is_whole(self) -> bool:
        """Whether a number of messages is to come, all of them, whatever is lost meanwhile."""
        return self.usual_count > 0

    @property
    def is_operation(self) -> bool:
        """Whether it times an operation of MPI."""
        return self.family is Family.OPERATIONS

    @property
    def compares_clocks(self) -> bool:
        return self.family is Family.CLOCKS

    @property
    def is_open_loop(self) -> bool:
        """Whether messages leave at fixed times, at loads that are asked for."""
        return self.family is Family.OPEN_LOOP

    @property
    def is_unanswered(self) -> bool:
        """Whether nobody at the other end answers or counts."""
        return self.family is Family.GENERATED

    @property
    def is_bounds(self) -> bool:
        """Whether no message is measured, but what a transport takes and lets through."""
        return self.family is Family.BOUNDS

    @property
    def is_of_costs(self) -> bool:
        """Whether what a message costs its hosts is asked for."""
        return self.family is Family.COSTS

    @property
    def has_threads(self) -> bool:
        return self.family is Family.THREADS

    @property
    def is_program(self) -> bool:
        return self.family is Family.PROGRAM

    @property
    def is_round(self) -> bool:
        """Whether all hosts meet in pairs."""
        return self.family is Family.ROUNDS

    @property
    def is_simulated(self) -> bool:
        return self.family is Family.MODEL

    @property
    def has_common_clock(self) -> bool:
        """Whether the clocks of ranks are held against one of them."""
        return self.is_operation or self.compares_clocks

    @property
    def is_cost(self) -> bool:
        """Whether it takes a message's cost at a host apart."""
        return self.family is Family.COSTS

    @property
    def takes_rate(self) -> bool:
        """Whether datagrams leave at a rate that can be asked for."""
        own = self.grows or self.overflows or self.is_whole
        return self.is_one_way_stream or self.is_unanswered or (self.is_pattern and not own)

    @property
    def sends_back(self) -> bool:
        """Whether as many bytes come back as go there."""
        return self.both_ways or self.is_open_loop or self.has_victim

    @property
    def main_is_time(self) -> bool:
        return self.main.endswith("_ns")

    def is_main(self, figure: str) -> bool:
        """Whether a figure is compared where nothing else is asked for; those that a user's program
        gives are."""
        is_given = self.is_program and figure.startswith(GIVEN)
        return is_given or figure == self.main or figure in self.mains

    def sizes_of(self, carrier: Transport) -> str:
        """What a command of a transport measures where no sizes are given."""
        of_carrier = carrier.block_size if self.in_blocks else carrier.usual_size
        return self.usual_size or of_carrier

    @property
    def transports(self) -> tuple[str, ...]:
        """Names of the transports that carry it."""
        return tuple(row.name for row in TRANSPORTS.values() if self.name in row.tests)


GIVEN = "program_"
"""What begins the names of figures that a user's program gives."""
THROUGHPUT = ("throughput_bit_per_s", "")
_LOST = ("lost_ratio", "lost")
_AGAIN = ("retransmitted_segments", "retransmitted")
_FLOWS = (
    THROUGHPUT,
    ("slowest_flow_bit_per_s", "slowest flow"),
    ("fastest_flow_bit_per_s", "fastest"),
    ("fairness_ratio", "fairness"),
    _LOST,
    _AGAIN,
    ("shared_host_load_ratio", "load of the one"),
    ("other_hosts_load_ratio", "of the others"),
)


def _flows(name: str, **traits: Any) -> Test:
    """All flows stream for as long as the test lasts."""
    return Test(
        name,
        name,
        Family.PATTERN,
        main="throughput_bit_per_s",
        tells=_FLOWS,
        asked="stream",
        fewest_hosts=2,
        **traits,
    )


_ROWS = (
    Test(
        "latency",
        "latency",
        Family.ROUND_TRIPS,
        main="round_trip_median_ns",
        tells=(
            ("round_trip_median_ns", "median"),
            ("round_trip_p99_ns", "p99"),
            ("unanswered_ratio", "unanswered"),
            ("network_median_ns", "network"),
            ("origin_host_median_ns", "here"),
            ("target_host_median_ns", "there"),
        ),
        asks_round_trip=True,
        by_quantiles=True,
        is_refined=True,
        wtime=True,
        usual_size="64",
        fitted_cap="800ms",
        held_out=(18, 10),
    ),
    Test(
        "pingpong",
        "ping-pong",
        Family.ROUND_TRIPS,
        main="throughput_bit_per_s",
        tells=(THROUGHPUT, ("round_trip_median_ns", "median")),
        by_quantiles=True,
        is_refined=True,
        wtime=True,
        in_blocks=True,
        fitted_cap="800ms",
    ),
    Test(
        "stream",
        "stream",
        Family.STREAMS,
        main="throughput_bit_per_s",
        tells=(
            THROUGHPUT,
            ("slowest_flow_bit_per_s", "slowest flow"),
            ("fairness_ratio", "fairness"),
            _LOST,
            ("delay_variation_p99_ns", "delay variation p99"),
            _AGAIN,
        ),
        wtime=True,
        fitted_cap="800ms",
        held_out=(14, 8),
    ),
    Test(
        "duplex",
        "duplex",
        Family.STREAMS,
        main="throughput_sum_bit_per_s",
        tells=(
            ("throughput_bit_per_s", "there"),
            ("throughput_back_bit_per_s", "back"),
            _LOST,
            ("lost_back_ratio", "lost back"),
            _AGAIN,
        ),
        both_ways=True,
        wtime=True,
        held_out=(8, 4),
    ),
    Test(
        "open_loop",
        "open loop",
        Family.OPEN_LOOP,
        main="response_p99_ns",
        tells=(
            ("response_median_ns", "median"),
            ("response_p99_ns", "p99"),
            ("offered_messages_per_s", "offered/s"),
            ("unanswered_ratio", "unanswered"),
        ),
        by_quantiles=True,
        numbers_messages=True,
        usual_size="64",
        by_load=True,
    ),
    Test(
        "generate",
        "generated traffic",
        Family.GENERATED,
        main="sent_bit_per_s",
        tells=(
            ("sent_bit_per_s", "sent"),
            ("sent_datagrams_per_s", "datagrams/s"),
            ("send_gap_p99_ns", "gap p99"),
            ("refused", "refused"),
        ),
        usual_size="1460",
    ),
    Test(
        "bounds",
        "bounds",
        Family.BOUNDS,
        main="registration_median_ns",
        tells=(
            ("registration_median_ns", "registered in"),
            ("release_median_ns", "taken back in"),
            ("largest_message_bytes", "largest message"),
            ("injected_most_bytes", "injected up to"),
        ),
        usual_size="64,4k,64k,1M,16M",
    ),
    Test(
        "protection",
        "protection of memory",
        Family.BOUNDS,
        main="trespass_reached_ratio",
        tells=(("trespass_refused_ratio", "refused"), ("trespass_reached_ratio", "got through")),
        asked="bounds",
        tries_memory=True,
        usual_size="64",
    ),
    Test(
        "incast",
        "incast",
        Family.PATTERN,
        main="throughput_bit_per_s",
        tells=(
            THROUGHPUT,
            ("round_median_ns", "round"),
            ("round_p99_ns", "p99"),
            ("timed_out_rounds_ratio", "timed out"),
            _LOST,
            _AGAIN,
        ),
        asked="stream",
        by_quantiles=True,
        has_rounds=True,
        one_in_all=True,
        fewest_hosts=2,
        in_blocks=True,
        held_out=(0, 6),
    ),
    Test(
        "gather",
        "gather",
        Family.PATTERN,
        main="line_use_ratio",
        tells=(
            ("line_use_ratio", "line used"),
            THROUGHPUT,
            ("retransmitted_ratio", "sent again"),
            ("nacks_sent", "Nacks"),
            ("time_outs", "time-outs"),
            ("loss_chance_ratio", "c"),
            ("severity_ratio", "1-a"),
            ("last_time_out_ratio", "f"),
        ),
        asked="stream",
        one_in_all=True,
        fewest_hosts=2,
        usual_count=1000,
    ),
    _flows("converge", one_in_all=True, fitted_cap="1500ms", fitted_from=3, held_out=(0, 6)),
    _flows("outcast", one_in_all=True),
    _flows("pairs", by_sets=True, in_pairs=True),
    _flows("ring", by_sets=True, held_out=(0, 6)),
    _flows("alltoall", by_sets=True),
    Test(
        "victim",
        "victim",
        Family.PATTERN,
        main="response_beside_p99_ns",
        tells=(
            ("response_alone_p99_ns", "p99 alone"),
            ("response_beside_p99_ns", "p99 beside others"),
            ("slowdown_p99_times", "times"),
            ("beside_bit_per_s", "others"),
        ),
        asked="open_loop",
        has_victim=True,
        fewest_hosts=3,
        usual_size="64",
    ),
    Test(
        "bisection",
        "bisection",
        Family.PATTERN,
        main="bisection_round_trip_median_ns",
        tells=(
            ("one_pair_round_trip_median_ns", "one pair"),
            ("bisection_round_trip_median_ns", "all pairs"),
            ("bisection_slowdown_times", "times"),
        ),
        asked="latency",
        grows=True,
        in_pairs=True,
        fewest_hosts=2,
        usual_size="64",
        fitted_cap="1500ms",
        fitted_from=4,
        held_out=(8, 4),
    ),
    Test(
        "bursts",
        "bursts",
        Family.PATTERN,
        main="burst_lost_ratio",
        tells=(
            ("burst_lost_ratio", "lost of the largest"),
            ("burst_passed_messages", "passed whole"),
            ("burst_room_messages", "room found"),
        ),
        asked="stream",
        overflows=True,
        fewest_hosts=3,
        fitted_cap="10s",
        fitted_from=3,
    ),
    Test(
        "send-series",
        "series of sends",
        Family.COSTS,
        main="send_cost_median_ns",
        tells=(("send_cost_median_ns", "a send"), ("send_equilibrium_ns", "when all is full")),
        asked="stream",
        fitted_cap="3s",
    ),
    Test(
        "overheads",
        "overheads",
        Family.COSTS,
        main="receive_cost_median_ns",
        tells=(
            ("send_cost_median_ns", "a send"),
            ("receive_cost_median_ns", "a receive"),
            ("arrival_cost_median_ns", "an arrival"),
            ("arrivals_rejected_ratio", "rejected"),
        ),
        usual_size="64",
        fitted_cap="1s",
    ),
    Test(
        "collective",
        "operations",
        Family.OPERATIONS,
        main="completion_median_ns",
        tells=(
            ("completion_median_ns", "median"),
            ("completion_p99_ns", "p99"),
            ("slowest_rank_median_ns", "slowest rank"),
            ("message_rate_per_s", "messages/s"),
            ("overlap_ratio", "overlap"),
            ("late_ratio", "late"),
            ("timers_mean_difference_ns", "MPI_Wtime less the clock"),
            ("timer_overhead_ns", "a reading of the timer"),
        ),
        by_quantiles=True,
        is_refined=True,
    ),
    Test(
        "clock",
        "clocks",
        Family.CLOCKS,
        tells=(
            ("clock_uncertainty_ns", "known within"),
            ("clock_drift_ppb", "drift, ppb"),
            ("clock_residual_p99_ns", "residual p99"),
            ("clock_error_p99_ns", "error p99"),
        ),
    ),
    Test(
        "threads",
        "threads",
        Family.THREADS,
        main="round_trip_median_ns",
        tells=(
            ("round_trip_median_ns", "median"),
            ("slowest_thread_round_trip_median_ns", "slowest thread"),
            ("message_rate_per_s", "messages/s"),
        ),
        by_quantiles=True,
        usual_size="64",
    ),
    Test(
        "program",
        "program",
        Family.PROGRAM,
        main="elapsed_median_ns",
        tells=(("elapsed_median_ns", "elapsed"),),
        shown_with=frozenset({"name", "where", "figures"}),
        one_run="run",
    ),
    Test(
        "all_pairs",  # as runs have it since before the test all-pairs was there
        "tournament",
        Family.ROUNDS,
        tells=(
            ("pairs_measured", "pairs"),
            ("pairs_round_trip_ns", "round trip"),
            ("pairs_one_way_ns", "one way"),
            ("pairs_throughput_bit_per_s", "throughput"),
            ("pairs_lost_ratio", "lost"),
        ),
        shown_with=frozenset(
            {"steps", "pairs", "round", "refined", "tournament_seed", "interval", "cap_ns"}
        ),
        mains=(
            "pairs_round_trip_ns",
            "pairs_one_way_ns",
            "pairs_throughput_bit_per_s",
            "pairs_lost_ratio",
        ),
    ),
    Test(
        "all-pairs",
        "all pairs of hosts",
        Family.ALL_PAIRS,
        main="together_round_trip_ns",
        tells=(
            ("isolated_round_trip_ns", "alone"),
            ("together_round_trip_ns", "together"),
            ("together_times", "ratio"),
            ("isolated_rate_bit_per_s", "rate alone"),
            ("together_rate_bit_per_s", "together"),
            ("together_unanswered_ratio", "unanswered"),
        ),
        asked="latency",
        asked_of_ranks="all-pairs",
        fewest_hosts=2,
        mains=("isolated_round_trip_ns",),
        usual_size="0,64,1k,16k",
    ),
    Test(
        "simulation",
        "simulation",
        Family.MODEL,
        main="completion_median_ns",
        tells=(
            ("completion_median_ns", "took"),
            ("throughput_bit_per_s", "all hosts"),
            ("host_throughput_bit_per_s", "each host"),
            ("line_use_ratio", "line used"),
            ("lost_overflow_ratio", "dropped"),
            ("lost_random_ratio", "lost on lines"),
            ("retransmitted_ratio", "retransmitted"),
            ("delivery_median_ns", "packet"),
        ),
        shown_with=frozenset({"label", "swept"}),
        one_run="seed",
    ),
)

TESTS = {row.name: row for row in _ROWS}


def test_row(name: str) -> Test:
    """A test's row; of a name that only another version knows, one without any trait."""
    return TESTS.get(name) or Test(name, name)


def measured_tests() -> tuple[str, ...]:
    """Names of the tests that a block of a study can ask for."""
    unasked = (Family.PROGRAM, Family.ROUNDS, Family.MODEL)
    return tuple(row.name for row in _ROWS if row.family not in unasked)


def engine_names(*traits: str) -> tuple[str, ...]:
    """What workers are asked to run over the transports that have one of some traits."""
    carriers = [TRANSPORTS[name] for name in names_with(*traits)]
    return tuple(
        dict.fromkeys(
            row.engine_of(carrier)
            for row in _ROWS
            for carrier in carriers
            if row.name in carrier.tests and not row.is_unanswered
        )
    )


def names_of(*traits: str) -> tuple[str, ...]:
    """Names of the tests with a trait, or with one of several, for a sentence that lists them."""
    return tuple(row.name for row in _ROWS if any(getattr(row, trait) for trait in traits))
