"""What has a transport, or a transport and a test, by their names: their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


class Asked(Named):
    """For a point: what has options of the connection as well."""

    spec: PointSpec

    @property
    def has_datagrams(self) -> bool:
        """Whether each message can be lost: by its transport, or its endpoint."""
        return self.carrier.has_datagrams or self.spec.chosen.has_datagrams

    @property
    def counts_datagrams(self) -> bool:
        """Whether it can, and a worker at the other end counts those that come."""
        return self.has_datagrams and self.carrier.is_pair
