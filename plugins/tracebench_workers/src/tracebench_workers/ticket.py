"""The certificate of one run, and the ticket with which a worker finds it, knows it, and is let in."""

from __future__ import annotations

import hashlib
import re
import secrets
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tracebench_core.errors import UsageError

ALWAYS = datetime(2000, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)
"""A certificate is pinned, and known by its fingerprint alone: no clock says whether it is valid."""


@dataclass(frozen=True, slots=True, repr=False)
class Ticket:
    """`tb1/HOST:PORT/FINGERPRINT/TOKEN`: a secret."""

    host: str
    port: int
    fingerprint: str
    """SHA-256 of the certificate, in hexadecimal."""
    token: str

    def __str__(self) -> str:
        return f"tb1/{self.host}:{self.port}/{self.fingerprint}/{self.token}"

    @classmethod
    def parse(cls, text: str) -> Ticket:
        """Read a ticket.

        Raises:
            UsageError: when it is none.
        """
        parts = text.strip().split("/")
        host, _, port = parts[1].rpartition(":") if len(parts) == 4 else ("", "", "")  # noqa: PLR2004 - its parts
        is_port = re.fullmatch(r"[1-9][0-9]{0,4}", port) is not None and int(port) < 1 << 16
        if parts[0] != "tb1" or not (host and is_port and len(parts[2]) == 64 and parts[3]):  # noqa: PLR2004 - digits of SHA-256
            raise UsageError(
                "This is no ticket of a run: one reads `tb1/HOST:PORT/FINGERPRINT/TOKEN`, as the run that serves workers prints it.",
                hint="trace-bench worker --ticket FILE",
            )
        return cls(host, int(port), parts[2], parts[3])


def fingerprint(certificate: bytes) -> str:
    """Return a certificate's fingerprint."""
    return hashlib.sha256(certificate).hexdigest()


def new_token() -> str:
    """Draw a token."""
    return secrets.token_urlsafe(32)


def serving() -> tuple[ssl.SSLContext, str]:
    """Make a certificate whose key no file keeps; return a context that serves with it, and its fingerprint."""
    from cryptography import x509  # noqa: PLC0415 - listing plugins needs none of it
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "trace-bench run")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ALWAYS[0])
        .not_valid_after(ALWAYS[1])
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "both.pem")
        file.touch(mode=0o600)
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + made.public_bytes(serialization.Encoding.PEM)
        )
        context.load_cert_chain(file)
    return context, fingerprint(made.public_bytes(serialization.Encoding.DER))


def joining() -> ssl.SSLContext:
    """Return the context of a worker: it trusts no authority, and compares the fingerprint before it says a word."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
