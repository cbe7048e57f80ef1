"""Findings: what the figures mean, with the evidence that shows it."""

from netsonde.explain.data import Finding

__all__ = ["Finding"]
