"""What clients are told can be read by them, names this gateway, and never holds a token."""

import base64
import json
import shlex
import tomllib
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml
from docs.connect_page import LOCKED, OPEN, PAGE, with_sections

from callgate.config.mcp_clients import CLIENTS, Door, McpClient

READERS = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
# Where each client looks for its servers, and the key of an address.
PLACES = {
    "claude-code": ("mcpServers", "url"),
    "cursor": ("mcpServers", "url"),
    "vscode": ("servers", "url"),
    "windsurf": ("mcpServers", "serverUrl"),
    "codex": ("mcp_servers", "url"),
    "gemini-cli": ("mcpServers", "httpUrl"),
    "opencode": ("mcp.servers", "url"),
    "goose": ("extensions", "uri"),
}
STDIO_PLACES = {"claude-desktop": "mcpServers", "zed": "context_servers"}
DOORS = pytest.mark.parametrize("door", [OPEN, LOCKED], ids=["open", "with a token"])


def entry_of(client: McpClient, door: Door) -> dict[str, Any]:
    whole = READERS[client.syntax](client.entry(door))
    for key in (PLACES.get(client.key) or (STDIO_PLACES[client.key],))[0].split("."):
        whole = whole[key]
    return whole["callgate"]


def test_no_client_is_left_out_of_this_test() -> None:
    assert {client.key for client in CLIENTS} == {*PLACES, *STDIO_PLACES}
    assert all((client.transport == "http") == (client.key in PLACES) for client in CLIENTS)


@DOORS
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.key)
def test_every_entry_is_read_and_leads_here(client: McpClient, door: Door) -> None:
    entry = entry_of(client, door)
    if client.transport == "stdio":
        assert (entry["command"], entry["args"]) == (door.program, ["stdio"])
        return
    assert entry[PLACES[client.key][1]] == door.url
    if client.key == "codex":  # it takes the name of a variable only
        assert entry.get("bearer_token_env_var") == ("CALLGATE_TOKEN" if door.needs_token else None)
    elif door.needs_token:
        assert entry["headers"]["Authorization"].startswith("Bearer ")
    else:
        assert "headers" not in entry


def test_vs_code_asks_for_the_token_that_its_entry_names() -> None:
    vscode = next(client for client in CLIENTS if client.key == "vscode")
    whole = json.loads(vscode.entry(LOCKED))
    (asked,) = whole["inputs"]
    assert asked["password"] is True
    assert f"${{input:{asked['id']}}}" in whole["servers"]["callgate"]["headers"]["Authorization"]


@DOORS
def test_links_hold_what_the_entry_says(door: Door) -> None:
    links = {client.key: client.link(door) for client in CLIENTS if client.link}
    clients = {client.key: client for client in CLIENTS}
    cursor = urlsplit(links.pop("cursor"))
    assert (cursor.scheme, cursor.netloc, cursor.path) == (
        "cursor",
        "anysphere.cursor-deeplink",
        "/mcp/install",
    )
    asked = parse_qs(cursor.query)
    assert asked["name"] == ["callgate"]
    assert json.loads(base64.b64decode(asked["config"][0])) == entry_of(clients["cursor"], door)

    scheme, _, told = links.pop("vscode").partition("?")
    assert scheme == "vscode:mcp/install"
    whole = json.loads(unquote(told))
    inputs = whole.pop("inputs", None)
    assert whole == {"name": "callgate"} | entry_of(clients["vscode"], door)
    assert inputs == json.loads(clients["vscode"].entry(door)).get("inputs")

    goose = urlsplit(links.pop("goose"))
    assert (goose.scheme, goose.netloc) == ("goose", "extension")
    assert parse_qs(goose.query)["url"] == [door.url]
    assert links == {}


@DOORS
def test_commands_are_what_a_shell_takes(door: Door) -> None:
    commands = {client.key: shlex.split(client.command(door)) for client in CLIENTS if client.command}
    assert json.loads(commands.pop("vscode")[-1])["url"] == door.url
    assert {words[0] for words in commands.values()} == {"claude", "codex", "gemini"}
    for words in commands.values():
        assert door.url in words
        assert any("CALLGATE_TOKEN" in word for word in words) == door.needs_token


def test_the_document_shows_the_same() -> None:
    page = PAGE.read_text()
    assert page == with_sections(page), "run: PYTHONPATH=tests .venv/bin/python -m docs.connect_page"
