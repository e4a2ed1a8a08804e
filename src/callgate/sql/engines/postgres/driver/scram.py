"""Proving to a PostgreSQL server that we know the password, and having it prove the same. Pure.

RFC 5802 and RFC 7677; randomness is an argument. With channel binding (RFC 5929, tls-server-end-point) the
proof holds only for the certificate that we see: nobody can pass it on over a line of their own.
"""

import base64
import hashlib
import hmac
import stringprep
import unicodedata
from dataclasses import dataclass

MECHANISM = "SCRAM-SHA-256"
BOUND_MECHANISM = "SCRAM-SHA-256-PLUS"
# The last arcs of the object ids of signature algorithms, and the hash in each (RFC 8017, RFC 5758).
_RSA, _ECDSA = bytes.fromhex("2a864886f70d0101"), bytes.fromhex("2a8648ce3d0403")
_HASHES = {
    _RSA + b"\x0b": "sha256",
    _RSA + b"\x0c": "sha384",
    _RSA + b"\x0d": "sha512",
    _RSA + b"\x0e": "sha224",
    _ECDSA + b"\x01": "sha224",
    _ECDSA + b"\x02": "sha256",
    _ECDSA + b"\x03": "sha384",
    _ECDSA + b"\x04": "sha512",
    # RFC 5929: MD5 and SHA-1 count as SHA-256.
    _RSA + b"\x04": "sha256",
    _RSA + b"\x05": "sha256",
    bytes.fromhex("2a8648ce3d0401"): "sha256",
}
# The server chooses; it must not choose to keep us computing. PostgreSQL's own default is 4,096.
_MAX_ITERATIONS = 1_000_000


class ScramFailed(Exception):  # noqa: N818 - the opener words the error
    """The server does not keep to the exchange, or does not know the password itself."""


@dataclass(frozen=True, slots=True)
class Proof:
    message: bytes  # for the server
    expected: bytes  # what it must answer


@dataclass(frozen=True, slots=True)
class Binding:
    """What the exchange is bound to."""

    header: str = "n,,"  # y,,: we could, and the server did not offer it
    data: bytes = b""

    @property
    def text(self) -> str:
        return base64.b64encode(self.header.encode() + self.data).decode()


def certificate_binding(certificate: bytes) -> Binding | None:
    """To the server's certificate, in DER; None: its signature has no hash that would be known."""
    oid = _signature_algorithm(certificate)
    name = _HASHES.get(oid) if oid is not None else None
    if name is None:
        return None
    return Binding("p=tls-server-end-point,,", hashlib.new(name, certificate).digest())


def _signature_algorithm(certificate: bytes) -> bytes | None:
    """Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OID, … }, … }"""
    try:
        start, _ = _element(certificate, 0)
        _, after_body = _element(certificate, start)
        algorithm, _ = _element(certificate, after_body)
        oid, oid_end = _element(certificate, algorithm)
    except IndexError:
        return None
    return certificate[oid:oid_end]


def _element(data: bytes, at: int) -> tuple[int, int]:
    """Where the content of the DER element at `at` begins and ends."""
    size = data[at + 1]
    start = at + 2
    if size & 0x80:
        width = size & 0x7F
        size = int.from_bytes(data[start : start + width], "big")
        start += width
    return start, start + size


def first_message(nonce: str, binding: Binding) -> bytes:
    return f"{binding.header}{_bare(nonce)}".encode()


def _bare(nonce: str) -> str:
    return f"n=,r={nonce}"  # the user's name stood in the startup message


def prove(password: str, nonce: str, server_first: bytes, binding: Binding) -> Proof:
    """Slow by design: a few milliseconds."""
    try:
        parts = dict(part.split("=", 1) for part in server_first.decode("ascii").split(","))
        server_nonce, salt, iterations = parts["r"], base64.b64decode(parts["s"]), int(parts["i"])
    except (ValueError, KeyError):
        raise ScramFailed from None
    if not server_nonce.startswith(nonce) or len(server_nonce) == len(nonce):
        raise ScramFailed
    if not 1 <= iterations <= _MAX_ITERATIONS:
        raise ScramFailed
    salted = hashlib.pbkdf2_hmac("sha256", _prepared(password), salt, iterations)
    client_key = _hmac(salted, b"Client Key")
    without_proof = f"c={binding.text},r={server_nonce}"
    signed = f"{_bare(nonce)},{server_first.decode('ascii')},{without_proof}".encode()
    signature = _hmac(hashlib.sha256(client_key).digest(), signed)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    expected = _hmac(_hmac(salted, b"Server Key"), signed)
    return Proof(
        f"{without_proof},p={base64.b64encode(proof).decode()}".encode(),
        b"v=" + base64.b64encode(expected),
    )


def check_server(proof: Proof, server_final: bytes) -> None:
    if not hmac.compare_digest(proof.expected, server_final.partition(b",")[0]):
        raise ScramFailed


def md5_response(user: str, password: str, salt: bytes) -> bytes:
    """The older method, for servers that still ask for it."""
    inner = hashlib.md5((password + user).encode(), usedforsecurity=False).hexdigest()
    return b"md5" + hashlib.md5(inner.encode() + salt, usedforsecurity=False).hexdigest().encode() + b"\0"


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _prepared(password: str) -> bytes:
    """SASLprep (RFC 4013) as PostgreSQL does it: a password that it forbids is taken as it is."""
    if password.isascii():
        return password.encode()
    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char
        for char in password
        if not stringprep.in_table_b1(char)
    )
    normal = unicodedata.normalize("NFKC", mapped)
    forbidden = (stringprep.in_table_c21_c22, stringprep.in_table_c3, stringprep.in_table_c4)
    if not normal or any(is_in(char) for char in normal for is_in in forbidden):
        return password.encode()
    return normal.encode()
