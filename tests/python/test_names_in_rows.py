"""What is known of a transport or a test is a trait of its row: no other file asks for its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from netsonde.catalogue.test import TESTS
from netsonde.catalogue.transport import TRANSPORTS

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "netsonde"
NAMES = TRANSPORTS.keys() | TESTS.keys()

# File -> why it compares with a word that is also a transport's or a test's name.
WITH_REASON = {
    "cli/model_wire.py": "narrows a word to the two protocols that the frame arithmetic has",
    "model/goodput.py": "pure arithmetic, which imports nothing of netsonde",
    "peers/iperf3.py": "the protocol as iperf3 writes it",
}

# What is compared there is no transport and no test: keys of parameters, an operation of MPI, a
# kind of workload, a word of another tool.
OTHER_WORDS = {
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


def compared_names(source: str) -> Iterator[str]:
    """The names of rows that a module compares with, or matches."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.MatchValue):
            yield from _literals(node.value) & NAMES
        elif isinstance(node, ast.Compare) and not _is_key_lookup(node):
            for operand in (node.left, *node.comparators):
                yield from _literals(operand) & NAMES


def test_only_files_with_a_reason_compare_with_names() -> None:
    found = {
        str(path.relative_to(PACKAGE)): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if "catalogue" not in path.parts
        if (names := sorted(set(compared_names(path.read_text()))))
    }
    listed = WITH_REASON.keys() | OTHER_WORDS.keys()
    unlisted = {path: names for path, names in found.items() if path not in listed}
    assert not unlisted, "ask for the trait of the row that is the reason, not for its name"
    assert not listed - found.keys(), "no longer compare, so take them off the list"
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
