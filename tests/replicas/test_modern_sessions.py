"""One modern client is one session in the record, whichever replicas it meets, and whatever is away."""

import asyncio
import time
from dataclasses import replace

from databases.database import Database
from stores.postgres.way import way_to
from waiting import until

from replicas.fleet import Replica, running_fleet

GAP_S = 9.0  # as half an hour is otherwise
PATIENCE_S = 0.5  # of a session's first call, with the directory
SESSIONS = "SELECT count(*), count(DISTINCT session_id) FROM callgate.rpc_events WHERE tool_name = 'touch'"


def stretch() -> int:
    """In which gap of time we are: ids are made of it."""
    return int(time.time() // GAP_S)


async def list_as_another(replica: Replica) -> None:
    """A client that nobody else is, whose session this replica tells the directory."""
    info = {"io.modelcontextprotocol/clientInfo": {"name": f"at {replica.port}", "version": "1"}}
    async with replica.modern() as client:
        assert "result" in await client.request("tools/list", {"_meta": info})


async def test_a_session_is_one_without_the_database_at_its_first_calls_and_over_a_border_of_its_gap(
    postgres: Database,
) -> None:
    with way_to(postgres.port) as way:
        reached = replace(postgres, port=way.port)
        gap = f'session_gap = "{GAP_S:g}s"'
        async with running_fleet(postgres, reached, count=3, record=gap) as fleet:
            first, second, third = fleet.replicas
            async with first.modern(path="/servers/counter/mcp") as client:

                async def call(port: int) -> float:
                    client.port = port
                    sent_at = time.monotonic()
                    assert "result" in await client.call("touch")
                    return time.monotonic() - sent_at

                # Its border is near, and three calls fit before it.
                await until(lambda: 0.3 < time.time() / GAP_S % 1 < 0.6)
                began = stretch()
                way.cut()
                # Neither can ask anybody: they make the same id.
                for replica in (first, second, first):
                    await call(replica.port)
                if stretch() != began:  # on a machine that is this slow, two halves are what is promised
                    return
                way.restore()
                calls = 3
                others = asyncio.gather(*(list_as_another(replica) for replica in (second, third)))
                # All three have the directory again: a first call waits only half a second for it.
                known = "SELECT count(*) = 3 FROM callgate_replicas.homes"
                while fleet.ask(known) != [["t"]] or stretch() == began:
                    await call(first.port)
                    calls += 1
                    await asyncio.sleep(0.2)  # it only has to stay within its gap
                await others
                took_s = await call(third.port)  # it never heard of the client, and asks the directory
                took_s = max(took_s, await call(second.port))
            await until(lambda: fleet.ask(SESSIONS)[0][0] == str(calls + 2))
            # A directory that is that slow is not waited for: then one that it asked may have begun anew.
            most = 1 if took_s < PATIENCE_S else 2
            assert 1 <= int(fleet.ask(SESSIONS)[0][1]) <= most
