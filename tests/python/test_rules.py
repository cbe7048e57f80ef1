"""What does not go together is worded once, with the names of whoever reads it."""

from __future__ import annotations

import string
from typing import Any

import pytest

from netsonde.catalogue.option import Count, Option, Switch
from netsonde.catalogue.options.block_rules import BLOCK_RULES, LAST_RULES
from netsonde.catalogue.options.commands import BLOCK
from netsonde.catalogue.options.mpi import MPI
from netsonde.catalogue.options.socket_rules import SOCKET_RULES
from netsonde.catalogue.options.sockets import STUDY_OPTIONS
from netsonde.catalogue.options.study_rules import JOB_RULES, MTU_RULES
from netsonde.catalogue.rule import RefusalError, Rule, check, first_given
from netsonde.peers.mpi_techniques import MPI_TOOL_RULES
from netsonde.peers.techniques import TOOL_RULES
from netsonde.study.measure_table import MeasureTable
from netsonde.study.mpi_table import RULES as MPI_TABLE_RULES
from netsonde.study.options_table import OptionsTable
from netsonde.study.values import of
from netsonde.tables import Strict

ALL = [
    *BLOCK_RULES,
    *LAST_RULES,
    *SOCKET_RULES,
    *JOB_RULES,
    *MTU_RULES,
    *TOOL_RULES,
    *MPI_TOOL_RULES,
    *MPI_TABLE_RULES,
]
OTHER_NAMES = {"test", "transports", "vary", "design", "baseline"}


class Shouting:
    """Another reader: names in capitals, values behind a colon."""

    def name(self, key: str) -> str:
        return key.upper()

    def valued(self, key: str, value: Any) -> str:
        return f"{key.upper()}:{value}"


@pytest.mark.parametrize(
    ("says", "study", "other"),
    [
        ("{wait} x", "wait x", "WAIT x"),
        ("{wait:=} x", "wait = 'spin' x", "WAIT:spin x"),
        ("{wait:=block} x", "wait = 'block' x", "WAIT:block x"),
        ("{wait:value} x", "spin x", "spin x"),
        ("{given:key} x", "wait x", "WAIT x"),
        ("{given:key=} x", "wait = 'spin' x", "WAIT:spin x"),
        ("{several:key} x", "wait, cork x", "WAIT, CORK x"),
        ("{test:=stream} x", "test stream x", "TEST:stream x"),
        ("{transports:=mpi} x", "transports = ['mpi'] x", "TRANSPORTS:mpi x"),
    ],
)
def test_a_sentence_has_the_names_of_its_reader(says: str, study: str, other: str) -> None:
    facts = {"wait": "spin", "given": "wait", "several": ("wait", "cork")}
    refused = RefusalError(says, facts)
    assert str(refused) == study
    assert refused.by(Shouting()) == other


def test_a_rule_holds_for_each_and_tells_what_it_found() -> None:
    rule = Rule(
        lambda b: b["size"] > b["most"] and {"more": b["size"] - b["most"]},
        "size {size:value} is {more:value} too large",
        "sizes",
    )
    check([rule], {"sizes": [1, 2], "most": 2})
    with pytest.raises(RefusalError, match="size 5 is 3 too large"):
        check([rule], {"sizes": [1, 5, 9], "most": 2})


@pytest.mark.parametrize(
    ("default", "value", "is_given"),
    [
        (None, None, False),
        (None, 0, True),
        (None, False, False),
        (True, False, True),
        (True, True, False),
        (1, 1, False),
        (1, 2, True),
        (None, [], False),
    ],
)
def test_what_was_given(default: Any, value: Any, is_given: bool) -> None:
    row = Option("key", Switch(), "", default=default)
    assert first_given({"key": value}, [row]) == ({"given": "key"} if is_given else None)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.says[:40])
def test_names_in_sentences_are_those_of_rows(rule: Rule) -> None:
    """What a reader is told by name has a row, or is a key of a study without one."""
    known = BLOCK.keys() | STUDY_OPTIONS.keys() | MPI.keys() | OTHER_NAMES | {"family"}
    for _, name, how, _ in string.Formatter().parse(rule.says):
        if name is not None and (not how or how.startswith("=")):
            assert name in known, rule.says


def test_a_study_s_tables_have_the_fields_of_the_rows() -> None:
    for table, rows in ((MeasureTable, BLOCK), (OptionsTable, STUDY_OPTIONS)):
        for key, row in rows.items():
            assert table.model_fields[key].description == row.words


class Table(Strict):
    many: int = of(Option("many", Count(1, 8), "How many.", default=2))
    more: int | None = of(Option("more", Count(1, 8), "Of them."))


def test_a_row_makes_a_field() -> None:
    assert Table() == Table(many=2, more=None)
    assert Table.model_json_schema()["properties"]["many"]["maximum"] == 8
    for wrong in ({"many": 9}, {"more": 0}, {"many": None}):
        with pytest.raises(ValueError, match="validation error"):
            Table.model_validate(wrong)
