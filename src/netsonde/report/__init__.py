"""What a run looks like: one HTML page, images and tables as files, a summary for a terminal."""

REPORT_NAME = "report.html"
