"""What is read without typer is read as typer does, and a gateway that was started so never imports it."""

import asyncio
import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from end_to_end.gateway_process import running_gateway
from hypothesis import given
from hypothesis import strategies as st
from waiting import DEADLINE_S

from callgate.cli.commands.serve_command import ServeOrder
from callgate.cli.commands.stdio_command import StdioOrder
from callgate.cli.main import app, command_of
from callgate.cli.start import plain_options

LOGGED = [sys.executable, str(Path(__file__).parents[1] / "end_to_end" / "imports_logged.py")]
_SHARED = ["--config", "-c", "--state-dir", "--log-level", "--log-format"]
_OF_SERVE = ["--host", "--port", "-p", "--workers", "--json", "--open", "--no-open", "--quiet", "-q"]
COMMANDS = {"serve": [*_SHARED, *_OF_SERVE], "stdio": _SHARED}
VALUES = [
    "7420",
    "65536",
    "07",
    "+1",
    "1_0",
    "\u0663",
    " 7",
    "-1",
    "1.0",
    "",
    " ",
    "~/a",
    "a/../b",
    "a b",
    "info",
    "INFO",
    "debug",
    "text",
    "json",
]
OTHERS = [
    "--help",
    "--",
    "shop.db",
    "--conf",
    "--port=7420",
    "--port=",
    "-p7420",
    "-qp",
    "-c=x",
    "--json=true",
    "ü",
    "\udcff",
]
PROGRAM = command_of(app)


def as_typer_reads(command: str, args: list[str]) -> dict[str, Any] | None:
    """None: it says that something is wrong, or shows its help."""
    try:
        return PROGRAM.commands[command].make_context(command, list(args)).params
    except (typer.TyperException, typer.Exit):
        return None


@given(data=st.data(), command=st.sampled_from(sorted(COMMANDS)))
def test_what_is_read_is_what_typer_reads(data: st.DataObject, command: str) -> None:
    words = st.sampled_from([*COMMANDS[command], *VALUES, *OTHERS, "--host", "--json"])
    args = data.draw(st.lists(words, max_size=5))
    read = plain_options(command, args)
    if read is not None:
        made = dataclasses.asdict(ServeOrder(**read) if command == "serve" else StdioOrder(**read))
        expected = as_typer_reads(command, args)
        assert expected is not None
        assert {"is_bare": False, **expected} == {"is_bare": False, **made}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_option_can_be_read(command: str) -> None:
    for option in PROGRAM.commands[command].params:
        for word in () if option.name in ("addresses", "help") else (*option.opts, *option.secondary_opts):
            value = {"port": "7420", "log_level": "info", "log_format": "json"}.get(option.name, "some/where")
            for args in [[word]] if option.is_flag else [[word, value], [f"{word}={value}"]]:
                if word.startswith("--") or "=" not in args[0]:
                    expected = as_typer_reads(command, args)
                    assert expected is not None
                    assert plain_options(command, args) == {option.name: expected[option.name]}, args


async def test_a_gateway_that_serves_has_no_command_line_library(tmp_path: Path) -> None:
    imports = tmp_path / "imports"
    async with (
        asyncio.timeout(DEADLINE_S),
        running_gateway(tmp_path, command=LOGGED, IMPORTS=str(imports)),
    ):
        loaded = {name.partition(".")[0] for name in imports.read_text().splitlines()}
    assert "starlette" in loaded
    assert not {"typer", "rich", "pydantic", "pydantic_core", "duckdb"} & loaded
