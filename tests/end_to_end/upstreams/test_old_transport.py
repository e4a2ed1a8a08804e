"""A `url` of the old HTTP+SSE transport without a `type`: found out once, used for every connection."""

from pathlib import Path

from end_to_end.gateway_process import GatewayProcess, running_gateway
from end_to_end.raw_clients import LegacyClient, ModernClient
from kept_port import kept_port
from upstreams.http_servers.sdk_server import sdk_server
from waiting import until

ADD = {"a": 2, "b": 3}
DECLARED: list[dict[str, object]] = [
    {},
    {"roots": {}},
    {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}},
]


def write(folder: Path, url: str) -> None:
    (folder / "callgate.toml").write_text(f'version = 1\n[mcpServers.old]\nurl = "{url}"\n')


def port_of(gateway: GatewayProcess) -> int:
    return int(gateway.announced["url"].rpartition(":")[2])


async def until_state(gateway: GatewayProcess, state: str) -> None:
    async def is_so() -> bool:
        return (await gateway.get("/healthz"))["servers"][0]["state"] == state

    await until(is_so)


async def test_it_works_whatever_the_client_declares(tmp_path: Path) -> None:
    async with sdk_server("sse") as url:
        write(tmp_path, url)
        async with running_gateway(tmp_path) as gateway:
            await until_state(gateway, "up")
            for capabilities in DECLARED:
                async with LegacyClient(port_of(gateway), "/mcp", capabilities) as client:
                    answer = await client.call("old__add", ADD)
                    assert answer["result"]["content"][0]["text"] == "5"
            modern = await ModernClient(port_of(gateway), "/mcp").call("old__add", ADD)
            assert modern["result"]["content"][0]["text"] == "5"


async def test_it_works_again_after_the_server_was_gone(tmp_path: Path) -> None:
    with kept_port() as port:
        async with sdk_server("sse", port) as url:
            write(tmp_path, url)
        async with running_gateway(tmp_path) as gateway:
            for _ in range(2):
                async with sdk_server("sse", port):
                    await until_state(gateway, "up")
                    async with LegacyClient(port_of(gateway), "/mcp", {"roots": {}}) as client:
                        answer = await client.call("old__add", ADD)
                        assert "result" in answer, answer
                        assert answer["result"]["content"][0]["text"] == "5"
                await until_state(gateway, "down")
