"""Whether this machine has what a transport needs beside a kernel, so that it can be measured here
without anything being built or installed first."""

from __future__ import annotations

from collections.abc import Callable

from netsonde.catalogue.behind import Behind
from netsonde.catalogue.transport import TRANSPORTS

PRESENT: Behind[Callable[[], bool]] = Behind(
    name for name, row in TRANSPORTS.items() if row.quick_sizes
)
"""Of the transports that add a curve to a quickstart."""
