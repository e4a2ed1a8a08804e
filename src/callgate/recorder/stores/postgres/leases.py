"""Who does what only one should do, for a while: a row of `leases`, taken by one statement.

A lease is by the database's clock, and ends by itself when its holder dies. Two holders for a moment (one
that hangs, and its successor) must do no harm: what is done under a lease can be done twice.
"""

from callgate.postgres_connection import Connection
from callgate.recorder.stores.postgres.schema import STORE

UPKEEP = "upkeep"
# Somebody follows the live stream at some gateway. Nobody's in particular: any of them makes it longer.
WATCHED = "watched"
_WATCHED_S = 10.0
_TAKE = f"""
INSERT INTO {STORE}.leases AS l (name, holder, until) VALUES ($1, $2, now() + make_interval(secs => $3))
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE l.holder = excluded.holder OR l.until < now() RETURNING holder
"""  # noqa: S608
# Each of them each quarter of a second would write all day: half of the time is left, then it is made longer.
# Looked at first: ON CONFLICT locks the row even where nothing changes, and readers would wait for others.
_WATCH = f"""
INSERT INTO {STORE}.leases AS l (name, holder, until)
SELECT '{WATCHED}', '', now() + make_interval(secs => {_WATCHED_S})
WHERE NOT EXISTS (SELECT FROM {STORE}.leases
    WHERE name = '{WATCHED}' AND until >= now() + make_interval(secs => {_WATCHED_S / 2}))
ON CONFLICT (name) DO UPDATE SET until = excluded.until
"""  # noqa: S608
IS_WATCHED = f"SELECT 1 FROM {STORE}.leases WHERE name = '{WATCHED}' AND until > now()"  # noqa: S608


async def take(connection: Connection, name: str, holder: str, for_s: float) -> bool:
    """Whether it is ours now, taken or made longer."""
    return await connection.fetchval(_TAKE, name, holder, for_s) is not None


async def watch(connection: Connection) -> None:
    """Writers flush sooner for a while."""
    await connection.execute(_WATCH)
