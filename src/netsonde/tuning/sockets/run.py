"""A search over real ends, from what is asked to what is written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import netsonde
from netsonde.errors import HostError, UsageError
from netsonde.hosts import parse_hosts
from netsonde.launch.contact import let_go_after
from netsonde.launch.host import Host, check_origin, launcher_row
from netsonde.records.rundir import new_run_directory
from netsonde.study.spec import StudySpec
from netsonde.tuning.sockets.bench import Asked, Bounds, Launches
from netsonde.tuning.sockets.data import Setup, Step, Tuning
from netsonde.tuning.sockets.ends import Ends
from netsonde.tuning.sockets.files import Former, document_of, write_all
from netsonde.tuning.sockets.judged import Rules
from netsonde.tuning.sockets.page import PAGE_NAME, write_page
from netsonde.tuning.sockets.search import prove, search

NAME = "tune-sockets"
LAUNCHES = "launches"


@dataclass(frozen=True)
class Request:
    """What a user asked for. ``former``: a setup to prove again, in place of a search."""

    asked: Asked
    untuned: Setup
    rules: Rules
    bounds: Bounds
    budget_s: float
    out: Path
    apply: bool = False
    former: Former | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of it, and the files that say so."""

    tuning: Tuning
    folder: Path
    files: Sequence[Path]
    document: Mapping[str, Any]


def tune(request: Request, notice: Callable[[str], None], tell: Callable[[Step], None]) -> Outcome:
    """Searches, or proves what was found before; writes it down; applies it where that is asked.

    Raises UsageError, HostError. Whatever ends it, hosts are as they were before, but for what
    is applied.
    """
    hosts = ends_of(request.asked.path)
    folder = new_run_directory(request.out, NAME)
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_if_empty, folder)
        stack.enter_context(let_go_after(*hosts))
        ends = stack.enter_context(Ends(hosts, folder))
        _refuse_changes(request, ends)
        launches = folder / LAUNCHES
        bench = Launches(request.asked, ends, request.bounds, launches, request.budget_s, notice)
        if request.former is not None:
            tuning = _proven_again(bench, request, request.former)
        else:
            tuning = search(bench, request.untuned, request.rules, tell)
        ends.put_back()
        for path in ends.undo_files():
            path.unlink(missing_ok=True)
        applies = request.apply and tuning.proven and bool(tuning.tuned.host)
        document = document_of(tuning, ends, _about(request, applies))
        files = write_all(folder, document, tuning.tuned if tuning.proven else Setup(), ends)
        where = " and ".join(host.name for host in hosts)
        write_page(tuning, request.asked.goals, request.rules, where, folder / PAGE_NAME)
        if applies:
            ends.apply(tuning.tuned.host)
            ends.keep()
    return Outcome(tuning, folder, [*files, folder / PAGE_NAME], document)


def undo(path: Mapping[str, Any], former: Former, folder: Path) -> list[str]:
    """Gives hosts the states that a search read before it changed anything; what was another one,
    in words. Raises HostError where a host refuses, UsageError for other hosts."""
    hosts = ends_of(path)
    unknown = [host.name for host in hosts if host.name not in former.before]
    if unknown:
        raise UsageError(f"that search was of {', '.join(former.before)}, not of {unknown[0]}")
    changed = list(former.tuned.host)
    with contextlib.ExitStack() as stack:
        stack.enter_context(let_go_after(*hosts))
        ends = stack.enter_context(Ends(hosts, folder / "undone"))
        words = []
        for end in ends.ends:
            states = {name: former.before[end.name][name] for name in changed if name in end.before}
            words += [f"{name} of {end.name}" for name in end.restore(states)]
        ends.keep()
    return words


def setup_of(spec: StudySpec, program: Mapping[str, Any]) -> Setup:
    """The program's options as a study has read them: sizes and rates are numbers."""
    table = spec.measure[0].options.model_dump(exclude_none=True)
    return Setup({key: table[key] for key in program if key in table})


def ends_of(path: Mapping[str, Any]) -> list[Host]:
    """The two hosts that a path names, as a study takes them. Raises UsageError."""
    launcher = path.get("launcher", "auto")
    targets = parse_hosts([path["target"]], None, launcher)
    if len(targets) > 2:
        raise UsageError("sockets are tuned between two hosts; name two, as lab:h1,h2")
    if len(targets) < 2:
        targets = [*parse_hosts([path.get("origin", "local")], None, launcher), *targets]
    if any(launcher_row(host).is_served for host in targets):
        raise UsageError(
            "netsonde serve lets nobody read or change its host's settings; name a host that "
            "processes can be started on"
        )
    check_origin(targets[0])
    return targets


def _remove_if_empty(folder: Path) -> None:
    """Of a search that was refused, or met nobody."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def _proven_again(bench: Launches, request: Request, former: Former) -> Tuning:
    """Fresh launches of what an earlier search found."""
    if former.tuned == former.untuned:
        raise UsageError("that search proposed nothing, so there is nothing to prove")
    proof = prove(bench, former.untuned, former.tuned, request.rules.pairs)
    holds = any(gain.is_better_by(0.0) for gain in proof.values())
    proven = holds and not any(gain.is_worse for gain in proof.values())
    verdict = "The gain holds." if proven else "The gain is not proven. Nothing is proposed."
    return Tuning(former.untuned, former.tuned, (), proof, proven, verdict, bench.launches)


def _refuse_changes(request: Request, ends: Ends) -> None:
    """Raises HostError where hosts are to be changed that may not be."""
    needs = bool(request.former and request.former.tuned.host) or request.apply
    if needs and not (ends.are_closed or request.bounds.other_hosts):
        raise HostError(
            "these settings change hosts that are no lab's; say --allow-host-changes as well"
        )


def _about(request: Request, applied: bool) -> dict[str, Any]:
    return {
        "netsonde": netsonde.__version__,
        "ended_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(request.asked.command),
        "path": dict(request.asked.path),
        "goals": [goal.name for goal in request.asked.goals],
        "cap": request.asked.cap,
        "sizes": dict(request.asked.sizes),
        "call": request.asked.call,
        "least_gain": request.rules.least_gain,
        "pairs": request.rules.pairs,
        "budget_s": request.budget_s,
        "applied": applied,
    }
