"""Many runs in one file, and where their figures changed."""

from netsonde.history.data import History, Trend

__all__ = ["History", "Trend"]
