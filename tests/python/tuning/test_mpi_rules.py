"""Files of rules: written, read, refused; in the form of libraries; applied and undone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from netsonde.errors import UsageError
from netsonde.launch.mpi_found import Mpi
from netsonde.launch.open_mpi_han import Han, read_han
from netsonde.tuning.mpi import applied, library_files
from netsonde.tuning.mpi.apply import apply_rules
from netsonde.tuning.mpi.library_files import BuiltIn, write_for
from netsonde.tuning.mpi.rules import Rule, Rules, read_rules

RING = Rule("allgather", 8, None, 1024, 65536, "library:ring")
BRUCK = Rule("alltoall", 8, None, 0, 256, "library:brucks")
OURS = Rule("alltoall", 16, 2, 4096, None, "group-shuffle:4")
OPEN_MPI = Mpi("openmpi", "openmpi", "4.1.4", Path("mpiexec"), None, None)
MPICH = Mpi("mpich", "mpich", "5.0.2", Path("mpiexec"), None, None)


def document(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"format": "netsonde rules", "version": 1, "rules": list(rules), **more}


def test_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    Rules((OURS, RING, BRUCK), {"mpi": "mpich"}).write(path)
    read = read_rules(path)
    assert set(read.rules) == {OURS, RING, BRUCK}
    assert read.made == {"mpi": "mpich"}
    told = json.loads(path.read_text())["rules"]
    assert {"operation": "alltoall", "ranks": 16, "ranks_per_host": 2, "from_bytes": 4096,
            "algorithm": "group-shuffle:4"} in told  # fmt: skip
    assert list(tmp_path.iterdir()) == [path]


GOOD = {"operation": "alltoall", "ranks": 8, "from_bytes": 0, "to_bytes": 9, "algorithm": "bruck"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "no JSON document"),
        ([1], "holds no rules"),
        (document() | {"format": "x"}, "holds no rules"),
        (document() | {"version": 2}, "version 2"),
        (document() | {"rules": 3}, "no list"),
        (document("x"), "rule 1 is no object"),  # type: ignore[arg-type]
        (document({**GOOD, "rank": 1}), "did you mean ranks?"),
        (document({**GOOD, "operation": "send"}), "no blocking collective"),
        (document({**GOOD, "operation": ["x"]}), "no blocking collective"),
        (document({**GOOD, "algorithm": "brick"}), "did you mean bruck?"),
        (document({**GOOD, "algorithm": "library:"}), "names no algorithm"),
        (document({**GOOD, "algorithm": 3}), "names no algorithm"),
        (document({**GOOD, "ranks": 0}), "ranks is '0'"),
        (document({**GOOD, "ranks": True}), "ranks is 'True'"),
        (document({**GOOD, "from_bytes": 10}), "before it begins"),
        (document(GOOD, {**GOOD, "from_bytes": 9, "to_bytes": 20}), "two rules for alltoall"),
        (document({**GOOD, "to_bytes": -1}), "to_bytes"),
    ],
)
def test_what_is_no_rule_is_refused(tmp_path: Path, content: Any, told: str) -> None:
    path = tmp_path / "rules.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(UsageError) as caught:
        read_rules(path)
    assert told in str(caught.value)


def test_rules_of_other_places_may_share_sizes(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(document(GOOD, {**GOOD, "ranks": 9}, {**GOOD, "ranks_per_host": 2})))
    assert len(read_rules(path).rules) == 3


def test_open_mpi_gets_lower_ends_of_total_sizes() -> None:
    """Component tuned counts all ranks' parts of an alltoall; a number of ranks holds up to the
    next one, so that 9 has to be said as well."""
    rule = Rule("alltoall", 8, None, 64, 256, "library:pairwise")
    found = write_for(OPEN_MPI, [rule], {"alltoall": ["linear", "pairwise", "modified_bruck"]})
    told = [line.partition(" #")[0] for line in found.content.splitlines()]
    assert told == [
        *("1", "3", "2", "8", "3", "0 0 0 0", f"{64 * 8} 2 0 0", f"{256 * 8 + 1} 0 0 0"),
        *("9", "1", "0 0 0 0"),
    ]
    assert dict(found.settings_for(Path("/r"))) == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": "/r",
    }


def test_open_mpi_says_what_it_cannot_be_told() -> None:
    scan = Rule("scan", 8, None, 64, 256, "library:linear")
    gone = Rule("bcast", 8, None, 64, 256, "library:no-such")
    found = write_for(OPEN_MPI, [scan, gone], {"scan": ["linear"], "bcast": ["binomial"]})
    assert "looks at no rules for scan" in found.unsaid[scan]
    assert "does not list" in found.unsaid[gone]
    assert found.content.startswith("0 ")


OWN = {
    "collective=alltoall": {
        "comm_type=intra": {
            "is_sendbuf_inplace=yes": {"algorithm=MPIR_Alltoall_intra_x": {}},
            "is_sendbuf_inplace=no": {"algorithm=MPIR_Alltoall_intra_pairwise": {}},
        },
        "comm_type=inter": {"algorithm=MPIR_Alltoall_inter_y": {}},
    },
    "collective=allreduce": {
        "comm_type=intra": {
            "is_commutative=no": {"algorithm=MPIR_Allreduce_intra_ring": {}},
            "is_commutative=yes": {
                "is_op_built_in=no": {"algorithm=MPIR_Allreduce_intra_ring": {}},
                "is_op_built_in=yes": {
                    "count<pow2": {"algorithm=MPIR_Allreduce_intra_ring": {}},
                    "count=any": {"algorithm=MPIR_Allreduce_intra_tree": {}},
                },
            },
        }
    },
    "collective=reduce_scatter": {
        "comm_type=intra": {"algorithm=MPIR_Reduce_scatter_intra_pairwise": {}}
    },
}


FUNCTIONS = frozenset(
    {
        *(
            "MPIR_Alltoall_intra_brucks",
            "MPIR_Alltoall_intra_scattered",
            "MPIR_Alltoall_allcomm_nb",
        ),
        *("MPIR_Allreduce_intra_recursive_doubling", "MPIR_Reduce_scatter_intra_recursive_halving"),
    }
)


def chosen(tree: Any, ranks: int, size: int, facts: set[str] = frozenset()) -> str:  # type: ignore[assignment]
    """As MPICH goes through its tree: the first branch that holds, and never back."""
    values = {"comm_size": ranks, "avg_msg_size": size}
    while True:
        taken = next(key for key in tree if _holds(key, values, facts))
        if taken.startswith("algorithm="):
            return str(taken.rpartition("intra_")[2])
        tree = tree[taken]


def _holds(key: str, values: dict[str, int], facts: set[str]) -> bool:
    bound = re.fullmatch(r"(\w+)<(=?)(\d+)", key)
    if bound is None:
        return key.startswith("algorithm=") or key.endswith("=any") or key in facts
    return values[bound[1]] < int(bound[3]) + len(bound[2])


@pytest.mark.parametrize(
    ("ranks", "size", "expected"),
    [
        *[(8, 0, "brucks"), (8, 256, "brucks"), (8, 257, "pairwise"), (7, 10, "pairwise")],
        *[
            (9, 10, "pairwise"),
            (8, 5000, "scattered"),
            (12, 10, "scattered"),
            (8, 99999, "pairwise"),
        ],
    ],
)
def test_mpich_gets_its_own_choice_with_rules_in_it(
    monkeypatch: pytest.MonkeyPatch, ranks: int, size: int, expected: str
) -> None:
    monkeypatch.setattr(
        library_files, "built_in_choice", lambda _: BuiltIn(json.loads(json.dumps(OWN)), FUNCTIONS)
    )
    rules = [
        BRUCK,
        Rule("alltoall", 8, None, 4096, 8192, "library:scattered"),
        Rule("alltoall", 12, None, 0, None, "library:scattered"),
    ]
    found = write_for(MPICH, rules, {})
    tree = json.loads(found.content)
    intra = tree["collective=alltoall"]["comm_type=intra"]
    assert chosen(intra, ranks, size, {"is_sendbuf_inplace=no"}) == expected
    assert chosen(intra, ranks, size, {"is_sendbuf_inplace=yes"}) == "x"
    assert tree["collective=allreduce"] == OWN["collective=allreduce"]
    assert "comm_type=inter" in tree["collective=alltoall"]


def test_mpich_is_told_only_of_functions_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends at its start for a name that it does not know."""
    monkeypatch.setattr(
        library_files, "built_in_choice", lambda _: BuiltIn(json.loads(json.dumps(OWN)), FUNCTIONS)
    )
    lacking = Rule("alltoall", 8, None, 0, 64, "library:no_such")
    other = Rule("scan", 8, None, 0, 64, "library:smp")
    any_group = Rule("alltoall", 8, None, 128, 256, "library:nb")
    found = write_for(MPICH, [lacking, other, any_group], {})
    assert set(found.unsaid) == {lacking, other}
    assert "MPIR_Alltoall_allcomm_nb" in found.content
    assert "no_such" not in found.content


