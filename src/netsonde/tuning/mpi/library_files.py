"""Rules in the form that an MPI library reads itself: MPICH's selection file, the dynamic rules of
Open MPI's components ``tuned`` and ``han``, and Intel MPI's variables.

All have every other call done as before. MPICH's file replaces the choice that is compiled into
the library, and the library has no other way of saying what that is than its own bytes: it holds
the choice as JSON text. So ours is that text with rules put in. Open MPI's rules are lists of sizes
from which an algorithm holds, with 0 for its own choice. Where its component ``han`` stands before
``tuned``, a second file has it leave the sizes of rules to ``tuned``. Intel MPI's variables name an
algorithm's number with the sizes and the numbers of ranks that it holds for.

Sources: MPICH 4 and 5, ``src/mpi/coll/src/csel.c``; Open MPI 4 and 5,
``ompi/mca/coll/tuned/coll_tuned_dynamic_file.c`` (format of version 1: numbers in lines) and
``ompi/mca/coll/han/coll_han_dynamic_file.h``; Intel MPI Library Developer Reference for Linux 2019,
"I_MPI_ADJUST Family Environment Variables".
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from netsonde.errors import HostError, UsageError
from netsonde.launch.mpi_found import Mpi
from netsonde.launch.mpi_libraries import libraries_of
from netsonde.launch.open_mpi_han import Han, han_before_tuned
from netsonde.tuning.mpi.rules import Rule

MPICH_FILE_VARIABLE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
_TEXT = re.compile(rb'\{"collective=[^\0]{100,1000000}\}')
_FUNCTION = re.compile(rb"algorithm=(MPIR_[A-Za-z0-9_]{1,100})")
_OURS = b'"algorithm=MPIR_Alltoall_intra_'
_INTRA = "comm_type=intra"
MPICH_SIZES: Mapping[str, str] = {
    **dict.fromkeys(("alltoall", "allreduce", "bcast", "reduce"), "avg_msg_size"),
    **dict.fromkeys(("allgather", "allgatherv", "gather", "scatter"), "total_msg_size"),
    **dict.fromkeys(("reduce_scatter", "reduce_scatter_block"), "total_msg_size"),
}
"""By what MPICH's tree tells the sizes of an operation: ``total`` is of all ranks' parts. It ends
at a call where it has no such number."""

OPEN_MPI_NUMBERS: Mapping[str, int] = {
    **{"allgather": 0, "allgatherv": 1, "allreduce": 2, "alltoall": 3, "alltoallv": 4},
    **{"alltoallw": 5, "barrier": 6, "bcast": 7, "exscan": 8, "gather": 9, "gatherv": 10},
    **{"reduce": 11, "reduce_scatter": 12, "reduce_scatter_block": 13, "scan": 14},
    **{"scatter": 15, "scatterv": 16},
}
"""What Open MPI's files call an operation."""
OPEN_MPI_PER_RANK = frozenset(
    {"allgather", "alltoall", "gather", "scatter", "reduce_scatter", "reduce_scatter_block"}
)
"""Operations whose size is there that of all ranks' parts together."""
OPEN_MPI_READS = frozenset({*OPEN_MPI_PER_RANK, "allreduce", "bcast", "reduce", "barrier"})
"""Operations whose rules it looks at, with a size that is known before the call."""
_OWN_CHOICE = "0 0 0"


@dataclass(frozen=True)
class Written:
    """A library's file: ``suffix`` of its name and its ``content``; ``beside`` it are others, by
    what their names have behind that of the file. ``settings`` make the library read them, with
    ``{path}`` for the file. ``unsaid`` are rules that such a file cannot hold, each with the
    reason. ``unproven``: a sentence where nobody has seen the library read it."""

    suffix: str
    content: str
    settings: tuple[tuple[str, str], ...]
    unsaid: Mapping[Rule, str]
    beside: Mapping[str, str] = field(default_factory=dict)
    unproven: str = ""

    def settings_for(self, path: Path) -> tuple[tuple[str, str], ...]:
        return tuple((name, value.replace("{path}", str(path))) for name, value in self.settings)

    def contents(self, name: str) -> dict[str, str]:
        """Of all files, where the first is called ``name``."""
        others = {f"{name}{behind}": content for behind, content in self.beside.items()}
        return {name: self.content, **others}

    def write(self, path: Path) -> None:
        """Raises UsageError where a file cannot be written."""
        for name, content in self.contents(path.name).items():
            try:
                path.with_name(name).write_text(content)
            except OSError as error:
                raise UsageError(f"cannot write {error.filename}: {error.strerror}") from error


