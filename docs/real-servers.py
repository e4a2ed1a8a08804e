#!/usr/bin/env python3
"""Two servers from npm behind a real gateway, used through it by the official SDK client.

    .venv/bin/python docs/real-servers.py        # needs npm; ends with 1 if anything is not as it should be

`docs/real-servers.md` explains it and shows what it prints.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from mcp import Client
from mcp_types import (
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
    TextResourceContents,
)

READY_TIMEOUT_S = 180.0  # two Node programs that start, on a busy machine
PACKAGES = tuple(f"@modelcontextprotocol/server-{name}@2026.8.31" for name in ("everything", "filesystem"))
CACHE = Path(__file__).parents[1] / ".cache" / "real-servers"
EVERYTHING = CACHE / "node_modules" / ".bin" / "mcp-server-everything"
FILESYSTEM = CACHE / "node_modules" / ".bin" / "mcp-server-filesystem"
LONG = "everything__trigger-long-running-operation"
failures: list[str] = []


def check(what: str, good: bool, seen: object) -> None:
    shown = " ".join(str(seen).split())
    print(f"  {'ok  ' if good else 'FAIL'} {what}: {shown[:130]}")
    if not good:
        failures.append(what)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder).resolve() / "files"  # resolved, as the server itself does before it compares
        files.mkdir()
        install()
        asyncio.run(use_both(files))
    print(f"{len(failures)} of the above are wrong" if failures else "Everything as it should be")
    return 1 if failures else 0


def install() -> None:
    """Once. `npx` asks the registry at every start, which can take longer than a server may be silent."""
    if not all(server.exists() for server in (EVERYTHING, FILESYSTEM)):
        command = ("npm", "install", "--no-audit", "--no-fund", "--prefix", str(CACHE), *PACKAGES)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


async def use_both(files: Path) -> None:
    async with gateway(files.parent, files) as url:
        print("Both servers at /mcp, a client of the era that they speak (mode=legacy)")
        async with Client(f"{url}/mcp", mode="legacy", **answers(files)) as client:
            await lists(client)
            await everything(client)
            await filesystem(client, files)
        print("One server at /servers/everything/mcp, with its own names")
        async with Client(f"{url}/servers/everything/mcp", mode="legacy", **answers(files)) as client:
            await questions(client, files)
        print("A modern client (mode=auto), through the bridge between the eras")
        async with Client(f"{url}/mcp", mode="auto", **answers(files)) as client:
            await other_era(client)
        async with Client(f"{url}/servers/everything/mcp", mode="auto") as client:
            check("one server alone", client.protocol_version == "2026-07-28", client.protocol_version)
            echoed = text_of(await client.call_tool("echo", {"message": "hello"}))
            check("its calls work too", echoed == "Echo: hello", echoed)


# ---- what is done through the gateway


async def lists(client: Client) -> None:
    check("revision", client.protocol_version == "2025-11-25", client.protocol_version)
    tools = [tool.name for tool in (await client.list_tools()).tools]
    wanted = {"everything__echo", "everything__get-sum", LONG, "files__read_text_file", "files__write_file"}
    check(f"{len(tools)} tools", wanted <= set(tools), ", ".join(sorted(wanted)) + ", …")
    prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
    check(f"{len(prompts)} prompts", "everything__simple-prompt" in prompts, ", ".join(prompts))
    resources = (await client.list_resources()).resources
    check(f"{len(resources)} resources", bool(resources), f"{resources[0].uri}, …" if resources else "none")
    templates = (await client.list_resource_templates()).resource_templates
    check(f"{len(templates)} templates", bool(templates), ", ".join(t.uri_template for t in templates))
    first = (await client.read_resource(str(resources[0].uri))).contents[0]
    text = first.text if isinstance(first, TextResourceContents) else ""
    check("a resource", text.startswith("#"), text)


async def everything(client: Client) -> None:
    echoed = text_of(await client.call_tool("everything__echo", {"message": "Zoë says \u2603"}))
    check("echo", echoed == "Echo: Zoë says \u2603", echoed)
    total = text_of(await client.call_tool("everything__get-sum", {"a": 19, "b": 23}))
    check("get-sum", "42" in total, total)
    weather = await client.call_tool("everything__get-structured-content", {"location": "Chicago"})
    check(
        "structured content", "temperature" in (weather.structured_content or {}), weather.structured_content
    )
    prompt = await client.get_prompt("everything__args-prompt", {"city": "Paris"})
    asked = prompt.messages[0].content
    check("a prompt", isinstance(asked, TextContent) and "Paris" in asked.text, getattr(asked, "text", asked))

    steps: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    done = await client.call_tool(LONG, {"duration": 1, "steps": 4}, progress_callback=on_progress)
    check("a long operation", "completed" in text_of(done), text_of(done))
    check("its progress", steps == [1, 2, 3, 4], steps)
    wrong = await client.call_tool("everything__get-sum", {"a": "nineteen", "b": 23})
    check("wrong arguments are the tool's error", wrong.is_error is True, text_of(wrong))


async def filesystem(client: Client, files: Path) -> None:
    note = files / "note.txt"
    wrote = await client.call_tool("files__write_file", {"path": str(note), "content": "Grüße\n"})
    check("write_file", note.read_text() == "Grüße\n", text_of(wrote).replace(str(files), "…"))
    read = text_of(await client.call_tool("files__read_text_file", {"path": str(note)}))
    check("read_text_file", read == "Grüße\n", read)
    listed = text_of(await client.call_tool("files__list_directory", {"path": str(files)}))
    check("list_directory", "[FILE] note.txt" in listed, listed)
    outside = await client.call_tool("files__read_text_file", {"path": "/etc/passwd"})
    check("a file outside is refused", outside.is_error is True, text_of(outside).replace(str(files), "…"))


async def questions(client: Client, files: Path) -> None:
    """What the server asks of its client in the middle of a call."""
    tools = [tool.name for tool in (await client.list_tools()).tools]
    wanted = {"trigger-sampling-request", "trigger-elicitation-request", "get-roots-list"}
    check(f"{len(tools)} tools", wanted <= set(tools), ", ".join(sorted(wanted)) + ", …")
    sampled = text_of(await client.call_tool("trigger-sampling-request", {"prompt": "6 times 7?"}))
    check("sampling", "The answer to" in sampled and "6 times 7?" in sampled, sampled)
    elicited = text_of(await client.call_tool("trigger-elicitation-request"))
    check("elicitation", "Name: Zoë" in elicited, elicited)
    roots = text_of(await client.call_tool("get-roots-list"))
    check("roots", files.as_uri() in roots, roots.replace(files.as_uri(), "file://…"))


async def other_era(client: Client) -> None:
    """Both servers speak the handshake era only, the client does not: the gateway translates."""
    check("all servers together", client.protocol_version == "2026-07-28", client.protocol_version)
    tools = [tool.name for tool in (await client.list_tools()).tools]
    check(f"{len(tools)} tools", "everything__echo" in tools, "everything__echo, …")
    echoed = text_of(await client.call_tool("everything__echo", {"message": "hello"}))
    check("a call", echoed == "Echo: hello", echoed)
    elicited = text_of(await client.call_tool("everything__trigger-elicitation-request"))
    check("a question in the middle of a call", "Name: Zoë" in elicited, elicited)


# ---- what the client answers when a server asks


def answers(files: Path) -> dict[str, Any]:
    async def sample(context: Any, params: Any) -> CreateMessageResult:
        content = TextContent(type="text", text=f"The answer to {params.messages[0].content.text!r} is 42")
        return CreateMessageResult(role="assistant", model="none", content=content)

    async def elicit(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Zoë", "check": True})

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=files.as_uri(), name="files")])

    return {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


# ---- the gateway


@asynccontextmanager
async def gateway(folder: Path, files: Path) -> AsyncIterator[str]:
    config = folder / "callgate.toml"
    config.write_text(f"""version = 1

[mcpServers.everything]
command = {json.dumps(str(EVERYTHING))}

[mcpServers.files]
command = {json.dumps(str(FILESYSTEM))}
args = [{json.dumps(str(files))}]
""")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "callgate", "serve", "--json", "--port", "0",
        "--config", config, "--state-dir", folder / "state",
        stdout=asyncio.subprocess.PIPE, env={k: v for k, v in os.environ.items() if "CALLGATE" not in k},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        url = json.loads(await process.stdout.readline())["url"]
        await ready(url)
        yield url
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def ready(url: str) -> None:
    async with asyncio.timeout(READY_TIMEOUT_S):
        while (health := await asyncio.to_thread(get_json, f"{url}/healthz"))["status"] != "ok":  # noqa: ASYNC110
            await asyncio.sleep(0.2)  # the gateway serves at once and never waits for a server; we want both
    for server in health["servers"]:
        print(f"  {server['name']}: {server['detail']}")


def get_json(url: str) -> Any:
    with urlopen(url, timeout=30) as answer:  # noqa: S310 - an address that our own gateway told
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
