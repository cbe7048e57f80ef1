"""Reading what workers wrote: records, batches, points and run directories."""
