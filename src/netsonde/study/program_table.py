"""The block ``[[program]]`` of a study: a user's own program, run on the study's hosts."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from netsonde.study.values import Duration, LongDuration, Sizes
from netsonde.tables import Strict

SIZE_WORD = "{size}"
"""Stands for a size of the block, in bytes, within the words of its command."""
LEAST_RUNS = 6
"""The fewest with a 95 % interval of the median."""
ENDS = {"origin": ("origin",), "target": ("target",), "both": ("origin", "target")}

Text = Annotated[str, StringConstraints(max_length=4096, pattern=r"^[^\x00]*$")]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
FigureName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
ShortText = Annotated[str, StringConstraints(max_length=20, pattern=r"^[^\x00-\x1f\x7f]*$")]
ProgramName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,60}$")]


class FigurePattern(Strict):
    """Where a figure stands in a program's output: the one group of a regular expression, looked
    for line by line; of several lines that have it, the last one counts."""

    pattern: str = Field(
        min_length=1,
        max_length=200,
        description="A regular expression with one group around the number.",
    )
    unit: ShortText = Field("", description="Unit of the number.")
    better: Literal["higher", "lower"] = Field(
        "higher", description="Whether higher or lower is better."
    )

    @model_validator(mode="after")
    def _has_one_group(self) -> FigurePattern:
        try:
            groups = re.compile(self.pattern).groups
        except re.error as error:
            raise ValueError(f"{self.pattern!r} is no regular expression: {error}") from error
        if groups != 1:
            raise ValueError(
                f"{self.pattern!r} has {groups} groups; it needs one, around the number"
            )
        return self


class ProgramTable(Strict):
    """One point for every size and every host that ``where`` means, each of several runs.

    ``command`` is started as it is; no shell reads it. Without ``count`` it runs six times at
    least, then until the medians are known well enough or ``cap`` is over. A run that lasts longer
    than ``timeout`` is killed with all that it started.
    """

    command: list[Text] = Field(
        min_length=1,
        max_length=256,
        description="The program and its arguments; {size} stands for a size in bytes.",
    )
    name: ProgramName | None = Field(
        None, description="Its name in the report, else that of its file."
    )
    where: Literal["origin", "target", "both"] = Field(
        "origin", description="Where it runs: at the origin, the target, or a point on each."
    )
    sizes: Sizes | None = Field(None, description="Sizes, each a point.")
    label: str | None = Field(
        None,
        min_length=1,
        max_length=60,
        description="Its condition, which goes with the same of a block.",
    )
    count: int | None = Field(None, ge=1, le=1000, description="How many runs there are.")
    cap: Duration | None = Field(None, description="The most time of a point, beyond six runs.")
    timeout: LongDuration = Field(60 * 10**9, description="Timeout of one run.")
    environment: dict[VariableName, Text] = Field(
        {}, max_length=64, description="Variables on top of those that it has anyway."
    )
    figures: dict[FigureName, FigurePattern] = Field(
        {}, max_length=16, description="Numbers in its output, by name."
    )

    @model_validator(mode="after")
    def _possible(self) -> ProgramTable:
        if not self.command[0]:
            raise ValueError("command needs a program as its first word")
        has_word = any(SIZE_WORD in word for word in self.command)
        if self.sizes is not None and not has_word:
            raise ValueError(
                f"sizes and a command without {SIZE_WORD} do not go together: "
                "every size would be the same"
            )
        if has_word and self.sizes is None:
            raise ValueError(f"{SIZE_WORD} in command needs sizes, such as sizes = '1k..64k:4'")
        if "elapsed" in self.figures:
            raise ValueError("elapsed is always a figure; give this one another name")
        return self

    @property
    def shown_name(self) -> str:
        """The name, else that of the program's file."""
        return self.name or PurePosixPath(self.command[0]).name[:60] or "program"

    @property
    def ends(self) -> tuple[str, ...]:
        """The ends that ``where`` means."""
        return ENDS[self.where]
