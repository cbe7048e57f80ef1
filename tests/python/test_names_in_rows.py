"""What is known of a transport or a test is a trait of its row: no other file asks for its name."""

import ast
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from netsonde.catalogue.test import TESTS
from netsonde.catalogue.transport import TRANSPORTS

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "netsonde"
NAMES = TRANSPORTS.keys() | TESTS.keys()

# File -> why it compares with a transport's or a test's name, or has a table or list of such names.
WITH_REASON = {
    "cli/model.py": "narrows a word to the two protocols that the frame arithmetic has",
    "figures/agreement.py": "the figure that each other tool is quoted by, of each of its tests",
    "hpcbench/options.py": "Hpcbench's programs, which are for three protocols, with their ports",
    "model/goodput.py": "pure arithmetic, which imports nothing of netsonde",
    "peers/iperf3.py": "the protocol as iperf3 writes it",
    "peers/mpi_techniques.py": "what each other tool measures of MPI, and how",
    "peers/mpi_told.py": "what it would have said of each of its tests",
    "peers/techniques.py": "what each other tool measures of sockets, and how",
    "peers/told.py": "what it would have said of each of its tests",
    "platforms/wire.py": "the two protocols that the frame arithmetic has",
    "simulate/tables.py": "the keys that each protocol of the simulator has, and its schema",
}

# What is compared there is no transport and no test: keys of parameters, an operation of MPI, a
# kind of workload, a word of another tool.
OTHER_WORDS = {
    "clock/tree.py": "a part of what is known of clocks",
    **dict.fromkeys(
        ("figures/all_pairs.py", "study/all_pairs.py", "study/all_pairs_measure.py"),
        "measures of a round of all pairs",
    ),
    **dict.fromkeys(
        ("figures/predicted.py", "report/key_figures.py"),
        "the parameter that says which MPI",
    ),
    **dict.fromkeys(
        ("hpcbench/plot.py", "hpcbench/requests.py", "hpcbench/result_file.py"),
        "modes of hpcbench",
    ),
    "hpcbench/results.py": "modes of hpcbench",
    **dict.fromkeys(("lab/keeper.py", "lab/observe.py"), "how a lab's hosts receive"),
    **dict.fromkeys(("model/hierarchy.py", "platforms/show.py"), "an operation of MPI"),
    "mpibench/options.py": "groups of MPI's operations",
    **dict.fromkeys(("operations.py", "ranks/times.py"), "who is whose partner in MPI's exchanges"),
    "peers/mpi_tables.py": "titles of another tool's tables",
    "platforms/safety.py": "costs of a platform",
    "serve/requests.py": "a verb of the request",
    **dict.fromkeys(("simulate/plan.py", "simulate/workloads.py"), "kinds of simulated workloads"),
    "simulate/scenario.py": "a table of the scenario's file",
}


def _literals(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return {text for element in node.elts for text in _literals(element)}
    return set()


def _is_key_lookup(node: ast.Compare) -> bool:
    """``"pairs" in parameters``: whether a table has a key, not which test it is."""
    return (
        isinstance(node.ops[0], ast.In | ast.NotIn)
        and isinstance(node.left, ast.Constant)
        and ast.unparse(node.comparators[0]).split(".")[-1] not in ("transports", "tests")
    )


@functools.cache
def nodes_of(source: str) -> Sequence[ast.AST]:
    """All nodes of a module that may compare, match or list: parsed once for both questions."""
    wanted = (ast.MatchValue, ast.Compare, ast.Dict, ast.Tuple, ast.List, ast.Set)
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, wanted)]


def compared_names(source: str) -> Iterator[str]:
    """The names of rows that a module compares with, or matches."""
    for node in nodes_of(source):
        if isinstance(node, ast.MatchValue):
            yield from _literals(node.value) & NAMES
        elif isinstance(node, ast.Compare) and not _is_key_lookup(node):
            for operand in (node.left, *node.comparators):
                yield from _literals(operand) & NAMES


def listed_names(source: str) -> Iterator[str]:
    """The names of rows that tables of a module have as keys, or lists and sets as their elements:
    two or more, and nothing else."""
    for node in nodes_of(source):
        if isinstance(node, ast.Dict):
            keys = [_literals(key) & NAMES for key in node.keys if key is not None]
            found = [names for names in keys if names]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            texts = {str(one.value) for one in node.elts if isinstance(one, ast.Constant)}
            are_names = len(texts) == len(node.elts) and texts <= NAMES
            found = [{text} for text in texts] if are_names else []
        else:
            continue
        if len(found) > 1:
            yield from set().union(*found)


def _files_with(names_in: Callable[[str], Iterator[str]]) -> dict[str, list[str]]:
    return {
        str(path.relative_to(PACKAGE)): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if "catalogue" not in path.parts
        if (names := sorted(set(names_in(path.read_text()))))
    }


def test_only_files_with_a_reason_compare_with_names_or_list_them() -> None:
    compared, tabled = _files_with(compared_names), _files_with(listed_names)
    unlisted = {path: names for path, names in tabled.items() if path not in WITH_REASON}
    known = WITH_REASON.keys() | OTHER_WORDS.keys()
    unlisted |= {path: names for path, names in compared.items() if path not in known}
    assert not unlisted, "ask for the trait of the row that is the reason, not for its name"
    needless = WITH_REASON.keys() - compared.keys() - tabled.keys()
    needless |= OTHER_WORDS.keys() - compared.keys()
    assert not needless, "no longer name any, so take them off the list"
    assert len(WITH_REASON) <= 12


@pytest.mark.parametrize(
    "line",
    [
        'point.transport == "udp"',
        'point.test not in ("latency", "threads")',
        '"mpi" in block.transports',
        '(point.transport, point.test) != ("mpi", "collective")',
        'match test:\n    case "incast" | "victim":\n        pass',
    ],
)
def test_a_comparison_with_a_name_is_found(line: str) -> None:
    assert list(compared_names(line))


@pytest.mark.parametrize("line", ['"pairs" in parameters', 'verb == "open"', "point.test == other"])
def test_other_comparisons_are_left_alone(line: str) -> None:
    assert not list(compared_names(line))


@pytest.mark.parametrize(
    "line",
    [
        'SIZES = {("tcp", "latency"): "64", ("udp", "latency"): "64"}',
        'ROUNDS = {"tcp": 1, "udp": 32}',
        'PLAIN = frozenset({"stream", "duplex"})',
        'Transport = Literal["tcp", "udp"]',
    ],
)
def test_a_table_or_a_list_of_names_is_found(line: str) -> None:
    assert list(listed_names(line))


@pytest.mark.parametrize(
    "line", ['{"clock": 1, "sizes": 2}', '("mpi", "ranks")', '[("threads", "threads")]', "(1, 2)"]
)
def test_other_tables_are_left_alone(line: str) -> None:
    assert not list(listed_names(line))
