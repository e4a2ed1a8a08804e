"""Public names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.relay.lists.public_names import MAX_NAME_CHARS, public_name, server_of, short_servers

PUBLIC = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LONG = "awslabs-amazon-bedrock-agentcore-documentation-mcp-server"
servers = st.from_regex(r"[a-z0-9](-?[a-z0-9]){0,31}", fullmatch=True)
tools = st.text(min_size=1, max_size=200)


def named(server: str, tool: str) -> str:
    return public_name(server, tool, servers={server}, short=short_servers([server])[server])


def test_a_short_name_is_the_server_and_the_tool() -> None:
    assert public_name("shop", "query") == "shop__query"


@given(servers, tools)
def test_every_name_is_one_that_all_clients_take_and_always_the_same(server: str, tool: str) -> None:
    assert PUBLIC.fullmatch(named(server, tool))
    assert named(server, tool) == named(server, tool)


@given(servers, tools)
def test_every_name_leads_back_to_its_server(server: str, tool: str) -> None:
    short = short_servers([server, "other"])
    name = public_name(server, tool, servers={server, "other"}, short=short[server])
    assert server_of(name, {server, "other"}, {one: of for of, one in short.items()}) == server


@given(server=servers, one=tools, other=tools)
def test_two_tools_never_become_one(server: str, one: str, other: str) -> None:
    assert (named(server, one) == named(server, other)) is (one == other)


@given(server=servers, head=st.text(min_size=70, max_size=70), one=tools, other=tools)
def test_two_long_names_with_the_same_beginning_stay_apart(
    server: str, head: str, one: str, other: str
) -> None:
    assert (named(server, head + one) == named(server, head + other)) is (one == other)


@pytest.mark.parametrize("tool", ["read_documentation", "t" * 52])
def test_a_long_name_keeps_the_tool_and_shortens_the_server(tool: str) -> None:
    name = named(LONG, tool)
    assert name.endswith(f"__{tool}")
    assert name.startswith("aws-")
    assert len(name) <= MAX_NAME_CHARS


@pytest.mark.parametrize(
    ("tool", "beginning"),
    [("browser.click", "shop__browser_click_"), ("get user", "shop__get_user_"), ("é", "shop__tool_")],
)
def test_what_clients_do_not_take_is_replaced_and_told_apart_by_a_digest(tool: str, beginning: str) -> None:
    assert re.fullmatch(re.escape(beginning) + "[0-9a-f]{8}", named("shop", tool))


def test_short_names_are_nobody_else_s() -> None:
    (short,) = short_servers([LONG]).values()
    both = short_servers([LONG, short])
    assert both[short] == short
    assert both[LONG] != short
