"""A secret that a server repeats is found in any of the forms that need no knowledge to read."""

import base64

import pytest

from callgate.upstreams.hide_secrets import held_in_address, hider, repeats_in_disguise

SECRET = "s3cr3t-of-acme+42"


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "key: "])
@pytest.mark.parametrize("after", ["", "x", "xy", " and so on"])
def test_a_secret_in_base64_is_found_wherever_it_begins(before: str, after: str) -> None:
    told = base64.b64encode(f"{before}{SECRET}{after}".encode()).decode()
    assert repeats_in_disguise(f"See {told}.", [SECRET])


def test_a_secret_in_pieces_or_in_hex_is_found_and_other_texts_are_not() -> None:
    for told in (
        "\u200b".join(SECRET),
        " ".join(SECRET),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
    ):
        assert repeats_in_disguise(f"See {told}.", [SECRET])
    assert not repeats_in_disguise("Adds two numbers of acme, 42 of them.", [SECRET, "add"])


def test_what_an_address_holds_is_hidden_as_it_is_and_decoded() -> None:
    held = held_in_address("https://ada:p%40ssword@x.example/?api_key=k%2Bey12345", ["Bearer tok-12345"])
    told = hider(held, lambda text: text)("p@ssword, p%40ssword, k+ey12345, tok-12345")
    assert told == "***, ***, ***, ***"
