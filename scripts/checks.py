"""Runs the checks and tests of netsonde and counts them.

    scripts/checks.py build   the engine's tests, compiled
    scripts/checks.py lint    style, types, static analysis
    scripts/checks.py all     style, types, docs, the engine's tests, the Python tests
    scripts/checks.py soak    what takes longer, and whether truth tests were within tolerance
    scripts/checks.py --list WHAT    the steps of one of them, and what each is for

Each step's output goes to build/checks/STEP.log and is shown only where the step fails. The last
lines say which tests took longest, how many attempts of repeated tests there were (see
tests/attempts.py), each a line of build/checks/attempts.jsonl, and ``N passed, N failed, N
skipped`` over everything: a linter counts as one, a test suite as its tests. The exit code is 1 if
anything failed.
"""

from __future__ import annotations

import argparse
import collections
import os
import signal
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import ledger

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "checks"
LEDGER = LOGS / "attempts.jsonl"
TOOLS = Path(sysconfig.get_path("scripts"))
SHOWN_LINES = 60
SLOWEST_SHOWN = 10
LIMITS_S = {"all": 720.0}
"""On two CPUs; that a run takes longer is said and fails nothing."""
TIDY_VERSION = 14
POLL_S = 0.05
BY_FILE = ("--dist", "loadfile", "--no-loadscope-reorder")  # tests/conftest.py has an order
FOUR_AT_ONCE = ("-n", "4", *BY_FILE)
TWO_AT_ONCE = ("-n", "2", *BY_FILE)
FOLDERS = {"release": "build/wheel", "sanitize": "build/sanitize"}
"""Where CMakePresets.json builds. The first has the workers already, from scripts/setup."""


@dataclass
class Outcome:
    """What a step found: how many passed, failed and were skipped, why these were, and how many
    seconds each test took."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    skips: collections.Counter[str] = field(default_factory=collections.Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, other: Outcome) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.skips += other.skips
        self.seconds |= other.seconds


@dataclass(frozen=True)
class Step:
    """A command, the longest it may take, and the report of its tests where it writes one.

    ``about`` is for who asks what there is; ``needs`` names a step without which this one means
    nothing.
    """

    name: str
    command: Sequence[str]
    about: str = ""
    limit_s: float = 600.0
    report: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: str | None = None
    skip: Callable[[], str | None] = lambda: None
    is_idle: bool = False
    """Takes the CPU time that nobody else wants: it may run beside tests that wait much."""


def tool(name: str) -> str:
    """A program of the Python environment that runs this script."""
    return str(TOOLS / name)


def engine_sources(*patterns: str) -> list[str]:
    """The engine's sources that match, relative to the project."""
    folders = (ROOT / "engine", ROOT / "tests" / "engine")
    found = (path for folder in folders for pattern in patterns for path in folder.rglob(pattern))
    return sorted(str(path.relative_to(ROOT)) for path in found)


def style_steps() -> list[Step]:
    """Whatever runs and builds nothing: half of it keeps one CPU only, so it runs at once."""
    headers_and_sources = engine_sources("*.cpp", "*.hpp")
    return [
        Step("ruff check", [tool("ruff"), "check", "--quiet", "."], "mistakes in Python"),
        Step(
            "ruff format",
            [tool("ruff"), "format", "--check", "--quiet", "--diff", "."],
            "Python's layout",
        ),
        Step(
            "clang-format",
            [tool("clang-format"), "--dry-run", "-Werror", *headers_and_sources],
            "the engine's layout",
        ),
    ]


def types_step() -> Step:
    return Step("mypy", [tool("mypy")], "Python's types, all strictly", is_idle=True)


def tidy_step(*folders: str) -> Step:
    return Step(
        "clang-tidy",
        [sys.executable, "scripts/tidy.py", FOLDERS["release"], *folders],
        "mistakes in C++",
        limit_s=1200,
        needs="build release",
        skip=tidy_missing,
    )


def tidy_missing() -> str | None:
    """Why clang-tidy is left out, or None. Another version knows other checks."""
    try:
        said = subprocess.run(
            ["clang-tidy", "--version"], capture_output=True, text=True, check=False
        ).stdout
    except FileNotFoundError:
        return "clang-tidy is not installed"
    wanted = f"version {TIDY_VERSION}."
    return None if wanted in said else f"clang-tidy is not of {wanted[:-1]}"


