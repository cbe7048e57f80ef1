"""Reading what workers wrote: records, batches, points and run directories."""

from netsonde.records.data import Batch, EndData, Point, Run, Snapshot
from netsonde.records.decode import decode_batch, decode_series
from netsonde.records.journal import Journal, read_journal
from netsonde.records.rundir import open_run

__all__ = [
    "Batch",
    "EndData",
    "Journal",
    "Point",
    "Run",
    "Snapshot",
    "decode_batch",
    "decode_series",
    "open_run",
    "read_journal",
]