def test_mpich_reduces_as_before_where_it_was_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        library_files, "built_in_choice", lambda _: BuiltIn(json.loads(json.dumps(OWN)), FUNCTIONS)
    )
    rule = Rule("allreduce", 8, None, 64, 256, "library:recursive_doubling")
    scattered = Rule("reduce_scatter", 8, None, 64, 256, "library:recursive_halving")
    tree = json.loads(write_for(MPICH, [rule, scattered], {}).content)
    asked = json.dumps(tree["collective=reduce_scatter"])  # whose own choice asks for none of these
    assert "recursive_halving" in asked
    assert not any(word in asked for word in ("commutative", "built_in", "count"))
    intra = tree["collective=allreduce"]["comm_type=intra"]
    usual = {"is_commutative=yes", "is_op_built_in=yes"}
    assert chosen(intra, 8, 64, usual) == "recursive_doubling"
    assert chosen(intra, 8, 64, {"is_commutative=no"}) == "ring"
    assert chosen(intra, 8, 64, {"is_commutative=yes", "is_op_built_in=no"}) == "ring"
    assert chosen(intra, 8, 64, {*usual, "count<pow2"}) == "ring"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


@pytest.mark.parametrize("before", [None, "", "btl = tcp\n", "btl = tcp"])
def test_undo_leaves_every_byte_as_it_was(home: Path, before: str | None) -> None:
    file = home / ".openmpi" / "mca-params.conf"
    if before is not None:
        file.parent.mkdir()
        file.write_text(before)
    done = applied.apply(
        {"r.conf": "x\n"}, [("A_VARIABLE", "it's {folder}/r.conf")], [("coll", "{folder}/r.conf")]
    )
    assert f"coll = {home}/.config/netsonde/r.conf" in file.read_text()
    assert file.read_text().startswith(before or "")
    assert done.script is not None
    assert "export A_VARIABLE='it'\\''s " in done.script.read_text()
    applied.apply({"s.conf": "y\n"}, [], [("coll", "2")])  # instead of what was applied before
    assert file.read_text().count(applied.BEGIN) == 1
    assert not (home / ".config" / "netsonde" / "r.conf").exists()
    assert applied.undo() is not None
    assert (file.read_text() if file.exists() else None) == (before or None)
    assert list((home / ".config" / "netsonde").iterdir()) == []
    assert applied.undo() is None


