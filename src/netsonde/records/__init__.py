"""Reading what workers wrote: records, batches, points and run directories."""

from netsonde.records.data import Batch, EndData, Point, Run, Snapshot
from netsonde.records.decode import decode_batch, decode_series

__all__ = ["Batch", "EndData", "Point", "Run", "Snapshot", "decode_batch", "decode_series"]
