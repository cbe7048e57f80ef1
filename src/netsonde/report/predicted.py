"""MPI operations beside the cost model: lines for the terminal, a document, and the plot."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from netsonde.figures.predicted import Against, CostLine, Held, Predicted, against_the_model
from netsonde.report.against import SIZE_AXIS, TEST_AND_SIZE, curve, estimate_columns, size_place
from netsonde.report.lookup import Study, what_was_measured
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_value, format_value_and_interval, times_text
from netsonde.report.theme import SERIES, Look, series_look

PANELS_SHOWN = 8
WIDTH = 80
ALGORITHMS_DRAWN = 4
UNRESOLVED = (
    "the interval of alpha or beta holds 0, so that no ratio has one: measure the messages longer, "
    "on a machine that is free, or at more sizes"
)
SHARED_HOST = (
    "with several ranks on a host the formulas leave out that these share its card and pass each "
    "other memory"
)


def label_of(held: Held, *, with_size: bool = True) -> str:
    """``bcast 64k (mpich), 4 ranks, 2 ranks a host``."""
    spec = held.example.spec
    mpi = f" ({spec.mpi})" if spec.mpi is not None else ""
    words = what_was_measured(held.example, with_size=with_size)
    first, _, rest = words.partition(", ")
    ranks = "" if spec.ranks_vary else f"{spec.ranks} ranks"
    return ", ".join(filter(None, (f"{first}{mpi}", ranks, rest, held.example.label)))


def _group_of(held: Held) -> str:
    """What a panel is of: everything but the size and the ranks on a host."""
    return label_of(replace(held, example=held.example.but_for("ppn")), with_size=False)


def name_of(predicted: Predicted) -> str:
    return predicted.algorithm + (" as printed" if predicted.is_printed else "")


def lines_of(against: Against) -> list[str]:
    """The parameters, then each operation with all algorithms of its family, in 80 columns."""
    said = list[str]()
    for line in dict.fromkeys(held.line for held in against.held):
        said += [*_parameters(line), ""]
    if against.held:
        said += [f"{'':<45}{'predicted':>9}  measured over it"]
    for held in against.held:
        value, interval = format_value_and_interval(held.measured.figure)
        worth = interval or held.measured.figure.why_no_interval
        said.append(label_of(held))
        said.append(f"  measured {value} [{worth}], {held.measured.basis_in_words()}")
        said += [_line_of(held, predicted) for predicted in held.predicted]
    if against.held:
        said += ["", "*: nearest; forced where the library was seen to be set to it"]
    notes = [SHARED_HOST] if any(held.ppn > 1 for held in against.held) else []
    notes += [UNRESOLVED] if any(not held.line.is_resolved for held in against.held) else []
    for note in (*notes, *against.notes):
        said += textwrap.wrap(f"Note: {note}.", WIDTH)
    return said


def _parameters(line: CostLine) -> list[str]:
    alpha, beta = line.alpha_interval, line.beta_interval
    said = [
        f"alpha {line.alpha:.5g} ns [{alpha.low:.5g}, {alpha.high:.5g}]",
        f"beta  {line.beta:.4g} ns a byte [{beta.low:.4g}, {beta.high:.4g}], "
        f"from messages of {line.sizes[0]} to {line.sizes[-1]} bytes",
    ]
    if line.gamma is not None:
        own = line.gamma_interval
        worth = f"[{own.low:.4g}, {own.high:.4g}]" if own else "as given"
        said.append(f"gamma {line.gamma:.4g} ns a byte {worth}")
    return said


def _line_of(held: Held, predicted: Predicted) -> str:
    mark = "*" if predicted is held.nearest else " "
    forced = mark == "*" and held.forced == predicted.algorithm
    time = format_value(predicted.time_ns, "time_ns")
    name = name_of(predicted).partition("/")[2] + (", forced" if forced else "")
    return f"  {mark} {name:<39}{time:>10}  {_ratio(held, predicted)}"


def _ratio(held: Held, predicted: Predicted) -> str:
    ratio = held.ratio(predicted)
    if ratio.low is None or ratio.high is None:
        return f"{times_text(ratio.value)} × [no interval]"
    return f"{times_text(ratio.value)} × [{times_text(ratio.low)}, {times_text(ratio.high)}]"


def document_of(against: Against) -> dict[str, Any]:
    """The same for JSON; times in ns, beta and gamma in ns per byte."""
    names = [column.name for column in _COLUMNS]
    return {
        "lines": [_line_document(line) for line in dict.fromkeys(h.line for h in against.held)],
        "predictions": [
            dict(zip(names, row, strict=True)) for held in against.held for row in _rows(held)
        ],
        "notes": list(against.notes),
    }


def _line_document(line: CostLine) -> dict[str, Any]:
    ends = {
        "alpha_ns": (line.alpha, line.alpha_interval),
        "beta_ns": (line.beta, line.beta_interval),
        "gamma_ns": (line.gamma, line.gamma_interval),
    }
    return {
        name: {
            "value": value,
            "low": interval.low if interval else None,
            "high": interval.high if interval else None,
        }
        for name, (value, interval) in ends.items()
    } | {"sizes": list(line.sizes)}


def model_against_measured(study: Study) -> Plot | None:
    """Measured times over size, for each number of ranks on a host, with the formulas' lines; None
    where no operation was measured at two sizes."""
    against = against_the_model(study.run, study.headlines)
    if not against.held:
        return None
    groups: dict[str, list[Held]] = {}
    for held in against.held:
        groups.setdefault(_group_of(held), []).append(held)
    drawn = {name: own for name, own in groups.items() if len({_size(h) for h in own}) > 1}
    if not drawn:
        return None
    near = [h.ratio(h.nearest).value for h in against.held]
    return tabled(
        "model-measured",
        "MPI operations: the cost model against what was measured",
        "Points: median of the slowest rank's time with 95 % intervals, for each number of ranks "
        "on a host. Lines: the formulas of the operation's family with alpha and beta of the run's "
        "own messages between two ranks, and gamma of its reductions. The formulas know neither "
        f"contention nor several ranks on a host. At most {ALGORITHMS_DRAWN} algorithms, the "
        f"nearest, of {PANELS_SHOWN} operations are drawn, and formulas that give the same times "
        "once; the table has all, with measured over predicted.",
        f"{len(against.held)} operations and sizes; measured over the nearest algorithm is "
        f"{min(near):.2f} to {max(near):.2f}.",
        [_panel(name, own) for name, own in list(drawn.items())[:PANELS_SHOWN]],
        _COLUMNS,
        [row for held in against.held for row in _rows(held)],
        methods=("collectives#quantiles", "latency#quantiles"),
        heading="The cost model against what was measured",
    )


_COLUMNS = (
    *TEST_AND_SIZE,
    Column("ppn", "Ranks a host", "count"),
    *estimate_columns("measured_ns", "Measured"),
    *columns("text", basis="Interval of", algorithm="Algorithm"),
    *estimate_columns(
        "predicted_ns", "Predicted", low="predicted_low_ns", high="predicted_high_ns"
    ),
    *columns("number", ratio="Measured over it", ratio_low="From", ratio_high="To"),
    Column("which", "Which"),
)


def _rows(held: Held) -> Iterator[tuple[Cell, ...]]:
    over, nearest = held.measured.over, held.nearest
    word = "forced" if nearest.algorithm == held.forced else "nearest"
    for predicted in held.predicted:
        ratio = held.ratio(predicted)
        yield (
            _group_of(held),
            held.example.message_bytes,
            held.ppn,
            *(over.value, over.low, over.high, held.measured.basis_in_words()),
            name_of(predicted),
            *(predicted.time_ns, predicted.low_ns, predicted.high_ns),
            *(ratio.value, ratio.low, ratio.high),
            word if predicted is nearest else "",
        )


def _size(held: Held) -> float:
    return size_place(held.example.message_bytes)


def _panel(name: str, own: Sequence[Held]) -> Panel:
    by_ppn: dict[int, list[Held]] = {}
    for held in sorted(own, key=_size):
        by_ppn.setdefault(held.ppn, []).append(held)
    curves = [
        _measured(ppn, members, series_look(place).symbol, several=len(by_ppn) > 1)
        for place, (ppn, members) in enumerate(by_ppn.items())
    ]
    least = by_ppn[min(by_ppn)]  # the formulas are the same for all of them
    foretold = _told_apart([_foretold(name, least) for name in _nearest_first(least)])
    curves += [
        replace(each, colour=SERIES[1 + place])
        for place, each in enumerate(foretold[:ALGORITHMS_DRAWN])
    ]
    return Panel(
        name,
        SIZE_AXIS,
        Axis("time", "time_ns", log=True),
        curves,
    )


def _measured(ppn: int, members: Sequence[Held], symbol: str, *, several: bool) -> Curve:
    return curve(
        f"measured, {ppn} a host" if several else "measured",
        [(_size(held), held.measured.over) for held in members],
        Look(SERIES[0], symbol),
        draw="points",
    )


def _told_apart(curves: Sequence[Curve]) -> list[Curve]:
    """Formulas that give the same times are one line, named by the first of them."""
    seen: dict[str, Curve] = {}
    for each in curves:
        seen.setdefault(",".join(f"{time:.6g}" for time in each.y if time is not None), each)
    return list(seen.values())


def _foretold(algorithm: str, members: Sequence[Held]) -> Curve:
    found = [(h, p) for h in members for p in h.predicted if name_of(p) == algorithm]
    return Curve(
        algorithm.partition("/")[2],
        [_size(held) for held, _ in found],
        [predicted.time_ns for _, predicted in found],
        SERIES[1],
        draw="line",
        dash="dash",
        width=1.2,
    )


def _nearest_first(members: Sequence[Held]) -> list[str]:
    """Algorithms by how often they are the nearest, then in the table's order."""
    often: dict[str, int] = {}
    for held in members:
        for predicted in held.predicted:
            name = name_of(predicted)
            often[name] = often.get(name, 0) + (predicted is held.nearest)
    return sorted(often, key=lambda name: -often[name])
