"""Who takes frames through a receiving host's part of the kernel. Standard library only.

By itself a write to a TAP device does it, in the switch's thread. A device made for it hands them
to a thread of the kernel instead, as network cards may (NAPI in threads, Linux 5.12).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from netsonde.lab.offload import switch_bundling_off
from netsonde.lab.spec import LabSpec

DEVICES = Path("/sys/class/net")


def receivers(spec: LabSpec, devices: Path = DEVICES) -> dict[str, Any]:
    """``by`` is threads or switch; where threads are wanted and cannot be had, ``reason`` why.

    devices: where the kernel shows those of this network namespace.
    """
    if spec.fabric is None or spec.fabric.get("receive", "switch") == "switch":
        return {"by": "switch"}
    switch = devices / "lo" / "threaded"
    if not switch.exists():
        reason = "this kernel shows no threads for network devices, or the lab may not see /sys"
    elif not os.access(switch, os.W_OK):
        reason = "the lab may not write to /sys"
    else:
        return {"by": "threads"}
    return {"by": "switch", "reason": reason}


def receive_in_threads(device: str, devices: Path = DEVICES) -> None:
    """For a device in our network namespace, before it is up. Raises OSError.

    What such a device may do besides, putting frames of a stream together, stays off: the host
    sees the frames of the link.
    """
    switch_bundling_off(device)
    (devices / device / "threaded").write_text("1\n")
