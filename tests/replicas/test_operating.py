"""Two replicas of which one is not as it should be: both say so, and say the same."""

import asyncio
import json
import sys
from typing import Any
from urllib.request import urlopen

from databases.database import Database
from end_to_end.gateway_process import get_json, run_callgate
from waiting import until

from replicas.fleet import SERVER, Replica, running_fleet


async def told(replica: Replica, path: str) -> Any:
    return await asyncio.to_thread(get_json, f"http://127.0.0.1:{replica.port}{path}")


def metrics_of(replica: Replica) -> dict[str, float]:
    with urlopen(f"http://127.0.0.1:{replica.port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[:1] != "#")}


async def test_a_server_that_is_down_on_one_replica_and_what_differs_is_told_by_both(
    postgres: Database,
) -> None:
    args = json.dumps([str(SERVER), "/dev/null"])
    async with running_fleet(postgres, count=1) as fleet:
        fleet.extra = f'[mcpServers.second]\ncommand = "{sys.executable}"\nargs = {args}'
        first = await fleet.start_one()
        await fleet.replicas.pop(0).stop()
        fleet.extra = '[mcpServers.second]\nurl = "http://127.0.0.1:9/mcp"'
        other = await fleet.start_one()

        async def both_say_so() -> bool:
            servers = [await told(replica, "/api/v1/servers/second") for replica in (first, other)]
            return all(server["replicas"]["down"] == 1 == server["replicas"]["up"] for server in servers)

        await until(both_say_so)
        for replica in (first, other):
            server = await told(replica, "/api/v1/servers/second")
            assert server["state"] == "down"
            assert server["detail"].startswith(f"down on 1 of 2 replicas ({other.gateway}): ")
            (where,) = server["replicas"]["not_up"]
            assert where["replica"] == other.gateway

            async def is_degraded(replica: Replica = replica) -> bool:
                health = await told(replica, "/healthz")
                states = {entry["name"]: entry["state"] for entry in health["servers"]}
                assert "problems" not in health  # not within the first minute
                return (health["status"], states) == ("degraded", {"counter": "up", "second": "down"})

            await until(is_degraded)

        fleet.ask("UPDATE callgate_replicas.replicas SET started_at = started_at - interval '2 minutes'")

        async def is_named() -> bool:
            said = [await told(replica, "/healthz") for replica in (first, other)]
            return all("problems" in health for health in said)

        await until(is_named)
        for replica in (first, other):
            health = await told(replica, "/healthz")
            assert health["problems"][0].startswith(f"Replica {other.gateway} has another configuration")
            differs = {one["name"]: one.get("differs") for one in health["replicas"]}
            assert differs == {first.gateway: None, other.gateway: ["configuration"]}
            listed = await told(replica, "/api/v1/replicas")
            one, two = listed["replicas"]
            assert [one["name"], two["name"]] == [first.gateway, other.gateway]
            assert abs(one["clock_offset_s"]) < 1
            assert (one["down"], [down["name"] for down in two["down"]]) == ([], ["second"])
            assert one["is_this"] is (replica is first)
            assert one["flush_lag_s"] is not None

        done = await run_callgate(first.folder, "doctor", "--config", str(first.folder / "callgate.toml"))
        assert "✓ replicas directory: reachable" in done.stdout
        assert "2 replicas live." in done.stdout
        assert f"! Replica {other.gateway} has another configuration" in done.stdout

        async with first.client() as client:
            client.port = other.port
            assert "counter__count" in await client.names()
        metrics = await asyncio.to_thread(metrics_of, other)
        assert metrics["callgate_replicas_living"] == 2
        assert metrics['callgate_replica_hops_total{outcome="answered"}'] >= 1
        assert metrics['callgate_replica_adoptions_total{session="handshake"}'] == 0
        await other.stop()
        fleet.replicas.remove(other)

        async def is_alone() -> bool:
            server = await told(first, "/api/v1/servers/second")
            return server["state"] == "up" and server["replicas"]["total"] == 1

        await until(is_alone)
