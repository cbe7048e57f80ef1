"""Writes docs/reference/cli.md from the command line itself.

    scripts/reference.py            write it
    scripts/reference.py --check    exit with 1 where it is not up to date

The text of each command is its docstring and its options' help in netsonde.cli.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "cli.md"
HEADER = """<!-- Made by scripts/reference.py from the commands themselves; do not edit. -->

"""


def reference() -> str:
    """The page: every command with its arguments, options and example."""
    command = [sys.executable, "-m", "typer", "netsonde.cli.main", "utils", "docs"]
    made = subprocess.run(
        [*command, "--name", "netsonde", "--title", "Commands"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if made.returncode != 0:
        sys.exit(f"the commands could not be read:\n{made.stderr}")
    return HEADER + made.stdout.strip() + "\n"


def main() -> int:
    page = reference()
    if sys.argv[1:] == ["--check"]:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        print(f"{PAGE.relative_to(ROOT)} is not up to date: run scripts/reference.py")
        return 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
