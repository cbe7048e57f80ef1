"""The figures that netsonde prints, computed from raw samples.

``Figure`` is one number with its interval and where its method is explained.
"""

from netsonde.figures.data import Figure

__all__ = ["Figure"]
