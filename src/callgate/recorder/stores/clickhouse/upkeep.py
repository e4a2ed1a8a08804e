"""What is too old or too much goes: whole partitions, and before them the bodies of a day.

A day is `DROP PARTITION`, never DELETE. Bodies go by `CLEAR COLUMN` of a day, and not by a TTL of the table:
how long they are kept is in the gateways' configuration, and a change of it must not alter the table.
"""

import logging
from dataclasses import dataclass
from datetime import date

from callgate.recorder.flush.retention import Retention
from callgate.recorder.stores.clickhouse.connection import ClickhouseConnection
from callgate.recorder.stores.clickhouse.schema import BODIES, LEG_BODIES, RECORD

_log = logging.getLogger(__name__)

LIMIT_S = 300.0  # of one change: a day's bodies may be many
_DAYS = f"""
SELECT partition, sum(bytes_on_disk) AS size_bytes FROM system.parts
WHERE database = currentDatabase() AND table = '{RECORD}' AND active
GROUP BY partition ORDER BY partition DESC
"""  # noqa: S608
_WITH_BODIES = f"""
SELECT DISTINCT toString(stored_on) AS partition FROM {RECORD}
WHERE stored_on < $1 AND ({" OR ".join(f"{name} IS NOT NULL" for name in BODIES)}
    OR {" OR ".join(f"notEmpty({name})" for name in LEG_BODIES)})
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class StoredPartition:
    day: date
    size_bytes: int


def today_of(connection: ClickhouseConnection) -> date:
    """What rows are stored under."""
    (row,) = connection.fetch("SELECT toString(toDate(now('UTC'))) AS today")
    return date.fromisoformat(row["today"])


def found(connection: ClickhouseConnection) -> list[StoredPartition]:
    """Newest first."""
    return [
        StoredPartition(date.fromisoformat(row["partition"]), row["size_bytes"])
        for row in connection.fetch(_DAYS)
    ]


def tend(connection: ClickhouseConnection, retention: Retention, bodies_gone_before: date | None) -> date:
    """`bodies_gone_before`: what the last call returned. Several may do this at once."""
    today = today_of(connection)
    overdue = retention.overdue(found(connection), today)
    for day in overdue:
        _alter(connection, f"DROP PARTITION '{day.day.isoformat()}'")
    if overdue:
        _log.info("the record up to %s was deleted, as [record] keep or max_size says", overdue[-1].day)
    bodies_from = retention.oldest_bodies(today)
    if bodies_gone_before != bodies_from:
        for row in connection.fetch(_WITH_BODIES, [bodies_from]):
            for name in (*BODIES, *LEG_BODIES):
                _alter(connection, f"CLEAR COLUMN {name} IN PARTITION '{row['partition']}'")
    return bodies_from


def _alter(connection: ClickhouseConnection, change: str) -> None:
    connection.run(f"ALTER TABLE {RECORD} {change}", mutations_sync=2, alter_sync=2)
