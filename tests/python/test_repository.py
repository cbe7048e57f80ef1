"""What the repository holds, and what it does not."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import netsonde

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE_LINES = 700
LARGEST_FILE_BYTES = 400_000
LONGEST_SUBJECT = 72
SUBJECTS_SINCE = "2026-11-24T04:00"
"""Of authors in UTC; earlier ones are as they are."""
SOURCES = {".py", ".cpp", ".hpp", ".c", ".h"}  # not what is stored to be compared with
PICTURES = {".png"}  # in docs only

# Sites that texts and schemas may point at. Where packages come from is the user's setting.
SITES = {
    "json-schema.org",
    "www.apache.org",
    "www.csm.ornl.gov",
    "www.w3.org",
    "doi.org",
    "simgrid.org",  # where its platforms name their grammar
    "www.rfc-editor.org",
}
PACKAGE_SOURCE_OPTIONS = re.compile(r"--(extra-)?index-url|--find-links|--trusted-host")
# Folders of one machine or one person.
MACHINE_PATHS = re.compile(r"(?<![\w./-])/(work|home/\w+|root|opt/wheels|tmp/\w+)\b")


def tracked_files() -> list[Path]:
    """What git tracks; in a source package without git, everything that is not made."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git repository")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True, timeout=30
    ).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return [path for path in paths if path.exists()]


def texts() -> list[tuple[Path, str]]:
    """The tracked files that people write."""
    mine = Path(__file__)
    return [
        (path.relative_to(ROOT), path.read_text())
        for path in tracked_files()
        if path.suffix not in PICTURES and path != mine
    ]


def test_no_binaries() -> None:
    for path in tracked_files():
        if path.suffix in PICTURES and path.is_relative_to(ROOT / "docs"):
            continue
        assert b"\0" not in path.read_bytes(), path


def test_no_links_and_no_large_files() -> None:
    for path in tracked_files():
        assert not path.is_symlink(), path
        if path.suffix != ".lock":
            assert path.stat().st_size < LARGEST_FILE_BYTES, path


def test_no_file_of_source_is_too_long() -> None:
    long = {
        str(path): count
        for path, text in texts()
        if path.parts[0] in ("src", "engine", "tests", "scripts", "bench")
        and path.suffix in SOURCES
        and (count := text.count("\n")) > LONGEST_FILE_LINES
    }
    assert long == {}


def test_no_site_is_named_beyond_the_known_ones() -> None:
    """No package registry, above all: which one is used is the business of the user's settings."""
    for path, text in texts():
        found = set(re.findall(r"https?://([\w.-]*\w)", text))
        own = {host for host in found if host.startswith(("127.", "localhost", "example."))}
        assert found - own <= SITES, path
        assert not PACKAGE_SOURCE_OPTIONS.search(text), path


def test_no_path_of_one_machine_is_named() -> None:
    named = {
        str(path): found.group() for path, text in texts() if (found := MACHINE_PATHS.search(text))
    }
    assert named == {}


def test_no_other_projects_code_is_carried() -> None:
    folders = {"vendor", "third_party", "thirdparty", "external", "node_modules"}
    for path, text in texts():
        assert not folders & set(path.parts), path
        if path.name != "LICENSE":
            assert not re.search(r"^\W*Copyright\b", text, re.MULTILINE), path


def test_locks_pin_everything_by_hash() -> None:
    versions = {}
    for name in ("run", "test", "openmpi"):
        text = (ROOT / "requirements" / f"{name}.lock").read_text()
        entries = re.split(r"(?m)^(?=[A-Za-z0-9])", re.sub(r"(?m)^#.*\n", "", text))[1:]
        assert all("--hash=sha256:" in entry and "==" in entry for entry in entries)
        versions[name] = {entry.split(" ")[0] for entry in entries}
    assert versions["run"] < versions["test"]


def test_locks_hold_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    run = [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    groups = project["dependency-groups"]
    apart = groups.pop("openmpi")
    everything = [*run, *(r for group in groups.values() for r in group)]
    for name, wanted in (("run", run), ("test", everything), ("openmpi", apart)):
        lock = (ROOT / "requirements" / f"{name}.lock").read_text().lower()
        for requirement in wanted:
            package = re.split(r"[<>=~ \[]", requirement.lower())[0]
            assert f"\n{package}==" in lock, f"{package} is not in {name}.lock: run scripts/lock"


def test_what_compiles_is_installed_before_the_rest() -> None:
    """The set-up compiles while the other packages are on their way."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    needed = {re.split(r"[<>=]", requirement)[0] for requirement in build}
    text = (ROOT / "scripts" / "setup").read_text()
    found = re.search(r'^compiling="(.*)"$', text, re.MULTILINE)
    assert found is not None
    first = set(found[1].split("|"))
    assert needed <= first
    for name in ("run", "test"):
        lock = (ROOT / "requirements" / f"{name}.lock").read_text()
        assert first <= set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert netsonde.__version__ == project
    assert f"\n## {project}" in (ROOT / "CHANGELOG.md").read_text()


def test_releases_stand_in_order_and_the_newest_is_this_version() -> None:
    headings = re.findall(r"(?m)^## (.*)$", (ROOT / "CHANGELOG.md").read_text())
    assert headings[0] == "Unreleased"
    releases = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+), \d{4}-\d\d-\d\d", h) for h in headings[1:]]
    assert releases
    assert all(releases)
    versions = [tuple(int(part) for part in found.groups()) for found in releases if found]
    assert versions == sorted(set(versions), reverse=True)
    assert ".".join(str(part) for part in versions[0]) == netsonde.__version__


def test_subjects_of_commits_fit_a_line() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git repository")
    command = ["git", "log", "--no-merges", "--format=%aI%x09%s"]
    said = subprocess.run(
        command, cwd=ROOT, capture_output=True, check=True, text=True, timeout=30
    ).stdout
    commits = [line.split("\t", 1) for line in said.splitlines()]
    long = {s for at, s in commits if at >= SUBJECTS_SINCE and len(s) > LONGEST_SUBJECT}
    assert not long


def test_names_of_test_files_differ() -> None:
    """pytest imports them by name alone; two of one name cannot be collected together."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
