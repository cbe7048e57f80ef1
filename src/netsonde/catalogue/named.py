"""What has a transport, or a transport and a test, by their names: their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from netsonde.catalogue.test import Test, test_row
from netsonde.catalogue.transport import Transport, transport_row

if TYPE_CHECKING:
    from netsonde.catalogue.point import PointSpec


class Carried:
    """For what has a transport."""

    transport: str

    @property
    def carrier(self) -> Transport:
        """The transport's row."""
        return transport_row(self.transport)


class Named(Carried):
    """For what has a transport and a test."""

    test: str

    @property
    def kind(self) -> Test:
        """The test's row."""
        return test_row(self.test)


class _Specified(Protocol):
    @property
    def carrier(self) -> Transport: ...

    @property
    def spec(self) -> PointSpec: ...


def _may_lose(point: _Specified) -> bool:
    chosen = point.spec.chosen
    of_frames = point.carrier.has_frames and not chosen.reliable
    return point.carrier.has_datagrams or chosen.has_datagrams or of_frames


class Asked(Named):
    """For a point: what has options of the connection as well, in its ``spec``."""

    @property
    def has_datagrams(self: _Specified) -> bool:
        """Whether each message can be lost: by its transport, or its endpoint."""
        return _may_lose(self)

    @property
    def counts_datagrams(self: _Specified) -> bool:
        """Whether it can, and a worker at the other end counts those that come."""
        return _may_lose(self) and self.carrier.is_pair
