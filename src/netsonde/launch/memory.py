"""What a host's kernel remembers of earlier connections: round trips, thresholds (tcp_metrics)."""

from __future__ import annotations

from netsonde.errors import HostError
from netsonde.launch.host import Host, launcher_row
from netsonde.limits import limit_s

FLUSH = ("ip", "tcp_metrics", "flush")
FLUSH_TIMEOUT_S = limit_s("forget")


def forget_connections(host: Host) -> None:
    """Empties the memory, so that the next connection begins as the first one did.

    Raises HostError where nothing can be started there, or the user may not.
    """
    if launcher_row(host).is_served:
        raise HostError(
            f"{host.name} runs netsonde serve, which starts nothing else: run {' '.join(FLUSH)} "
            "there by hand, and leave --forget out"
        )
    process = host.start(FLUSH)
    try:
        process.finish()
        status = process.wait(FLUSH_TIMEOUT_S)
        if status != 0:
            raise HostError(
                f"{host.name}: {' '.join(FLUSH)} {process.ending(1.0)}; it needs root and iproute2 "
                "there: without them leave --forget out, and a finding says what was remembered"
            )
    finally:
        process.stop()
        process.release()