def write_for(mpi: Mpi, rules: Sequence[Rule], numbers: Mapping[str, Sequence[str]]) -> Written:
    """The rules of the library's own algorithms, for an MPI. ``numbers`` has of each operation the
    names that the library lists, in the order of their numbers from 1.

    Raises HostError where the library's own choice is not found in it.
    """
    own = [rule for rule in rules if rule.library_algorithm is not None]
    if mpi.family == "openmpi":
        return _for_open_mpi(own, numbers, han_before_tuned(mpi))
    if mpi.family == "mpich":
        return _for_mpich(own, built_in_choice(mpi))
    return for_intel(own)


# MPICH.


@dataclass(frozen=True)
class BuiltIn:
    """What lies in the library of an MPICH: the ``tree`` by which it chooses, and the names of all
    ``functions`` that a tree may name."""

    tree: dict[str, Any]
    functions: frozenset[str]

    def function_for(self, rule: Rule) -> str | None:
        """Of communicators of one group, or of any."""
        for kind in ("intra", "allcomm"):
            name = f"MPIR_{rule.operation.capitalize()}_{kind}_{rule.library_algorithm}"
            if name in self.functions:
                return name
        return None


def built_in_choice(mpi: Mpi) -> BuiltIn:
    """Raises HostError where the library does not hold it."""
    for library in libraries_of(mpi):
        if (found := _read(library, library.stat().st_mtime_ns)) is not None:
            return BuiltIn(json.loads(found[0]), found[1])
    raise HostError(
        f"the library of {mpi.title} does not hold the text by which it chooses algorithms, so "
        "that no file can be written that leaves all other calls as they are"
    )


@cache
def _read(library: Path, _changed_ns: int) -> tuple[str, frozenset[str]] | None:
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        functions = frozenset(found[1].decode() for found in _FUNCTION.finditer(text))
        for found in _TEXT.finditer(text):
            if _OURS in found[0]:
                try:
                    json.loads(found[0])
                except ValueError:
                    continue
                return found[0].decode(), functions
    return None


def _for_mpich(rules: Sequence[Rule], own: BuiltIn) -> Written:
    unsaid: dict[Rule, str] = {}
    tree = own.tree
    for name in dict.fromkeys(rule.operation for rule in rules):
        of_it = [rule for rule in rules if rule.operation == name]
        key = f"collective={name}"
        if name not in MPICH_SIZES or key not in tree or _INTRA not in tree[key]:
            unsaid |= dict.fromkeys(of_it, f"this MPICH does not choose algorithms of {name}")
            continue
        for rule in of_it:
            if own.function_for(rule) is None:
                unsaid[rule] = f"this MPICH's file has no {rule.library_algorithm} for {name}"
            elif rule.ranks_per_host is not None and _has_other_places(rule, of_it):
                unsaid[rule] = "MPICH's file does not tell ranks of one host from others"
        said = {rule: str(own.function_for(rule)) for rule in of_it if rule not in unsaid}
        tree[key][_INTRA] = _with_rules(tree[key][_INTRA], said)
    return Written(".json", json.dumps(tree), ((MPICH_FILE_VARIABLE, "{path}"),), unsaid)


def _has_other_places(rule: Rule, rules: Sequence[Rule]) -> bool:
    return any(
        other.ranks == rule.ranks and other.ranks_per_host != rule.ranks_per_host for other in rules
    )


Functions = Mapping[Rule, str]


_OF_COMMUNICATOR = ("comm_size", "comm_hierarchy", "is_node_consecutive", "comm_avg_ppn")
_GUARDS = (
    ("is_sendbuf_inplace=no", "is_sendbuf_inplace=yes"),
    ("is_commutative=yes", "is_commutative=no"),
    ("is_op_built_in=yes", "is_op_built_in=no"),
    ("count=any", "count<pow2"),
)
"""What rules were measured under, and the branch beside it, which must come first where its name is
one that holds for all. MPICH knows each only for operations whose own choice asks for it."""


def _with_rules(own: dict[str, Any], rules: Functions) -> dict[str, Any]:
    """A branch of the tree with rules before the library's own choice. Questions about the
    communicator stay above all others: MPICH answers them once, when it makes the communicator, and
    below others it does not."""
    found: dict[str, Any] = {}
    for ranks in sorted({rule.ranks for rule in rules}):
        of_it = {rule: function for rule, function in rules.items() if rule.ranks == ranks}
        found[f"comm_size<{ranks}"] = own
        found[f"comm_size<={ranks}"] = _below_places(own, of_it)
    return {**found, "comm_size=any": own}


