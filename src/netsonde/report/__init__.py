"""What a run looks like: one HTML page, images and tables as files, a summary for a terminal."""

from netsonde.report.files import export
from netsonde.report.page import write_report
from netsonde.report.terminal import print_summary

__all__ = ["export", "print_summary", "write_report"]
