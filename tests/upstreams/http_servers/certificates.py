"""A private CA and a certificate for 127.0.0.1, made with the openssl command line."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Certificates:
    server_context: ssl.SSLContext
    trusting_context: ssl.SSLContext


def make_certificates(folder: Path, names: str = "IP:127.0.0.1,DNS:localhost") -> Certificates:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=callgate test",
         "-addext", f"subjectAltName={names}"],
        check=True, capture_output=True,
    )  # fmt: skip
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key)
    return Certificates(server_context, ssl.create_default_context(cafile=str(certificate)))
