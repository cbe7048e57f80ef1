"""Who has a code, and what that allows: what the options say, and a file that may change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netsonde.launch.pairing import PairingCode
from netsonde.serve.account import Account
from netsonde.serve.identity import Identity
from netsonde.serve.limits import Limits
from netsonde.serve.limits_file import LimitsFile, read_limits_file
from netsonde.serve.proof import Proof
from netsonde.serve.wire import VisitRefusedError

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Holder:
    """Whose code it is. A server without named codes has one, without a name and a number."""

    name: str = ""
    number: int = 0


class Rulebook:
    """Codes and limits as the file says now. Raises UsageError where the file is none."""

    def __init__(self, identity: Identity, limits: Limits, path: Path | None = None) -> None:
        self._identity = identity
        self._limits = limits
        self._path = path
        self._stamp: Stamp | None = None
        self._accounts: dict[Holder, Account] = {}
        self._file = LimitsFile()
        self.codes: dict[Holder, PairingCode] = {Holder(): identity.code}
        if path is not None:
            self.read()

    def read(self) -> dict[str, PairingCode]:
        """Reads the file again; returns the codes that are new, by name. Raises UsageError, and
        leaves everything as it is, where it is none."""
        assert self._path is not None
        self._stamp = _stamp(self._path)
        self._file = read_limits_file(self._path)
        before = self.codes
        holders = [Holder(name, code.number) for name, code in self._file.codes.items()]
        self.codes = {one: self._identity.code_of(one.name, one.number) for one in holders}
        if not holders:
            self.codes = {Holder(): self._identity.code}
        return {one.name: code for one, code in self.codes.items() if one not in before}

    def has_changed(self) -> bool:
        """Whether the file is another than when it was read last."""
        return self._path is not None and _stamp(self._path) != self._stamp

    def holder_of(self, proof: Proof, server_nonce: bytes) -> Holder | None:
        """Whose code a client has proved; None of none."""
        certificate = self._identity.certificate_der
        found = [
            one for one, code in self.codes.items() if proof.is_of(code, certificate, server_nonce)
        ]
        return found[0] if found else None

    def takes(self, address: str) -> bool:
        """Whether anybody may come from an address, whatever code he has."""
        return self._file.takes(address)

    def account_of(self, holder: Holder) -> Account:
        """What the sessions of a code have used."""
        return self._accounts.setdefault(holder, Account())

    def limits_of(self, holder: Holder, address: str) -> Limits:
        """What a client may use. Raises VisitRefusedError where it may not come (any more)."""
        if holder not in self.codes:
            raise VisitRefusedError("its pairing code was revoked")
        found = self._file.class_of(holder.name, address)
        if not found.has(address):
            raise VisitRefusedError(f"this server takes no clients from {address}")
        return found.over(self._file.default.over(self._limits))


def _stamp(path: Path) -> Stamp | None:
    """What changes with a file; None of one that cannot be seen."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
