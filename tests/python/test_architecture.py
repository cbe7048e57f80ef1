"""The parts of netsonde know each other only as these tables allow."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "src" / "netsonde"
ENGINE = ROOT / "engine"

# Part -> the parts whose modules it may import; its own it always may. A single module has a row
# where it sits elsewhere than its folder, and is then no part of what may import that folder.
NUMBERS = {"stats", "clock", "model"}  # pure: nothing of netsonde but each other
BASICS = {
    *("errors", "units", "tables", "patterns", "operations", "reductions", "busy", "experiments"),
}
RANKS = {
    *("figures.rank_clocks", "figures.rank_times", "figures.repetitions", "figures.summaries"),
}
PYTHON_ARROWS: dict[str, set[str]] = {
    "__init__": {"opened"},  # netsonde.open, which imports it when it is called
    "opened": {"records", "figures", "explain"},
    "errors": set(),
    "units": {"errors"},
    "tables": {"errors"},
    "patterns": {"errors"},
    "busy": {"errors"},
    "experiments": set(),
    "operations": {"errors"},
    "reductions": set(),
    "stats": NUMBERS,
    "clock": NUMBERS,
    "model": NUMBERS,
    # Platforms as files, and what the model says of them; a simulation beside it.
    "platforms": BASICS | NUMBERS | {"launch", "simulate", "records", "platforms.observed"},
    "platforms.observed": BASICS | NUMBERS | {"records", "figures"},
    "records": BASICS,
    "peers": BASICS | NUMBERS | {"records", "peers.techniques", "peers.mpi_techniques"} | RANKS,
    "figures": BASICS | NUMBERS | {"records", "peers", "peers.mpi_techniques"} | RANKS,
    # Of records alone, these four:
    "figures.rank_times": BASICS
    | NUMBERS
    | {"records", "figures.rank_clocks", "figures.repetitions", "figures.summaries"},
    "figures.rank_clocks": NUMBERS | {"records", "figures.repetitions", "figures.summaries"},
    "figures.summaries": BASICS | NUMBERS | {"records", "figures.repetitions"},
    "figures.repetitions": {"records"},
    "explain": BASICS | NUMBERS | {"records", "figures"},
    "compare": BASICS | NUMBERS | {"records", "figures", "explain"},
    "history": BASICS | NUMBERS | {"records", "figures", "compare"},
    "export": BASICS
    | NUMBERS
    | {"records", "figures", "explain", "compare", "report"}
    | {"figures.repetitions"},
    "launch": BASICS | {"records"},
    "lab.kernel": BASICS,  # system calls only
    "launch.lab_host": BASICS | {"launch", "lab.kernel"},
    "lab": BASICS | {"launch", "launch.lab_host", "lab.kernel"},
    "launch.hosts": BASICS | {"launch", "lab"},  # `lab:h1,h2` is a host's name as well
    "serve": BASICS | {"launch", "records"},
    "study": BASICS
    | NUMBERS
    | {"records", "figures", "launch", "launch.hosts", "launch.lab_host", "lab"}
    | {"peers.techniques", "peers.mpi_techniques", "figures.repetitions"},
    "peers.mpi_techniques": BASICS,
    "peers.techniques": BASICS,  # a table: what a study checks its blocks against
    "tune": BASICS | NUMBERS | {"records", "figures", "launch", "launch.hosts", "lab", "study"},
    "report": BASICS
    | NUMBERS
    | {"records", "figures", "explain", "peers", "peers.techniques", "compare", "history"}
    | RANKS,
    "hpcbench": BASICS
    | NUMBERS
    | {"records", "figures", "launch", "launch.hosts", "serve", "study"},
    "mpibench": BASICS | NUMBERS | {"records", "figures", "hpcbench"} | RANKS,
    "simulate": BASICS | NUMBERS | {"records", "launch", "lab"},
    "host": BASICS | NUMBERS | {"records", "launch", "launch.hosts"},
    "trace": BASICS | NUMBERS | {"records", "launch", "report"},
    "schedules": BASICS,
    "cli": BASICS
    | {"records", "figures", "explain", "launch", "launch.hosts", "lab", "serve"}
    | {"study", "tune", "report", "peers", "peers.techniques", "peers.mpi_techniques"}
    | {"hpcbench", "mpibench", "host", "trace", "platforms", "simulate"}
    | {"schedules", "compare", "history", "export"},
    "__main__": {"cli"},
}

# Libraries that only some parts may import.
LIBRARY_OWNERS: dict[str, set[str]] = {
    "typer": {"cli"},
    "polars": {"figures", "report", "trace", "opened", "export"},
    "duckdb": {"history"},
    "plotly": {"report"},
    "matplotlib": {"report"},
    "jinja2": {"report"},
    "subprocess": {"launch", "launch.lab_host", "lab", "lab.kernel", "serve", "study"}
    | {"simulate"},
    "numpy": NUMBERS
    | RANKS
    | {"records", "peers", "figures", "explain", "study", "report", "mpibench", "trace"}
    | {"compare", "history", "export", "platforms.observed"},
    "scipy": NUMBERS | {"explain"},
    "orjson": {"records", "report"},
    "pybase64": {"records"},
}

# What a part that does no input or output does not touch.
IO_MODULES = {"io", "os", "sys", "pathlib", "socket", "subprocess", "tempfile", "shutil", "logging"}
IO_CALLS = {"open", "print", "input", "exec", "eval"}

# Folder of the engine -> the folders whose headers it may include; its own it always may.
ENGINE_ARROWS: dict[str, set[str]] = {
    "core": set(),
    "schedule": {"core"},
    "trace": {"core"},
    "depth": {"core", "trace"},
    "host": {"core"},
    "transport": {"core"},
    "test": {"core", "transport"},
    "collective": {"core", "transport", "schedule"},
    "app": {"core", "transport", "schedule", "trace"},
    "fabric": {"core"},  # the switch as a model: the emulator plays it, the simulator will
    "sampler": {"core", "trace"},
    "simulator": {"core", "schedule", "fabric"},
    "emulator": {"core", "fabric"},
    "worker": {"core", "transport", "schedule", "trace", "test", "collective", "app"}
    | {"fabric", "emulator", "host", "depth", "sampler", "simulator"},
}

# Folder -> system headers that it must not include.
NO_IO = r"sys/.*|netinet/.*|net/.*|arpa/.*|unistd\.h|fcntl\.h|iostream|fstream|cstdio|mpi\.h"
ENGINE_WITHOUT: dict[str, str] = {
    "schedule": NO_IO,
    "fabric": NO_IO,
    "simulator": NO_IO,
    "test": r"sys/socket\.h|netinet/.*|arpa/.*|mpi\.h",
    "trace": r"mpi\.h",
    "core": r"netinet/.*|arpa/.*|mpi\.h",
}


def module_name(path: Path) -> str:
    """``launch.lab_host`` for src/netsonde/launch/lab_host.py; ``launch`` for its __init__.py."""
    parts = list(path.relative_to(PYTHON).with_suffix("").parts)
    if len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def part_of(module: str) -> str:
    """The row of the table that a module belongs to."""
    return module if module in PYTHON_ARROWS else module.split(".")[0]


def imported_modules(source: str) -> Iterator[str]:
    """The modules that a source imports, absolute and in full, wherever in the file it does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            assert node.module
            yield node.module
            # `from netsonde.lab import kernel` names a module as well.
            if node.module.split(".")[0] == "netsonde":
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(source: str) -> set[str]:
    """The modules of netsonde among them, without the leading ``netsonde.``."""
    names = {m.removeprefix("netsonde.") for m in imported_modules(source) if "netsonde." in m}
    return {name for name in names if is_module(name)}


