"""The certificate that a server makes for itself at its start, and its TLS settings."""

from __future__ import annotations

import datetime
import os
import ssl
import tempfile
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from netsonde.launch.pairing import PairingCode

VALID = datetime.timedelta(days=30)


@dataclass(frozen=True)
class Identity:
    """A fresh key and certificate with the code that stands for them; the key is on no disk."""

    context: ssl.SSLContext
    certificate_der: bytes
    code: PairingCode


def make_identity() -> Identity:
    """A self-signed certificate for a new P-256 key; TLS 1.3 only, no session tickets."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "netsonde serve")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))  # the clocks may disagree
        .not_valid_after(now + VALID)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    _load(context, pem)
    der = certificate.public_bytes(serialization.Encoding.DER)
    return Identity(context, der, PairingCode.make(der))


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """ssl reads key and certificate only from a file: a private one, gone right afterwards."""
    fd, path = tempfile.mkstemp(prefix="netsonde-")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(pem)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)  # noqa: PTH108
