"""A run in the formats of other programs."""

from netsonde.export.write import FORMATS, export_run

__all__ = ["FORMATS", "export_run"]