def _below_places(own: dict[str, Any], rules: Functions) -> dict[str, Any]:
    if all(key.startswith(_OF_COMMUNICATOR) for key in own):
        return {key: _below_places(branch, rules) for key, branch in own.items()}
    return _guarded(own, _by_size(own, rules))


def _guarded(own: dict[str, Any], ruled: dict[str, Any]) -> dict[str, Any]:
    """Rules where they were measured: not in place, with operations of MPI that commute, for at
    least as many elements as ranks."""
    text = json.dumps(own)
    for inside, outside in reversed(_GUARDS):
        if outside in text:
            ruled = {outside: own, inside: ruled}
    return ruled


def _by_size(own: dict[str, Any], rules: Functions) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for rule in sorted(rules, key=lambda rule: rule.from_bytes):
        size = MPICH_SIZES[rule.operation]
        times = rule.ranks if size.startswith("total") else 1
        if rule.from_bytes > 0:
            found.setdefault(f"{size}<{rule.from_bytes * times}", own)
        end = f"{size}=any" if rule.to_bytes is None else f"{size}<={rule.to_bytes * times}"
        found[end] = {f"algorithm={rules[rule]}": {}}
        if rule.to_bytes is None:
            return found
    return {**found, f"{MPICH_SIZES[next(iter(rules)).operation]}=any": own}


# Open MPI.


def _for_open_mpi(
    rules: Sequence[Rule], numbers: Mapping[str, Sequence[str]], han: Han | None
) -> Written:
    unsaid: dict[Rule, str] = {}
    for rule in rules:
        if rule.operation not in OPEN_MPI_READS:
            unsaid[rule] = f"Open MPI looks at no rules for {rule.operation}"
        elif rule.library_algorithm not in numbers.get(rule.operation, ()):
            unsaid[rule] = f"this Open MPI does not list {rule.library_algorithm}"
        elif rule.ranks_per_host is not None and _has_other_places(
            rule, [r for r in rules if r.operation == rule.operation]
        ):
            unsaid[rule] = "Open MPI's file does not tell ranks of one host from others"
    said = [rule for rule in rules if rule not in unsaid]
    named = sorted({rule.operation for rule in said}, key=OPEN_MPI_NUMBERS.__getitem__)
    lines = [f"{len(named)} # operations"]
    for name in named:
        lines += [f"{OPEN_MPI_NUMBERS[name]} # {name}"]
        lines += _communicators([r for r in said if r.operation == name], numbers[name])
    settings: tuple[tuple[str, str], ...] = (
        ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
        ("OMPI_MCA_coll_tuned_dynamic_rules_filename", "{path}"),
    )
    beside = {}
    behind_han = [] if han is None else [r for r in said if r.operation in han.operations]
    if han is not None and behind_han:
        beside[HAN_SUFFIX] = "\n".join(_for_han(behind_han)) + "\n"
        settings = (*settings, *_HAN_SETTINGS)
    return Written(".conf", "\n".join(lines) + "\n", settings, unsaid, beside)


def _communicators(rules: Sequence[Rule], names: Sequence[str]) -> list[str]:
    """An entry holds from its number of ranks to that of the next; so one more ends it."""
    ranks = sorted({rule.ranks for rule in rules})
    ends = [number + 1 for number in ranks if number + 1 not in ranks]
    lines = [f"{len(ranks) + len(ends)} # numbers of ranks"]
    for number in sorted((*ranks, *ends)):
        lines.append(f"{number} # ranks")
        lines += _sizes([rule for rule in rules if rule.ranks == number], names)
    return lines


def _sizes(rules: Sequence[Rule], names: Sequence[str]) -> list[str]:
    """Sizes from which an algorithm holds: its number, a fan-out and a segment of no say."""
    from_bytes: dict[int, str] = {0: _OWN_CHOICE}
    for rule in sorted(rules, key=lambda rule: rule.from_bytes):
        times = rule.ranks if rule.operation in OPEN_MPI_PER_RANK else 1
        number = 1 + list(names).index(str(rule.library_algorithm))
        from_bytes[rule.from_bytes * times] = f"{number} 0 0"
        if rule.to_bytes is not None:
            from_bytes[rule.to_bytes * times + 1] = _OWN_CHOICE
    lines = [f"{len(from_bytes)} # sizes"]
    for size, entry in sorted(from_bytes.items()):
        lines.append(f"{size} {entry}")
    return lines


# Open MPI's component han, where it stands before tuned.

HAN_SUFFIX = ".han"
_HAN_SETTINGS = (
    ("OMPI_MCA_coll_han_use_dynamic_file_rules", "1"),
    ("OMPI_MCA_coll_han_dynamic_rules_filename", "{path}" + HAN_SUFFIX),
)
_HAN, _TUNED = "han", "tuned"
_WHOLE_COMMUNICATOR = 2
"""What its file calls the level of a program's communicator, beside those of a host and between
hosts."""


