"""The pairing code of `netsonde serve`, and how both sides prove that they know it.

The code carries the beginning of the SHA-256 of the server's certificate, so that the client knows
the server before it says anything, and a secret, which never travels: the client proves it by
HMAC over both nonces and the certificate. TLS 1.3 proves that the server holds the certificate's
key, so a proof is worth nothing to anybody in between.

A code is ``ns1-`` and nine groups of five characters of Crockford's base32, which has no letter
that looks like a digit. Its last 16 bits are a CRC: it finds every single wrong character and every
two exchanged neighbours (bursts of at most 16 bits), so that a slip of the hand is told apart from
a code of another server.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import secrets
from dataclasses import dataclass

from netsonde.errors import UsageError

PREFIX = "ns1"
FINGERPRINT_BYTES = 16
SECRET_BYTES = 10
NONCE_BYTES = 16
PAIRING_VERSION = 1
PAIRING_LINE_LIMIT_BYTES = 4096

_CRC_BYTES = 2
_BODY_BYTES = FINGERPRINT_BYTES + SECRET_BYTES + _CRC_BYTES
_CHARACTERS = 45
_SPARE_BITS = 5 * _CHARACTERS - 8 * _BODY_BYTES
_GROUP = 5
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUE = {c: i for i, c in enumerate(_ALPHABET)} | {"o": 0, "i": 1, "l": 1}


@dataclass(frozen=True)
class PairingCode:
    """What a code says. The secret is kept out of its representation."""

    fingerprint: bytes
    secret: bytes

    def __repr__(self) -> str:
        return f"PairingCode({self.fingerprint.hex()})"

    @classmethod
    def make(cls, certificate_der: bytes) -> PairingCode:
        """A code with a new secret for a certificate."""
        return cls(
            certificate_digest(certificate_der)[:FINGERPRINT_BYTES],
            secrets.token_bytes(SECRET_BYTES),
        )

    def text(self) -> str:
        """The code as people copy it."""
        content = self.fingerprint + self.secret
        body = content + _crc(content)
        number = int.from_bytes(body, "big") << _SPARE_BITS
        characters = "".join(
            _ALPHABET[number >> shift & 31] for shift in range(5 * (_CHARACTERS - 1), -1, -5)
        )
        groups = [characters[i : i + _GROUP] for i in range(0, _CHARACTERS, _GROUP)]
        return "-".join((PREFIX, *groups))

    @classmethod
    def parse(cls, text: str) -> PairingCode:
        """The code that text spells; case, dashes and spaces do not matter.

        Raises UsageError that says what is wrong with it, without repeating it.
        """
        cleaned = "".join(text.split()).replace("-", "").lower()
        if not cleaned.startswith(PREFIX):
            raise UsageError(
                f"the pairing code does not begin with {PREFIX}-; copy the whole code that "
                "netsonde serve printed"
            )
        characters = cleaned[len(PREFIX) :]
        if len(characters) != _CHARACTERS:
            raise UsageError(
                f"the pairing code has {len(characters)} characters behind {PREFIX}-, not "
                f"{_CHARACTERS}; copy the whole code that netsonde serve printed"
            )
        number = 0
        for position, character in enumerate(characters):
            if character not in _VALUE:
                raise UsageError(
                    f"the pairing code has {character!r} in group {position // _GROUP + 1}, which "
                    "no code contains; compare it with what netsonde serve printed"
                )
            number = number << 5 | _VALUE[character]
        body = (number >> _SPARE_BITS).to_bytes(_BODY_BYTES, "big")
        content, crc = body[:-_CRC_BYTES], body[-_CRC_BYTES:]
        if crc != _crc(content) or number & ((1 << _SPARE_BITS) - 1):
            raise UsageError(
                "the pairing code has a typing error; compare it with what netsonde serve printed"
            )
        return cls(content[:FINGERPRINT_BYTES], content[FINGERPRINT_BYTES:])

    def is_of(self, certificate_der: bytes) -> bool:
        """Whether a server with this certificate printed the code."""
        digest = certificate_digest(certificate_der)[:FINGERPRINT_BYTES]
        return hmac.compare_digest(digest, self.fingerprint)

    def proof(self, certificate_der: bytes, server_nonce: bytes, client_nonce: bytes) -> str:
        """What only somebody who knows the secret can say in this one connection."""
        message = b"".join(
            (
                b"netsonde pairing 1\0",
                certificate_digest(certificate_der),
                server_nonce,
                client_nonce,
            )
        )
        return hmac.new(self.secret, message, hashlib.sha256).hexdigest()


def certificate_digest(certificate_der: bytes) -> bytes:
    return hashlib.sha256(certificate_der).digest()


def _crc(content: bytes) -> bytes:
    return binascii.crc_hqx(PREFIX.encode() + content, 0xFFFF).to_bytes(_CRC_BYTES, "big")
