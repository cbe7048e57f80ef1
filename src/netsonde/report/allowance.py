"""What the link leaves for a point's payload, where the rate of the path is known."""

from __future__ import annotations

from netsonde.model.goodput import LINE, framing_that_counts, shaped_goodput_bit_per_s
from netsonde.records.data import Point
from netsonde.records.negotiated import agreed
from netsonde.report.lookup import Study


def allowed_bit_per_s(study: Study, point: Point) -> float | None:
    """The payload rate that the headers leave of the link's, by :mod:`netsonde.model.goodput`.

    None where the link's rate is not known or the message has no payload. MPI's own headers are not
    known, so TCP's alone stand for them: an upper bound.
    """
    rate = study.rate_bit_per_s
    if rate is None or point.message_bytes == 0:
        return None
    path = study.run.manifest["path"]
    counted = path.get("counted_frame_header_bytes")
    framing = framing_that_counts(counted) if path.get("kind") == "lab" else LINE
    is_v6 = ":" in str(point.opened.get(0, {}).get("local_address", ""))
    try:
        return shaped_goodput_bit_per_s(
            point.transport,
            rate,
            point.message_bytes,
            family="ipv6" if is_v6 else "ipv4",
            framing=framing,
            mtu_bytes=study.run.mtu_bytes(point),
            timestamps=agreed(point, "timestamps", study.run.facts_of_hosts(point)),
        )
    except ValueError:  # a size or MTU that the transport cannot have: nothing is allowed for it
        return None