def _for_han(rules: Sequence[Rule]) -> list[str]:
    """Sizes of rules are left to tuned, all else is its own as before. Numbers of ranks and sizes
    are those from which an entry holds; the first ones have to be 1 and 0."""
    named = sorted({rule.operation for rule in rules}, key=OPEN_MPI_NUMBERS.__getitem__)
    lines = [f"{len(named)} # operations"]
    for name in named:
        of_it = [rule for rule in rules if rule.operation == name]
        ranks = {rule.ranks for rule in of_it}
        steps = sorted({1, *ranks, *(number + 1 for number in ranks)})
        lines += [
            f"{OPEN_MPI_NUMBERS[name]} # {name}",
            "1 # level",
            f"{_WHOLE_COMMUNICATOR} # the program's communicator",
            f"{len(steps)} # numbers of ranks",
        ]
        for number in steps:
            sizes = {0: _HAN}
            for rule in sorted(of_it, key=lambda rule: rule.from_bytes):
                if rule.ranks == number:
                    sizes[rule.from_bytes] = _TUNED
                    if rule.to_bytes is not None:
                        sizes[rule.to_bytes + 1] = _HAN
            lines += [f"{number} # ranks", f"{len(sizes)} # sizes"]
            lines += [f"{size} {component}" for size, component in sorted(sizes.items())]
    return lines


# Intel MPI.

INTEL_ALGORITHMS: Mapping[str, Mapping[str, int]] = {
    "allgather": {"recursive_doubling": 1, "brucks": 2, "ring": 3},
    "allgatherv": {"recursive_doubling": 1, "brucks": 2, "ring": 3},
    "allreduce": {"recursive_doubling": 1, "rabenseifner": 2, "reduce_bcast": 3, "ring": 8},
    "alltoall": {"brucks": 1, "isend_irecv": 2, "pairwise": 3},
    "barrier": {"dissemination": 1, "recursive_doubling": 2},
    "reduce_scatter": {"recursive_halving": 1, "pairwise": 2, "recursive_doubling": 3},
}
"""Numbers of the algorithms that Intel's references of versions 5.1 and 2019 list alike, by names
as MPICH has them. Any number can be given as such: ``library:12``."""
INTEL_SIZED = frozenset(INTEL_ALGORITHMS) - {"allgatherv", "reduce_scatter", "barrier"} | {
    "bcast",
    "reduce",
}
"""Operations whose size is one message's in Intel's conditions as it is here. Of others the
reference counts all parts together, or does not say."""
INTEL_UNPROVEN = (
    "nobody has seen Intel MPI obey these variables: netsonde has their form and the algorithms' "
    "numbers from Intel's reference alone"
)
_MOST_INTEL_BYTES = 2**31 - 1


def for_intel(rules: Sequence[Rule]) -> Written:
    """Variables of the environment; the file has them for a shell."""
    unsaid: dict[Rule, str] = {}
    entries: dict[str, list[str]] = {}
    for rule in sorted(rules):
        number = _intel_number(rule)
        if number is None:
            unsaid[rule] = (
                f"netsonde knows no number of Intel MPI's for {rule.operation} by "
                f"{rule.library_algorithm}; name the number, as library:2"
            )
        elif rule.operation not in INTEL_SIZED:
            unsaid[rule] = f"by which size Intel MPI chooses for {rule.operation} is not certain"
        elif rule.ranks_per_host is not None and _has_other_places(
            rule, [r for r in rules if r.operation == rule.operation]
        ):
            unsaid[rule] = "Intel MPI's variables do not tell ranks of one host from others"
        else:
            last = _MOST_INTEL_BYTES if rule.to_bytes is None else rule.to_bytes
            condition = f"{rule.from_bytes}-{last}@{rule.ranks}-{rule.ranks}"
            entries.setdefault(rule.operation, []).append(f"{number}:{condition}")
    settings = tuple(
        (f"I_MPI_ADJUST_{name.upper()}", ";".join(found)) for name, found in entries.items()
    )
    lines = [f"# {INTEL_UNPROVEN}", *(f"export {name}='{value}'" for name, value in settings)]
    return Written(".sh", "\n".join(lines) + "\n", settings, unsaid, unproven=INTEL_UNPROVEN)


def _intel_number(rule: Rule) -> int | None:
    name = str(rule.library_algorithm)
    if name.isascii() and name.isdigit() and len(name) <= 3:
        return int(name) or None
    return INTEL_ALGORITHMS.get(rule.operation, {}).get(name)
