"""The OpenAPI document is printed in the docs, and held against a running gateway."""

import asyncio
import sys
import tomllib
from pathlib import Path

import httpx2
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
        config = await gateway.get("/api/v1/config")
        assert (config["file"], config["entries"]) == (None, []), "it has changed nothing"


async def test_nothing_that_schemathesis_sends_can_start_a_program(tmp_path: Path) -> None:
    headers = tomllib.loads(SETTINGS.read_text())["headers"]
    started = tmp_path / "started"
    async with running_gateway(tmp_path) as gateway:
        url = f"{gateway.announced['url']}/api/v1"
        async with httpx2.AsyncClient(headers=headers) as client:
            tag = (await client.get(f"{url}/config")).headers["etag"]
            text = f"touch {started}"
            for answer in (
                await client.post(f"{url}/servers/probe", json={"text": text}),
                await client.patch(f"{url}/config", json={"add": {"text": text}}, headers={"if-match": tag}),
                await client.patch(
                    f"{url}/config",
                    json={"set": {"mcpServers.x": {"command": "touch", "args": [str(started)]}}},
                    headers={"if-match": tag},
                ),
            ):
                assert (answer.status_code, answer.json()["code"]) == (403, "refused.not_local")
    assert not started.exists()
