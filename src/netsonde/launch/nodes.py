"""Sets of hosts as people write them: ``node[1-8]``, ``@rack1``, ``@all!node7``.

The syntax is ClusterShell's NodeSet: ``,`` joins, ``!`` leaves out, ``&`` keeps what is in both,
``^`` what is in one of both; ``@name`` is a group, where ClusterShell's configuration has it.
"""

from __future__ import annotations

import math
import re

from netsonde.errors import UsageError

HOSTS_LIMIT = 100_000
TEXT_LIMIT_CHARACTERS = 1 << 20
_PIECES = re.compile(r",(?![^\[]*\])")
_OPERATORS = re.compile(r"[!&^](?![^\[]*\])")
_RANGE = re.compile(r"\s*(\d{1,18})(?:-(\d{1,18})(?:/(\d{1,18}))?)?\s*\Z")


def expand(text: str) -> list[str]:
    """The single names of a set, in the order given where it is a mere list, else sorted.

    What is no set (an address, user@name) stays as it is. Raises UsageError for what is none and
    for more than HOSTS_LIMIT names.
    """
    if len(text) > TEXT_LIMIT_CHARACTERS:
        raise UsageError(f"a set of hosts is over the limit of {TEXT_LIMIT_CHARACTERS} characters")
    if _most_names(text) > HOSTS_LIMIT:
        raise UsageError(f"{_shown(text)} names more than the limit of {HOSTS_LIMIT} hosts")
    if _OPERATORS.search(text):
        names = _of_set(text, text)
    else:
        names = []
        for piece in _PIECES.split(text):
            word = piece.strip()
            names += _of_set(word, text) if _is_set(word) else [word]
    if len(names) > HOSTS_LIMIT:
        raise UsageError(f"{_shown(text)} names more than the limit of {HOSTS_LIMIT} hosts")
    if not names:
        raise UsageError(f"{_shown(text)} leaves no host; look at what is taken out")
    return names


def _is_set(word: str) -> bool:
    """``n[1-8]`` and ``@group``; an address in brackets is none."""
    return word.startswith("@") or ("[" in word and not word.startswith("["))


def _of_set(word: str, text: str) -> list[str]:
    from ClusterShell.NodeSet import NodeSet, NodeSetException  # takes long to import
    from ClusterShell.NodeUtils import GroupResolverError, GroupSourceError

    try:
        found = NodeSet(word)
        if word.startswith("@") and not found:
            raise UsageError(f"{_shown(text)}: no host is in the group {word[:80]}")
        return [str(name) for name in found]
    except (NodeSetException, GroupResolverError, GroupSourceError) as error:
        raise UsageError(
            f"{_shown(text)} is no set of hosts ({error}); write it like n[1-8], or @group where "
            "ClusterShell knows groups"
        ) from error


def _most_names(text: str) -> int:
    """No set has more names than this; without making them, for `n[1-999999999]` has too many."""
    total = 0
    for piece in re.split(r"[,!&^](?![^\[]*\])", text):
        total += math.prod(_count(inside) for inside in re.findall(r"\[([^\]]*)\]", piece))
    return total


def _count(inside: str) -> int:
    counted = 0
    for part in inside.split(","):
        found = _RANGE.match(part)
        if found and found[2]:
            step = max(int(found[3] or 1), 1)
            counted += max(int(found[2]) - int(found[1]), 0) // step + 1
        else:
            counted += 1
    return counted


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