def build_step(preset: str) -> Step:
    """Configures and builds one of CMakePresets.json with the environment's own tools."""
    script = (
        f'cmake --preset {preset} -DPython3_EXECUTABLE="{sys.executable}" '
        f'"-DNETSONDE_TESTS={"ON" if doctest_missing() is None else "OFF"}" '
        f"&& cmake --build --preset {preset}"
    )
    return Step(f"build {preset}", ["sh", "-c", script], "the engine and its tests", limit_s=900)


def together_step() -> Step:
    """A first build compiles sources in groups, where a name may stand once; the wheel's tests do
    so with all but these."""
    step = build_step("together")
    return replace(
        step, about="MPI's and PVM's parts, as a first build compiles them", is_idle=True
    )


def doctest_missing() -> str | None:
    header = Path("/usr/include/doctest/doctest.h")
    return None if header.exists() else "doctest is not installed"


def engine_tests(preset: str, *chosen: str) -> Step:
    """``chosen``: as ctest is told by labels; all without."""
    report = LOGS / f"engine-{preset}.xml"
    return Step(
        f"engine tests, {preset}",
        ["ctest", "--test-dir", FOLDERS[preset], "--parallel", str(os.cpu_count() or 1),
         "--output-on-failure", "--no-tests=error", "--timeout", "300",
         "--output-junit", str(report), *chosen],
        "what is tested in C++",
        report=report,
        needs=f"build {preset}",
        skip=doctest_missing,
    )  # fmt: skip


def pytest(name: str, about: str, *arguments: str, **options: object) -> Step:
    report = LOGS / f"{name.replace(' ', '-').replace(',', '')}.xml"
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *arguments]
    return Step(name, command, about, **{"limit_s": 2400, "report": report, **options})  # type: ignore[arg-type]


def measuring_files() -> list[str]:
    """Where tests that measure are: to read all the others as well takes each process 14 s of CPU.
    tests/conftest.py holds that none is elsewhere."""
    found = (ROOT / "tests").rglob("test_*.py")
    wanted = (path for path in found if "truth" in path.parts or "attempts" in path.read_text())
    return sorted(str(path.relative_to(ROOT)) for path in wanted)


def test_steps() -> list[Step]:
    return [
        # Those of one file share what they set up. Many wait most of the time, for a process or a
        # timeout, so there are more at once than CPUs.
        pytest(
            "tests side by side",
            "what measures nothing: rows, commands, pages, labs, servers, MPIs, deaths",
            *("-m", "not soak and not measures", *FOUR_AT_ONCE),
        ),
        # One at a time, but for those that leave each other room.
        pytest(
            "tests that measure",
            "truth tests, and what else its neighbours would spoil",
            *("-m", "not soak and measures", *TWO_AT_ONCE, *measuring_files()),
        ),
    ]


def fuzzers_step() -> Step:
    return Step(
        "fuzzers",
        [sys.executable, "scripts/fuzz.py", "--seconds", "120"],
        "what comes from elsewhere, made up: two minutes of all fuzzers together",
        limit_s=900,
        skip=fuzzers_missing,
        is_idle=True,
    )


def fuzzers_missing() -> str | None:
    built = ROOT / "build" / "fuzz" / "tests" / "engine" / "fuzz"
    return None if any(built.glob("*-fuzz")) else "the fuzzers are not built (needs clang)"


def documentation() -> Step:
    return Step(
        "documentation",
        [tool("mkdocs"), "build", "--quiet", "--strict"],
        "the pages, and every link in them",
        environment={"NO_MKDOCS_2_WARNING": "1"},
    )


def alone(steps: Sequence[Step]) -> list[list[Step]]:
    """Each in a group of its own: what is tested may measure."""
    return [[step] for step in steps]


def sanitized_steps() -> list[Step]:
    """What sanitizers say of the engine, alone and under the tests of Python: ten minutes."""
    return [
        build_step("sanitize"),
        engine_tests("sanitize"),
        pytest(
            "workers, sanitized",
            "Python's tests of the workers, with address and undefined-behaviour sanitizers",
            "-m",
            "worker and not soak",
            environment={
                "NETSONDE_WORKERS": str(ROOT / "build" / "sanitize"),
                "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:exitcode=99",
                "UBSAN_OPTIONS": "print_stacktrace=1",
            },
            needs="build sanitize",
        ),
    ]


