"""libfabric on this machine."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

from netsonde.catalogue.transport import first_with
from netsonde.errors import HostError
from netsonde.launch.binaries import builds, is_installed
from netsonde.launch.present import PRESENT

LIBRARY_VARIABLE = "NETSONDE_LIBFABRIC"
"""Names the library where it is none of the system's."""
_LIBRARY = "libfabric.so.1"
_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib")
_CARRIER = first_with("has_endpoints")


@PRESENT.of(_CARRIER.name)
def is_present() -> bool:
    """Whether its worker is installed, and a library where the system has them."""
    if not is_installed(_CARRIER.worker):
        return False
    if named := os.environ.get(LIBRARY_VARIABLE):
        return Path(named).is_file()
    found = chain.from_iterable(
        (*Path(folder).glob(_LIBRARY), *Path(folder).glob(f"*-linux-gnu/{_LIBRARY}"))
        for folder in _FOLDERS
    )
    return any(found)


@builds(_CARRIER.worker)
def without_worker() -> Path:
    """Raises HostError: a wheel's programs load no libraries, and on the spot none is built."""
    raise HostError(
        f"{_CARRIER.worker} is not installed, and no wheel has it, for its programs load no "
        "libraries; where libfabric's headers are (Debian: libfabric-dev) `make build` in a clone "
        "of netsonde makes it"
    )
