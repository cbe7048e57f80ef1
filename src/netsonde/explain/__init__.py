"""Findings: what the figures mean, with the evidence that shows it."""

from netsonde.explain.data import Finding, Silent

__all__ = ["Finding", "Silent"]
