"""What each key of a study file means, in a line: for editors and the reference page."""

from __future__ import annotations

from netsonde.catalogue.launcher import default_launcher, starters
from netsonde.catalogue.options import commands
from netsonde.catalogue.options.sockets import STUDY_OPTIONS

STUDY = {
    "name": "Of the run's directory: letters, digits, dots and dashes.",
    "seed": commands.SEED["seed"].words,
    "relative_precision": commands.STOPPING["relative_precision"].words,
    "relative_precisions": commands.STOPPING["relative_precisions"].words,
    "cap": commands.STOPPING["cap"].words,
    "launches": "So often everything is measured, in blocks, each in an order of its own.",
    "budget": "What the study may take.",
    "path": "Where is measured.",
    "lab": "The emulated cluster, for kind = 'lab'.",
    "mpi": "How MPI programs are started.",
    "measure": "What is measured: a block makes a point for each combination of its lists.",
    "all_pairs": "Every host with every other one, round by round.",
    "program": "A program of yours, run on the same hosts.",
    "switch": "A switch and the hosts on it, as you know them.",
    "uplink": "A link between two switches.",
    "require": "What a figure has to be; the exit code is 1 where it is not.",
}
BUDGET = {
    "time": "Of all sessions together, such as '30m'.",
    "traffic": "On the wire, such as '10GB'.",
    "over": "A study that is estimated to take more is refused, or points are dropped.",
    "rate": "What the path is taken to carry in the estimate, such as '25G'.",
}
PATH = {
    "kind": "A lab, loopback, hosts that are named, or what can be had.",
    "origin": commands.PATH["origin"].words,
    "target": "The host that answers.",
    "hosts": "Those of incast and other patterns, in order; sets such as 'node[1-8]' as well.",
    "between": "Pairs of hosts, such as 'node[1-2]': every point is measured between each.",
    "concurrent": "So many pairs at the same time, where they share no host and no uplink.",
    "on_dead_host": "A host that nothing can be started on: drop it, go on with fewer, or stop.",
    "family": commands.PATH["family"].words,
    "rate": commands.PATH["rate"].words,
    "forget": commands.PATH["forget"].words,
    "launcher": f"What starts processes on hosts; auto: {starters()} on nodes of the job, "
    f"else {default_launcher().needs}.",
}
LAB = {
    "scenario": "A scenario's file or preset, in place of the keys below.",
    "hosts": "How many.",
    "rate": "Of each host's link, such as '1G'.",
    "buffer": "Of the switch, for each link.",
    "burst": "That a link lets pass at once.",
}
MPI = {
    "mpi": "Which MPIs: names or paths of mpiexec.",
    "ranks": "How many; of several numbers each in a launch of its own.",
    "hosts": "Where the ranks are.",
    "pin": "Binds each rank to a processor: all, not_zero, or a list of them.",
    "share": "Allows more ranks on a host than it has processors.",
    "ppn": "So many ranks one after the other on each host; a point for each number.",
    "launches": "So often each MPI is started; 6 where there are several.",
}
MEASURE = {
    "transports": "tcp, udp, icmp, mpi: one or a list.",
    "test": "What is measured.",
    "sizes": commands.BLOCK["sizes"].words,
    "operations": "Of MPI, for test = 'collective', such as ['bcast'].",
    "root": "The root's rank, or 'rotate'.",
    "pattern": "Who is whose partner, such as 'ring:2'.",
    "partners": "Pairs of ranks in place of a pattern.",
    "pair": "The two ranks of a test between two, or each, all, slowest.",
    "uneven": "Ranks have parts of different sizes.",
    "window": "Messages at once, of message rates.",
    "reduction": "How words are joined.",
    "cache": "Whether data is in the caches.",
    "cache_bytes": "How large a buffer makes them cold.",
    "align": "Buffers begin so many bytes behind a page.",
    "overlap": "Compute beside the operation.",
    "polls": "So often MPI is called meanwhile.",
    "size_of": "Sizes are each rank's, or those of all ranks together.",
    "threads": "Of each of two ranks, for test = 'threads'.",
    "both_timers": "Read MPI_Wtime beside the clock, around the same calls.",
    "timer_overhead": "What a reading of the timer takes: told, or taken off as well.",
    "call": commands.BLOCK["call"].words,
    "count": commands.BLOCK["count"].words,
    "rate": commands.BLOCK["rate"].words,
    "streams": commands.BLOCK["streams"].words,
    "outstanding": "Messages of an MPI stream on their way at once.",
    "label": "What the report calls these points.",
    "port": commands.BLOCK["port"].words,
    "loads": commands.BLOCK["loads"].words,
    "mtu": commands.BLOCK["mtu"].words,
    "background_load": commands.BLOCK["background_load"].words,
    "cap": "The most time for a point, in place of the study's.",
    "check_data": commands.BLOCK["check_data"].words,
    "start": "How ranks begin together.",
    "windows": "Bounds within which windows adapt: late, late_most, count, growth, slack.",
    "clocks": "Compare clocks also where ranks read the same one.",
    "clock": "How clocks are compared.",
    "keep": "Repetitions that a batch keeps one by one.",
    "perturb": commands.BLOCK["perturb"].words,
    "refine": commands.BLOCK["refine"].words,
    "passes": "So often one launch measures each point of MPI.",
    "like": commands.BLOCK["like"].words,
    "omit": commands.BLOCK["omit"].words,
    "options": "Of the connection that is measured.",
    "vary": "Factors: keys of the block or of options, each with a list of values.",
    "design": "Every combination of the factors, or one at a time.",
    "baseline": "Where the other factors stand, one at a time; else their first values.",
    "exclude": "Points to leave out: those that meet all keys of a table.",
}
OPTIONS = {key: row.words for key, row in STUDY_OPTIONS.items()}
ALL_PAIRS = {
    "mode": "Every pair once, or random matchings.",
    "measures": "Of each pair: latency, one-way, loss, throughput.",
    "rounds": "So many, in place of all.",
    "time": "Of each measure of a pair.",
    "at_once": "So many pairs of a round at the same time.",
    "latency_size": "Of a datagram of latency.",
    "loss_size": "Of a datagram of loss and one-way.",
    "loss_rate": "Of these, far below what a link carries.",
    "stream_size": "Of a message of throughput.",
    "follow_ups": "Further rounds for what looks slow.",
    "margin": "A share of the usual that is no fault.",
    "loss_margin": "Losses that are none.",
    "false_alarms": "The chance that a run without faults names anything.",
    "topology": "Slurm's topology.conf or a lab's scenario.",
    "infer": "Find groups of hosts where nobody describes them.",
}
PROGRAM = {
    "command": "The program and its arguments; {size} stands for a size in bytes.",
    "name": "In the report, else that of its file.",
    "where": "At the origin, the target, or a point on each.",
    "sizes": "A point for each.",
    "label": "Its condition, to go with the same of a block.",
    "count": "So many runs.",
    "cap": "How long at most, beyond six runs.",
    "timeout": "Of one run.",
    "environment": "Variables on top of those that it has anyway.",
    "figures": "Numbers in its output, by name.",
}
FIGURE = {
    "pattern": "A regular expression with one group around the number.",
    "unit": "Of the number.",
    "better": "Whether higher or lower.",
}
SWITCH = {"name": "Of the switch.", "hosts": "On it, such as 'node[01-16]'."}
UPLINK = {
    "lower": "The switch below.",
    "upper": "The switch above.",
    "rate": "Of each direction, such as '100G'.",
}
REQUIRE = {
    "figure": "By its name, such as throughput_bit_per_s or round_trip_p99_ns.",
    "at_least": commands.REQUIRE["at_least"].words,
    "at_most": commands.REQUIRE["at_most"].words,
    "transport": "Of points of this transport only.",
    "test": "Of points of this test only.",
    "operation": "Of points of this MPI operation only, such as 'bcast'.",
    "sizes": "Of messages of these sizes only.",
    "label": "Of points with this label only, or with this part of one between commas.",
}
WINDOWS = {
    "late": "Who enters so much after the begin was late; 1us.",
    "late_most": "What that is widened to where fewer than half were in time; 100us.",
    "count": "Windows that are agreed on together, at most; 32.",
    "growth": "Windows and slack grow to so many times what they were; 16.",
    "slack": "From the agreement to the first window, at least; 100us.",
}
TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "StudySpec": ("top", STUDY),
    "BudgetTable": ("[budget]", BUDGET),
    "PathTable": ("[path]", PATH),
    "LabTable": ("[lab]", LAB),
    "MpiTable": ("[mpi]", MPI),
    "MeasureTable": ("[[measure]]", MEASURE),
    "OptionsTable": ("[measure.options]", OPTIONS),
    "WindowsTable": ("[measure.windows]", WINDOWS),
    "AllPairsTable": ("[all_pairs]", ALL_PAIRS),
    "ProgramTable": ("[[program]]", PROGRAM),
    "FigurePattern": ("[program.figures.NAME]", FIGURE),
    "SwitchPlace": ("[[switch]]", SWITCH),
    "UplinkPlace": ("[[uplink]]", UPLINK),
    "RequirementTable": ("[[require]]", REQUIRE),
}
"""By model: how the table is written, and its keys."""
