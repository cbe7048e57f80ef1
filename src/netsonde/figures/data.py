"""One number with its uncertainty."""

from dataclasses import dataclass

from netsonde.catalogue.figure import Unit
from netsonde.catalogue.known_figures import figure_kind, unit_of
from netsonde.catalogue.named import Named


@dataclass(frozen=True)
class Figure(Named):
    """A figure of one point.

    ``name`` is one that a row of the catalogue has, which knows its unit; another is an error at
    once. ``low`` and ``high`` bound the interval at ``confidence``; None where
    none can be given (a minimum, too few samples). ``method`` is the page and anchor under
    docs/methods that defines the figure.
    """

    point: str
    transport: str
    test: str
    operation: str | None
    message_bytes: int
    name: str
    value: float
    low: float | None
    high: float | None
    samples: int
    effective_samples: float | None
    method: str
    confidence: float = 0.95

    def __post_init__(self) -> None:
        figure_kind(self.name)

    @property
    def unit(self) -> Unit:
        """That of its row: ns, bit_per_s, bytes, ratio; count where it has none of these."""
        return unit_of(self.name)

    @property
    def is_of_another_tool(self) -> bool:
        """Whether another tool said it, or would say it."""
        return self.method.startswith(_OTHER_TOOLS)

    @property
    def is_a_count(self) -> bool:
        """Whether it was counted one by one, so that nothing about it is uncertain."""
        is_sampled = self.effective_samples is not None or self.is_of_another_tool
        return self.unit == "count" and not is_sampled and float(self.value).is_integer()

    @property
    def why_no_interval(self) -> str:
        """Why it has none, in words; empty where it has one."""
        if self.low is not None and self.high is not None:
            return ""
        if self.is_of_another_tool:
            tool = self.method.removeprefix(_OTHER_TOOLS).replace("-", " ")
            return f"no interval: {tool} gives none"
        if self.effective_samples is not None:
            return "no interval: too few samples"
        if self.is_a_count:
            return "no interval: a count"
        return f"no interval: {next(why for mark, why in _WITHOUT if mark in f'_{self.name}_')}"


_OTHER_TOOLS = "other-tools#"
_WITHOUT = (
    ("_min_", "an extreme"),
    ("_max_", "an extreme"),
    *((f"_{order}_ns_", "all values are alike") for order in ("median", "p90", "p99", "p999")),
    ("_", "one value of all of it"),
)
