"""Public names."""

from hypothesis import given
from hypothesis import strategies as st

from callgate.relay.public_names import MAX_NAME_CHARS, public_name

servers = st.from_regex(r"[a-z0-9][a-z0-9-]{0,40}", fullmatch=True)
tools = st.text(min_size=1, max_size=200)


def test_a_short_name_is_the_server_and_the_tool() -> None:
    assert public_name("shop", "query") == "shop__query"


@given(servers, tools)
def test_no_name_is_longer_than_clients_take_and_it_is_always_the_same(server: str, tool: str) -> None:
    assert len(public_name(server, tool)) <= MAX_NAME_CHARS
    assert public_name(server, tool) == public_name(server, tool)


@given(server=servers, head=st.text(min_size=70, max_size=70), one=tools, other=tools)
def test_two_long_names_with_the_same_beginning_stay_apart(
    server: str, head: str, one: str, other: str
) -> None:
    assert (public_name(server, head + one) == public_name(server, head + other)) is (one == other)