def test_undo_takes_only_its_own_files(home: Path) -> None:
    other = home / "precious"
    other.write_text("x")
    applied.apply({"r.conf": "x"}, [], [])
    state = home / ".config" / "netsonde" / applied.STATE
    state.write_text(json.dumps({"files": [str(other)], "blocks": []}))
    applied.undo()
    assert other.read_text() == "x"


def test_what_cannot_be_written_leaves_nothing(home: Path) -> None:
    (home / ".openmpi").write_text("no folder")
    with pytest.raises(UsageError, match="cannot write"):
        applied.apply({"r.conf": "x"}, [], [("coll", "1")])
    assert list((home / ".config" / "netsonde").iterdir()) == []


def test_our_schedules_are_left_to_our_library(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    Rules((OURS,), {}).write(path)
    found, lines = apply_rules(read_rules(path), path, "mpich")
    script = Path(str(found["script"]))
    assert f"NETSONDE_RULES='{home}/.config/netsonde/rules.json'" in script.read_text()
    assert any("undo" in line for line in lines)


HAN = Han(frozenset({"allgather", "bcast"}))


def test_han_leaves_the_sizes_of_rules_to_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are of one rank's part there, also of an allgather; its first entries are 1 and 0."""
    monkeypatch.setattr(library_files, "han_before_tuned", lambda _: HAN)
    rules = [
        Rule("allgather", 8, 4, 64, 256, "library:ring"),
        Rule("bcast", 8, 4, 1024, None, "library:binomial"),
        Rule("alltoall", 8, 4, 64, 256, "library:pairwise"),  # which han does not do
    ]
    numbers = {"allgather": ["ring"], "bcast": ["binomial"], "alltoall": ["pairwise"]}
    found = write_for(OPEN_MPI, rules, numbers)
    assert set(found.contents("rules.conf")) == {"rules.conf", "rules.conf.han"}
    told = [line.partition(" #")[0] for line in found.beside[".han"].splitlines()]
    assert told == [
        *("2", "0", "1", "2", "3", "1", "1", "0 han"),
        *("8", "3", "0 han", "64 tuned", "257 han", "9", "1", "0 han"),
        *("7", "1", "2", "3", "1", "1", "0 han"),
        *("8", "2", "0 han", "1024 tuned", "9", "1", "0 han"),
    ]
    settings = dict(found.settings_for(Path("/r.conf")))
    assert settings["OMPI_MCA_coll_han_dynamic_rules_filename"] == "/r.conf.han"
    assert settings["OMPI_MCA_coll_han_use_dynamic_file_rules"] == "1"


def test_no_file_for_han_where_it_stands_behind_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_files, "han_before_tuned", lambda _: None)
    found = write_for(
        OPEN_MPI, [Rule("bcast", 8, 4, 1024, None, "library:binomial")], {"bcast": ["binomial"]}
    )
    assert found.beside == {}
    assert not any("han" in name for name, _ in found.settings)


