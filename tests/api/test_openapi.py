"""The OpenAPI document is printed in the docs, and held against a running gateway."""

import asyncio
import sys
from pathlib import Path

from api.write_openapi import document
from end_to_end.gateway_process import clean_environment, run_callgate, running_gateway
from examples import examples

PRINTED = Path(__file__).parents[2] / "docs" / "openapi.json"
SETTINGS = Path(__file__).with_name("schemathesis.toml")


async def test_the_printed_document_is_the_served_one() -> None:
    assert PRINTED.read_text() == await document(), "run scripts/openapi"


async def test_schemathesis_finds_nothing_at_a_running_gateway(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as gateway:
        await run_callgate(tmp_path, "call", "demo__query", "query=SELECT 1")
        served = f"{gateway.announced['url']}/api/v1/openapi.json"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "schemathesis.cli", "--config-file", str(SETTINGS), "run", served,
            "--max-examples", str(examples(5)), "--seed", "1", "--no-color",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env=clean_environment(tmp_path), cwd=tmp_path,
        )  # fmt: skip
        told, _ = await process.communicate()
        assert process.returncode == 0, told.decode()[-6000:]
