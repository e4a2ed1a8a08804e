"""Proving who we are to a MySQL or MariaDB server. Pure: challenges in, responses out.

A password leaves the machine in the clear in one case only: `caching_sha2_password`, `sha256_password` and
`mysql_clear_password` ask for it, and the line is private: a Unix socket, or TLS with a server whose
certificate was verified. Encryption alone would give it to any server that answers. On a line without TLS the
first two take it encrypted with the server's RSA key, which must be known to be the server's.

RSA and the curves are the work of libraries, imported when needed; `client_ed25519` needs the extra
`callgate[mysql]`.
"""

import hashlib
import secrets

NATIVE = "mysql_native_password"
CACHING_SHA2 = "caching_sha2_password"
SHA256 = "sha256_password"
CLEAR = "mysql_clear_password"
ED25519 = "client_ed25519"
PARSEC = "parsec"

# What caching_sha2_password says in its second step.
FAST_OK = 3
FULL_WANTED = 4
# How a client asks for the server's RSA key.
KEY_WANTED = {CACHING_SHA2: b"\x02", SHA256: b"\x01"}
_SEED_BYTES = 20
_LONG_SEED_BYTES = 32  # of the methods with a curve: any bytes, zeros too
_PBKDF2 = ord("P")
_FIRST_ITERATIONS = 1024
_MOST_DOUBLINGS = 8  # MariaDB's own limit is 3; what is far beyond it would keep us busy


class UnknownPlugin(Exception):  # noqa: N818 - the opener words the error
    """The server wants to see a proof that we cannot make."""


class NeedsPrivacy(Exception):  # noqa: N818 - the opener words the error
    """The server wants the password itself, and nobody knows who that server is."""


class MissingPackage(Exception):  # noqa: N818 - the opener words the error
    """The proof needs a library that is not installed here."""


class BadKey(Exception):  # noqa: N818 - the opener words the error
    """What should be the server's RSA key is none."""


def seed_of(plugin: str, data: bytes) -> bytes:
    """What the server sends along with the name of the method."""
    return data[: _LONG_SEED_BYTES if plugin in (ED25519, PARSEC) else _SEED_BYTES]


def respond(plugin: str, password: str, seed: bytes, *, is_private: bool) -> bytes:
    secret = password.encode()
    if plugin == NATIVE:
        return _native(secret, seed)
    if plugin == CACHING_SHA2:
        return _caching_sha2(secret, seed)
    if plugin == ED25519:
        return _ed25519(secret, seed)
    if plugin == PARSEC:
        return b""  # asks for the account's salt
    if plugin == CLEAR:
        return in_clear(password, is_private=is_private)
    raise UnknownPlugin(plugin)


def with_rsa(password: str, seed: bytes, pem: bytes) -> bytes:
    """The password for who has the private half of this key. The seed is mixed in, so that what was heard
    once is of no use for another login."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    try:
        key = serialization.load_pem_public_key(pem)
    except (ValueError, TypeError):
        raise BadKey from None
    if not isinstance(key, rsa.RSAPublicKey):
        raise BadKey
    plain = password.encode() + b"\0"
    mixed = bytes(byte ^ seed[at % len(seed)] for at, byte in enumerate(plain))
    # SHA-1 is the protocol's choice. OAEP does not rely on it being hard to find two texts of one hash.
    sha1 = hashes.SHA1()  # noqa: S303
    try:
        return key.encrypt(mixed, padding.OAEP(padding.MGF1(sha1), sha1, None))
    except ValueError:  # the password is longer than the key can take
        raise BadKey from None


def parsec_proof(password: str, seed: bytes, salt: bytes) -> bytes:
    """The server's answer to an empty response has the account's salt; it keeps a public key alone.

    Slow on purpose: not for the loop's thread.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if len(salt) < 3 or salt[0] != _PBKDF2 or salt[1] > _MOST_DOUBLINGS:
        raise UnknownPlugin(PARSEC)
    rounds = _FIRST_ITERATIONS << salt[1]
    secret = hashlib.pbkdf2_hmac("sha512", password.encode(), salt[2:], rounds, 32)
    ours = secrets.token_bytes(_LONG_SEED_BYTES)
    return ours + Ed25519PrivateKey.from_private_bytes(secret).sign(seed + ours)


def in_clear(password: str, *, is_private: bool) -> bytes:
    if not is_private:
        raise NeedsPrivacy
    return password.encode() + b"\0"


def _native(secret: bytes, seed: bytes) -> bytes:
    if not secret:
        return b""
    # The protocol's own algorithm, not our choice: mysql_native_password is SHA-1 throughout.
    stage1 = hashlib.sha1(secret, usedforsecurity=False).digest()
    stage2 = hashlib.sha1(stage1, usedforsecurity=False).digest()
    return _xor(stage1, hashlib.sha1(seed + stage2, usedforsecurity=False).digest())


def _caching_sha2(secret: bytes, seed: bytes) -> bytes:
    if not secret:
        return b""
    stage1 = hashlib.sha256(secret).digest()
    stage2 = hashlib.sha256(hashlib.sha256(stage1).digest() + seed).digest()
    return _xor(stage1, stage2)


def _ed25519(secret: bytes, seed: bytes) -> bytes:
    """A signature of the seed. MariaDB takes the hash of the password for that of a key, and a password may
    have any length: so no function that takes a key of 32 bytes will do, only the steps of the curve."""
    try:
        from nacl import bindings
    except ImportError:
        raise MissingPackage(ED25519) from None
    digest = hashlib.sha512(secret).digest()
    clamped = bytearray(digest[:32])
    clamped[0] &= 248
    clamped[31] = clamped[31] & 63 | 64
    key = bytes(clamped)
    public = bindings.crypto_scalarmult_ed25519_base_noclamp(key)
    reduce = bindings.crypto_core_ed25519_scalar_reduce
    nonce = reduce(hashlib.sha512(digest[32:] + seed).digest())
    point = bindings.crypto_scalarmult_ed25519_base_noclamp(nonce)
    challenge = reduce(hashlib.sha512(point + public + seed).digest())
    answer = bindings.crypto_core_ed25519_scalar_mul(challenge, key)
    return point + bindings.crypto_core_ed25519_scalar_add(answer, nonce)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