def soak_groups() -> list[list[Step]]:
    return [
        [build_step("release"), *style_steps(), types_step()],
        [together_step()],
        [tidy_step()],
        [tidy_step("tests")],
        *alone(sanitized_steps()),
        [engine_tests("release", "-L", "soak")],
        [pytest("soak tests", "what tests/README.md lists", "-m", "soak", limit_s=10 * 3600)],
        [
            pytest(
                "texts, fuzzed", "100 times as many examples", "tests/python/test_fuzzed_texts.py",
                environment={"NETSONDE_EXAMPLES": "6000"},
            )
        ],
        [
            pytest(
                "full lines", "a minute of full lines", "tests/truth/test_switch_load.py",
                environment={"NETSONDE_LOAD_SECONDS": "60"},
            )
        ],
    ]  # fmt: skip


def leave_cpu_to_others() -> None:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


class Running:
    """A step that was started; its output goes to its log."""

    def __init__(self, step: Step) -> None:
        self.step = step
        if step.report:
            step.report.unlink(missing_ok=True)
        environment = {
            **os.environ,
            "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
            # Hundreds of tests start netsonde: its modules are compiled once, not each time.
            "PYTHONDONTWRITEBYTECODE": "",
            **step.environment,
        }
        self.duration_s = 0.0
        self._started = time.monotonic()
        with log_of(step).open("w") as output:
            self._process = subprocess.Popen(
                step.command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=leave_cpu_to_others if step.is_idle else None,
            )

    def is_over(self) -> bool:
        """Whether it ended, or was ended since it took longer than it may."""
        self.duration_s = time.monotonic() - self._started
        if self._process.poll() is not None:
            return True
        if self.duration_s < self.step.limit_s:
            return False
        self.end()
        with log_of(self.step).open("a") as output:
            output.write(f"\nnot finished after {self.step.limit_s:.0f} s, and ended\n")
        return True

    def end(self) -> None:
        if self._process.poll() is None:
            end_group(self._process)

    def outcome(self) -> Outcome:
        late = self.duration_s >= self.step.limit_s
        return outcome_of(self.step, None if late else self._process.returncode)


def run_at_once(steps: Sequence[Step]) -> list[Running]:
    """Runs these steps beside each other, each to its end or its limit."""
    running: list[Running] = []
    try:
        for step in steps:
            running.append(Running(step))
        left = list(running)
        while left := [each for each in left if not each.is_over()]:
            time.sleep(POLL_S)
    except BaseException:
        for each in running:
            each.end()
        raise
    return running


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a step and what it started: first as Ctrl-C would, so that it can clean up."""
    for what, patience_s in ((signal.SIGINT, 20), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, what)
            process.wait(patience_s)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def outcome_of(step: Step, code: int | None) -> Outcome:
    """Counts a step's tests by its report; without one the step itself is what passed or failed."""
    if step.report is None or not step.report.exists():
        return Outcome(passed=1) if code == 0 else Outcome(failed=1)
    outcome = read_report(step.report)
    if code != 0 and outcome.failed == 0:
        outcome.failed = 1  # it failed outside its tests
    return outcome


def read_report(path: Path) -> Outcome:
    """Counts the test cases of a JUnit file."""
    outcome = Outcome()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        kinds = {child.tag: child for child in case}
        name = f"{case.get('classname', '')} {case.get('name', '')}"
        outcome.seconds[name] = float(case.get("time") or 0)
        if "failure" in kinds or "error" in kinds:
            outcome.failed += 1
        elif "skipped" in kinds or case.get("status") in ("disabled", "notrun"):
            outcome.skipped += 1
            skipped = kinds.get("skipped")
            reason = skipped.get("message", "") if skipped is not None else ""
            outcome.skips[reason or "no reason given"] += 1
        else:
            outcome.passed += 1
    return outcome


def log_of(step: Step) -> Path:
    return LOGS / (step.name.replace(" ", "-").replace(",", "") + ".log")


def describe(outcome: Outcome) -> str:
    return f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"


