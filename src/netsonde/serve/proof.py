"""What a client says to prove that it knows a pairing code."""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass

from netsonde.launch.pairing import NONCE_BYTES, PAIRING_LINE_LIMIT_BYTES, PairingCode

CLIENT_LIMIT_CHARACTERS = 64


@dataclass(frozen=True)
class Proof:
    """``client`` is what it calls itself: one process of netsonde, by a number drawn at random;
    ``measurement`` the key of the host that it may have already."""

    nonce: bytes
    proof: bytes
    client: str
    measurement: str

    def is_of(self, code: PairingCode, certificate_der: bytes, server_nonce: bytes) -> bool:
        """Whether it proves the secret of a code."""
        wanted = code.proof(certificate_der, server_nonce, self.nonce)
        return hmac.compare_digest(wanted.encode(), self.proof)


def parse_proof(line: bytes) -> Proof:
    """Raises ValueError where a line is no answer of a client."""
    if len(line) > PAIRING_LINE_LIMIT_BYTES:
        raise ValueError("the answer is too long")
    try:
        answer = json.loads(line)
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None
    if not isinstance(answer, dict) or answer.get("netsonde") != "client":
        raise ValueError("no answer of a client")
    texts = [answer.get(key) for key in ("nonce", "proof", "client", "measurement")]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("no proof in the answer")
    nonce, proof, *names = map(str, texts)
    if len(nonce) != 2 * NONCE_BYTES or not all(
        0 < len(name) <= CLIENT_LIMIT_CHARACTERS for name in names
    ):
        raise ValueError("no proof in the answer")
    return Proof(bytes.fromhex(nonce), proof.encode(errors="replace"), *names)
