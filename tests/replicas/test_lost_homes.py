"""A home that is gone, or only cannot be reached: plain sessions go on elsewhere, never in two places."""

import asyncio
import json
import signal
from dataclasses import replace

from databases.database import Database
from end_to_end.gateway_process import get_json
from stores.postgres.way import way_to
from waiting import until

from callgate.replicas.sealed_ids import directory_key
from replicas.fleet import running_fleet
from replicas.test_one_gateway import ASKABLE, park, retry_of, text_of

KEYS = "SELECT key FROM callgate_replicas.homes"


async def test_sessions_of_a_killed_home_go_on_elsewhere_unless_they_were_bound_to_it(
    postgres: Database,
) -> None:
    async with running_fleet(postgres, count=3) as fleet:
        home, second, third = fleet.replicas
        async with (
            home.client(info={"name": "plain", "version": "1"}) as plain,
            home.client(info={"name": "bound", "version": "1"}) as bound,
            home.client(info={"name": "busy", "version": "1"}) as busy,
            home.modern(capabilities=ASKABLE) as modern,
        ):
            assert text_of(await plain.call("counter__count")).startswith("1 ")
            await bound.request("resources/subscribe", {"uri": "memo://one"})
            parked = await park(modern, "lost?")
            await until(lambda: ["f"] in fleet.ask("SELECT is_plain FROM callgate_replicas.homes"))
            plain.port = second.port
            stream = await plain.listen()
            busy.port = second.port
            waiting = await busy.send("tools/call", {"name": "counter__wait", "arguments": {}})
            await until(lambda: "waiting" in fleet.said())
            await home.stop(signal.SIGKILL)
            await waiting.read_head()
            (told,) = await waiting.all()
            assert json.loads(told)["error"]["data"]["code"] == "upstream.replica_lost"
            rest = await stream.rest()
            assert b"HTTP/1.1" not in rest  # no second answer in the middle of the first
            assert not rest.endswith(b"0\r\n\r\n")  # and no end that looks like one

            modern.port = second.port
            answer = await modern.request("tools/call", retry_of("lost?", parked, "x"))
            assert answer["error"]["data"]["code"] == "caller.request_state"
            assert "is gone" in answer["error"]["message"]

            statuses: list[int] = []

            async def goes_on() -> bool:
                plain.port = (second.port, third.port)[len(statuses) % 2]
                answering = await plain.send("tools/call", {"name": "counter__count", "arguments": {}})
                await answering.read_head()
                statuses.append(answering.status)
                if answering.status == 503:
                    assert answering.headers["retry-after"] == "2"
                await answering.hang_up()
                return answering.status == 200

            await until(goes_on)
            assert set(statuses) <= {200, 503}
            # One home, the same for both: it counts on, whoever is asked.
            counts: list[str] = []
            for port in (second.port, third.port, second.port):
                plain.port = port
                counts.append(text_of(await plain.call("counter__count")))
            assert [count.split()[0] for count in counts] == ["2", "3", "4"]
            session = "SELECT count(DISTINCT session_id) FROM callgate.rpc_events WHERE client LIKE 'plain%'"
            await until(lambda: fleet.ask(session) == [["1"]])

            bound.port = third.port
            statuses.clear()

            async def is_decided() -> bool:
                answering = await bound.send("tools/list")
                await answering.read_head()
                statuses.append(answering.status)
                await answering.hang_up()
                return answering.status != 503

            await until(is_decided)
            assert statuses[-1] == 404


async def test_a_rolling_restart_costs_plain_sessions_nothing(
    postgres: Database, pgbouncer: Database
) -> None:
    async with running_fleet(postgres, pgbouncer, count=2) as fleet, fleet.replicas[0].client() as client:
        for _ in range(2):
            leaving = fleet.replicas.pop(0)
            await fleet.start_one()
            await leaving.stop()
            for replica in (*fleet.replicas, *fleet.replicas):
                client.port = replica.port
                assert "result" in await client.call("counter__count")
                assert "counter__count" in await client.names()
        stream = await client.listen()
        await stream.hang_up()


async def test_a_home_that_beats_but_cannot_be_reached_keeps_its_sessions(postgres: Database) -> None:
    # It advertises a port at which nobody listens.
    async with running_fleet(postgres, count=1) as fleet:
        fleet.extra = 'advertise = "127.0.0.1:9"'
        hidden = await fleet.start_one()
        fleet.extra = ""
        async with hidden.client() as client:
            client.port = fleet.replicas[0].port
            for _ in range(3):
                answering = await client.send("tools/list")
                await answering.read_head()
                assert (answering.status, answering.headers["retry-after"]) == (503, "2")
                await answering.hang_up()
            assert (await client.request("ping"))["error"]["data"]["code"] == "upstream.replica_unreachable"
            await until(lambda: [hidden.gateway] in fleet.ask("SELECT home FROM callgate_replicas.homes"))
            client.port = hidden.port
            assert "counter__count" in await client.names()


async def test_while_the_database_is_away_known_homes_serve_on_and_nobody_is_adopted(
    postgres: Database,
) -> None:
    with way_to(postgres.port) as way:
        async with running_fleet(postgres, replace(postgres, port=way.port), count=2) as fleet:
            first, second = fleet.replicas
            async with first.client() as client, second.modern() as modern:
                client.port = second.port
                assert "counter__count" in await client.names()
                await until(lambda: [directory_key(client.session)] in fleet.ask(KEYS))
                way.cut()
                assert "counter__count" in await client.names()
                assert "result" in await modern.call("counter__count")
                async with first.client() as fresh:
                    fresh.port = second.port
                    assert "counter__count" in await fresh.names()

                async def is_told() -> bool:
                    health = await asyncio.to_thread(get_json, f"http://127.0.0.1:{second.port}/healthz")
                    return any("[replicas] database" in problem for problem in health.get("problems", ()))

                await until(is_told)
                await first.stop(signal.SIGKILL)
                answering = await client.send("tools/list")
                await answering.read_head()
                assert answering.status == 503
                await answering.hang_up()
                way.restore()

                async def goes_on() -> bool:
                    again = await client.send("tools/list")
                    await again.read_head()
                    await again.hang_up()
                    return again.status == 200

                await until(goes_on)
