"""The certificate that a server makes for itself, at its start or once for a file, and its TLS
settings."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from netsonde.errors import UsageError
from netsonde.launch.given_code import secret_text
from netsonde.launch.pairing import SECRET_BYTES, PairingCode

VALID = datetime.timedelta(days=3650)
"""A certificate in a file is used for as long as the file is kept."""


@dataclass(frozen=True)
class Identity:
    """A key and a certificate with the code that stands for them. ``seed`` is what further codes
    come from; nobody has it who has not the key."""

    context: ssl.SSLContext
    certificate_der: bytes
    code: PairingCode
    seed: bytes = field(repr=False)

    def code_of(self, name: str, number: int) -> PairingCode:
        """The code of a name; another number makes another one. None tells another."""
        said = b"netsonde code\0%s\0%d" % (name.encode(), number)
        secret = hmac.new(self.seed, said, hashlib.sha256).digest()[:SECRET_BYTES]
        return PairingCode(self.code.fingerprint, secret)


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
    text = secret_text(path)
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
    seed = hashlib.sha256(b"netsonde codes\0" + pem.strip()).digest()
    return Identity(context, _der_of(pem), code, seed)


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """ssl reads key and certificate only from a file: one in memory, of which a server that is
    killed leaves nothing; without /proc a private one, gone right afterwards."""
    if Path("/proc/self/fd").is_dir():
        with os.fdopen(os.memfd_create("netsonde"), "wb") as memory:
            memory.write(pem)
            memory.flush()
            context.load_cert_chain(f"/proc/self/fd/{memory.fileno()}")
        return
    with tempfile.NamedTemporaryFile(prefix="netsonde-") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name)
