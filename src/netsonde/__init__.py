"""netsonde measures, explains and predicts how a cluster's network performs."""

__version__ = "0.1.0"