def is_module(name: str) -> bool:
    path = PYTHON / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def forbidden_imports(module: str, source: str, arrows: Mapping[str, set[str]]) -> set[str]:
    """The parts that a module imports and may not."""
    part = part_of(module)
    used = {part_of(name) for name in own_imports(source)}
    return used - arrows[part] - {part} - {"__init__"}


def forbidden_libraries(module: str, source: str) -> set[str]:
    """The libraries that a module imports and that are others' business."""
    part = part_of(module)
    used = {name.split(".")[0] for name in imported_modules(source)} & LIBRARY_OWNERS.keys()
    return {name for name in used if part not in LIBRARY_OWNERS[name]}


def python_modules() -> list[Path]:
    return sorted(PYTHON.rglob("*.py"))


def engine_files() -> list[Path]:
    return sorted(p for p in ENGINE.rglob("*") if p.suffix in (".cpp", ".hpp"))


def included_headers(source: str) -> list[str]:
    """Every header that a source includes, in either form."""
    return re.findall(r'^\s*#\s*include\s*[<"]([^">]+)[">]', source, re.MULTILINE)


def forbidden_includes(folder: str, source: str) -> set[str]:
    """The headers that a source of an engine's folder includes and may not."""
    headers = included_headers(source)
    allowed = ENGINE_ARROWS[folder] | {folder}
    own = {h for h in headers if h.split("/")[0] in ENGINE_ARROWS}
    wrong = {h for h in own if h.split("/")[0] not in allowed}
    if folder == "test":  # the concept only: a test knows no transport
        wrong |= {h for h in own if h.startswith("transport/") and h != "transport/transport.hpp"}
    if folder in ENGINE_WITHOUT:
        wrong |= {h for h in headers if re.fullmatch(ENGINE_WITHOUT[folder], h)}
    return wrong