SAYS = (
    "mca:coll:tuned:param:coll_tuned_priority:value:30\n"
    "mca:coll:han:param:coll_han_priority:value:{}\n"
    "mca:coll:han:param:coll_han_bcast_dynamic_global_communicator_module:value:6\n"
    "mca:coll:han:param:coll_han_bcast_dynamic_intra_node_module:value:3\n"
)


def test_whether_han_stands_before_tuned() -> None:
    assert read_han(SAYS.format(35)) == Han(frozenset({"bcast"}))
    assert read_han(SAYS.format(0)) is None
    assert read_han("") is None


INTEL = Mpi("impi", "intel", "2021.18", Path("mpiexec"), None, None)


def test_intel_gets_variables_that_are_said_to_be_unproven() -> None:
    rules = [
        Rule("alltoall", 8, None, 64, 256, "library:pairwise"),
        Rule("alltoall", 16, None, 1024, None, "library:4"),
        Rule("bcast", 8, None, 0, 512, "library:1"),
        Rule("bcast", 8, None, 513, 600, "library:no-such"),
        Rule("reduce_scatter", 8, None, 64, 256, "library:pairwise"),
        Rule("alltoall", 8, None, 300, 400, "bruck"),  # none of the library's
    ]
    found = write_for(INTEL, rules, {})
    assert dict(found.settings) == {
        "I_MPI_ADJUST_ALLTOALL": "3:64-256@8-8;4:1024-2147483647@16-16",
        "I_MPI_ADJUST_BCAST": "1:0-512@8-8",
    }
    assert {rule.algorithm: why for rule, why in found.unsaid.items()} == {
        "library:no-such": "netsonde knows no number of Intel MPI's for bcast by no-such; name the "
        "number, as library:2",
        "library:pairwise": "by which size Intel MPI chooses for reduce_scatter is not certain",
    }
    assert "nobody has seen Intel MPI obey" in found.unproven
    assert "export I_MPI_ADJUST_BCAST='1:0-512@8-8'" in found.content
