"""A certificate authority for one test run, and a server's certificate for the name localhost alone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificates:
    authority: Path
    certificate: Path
    key: Path
    client_certificate: Path  # for the name `agent`
    client_key: Path  # encrypted with CLIENT_KEY_PASSWORD


CLIENT_KEY_PASSWORD = "open sesame"


def make_certificates(folder: Path) -> Certificates:
    authority_key, server_key, client_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Callgate's test authority")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    authority = (
        _builder(issuer, issuer, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        _builder(issuer, subject, server_key)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    agent = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agent")])
    client = _builder(issuer, agent, client_key).sign(authority_key, hashes.SHA256())
    names = ("ca.pem", "server.pem", "server.key", "client.pem", "client.key")
    made = Certificates(*(folder / name for name in names))
    made.client_certificate.write_bytes(client.public_bytes(serialization.Encoding.PEM))
    made.client_key.write_bytes(
        client_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(CLIENT_KEY_PASSWORD.encode()),
        )
    )
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    made.certificate.write_bytes(server.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        server_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    made.key.chmod(0o600)
    return made


def _builder(
    issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
    )