def show_failure(step: Step) -> None:
    lines = log_of(step).read_text(errors="replace").splitlines()
    for line in lines[-SHOWN_LINES:]:
        print(f"    {line}")
    print(f"    (all of it: {log_of(step).relative_to(ROOT)})", flush=True)


def run_all(groups: Iterable[Sequence[Step]]) -> Outcome:
    """Runs group by group, whatever became of those before, and says how each step ended."""
    total = Outcome()
    failed: set[str] = set()
    for group in groups:
        ready = []
        for step in group:
            reason = step.skip()
            if step.needs in failed:
                failed.add(step.name)
                total.add(Outcome(failed=1))
                print(f"{step.name:<24}failed: {step.needs} failed", flush=True)
            elif reason:
                total.add(Outcome(skipped=1, skips=collections.Counter({reason: 1})))
                print(f"{step.name:<24}skipped: {reason}", flush=True)
            else:
                ready.append(step)
        if len(ready) == 1:
            print(f"{ready[0].name:<24}", end="", flush=True)  # may take minutes
        for done in run_at_once(ready):
            outcome = done.outcome()
            total.add(outcome)
            verdict = "failed" if outcome.failed else "ok"
            counts = f"  {describe(outcome)}" if done.step.report else ""
            name = "" if len(ready) == 1 else f"{done.step.name:<24}"
            print(f"{name}{verdict:<7}{done.duration_s:7.1f} s{counts}", flush=True)
            if outcome.failed:
                failed.add(done.step.name)
                show_failure(done.step)
    return total


def show_times(total: Outcome, took_s: float, limit_s: float | None) -> None:
    """The tests that took longest, and how long all of it did."""
    for name in sorted(total.seconds, key=lambda name: -total.seconds[name])[:SLOWEST_SHOWN]:
        print(f"{total.seconds[name]:7.1f} s  {name}")
    print(f"{took_s:7.1f} s  all" + (f", of {limit_s:.0f} s" if limit_s else ""))


def attempts_are_well(what: str) -> bool:
    """Says how often repeated tests were outside of tolerance; in a soak not too often."""
    entries = ledger.read(LEDGER)
    for line in ledger.outside_lines(entries):
        print(line)
    truth = ledger.counts(entries, ledger.TRUTH)
    if entries:
        print(f"repeated tests: {ledger.counts(entries)} ({LEDGER.relative_to(ROOT)})")
    if what != "soak" or not truth.too_many:
        return True
    print(f"truth tests: {truth}: more than {ledger.OUTSIDE_MOST:.0%}")
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["build", "lint", "all", "sanitized", "soak"])
    parser.add_argument("--list", action="store_true", help="say what it contains, and run nothing")
    given = parser.parse_args()
    what = given.what
    groups = groups_of(what)
    if given.list:
        show_steps(groups)
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    LEDGER.unlink(missing_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # steps are ended either way
    begun = time.monotonic()
    try:
        total = run_all(groups)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 4
    show_times(total, time.monotonic() - begun, LIMITS_S.get(what))
    for reason, count in sorted(total.skips.items()):
        print(f"skipped {count}: {reason}")
    if not attempts_are_well(what):
        total.add(Outcome(failed=1))
    print(describe(total))
    return 1 if total.failed else 0


def groups_of(what: str) -> list[list[Step]]:
    """The steps of one of the choices: those of a group run at once, the groups one by one."""
    side_by_side, measuring = test_steps()
    groups = {
        "build": lambda: [[build_step("release")]],
        "lint": lambda: [[build_step("release"), *style_steps(), types_step()], [tidy_step()]],
        "all": lambda: [
            [build_step("release")],
            [*style_steps(), documentation(), engine_tests("release", "-LE", "soak")],
            [side_by_side, types_step(), together_step(), fuzzers_step()],
            [measuring],
        ],
        "sanitized": lambda: alone(sanitized_steps()),
        "soak": soak_groups,
    }[what]
    return groups()


def show_steps(groups: Sequence[Sequence[Step]]) -> None:
    """What there is, in the order of running; a star for what runs at once with the line above."""
    for group in groups:
        for number, step in enumerate(group):
            reason = step.skip()
            about = f"skipped here: {reason}" if reason else step.about
            print(f"{'*' if number else ' '} {step.name:<24}{about}")


if __name__ == "__main__":
    sys.exit(main())
