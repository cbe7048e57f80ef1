"""From record lines to arrays. Everything that a worker wrote is checked here, once."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pybase64

from netsonde.catalogue.known_figures import figure_kind
from netsonde.errors import HostError
from netsonde.records.counted import counted
from netsonde.records.data import Batch, EndData, Imported, ImportedFigure, Series, Snapshot
from netsonde.records.later import Later

SERIES_LIMIT_VALUES = 1 << 24
SERIES_PIECE_VALUES = 1 << 15


def decode_series(pieces: Iterable[Mapping[str, Any]]) -> Series:
    """The values of one series from its records, in any order.

    Raises HostError where a piece is damaged, missing or overlaps.
    """
    ordered = sorted(pieces, key=lambda piece: int(piece["offset"]))
    total = int(ordered[0]["total"])
    name = ordered[0]["name"]
    if total > SERIES_LIMIT_VALUES:
        raise HostError(f"series {name} claims {total} values; the limit is {SERIES_LIMIT_VALUES}")
    values = np.empty(total, dtype=np.int64)
    filled = 0
    for piece in ordered:
        try:
            content = np.frombuffer(pybase64.b64decode(piece["values"], validate=True), dtype="<i8")
        except (binascii.Error, ValueError) as error:
            raise HostError(f"series {name} holds damaged base64: {error}") from error
        end = int(piece["offset"]) + len(content)
        if int(piece["offset"]) != filled or len(content) != piece["count"] or end > total:
            raise HostError(
                f"series {name} has a piece at {piece['offset']} where {filled} follows"
            )
        values[filled:end] = content
        filled = end
    if filled != total:
        raise HostError(f"series {name} has {filled} of its {total} values")
    return values


def decode_imported(entry: Mapping[str, Any]) -> Imported:
    """What a journal's entry ``imported`` holds. Raises HostError where it is damaged."""
    try:
        figures = tuple(
            ImportedFigure(figure_kind(f["name"]).name, float(f["value"]), int(f["samples"]))
            for f in entry["figures"]
        )
        series = {str(k): [float(v) for v in values] for k, values in entry["series"].items()}
        return Imported(str(entry["tool"]), figures, series)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise HostError(f"an imported point of the journal is damaged: {error}") from error


def encode_series(rank: int, host: str, name: str, unit: str, values: Series) -> list[Any]:
    """The records that make up one series, as a worker writes them: what decode_series reads."""
    return [
        {
            "record": "series",
            "request": 1,
            "rank": rank,
            "host": host,
            "name": name,
            "unit": unit,
            "total": len(values),
            "offset": offset,
            "count": len(piece),
            "values": base64.b64encode(piece.astype("<i8").tobytes()).decode(),
        }
        for offset in range(0, len(values), SERIES_PIECE_VALUES)
        if len(piece := values[offset : offset + SERIES_PIECE_VALUES])
    ]


def decode_batch(index: int, records: Iterable[Mapping[str, Any]]) -> Batch:
    """The batch that the records of one `run` request make, over all ranks."""
    ends: dict[int, EndData] = {}
    pieces: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for record in records:
        rank = int(record["rank"])
        end = ends.setdefault(rank, EndData(rank, str(record["host"])))
        match record["record"]:
            case "series":
                pieces.setdefault((rank, str(record["name"])), []).append(record)
            case "counters":
                end.counters.update(record["values"])
            case "snapshot":
                told = record["values"]
                values = told if isinstance(told, Later) else counted(told)
                snapshot = Snapshot(record["phase"], record["time_ns"], record["cost_ns"], values)
                if snapshot.phase == "before":
                    end.before = snapshot
                elif snapshot.phase == "after":
                    end.after = snapshot
            case "done":
                end.done.update(record["values"])
            case _:
                pass  # facts and the like do not belong to a batch
    for (rank, name), parts in pieces.items():
        ends[rank].series[name] = decode_series(parts)
    return Batch(index, _by_end(ends))


def _by_end(ends: dict[int, EndData]) -> dict[int, EndData]:
    """The same, but with 0 for the origin and 1 for the target, where ``done`` says which two ranks
    of MPI a test was between, and the others behind them. Raises HostError where one is missing."""
    told = next((end.done for end in ends.values() if "origin_rank" in end.done), None)
    if told is None:
        return ends
    pair = [int(told["origin_rank"]), int(told.get("target_rank", -1))]
    if not set(pair) <= ends.keys() or pair[0] == pair[1]:
        raise HostError(f"a batch between the ranks {pair[0]} and {pair[1]} lacks one of them")
    others = [rank for rank in sorted(ends) if rank not in pair]
    return {end: replace(ends[rank], rank=end) for end, rank in enumerate([*pair, *others])}
