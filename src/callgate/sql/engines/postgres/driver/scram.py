"""Proving to a PostgreSQL server that we know the password, and having it prove the same. Pure.

RFC 5802 and RFC 7677; randomness is an argument.
"""

import base64
import hashlib
import hmac
import stringprep
import unicodedata
from dataclasses import dataclass

MECHANISM = "SCRAM-SHA-256"
# The server chooses; it must not choose to keep us computing. PostgreSQL's own default is 4,096.
_MAX_ITERATIONS = 1_000_000


class ScramFailed(Exception):  # noqa: N818 - the opener words the error
    """The server does not keep to the exchange, or does not know the password itself."""


@dataclass(frozen=True, slots=True)
class Proof:
    message: bytes  # for the server
    expected: bytes  # what it must answer


def first_message(nonce: str) -> bytes:
    return f"n,,{_bare(nonce)}".encode()


def _bare(nonce: str) -> str:
    return f"n=,r={nonce}"  # the user's name stood in the startup message


def prove(password: str, nonce: str, server_first: bytes) -> Proof:
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
    without_proof = f"c=biws,r={server_nonce}"  # biws: base64 of "n,,"
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
