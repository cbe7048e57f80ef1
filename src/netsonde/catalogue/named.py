"""What has a transport, or a transport and a test, by their names: their rows."""

from __future__ import annotations

from netsonde.catalogue.test import Test, test_row
from netsonde.catalogue.transport import Transport, transport_row


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
