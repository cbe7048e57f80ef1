"""The certificate that a server makes for itself, at its start or once for a file, and its TLS
settings."""

from __future__ import annotations

import datetime
import os
import ssl
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from netsonde.errors import UsageError
from netsonde.launch.pairing import PairingCode

VALID = datetime.timedelta(days=3650)
"""A certificate in a file is used for as long as the file is kept."""
MOST_FILE_BYTES = 16_384


@dataclass(frozen=True)
class Identity:
    """A key and a certificate with the code that stands for them."""

    context: ssl.SSLContext
    certificate_der: bytes
    code: PairingCode


def make_identity() -> Identity:
    """A self-signed certificate for a new P-256 key, which is on no disk."""
    pem = _new_pem()
    return _identity(pem, PairingCode.make(_der_of(pem)))


def kept_identity(path: Path) -> Identity:
    """The identity of a file, which is made where there is none: the code in its first line, then
    the certificate and its key. Whoever has the file is this server, so nobody else may read it.

    Raises UsageError where others can, or where the file is no such one.
    """
    if not path.exists():
        _keep(path)
    text = _own_text(path)
    code_text, _, pem = text.partition("\n")
    try:
        code = PairingCode.parse(code_text)
        identity = _identity(pem.encode(), code)
    except (UsageError, ValueError, ssl.SSLError) as error:
        raise _no_code_file(path) from error
    if not code.is_of(identity.certificate_der):
        raise _no_code_file(path)
    return identity


def _no_code_file(path: Path) -> UsageError:
    return UsageError(
        f"{path} is no file that --code-file made; name another, or remove it, and a new code is "
        "made"
    )


def _keep(path: Path) -> None:
    """Makes the file, whole or not at all; one that came meanwhile is left as it is."""
    pem = _new_pem()
    code = PairingCode.make(_der_of(pem)).text()
    try:
        fd, made = tempfile.mkstemp(prefix=".netsonde-", dir=path.parent)  # mode 600
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(f"{code}\n".encode() + pem)
            os.link(made, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(made)  # noqa: PTH108
    except OSError as error:
        raise UsageError(f"cannot make {path}: {error.strerror}") from error


def _own_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_FILE_BYTES:
                raise _no_code_file(path)
            if facts.st_mode & 0o077 or facts.st_uid not in (0, os.geteuid()):
                raise UsageError(
                    f"others can read or change {path}, and whoever has the code can use this "
                    f"server: chmod 600 {path}"
                )
            return file.read(MOST_FILE_BYTES).decode("ascii", "replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _new_pem() -> bytes:
    """A certificate and its key."""
    # Late: a server whose file has them does without this library.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

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
    return certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _der_of(pem: bytes) -> bytes:
    end = "-----END CERTIFICATE-----"
    certificate, found, _ = pem.decode("ascii", "replace").partition(end)
    return ssl.PEM_cert_to_DER_cert(certificate + found)


def _identity(pem: bytes, code: PairingCode) -> Identity:
    """TLS 1.3 only, no session tickets."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    _load(context, pem)
    return Identity(context, _der_of(pem), code)


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """ssl reads key and certificate only from a file: a private one, gone right afterwards."""
    fd, path = tempfile.mkstemp(prefix="netsonde-")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(pem)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)  # noqa: PTH108
