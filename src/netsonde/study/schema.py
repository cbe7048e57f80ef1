"""The JSON Schema of a study file and its reference page, both from the models that read it."""

from __future__ import annotations

import json
from typing import Any

from netsonde.catalogue.options.sockets import STUDY_OPTIONS
from netsonde.study.spec import StudySpec
from netsonde.study.vary import NO_FACTORS
from netsonde.units import format_size

DIALECT = "http://json-schema.org/draft-07/schema#"
"""What editors of TOML read."""
OF_PYDANTIC = {"ge", "le", "gt", "lt", "min_length", "max_length", "title"}
"""Keys that say nothing to a reader of JSON Schema, or the name of the key once more."""
TIMES = {"cap", "time", "timeout"}
SIZES = {"buffer", "stream_size"}
HEADINGS = {
    "StudySpec": "top",
    "BudgetTable": "[budget]",
    "PathTable": "[path]",
    "LabTable": "[lab]",
    "MpiTable": "[mpi]",
    "MeasureTable": "[[measure]]",
    "OptionsTable": "[measure.options]",
    "WindowsTable": "[measure.windows]",
    "TournamentTable": "[tournament]",
    "ProgramTable": "[[program]]",
    "FigurePattern": "[program.figures.NAME]",
    "SwitchPlace": "[[switch]]",
    "UplinkPlace": "[[uplink]]",
    "RequirementTable": "[[require]]",
}
"""By model: how its table is written."""
HEADER = """<!-- Made by scripts/reference.py from the models that read a study; do not edit. -->

# The study file

[How to run a study](../how-to/study.md) shows what to do with it. Sizes may be written as `64k` or
`1MB`, rates as `1G`, times as `500ms`; plain numbers are bytes, bit/s and nanoseconds. Unknown keys
are refused.
"""


def study_schema() -> dict[str, Any]:
    """The schema: what can be written in a file, a line for each key."""
    schema = _without_null(StudySpec.model_json_schema(mode="validation"))
    tables = {"StudySpec": schema, **schema["$defs"]}
    for name, table in tables.items():
        table["description"] = f"{HEADINGS[name]} of a study of netsonde."
    _with_factors(schema["$defs"]["MeasureTable"])
    return {
        "$schema": DIALECT,
        "$id": "netsonde/study-1",
        "title": "A study of netsonde",
        **_as_draft_7(schema),
    }


def as_text() -> str:
    return json.dumps(study_schema(), indent=1, sort_keys=True) + "\n"


def _with_factors(table: dict[str, Any]) -> None:
    """What is varied need not be in the block as well."""
    del table["required"]
    table["anyOf"] = [{"required": ["transports", "test", "sizes"]}, {"required": ["vary"]}]
    names = sorted((set(table["properties"]) - NO_FACTORS) | set(STUDY_OPTIONS))
    table["properties"]["vary"]["propertyNames"] = {"enum": names}


def _without_null(node: Any) -> Any:
    """TOML has no null: a key that is not given is not there. Nor does it have a default of it."""
    if isinstance(node, list):
        return [_without_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _without_null(value)
        for key, value in node.items()
        if not (key in OF_PYDANTIC and not isinstance(value, dict))
        and not (key == "default" and value is None)
    }
    several = [one for one in kept.get("anyOf", ()) if one != {"type": "null"}]
    if len(several) == 1:
        return {**{k: v for k, v in kept.items() if k != "anyOf"}, **several[0]}
    return {**kept, "anyOf": several} if several else kept


def _as_draft_7(node: Any) -> Any:
    """What the newer dialect of the models calls otherwise."""
    if isinstance(node, list):
        return [_as_draft_7(item) for item in node]
    if not isinstance(node, dict):
        return node
    found = {key: _as_draft_7(value) for key, value in node.items()}
    if isinstance(found.get("prefixItems"), list):
        found["items"] = found.pop("prefixItems")
    return found


def reference_page() -> str:
    """The page: a table of keys for each table of the file."""
    schema = study_schema()
    tables = {"StudySpec": schema, **schema["definitions" if "definitions" in schema else "$defs"]}
    parts = [HEADER]
    for name, title in HEADINGS.items():
        rows = [
            f"| `{key}` | {_default(key, value)} | {_type(value)}{value['description']} |"
            for key, value in tables[name]["properties"].items()
        ]
        heading = "Top" if title == "top" else f"`{title}`"
        head = [f"## {heading}\n", "| key | default | |", "| --- | --- | --- |"]
        parts.append("\n".join([*head, *rows]))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _default(key: str, value: dict[str, Any]) -> str:
    default = value.get("default")
    if default is None or default == [] or isinstance(default, dict):
        return ""
    if key in TIMES:
        return f"`{default / 1e9:g}s`"
    if key in SIZES and default:
        return f"`{format_size(default)}`"
    return "`1G`" if default == 1000**3 else f"`{json.dumps(default)}`"


def _type(value: dict[str, Any]) -> str:
    names = value.get("enum")
    return f"{', '.join(f'`{name}`' for name in names)}. " if names else ""
