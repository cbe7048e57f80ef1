"""What only `make soak` has: no launcher and no finding, and nothing that the page does not list.

That `make test` has every transport and test: see tests/lab/test_every_test.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from netsonde.catalogue.launcher import LAUNCHERS

TESTS = Path(__file__).parents[1]
PAGE = TESTS / "README.md"
SOAK = "pytest.mark.soak"
STARTED = ("lab/test_*.py", "python/test_launch_*.py", "python/test_new_launcher.py")


def usual_words(tree: ast.AST) -> Iterator[str]:
    """Words of all strings, but for tests and parameters that are in `make soak` alone."""
    for child in ast.iter_child_nodes(tree):
        decorators = getattr(child, "decorator_list", [])
        if any(ast.unparse(decorator) == SOAK for decorator in decorators):
            continue
        if isinstance(child, ast.Call) and f"marks={SOAK})" in ast.unparse(child):
            continue
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield from re.findall(r"[\w-]+", child.value)
        yield from usual_words(child)


def test_every_launcher_is_used_in_a_test_of_every_day() -> None:
    files = [path for pattern in STARTED for path in TESTS.glob(pattern)]
    words = {word for path in files for word in usual_words(ast.parse(path.read_text()))}
    assert [name for name in LAUNCHERS if name not in words] == []


def test_no_test_of_a_finding_waits_for_a_soak() -> None:
    """Each finding has its tests on both sides of its limits there (CONTRIBUTING.md)."""
    files = [*TESTS.glob("python/explain/*.py")]
    assert len(files) > 10
    assert [path.name for path in files if SOAK in path.read_text()] == []


def test_the_page_lists_what_only_a_soak_has() -> None:
    having = {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("test_*.py")
        if path != Path(__file__) and SOAK in path.read_text()
    }
    listed = re.findall(r"^\| `([\w/]+\.py)` \| [^|]+ \| [^|]+ \|$", PAGE.read_text(), re.M)
    assert sorted(listed) == sorted(having)
