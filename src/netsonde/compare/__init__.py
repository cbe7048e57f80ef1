"""Runs before and after a change, figure by figure, with verdicts."""

from netsonde.compare.data import Comparison, FigureVerdict

__all__ = ["Comparison", "FigureVerdict"]
