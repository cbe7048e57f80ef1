"""The parts of netsonde know each other only as these tables allow."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "src" / "netsonde"
ENGINE = ROOT / "engine"

# Part, a folder or a file of the package -> the parts that it may import; its own it always may.
NUMBERS = {"stats", "clock", "model"}  # pure: nothing of netsonde but each other
BASICS = {
    *("errors", "units", "tables", "patterns", "operations", "reductions", "busy", "experiments"),
    *("limits", "published", "csv_rows", "names", "memory"),
    "extras",
    "catalogue",
}
PYTHON_ARROWS: dict[str, set[str]] = {
    "__init__": {"opened"},  # netsonde.open, which imports it when it is called
    "opened": {"records", "figures", "explain", "errors", "extras"},
    "catalogue": {"errors", "units", "tables", "operations", "reductions"},  # rows: pure data
    "errors": set(),
    "units": {"errors"},
    "tables": {"errors"},
    "patterns": {"errors", "catalogue"},
    "busy": {"errors"},
    "experiments": set(),
    "limits": set(),
    "extras": set(),
    "published": set(),
    "csv_rows": set(),
    "names": {"errors"},
    "memory": {"errors"},
    "operations": {"errors"},
    "reductions": set(),
    "stats": NUMBERS,
    "clock": NUMBERS,
    "model": NUMBERS,
    # Platforms as files, and what the model says of them; a simulation beside it.
    "platforms": BASICS | NUMBERS | {"launch", "simulate", "records", "figures"},
    "records": BASICS,
    "ranks": BASICS | NUMBERS | {"records"},
    "peers": BASICS | NUMBERS | {"records", "ranks"},
    "figures": BASICS | NUMBERS | {"records", "ranks", "peers"},
    "explain": BASICS | NUMBERS | {"records", "figures"},
    "compare": BASICS | NUMBERS | {"records", "figures", "explain"},
    "history": BASICS | NUMBERS | {"records", "figures", "compare"},
    "export": BASICS | NUMBERS | {"records", "ranks", "figures", "explain", "compare", "report"},
    "launch": BASICS | {"records"},
    "endpoint": {"errors", "limits", "launch"},
    "watch": BASICS | {"launch", "endpoint", "records", "figures", "study", "export", "history"},
    "lab": BASICS | {"launch"},
    "hosts": BASICS | {"launch", "lab"},  # what a user writes for hosts of any launcher
    "serve": BASICS | {"launch"},
    "study": BASICS
    | NUMBERS
    | {"records", "ranks", "peers", "figures", "launch", "lab", "hosts", "schedules"},
    "report": BASICS
    | NUMBERS
    | {"records", "ranks", "peers", "figures", "explain", "compare", "history"},
    "hpcbench": BASICS | NUMBERS | {"records", "figures", "launch", "hosts", "serve", "study"},
    "mpibench": BASICS | NUMBERS | {"records", "ranks", "figures", "hpcbench"},
    "simulate": BASICS | NUMBERS | {"records", "launch", "lab"},
    "host_benchmarks": BASICS | NUMBERS | {"records", "launch", "report"},
    "trace": BASICS | NUMBERS | {"records", "launch", "report", "endpoint"},
    # Platforms measured, and their predictions held against measurements.
    "modelling": BASICS
    | NUMBERS
    | {"records", "figures", "launch", "hosts", "study", "platforms", "host_benchmarks", "report"}
    | {"schedules", "simulate", "ranks"},
    "schedules": BASICS,
    # Settings that are searched by measuring.
    "tuning": BASICS
    | NUMBERS
    | {"records", "figures", "explain", "launch", "hosts", "study", "report", "schedules"},
    "cli": BASICS
    | {"records", "figures", "explain", "launch", "lab", "hosts", "serve"}
    | {"study", "report", "peers"}
    | {"hpcbench", "mpibench", "host_benchmarks", "trace", "platforms", "simulate"}
    | {"schedules", "compare", "history", "export", "endpoint", "watch", "modelling"}
    | {"tuning"},
    "__main__": {"cli"},
}

# Libraries that only some parts may import.
LIBRARY_OWNERS: dict[str, set[str]] = {
    "typer": {"cli"},
    "polars": {"figures", "trace", "opened", "export"},
    "duckdb": {"history"},
    "matplotlib": {"report"},
    "jinja2": {"report"},
    "subprocess": {"launch", "lab", "simulate"},
    "numpy": NUMBERS
    | {"records", "ranks", "peers", "figures", "explain", "study", "report", "mpibench", "trace"}
    | {"compare", "history", "export", "platforms", "modelling", "tuning"},
    "scipy": NUMBERS,
    "orjson": {"records", "report"},
    "pybase64": {"records"},
    "msgspec": {"launch"},
}

# What a part that does no input or output does not touch.
IO_MODULES = {"io", "os", "sys", "pathlib", "socket", "subprocess", "tempfile", "shutil", "logging"}
IO_CALLS = {"open", "print", "input", "exec", "eval"}

# Folder of the engine -> the folders whose headers it may include; its own it always may.
ENGINE_ARROWS: dict[str, set[str]] = {
    "core": set(),
    "protocol": set(),  # state machines: time and packets come in, actions go out
    "schedule": {"core"},
    "counters": {"core"},
    "kernel_trace": {"core", "counters"},
    "host_benchmarks": {"core"},
    "transport": {"core", "protocol"},
    "test": {"core", "transport"},
    "collective": {"core", "transport", "schedule"},  # executed over MPI
    "fabric": {"core"},  # the switch as a model, which the emulator plays
    "tracer": {"core", "counters"},
    "simulator": {"core", "schedule", "protocol", "fabric"},
    "emulator": {"core", "fabric"},
    "tuned": {"core", "transport", "schedule"},  # loaded into other MPI programs
    "worker": {"core", "transport", "schedule", "counters", "test", "collective"}
    | {"emulator", "host_benchmarks", "kernel_trace", "tracer", "simulator"},
}

# Folder -> system headers that it must not include.
NO_IO = r"sys/.*|netinet/.*|net/.*|arpa/.*|unistd\.h|fcntl\.h|iostream|fstream|cstdio|mpi\.h"
ENGINE_WITHOUT: dict[str, str] = {
    "protocol": NO_IO,
    "schedule": NO_IO,
    "fabric": NO_IO,
    "simulator": NO_IO,
    "test": r"sys/socket\.h|netinet/.*|arpa/.*|mpi\.h",
    "counters": r"mpi\.h",
    "core": r"netinet/.*|arpa/.*|mpi\.h",
}


def module_name(path: Path) -> str:
    """``lab.host`` for src/netsonde/lab/host.py; ``lab`` for its __init__.py."""
    parts = list(path.relative_to(PYTHON).with_suffix("").parts)
    if len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def part_of(module: str) -> str:
    """The row of the table that a module belongs to."""
    return module.split(".")[0]


@cache
def nodes_of(source: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source)))


def imported_modules(source: str) -> Iterator[str]:
    """The modules that a source imports, absolute and in full, wherever in the file it does."""
    for node in nodes_of(source):
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


@cache
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


def forbidden_io(module: str, source: str) -> set[str]:
    """What a module uses of input and output, where its part does none."""
    if part_of(module) not in NUMBERS:
        return set()
    calls = {
        node.func.id
        for node in nodes_of(source)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    modules = {name.split(".")[0] for name in imported_modules(source)}
    return (modules & IO_MODULES) | (calls & IO_CALLS)


def python_faults(module: str, source: str) -> set[str]:
    """Everything that a module uses and that the tables forbid."""
    if part_of(module) not in PYTHON_ARROWS:
        return {"belongs to no row of the table"}
    return (
        forbidden_imports(module, source, PYTHON_ARROWS)
        | forbidden_libraries(module, source)
        | forbidden_io(module, source)
    )


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


def test_python_modules_use_what_the_tables_allow() -> None:
    parts = {part_of(module_name(path)) for path in python_modules()}
    assert PYTHON_ARROWS.keys() == parts, "a part, a row"
    wrong = {
        module: found
        for path in python_modules()
        if (found := python_faults(module := module_name(path), path.read_text()))
    }
    assert wrong == {}


def circles(imports: Mapping[str, set[str]]) -> set[str]:
    """The modules that import each other in a circle, and those that import such modules."""
    left = {module: set(used) for module, used in imports.items()}
    while ready := {module for module, used in left.items() if not used & left.keys()}:
        left = {module: used for module, used in left.items() if module not in ready}
    return set(left)


def imported_files(module: str, source: str) -> set[str]:
    """The modules of netsonde that a module imports; of a package whose modules are all that is
    named, not the package itself."""
    found = set[str]()
    for node in nodes_of(source):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("netsonde"):
            package = str(node.module).removeprefix("netsonde").lstrip(".")
            names = {f"{package}.{alias.name}".lstrip(".") for alias in node.names}
            named = {name for name in names if is_module(name)}
            found |= named if named == names else named | {package}
    return found - {module}


def test_nothing_depends_on_itself_in_a_circle() -> None:
    """Modules wherever in a file one is imported: a circle is two modules that are one. And parts,
    whatever their modules import today."""
    groups = {part: "numbers" if part in NUMBERS else part for part in PYTHON_ARROWS}
    parts = {
        groups[part]: {groups[other] for other in arrows} - {groups[part]}
        for part, arrows in PYTHON_ARROWS.items()
    }
    assert circles(parts) == set()
    assert circles({**parts, "errors": {"records"}}) > {"errors", "records"}
    imports = {
        (module := module_name(path)): imported_files(module, path.read_text())
        for path in python_modules()
    }
    assert circles(imports) == set()
    assert circles({**imports, "errors": {"cli.study"}}) > {"errors", "cli.study"}


def test_engine_includes_follow_the_table() -> None:
    files = [path.relative_to(ENGINE) for path in engine_files()]
    assert {path.parts[0] for path in files} == ENGINE_ARROWS.keys(), "a folder, a row"
    wrong = {
        str(path): found
        for path in files
        if (found := forbidden_includes(path.parts[0], (ENGINE / path).read_text()))
    }
    assert wrong == {}


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
    assert forbidden_io("model.x", "import os\nprint(open('x'))") == {"os", "print", "open"}
    assert python_faults("nowhere.x", "import os") == {"belongs to no row of the table"}
    assert python_faults("stats.x", "import netsonde.cli.main, typer, sys") == {
        *("cli", "typer", "sys")
    }
    assert forbidden_includes("core", '#include "test/result.hpp"') == {"test/result.hpp"}
    assert forbidden_includes("test", '#include "transport/socket/control.hpp"') != set()
    assert forbidden_includes("simulator", "#include <sys/socket.h>") == {"sys/socket.h"}
