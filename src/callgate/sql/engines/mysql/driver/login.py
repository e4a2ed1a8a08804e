"""Proving who we are to a MySQL or MariaDB server. Pure: challenges in, responses out.

A password leaves the machine in the clear in one case only: `caching_sha2_password` and
`mysql_clear_password` ask for it, and the line is private: a Unix socket, or TLS with a server whose
certificate was verified. Encryption alone would give it to any server that answers.
"""

import hashlib

NATIVE = "mysql_native_password"
CACHING_SHA2 = "caching_sha2_password"
CLEAR = "mysql_clear_password"
KNOWN = (NATIVE, CACHING_SHA2, CLEAR)

# What caching_sha2_password says in its second step.
FAST_OK = 3
FULL_WANTED = 4


class UnknownPlugin(Exception):  # noqa: N818 - the opener words the error
    """The server wants to see a proof that we cannot make."""


class NeedsPrivacy(Exception):  # noqa: N818 - the opener words the error
    """The server wants the password itself, and nobody knows who that server is."""


def respond(plugin: str, password: str, seed: bytes, *, is_private: bool) -> bytes:
    secret = password.encode()
    if plugin == NATIVE:
        return _native(secret, seed)
    if plugin == CACHING_SHA2:
        return _caching_sha2(secret, seed)
    if plugin == CLEAR:
        return in_clear(password, is_private=is_private)
    raise UnknownPlugin(plugin)


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


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