@pytest.mark.parametrize("path", python_modules(), ids=module_name)
def test_python_imports_follow_the_table(path: Path) -> None:
    module = module_name(path)
    assert part_of(module) in PYTHON_ARROWS, f"{module} belongs to no row of the table"
    assert forbidden_imports(module, path.read_text(), PYTHON_ARROWS) == set()


@pytest.mark.parametrize("path", python_modules(), ids=module_name)
def test_libraries_stay_where_they_belong(path: Path) -> None:
    assert forbidden_libraries(module_name(path), path.read_text()) == set()


def test_the_table_has_no_cycle() -> None:
    groups = {name: "numbers" if name in NUMBERS else name for name in PYTHON_ARROWS}
    waiting = {name: {groups[other] for other in arrows} for name, arrows in PYTHON_ARROWS.items()}
    done: set[str] = set()
    while waiting:
        ready = {n for n, needs in waiting.items() if needs - done <= {groups[n]}}
        assert ready, f"these depend on each other: {sorted(waiting)}"
        done |= {groups[name] for name in ready}
        waiting = {n: needs for n, needs in waiting.items() if n not in ready}


@pytest.mark.parametrize(
    "path", [p for p in python_modules() if part_of(module_name(p)) in NUMBERS], ids=module_name
)
def test_numbers_do_no_input_or_output(path: Path) -> None:
    source = path.read_text()
    assert {name.split(".")[0] for name in imported_modules(source)} & IO_MODULES == set()
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert calls & IO_CALLS == set()


@pytest.mark.parametrize("path", engine_files(), ids=lambda p: str(p.relative_to(ENGINE)))
def test_engine_includes_follow_the_table(path: Path) -> None:
    folder = path.relative_to(ENGINE).parts[0]
    assert folder in ENGINE_ARROWS, f"{folder} is no row of the table"
    assert forbidden_includes(folder, path.read_text()) == set()


def test_wrong_arrows_are_seen() -> None:
    assert forbidden_imports("stats.x", "from netsonde.records import Run", PYTHON_ARROWS) == {
        "records"
    }
    assert forbidden_imports("study.x", "import netsonde.cli.main", PYTHON_ARROWS) == {"cli"}
    assert forbidden_imports(
        "launch.x", "def f():\n    from netsonde import lab", PYTHON_ARROWS
    ) == {"lab"}
    assert forbidden_imports("cli.x", "from netsonde.study import plan", PYTHON_ARROWS) == set()
    assert forbidden_libraries("study.x", "import typer") == {"typer"}
    assert forbidden_includes("core", '#include "test/result.hpp"') == {"test/result.hpp"}
    assert forbidden_includes("test", '#include "transport/socket/control.hpp"') != set()
    assert forbidden_includes("simulator", "#include <sys/socket.h>") == {"sys/socket.h"}
