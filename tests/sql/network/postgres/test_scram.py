"""SCRAM against a server that cheats. That it works is shown by every login to the real PostgreSQL."""

import base64

import pytest
from databases.database import Database
from sql.network.conftest import Opener

from callgate.sql.engines.postgres.driver import scram
from callgate.sql.engines.postgres.driver.scram import ScramFailed

UNBOUND = scram.Binding()
NONCE = "rOprNGfwEbeRWgbNEkqO"
SALT = base64.b64encode(b"salt of the test").decode()


def first(nonce: str = NONCE + "server", iterations: str = "4096") -> bytes:
    return f"r={nonce},s={SALT},i={iterations}".encode()


@pytest.mark.parametrize(
    "message",
    [
        first(nonce=NONCE),  # nothing of its own
        first(nonce="other" + NONCE),
        first(iterations="0"),
        first(iterations="999999999"),  # to keep us computing
        first(iterations="many"),
        b"e=invalid-proof",
        b"",
        b"\xff",
    ],
)
def test_a_challenge_that_is_none_is_not_answered(message: bytes) -> None:
    with pytest.raises(ScramFailed):
        scram.prove("hunter2", NONCE, message, UNBOUND)


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    proof = scram.prove("hunter2", NONCE, first(), UNBOUND)
    other = scram.prove("hunter3", NONCE, first(), UNBOUND)
    scram.check_server(proof, proof.expected)
    for final in (other.expected, b"v=", b"", b"e=other-error"):
        with pytest.raises(ScramFailed):
            scram.check_server(proof, final)


def test_the_password_is_in_no_message() -> None:
    proof = scram.prove("hunter2", NONCE, first(), UNBOUND)
    assert b"hunter2" not in scram.first_message(NONCE, UNBOUND) + proof.message


async def test_passwords_of_any_characters_log_in(post: Opener, postgres: Database) -> None:
    for password in ("plain", "ü😀", "a\u00a0b", "ﬁ\u00ad", "'\"\\ %"):
        quoted = password.replace("'", "''")
        postgres.run(f"DROP ROLE IF EXISTS worded; CREATE ROLE worded LOGIN PASSWORD '{quoted}'")
        async with post(user=("worded", password)) as source:
            assert await source.cell("SELECT 7") == 7
