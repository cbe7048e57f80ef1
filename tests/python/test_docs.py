"""What the documentation says is so: links, anchors, commands, figures, the study that it shows."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_lines import parse, problem, whole
from docs_pages import commands as command_lines
from netsonde.cli.main import app
from netsonde.study.spec import parse_study

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
# What stands in an example for something of the reader's.
PLACEHOLDERS = {
    "CODE": "ns1-00000-00000-00000-00000-00000-00000-00000-00000-00000",
    "TIME": "20260101-120000",
}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_code(text: str) -> str:
    """The prose of a page: fenced and indented code and code spans taken out."""
    text = re.sub(r"(?ms)^```.*?^```$", "", text)
    text = re.sub(r"(?m)^(    |\t).*$", "", text)
    return re.sub(r"`[^`\n]*`", "code", text)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, given or made from their words."""
    found = set()
    for heading in re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```$", "", text)):
        given = re.search(r"\{#([\w-]+)\}", heading)
        plain = re.sub(r"[^\w\s-]", "", heading).strip().lower()
        found.add(given.group(1) if given else re.sub(r"[\s-]+", "-", plain))
    return found


def links(path: Path) -> Iterator[str]:
    """Where a page's links and pictures point, those to other sites left out."""
    for target in re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", without_code(path.read_text())):
        if not re.match(r"[a-z]+:", target):
            yield target


def broken_links(path: Path) -> list[str]:
    broken = []
    for link in links(path):
        file_part, _, anchor = link.partition("#")
        target = (path.parent / file_part).resolve() if file_part else path
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            broken.append(link)
    return broken


def commands(path: Path) -> list[list[str]]:
    """The netsonde commands of a page, as words behind ``netsonde``. What can be run is run by
    tests/scenarios/test_docs_commands.py."""
    found = []
    for line in command_lines(path):
        line = re.sub(r"^[A-Z_]+=\S+ | &$", "", line)
        for placeholder, value in PLACEHOLDERS.items():
            line = re.sub(rf"\b{placeholder}\b", value, line)
        found.append(shlex.split(line))
    return found


def all_commands() -> list[list[str]]:
    """Every command and sub-command of the command line."""

    def below(command: object, words: list[str]) -> Iterator[list[str]]:
        yield words
        for sub_name, sub in getattr(command, "commands", {}).items():
            yield from below(sub, [*words, sub_name])

    return list(below(whole(), []))


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_and_anchors_exist(path: Path) -> None:
    assert broken_links(path) == []


@pytest.mark.parametrize("path", [p for p in PAGES if commands(p)], ids=name)
def test_commands_in_the_text_are_real(path: Path) -> None:
    for words in commands(path):
        try:
            parse(words)
        except Exception as error:
            pytest.fail(f"netsonde {shlex.join(words)}: {error}")


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_commands_that_are_named_in_the_text_exist(path: Path) -> None:
    """With their options; values may be left out there."""
    for line in re.findall(r"`netsonde ([^`]+)`", path.read_text()):
        words = re.sub(r"^tcp\|udp", "tcp", line).split()
        assert problem(words) is None, f"netsonde {line}: {problem(words)}"


def test_unreal_commands_are_seen() -> None:
    for words in (["tcp"], ["tcp", "node7", "latency", "--unheard-of"], ["nonsense"]):
        with pytest.raises(Exception, match=r".+"):
            parse(words)


@pytest.mark.parametrize("words", all_commands(), ids=" ".join)
def test_every_command_helps(words: list[str]) -> None:
    result = CliRunner().invoke(app, [*words, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output


@pytest.mark.parametrize("words", [w for w in all_commands() if w], ids=" ".join)
def test_every_command_is_in_the_reference(words: list[str]) -> None:
    reference = (DOCS / "reference" / "cli.md").read_text()
    assert f"`netsonde {' '.join(words)}`" in reference


def test_the_reference_is_up_to_date() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def method_names() -> set[str]:
    """The ``page#anchor`` of every figure. Anchors alone stand behind a page that is a parameter:
    latency or collectives."""
    found = set()
    source = ROOT / "src" / "netsonde"
    for path in (*(source / "figures").glob("*.py"), *source.glob("catalogue/figures/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            match = re.fullmatch(r"([a-z-]*)#([a-z-]+)", node.value)
            if match:
                pages = [match[1]] if match[1] else ["latency", "collectives"]
                found |= {f"{page}#{match[2]}" for page in pages}
    return found


def test_every_figure_has_its_method() -> None:
    names = method_names()
    assert len(names) > 5
    missing = set()
    for method in names:
        page, anchor = method.split("#")
        path = DOCS / "methods" / f"{page}.md"
        if not path.exists() or anchor not in anchors(path.read_text()):
            missing.add(method)
    assert missing == set()


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"(?m)^ +- [^:]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text()))
    assert listed == {str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md")}


SOMETHING_MEASURED = "[[measure]]\ntransports = 'tcp'\ntest = 'stream'\nsizes = '64k'\n"


@pytest.mark.parametrize("name", ["study.md", "acceptance-test.md"])
def test_the_studies_that_are_shown_are_studies(name: str) -> None:
    """Whole ones, or tables to go into one."""
    shown = re.findall(r"(?ms)^```toml\n(.*?)^```$", (DOCS / "how-to" / name).read_text())
    assert shown
    for study in shown:
        parse_study(study if "[[measure]]" in study else study + SOMETHING_MEASURED, name)


def missing_tests(text: str) -> list[str]:
    """Tests and engine files named in a page's code spans that are not there."""
    named = r"`((?:python|truth|scenarios|lab|engine)/[^`:\s]+\.\w+)(?:::([^`]+))?`"
    found = re.findall(named, text)
    missing = []
    for path, test in found:
        places = [place for place in (ROOT / "tests" / path, ROOT / path) if place.is_file()]
        definition = f"def {test.split('[')[0]}(" if path.endswith(".py") else test
        if not places or (test and definition not in places[0].read_text(encoding="utf-8")):
            missing.append(f"{path}::{test}" if test else path)
    return missing


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_tests_that_a_page_names_are_there(page: Path) -> None:
    assert not missing_tests(page.read_text(encoding="utf-8"))


def test_a_missing_test_is_seen() -> None:
    assert missing_tests("`python/test_docs.py::test_a_missing_test_is_seen`") == []
    for gone in ("python/test_docs.py::test_gone", "engine/core.cpp::no such case", "lab/gone.py"):
        assert missing_tests(f"see `{gone}`.") == [gone]
