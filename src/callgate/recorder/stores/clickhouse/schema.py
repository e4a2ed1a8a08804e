"""The table of the record in ClickHouse, and the four views that everybody reads.

One wide table holds every row of a batch, whatever it is of: so a batch is one INSERT of one block into one
partition, which ClickHouse does whole or not at all. `row_kind` says what a row is:

    event     a settled exchange, its legs with it
    open      an exchange that had no outcome yet; `closed` (its id alone) says that it has one by now
    session   what one batch adds to a session: the view adds up
    gap       what could not be kept
    segment   how far the batch reaches into a segment of the journal

`row_kind` and `row_key` come first in the order of the rows, so that each kind is read as if it had a table
of its own. A row lies in the partition of the day on which it was first sent.
Columns may be added, never change meaning: processes of two versions write side by side, each names its own.
"""

from callgate.model.error_codes import SETUP_STORE_NEWER
from callgate.model.errors import SetupError
from callgate.recorder.stores.batch_rows import SUM_NAMES, WORD_NAMES
from callgate.recorder.stores.clickhouse.connection import (
    ClickhouseAddress,
    ClickhouseConnection,
    ClickhouseError,
)
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS, SESSION_COLUMNS

SCHEMA_VERSION = 1
# The oldest version of this module that can still read what we write.
MIN_READER = 1
RECORD = "callgate_record"
_VERSIONS = "callgate_versions"
VIEWS = ("rpc_events", "sessions", "rpc_event_upstreams", "gaps")

BODIES = ("request_json", "response_json")
LEG_BODIES = ("leg_requests", "leg_responses")
# An exchange is shown as open for so long; after that it is in the record once it ends. What was open and
# what ended is compared at every read, so there must not be too much of it.
OPEN_DAYS = 7
# Of so many inserts ClickHouse knows the token again.
_REMEMBERED_INSERTS = 10_000

_MOMENT = "DateTime64(6, 'UTC')"
_TYPES = {
    "VARCHAR": "Nullable(String)",
    "TIMESTAMP": f"Nullable({_MOMENT})",
    "DOUBLE": "Nullable(Float64)",
    "BIGINT": "Nullable(Int64)",
    "BOOLEAN": "Nullable(Bool)",
    "UUID": "UUID",
    "VARCHAR[]": "Array(String)",
}
_FEW = (  # of which there are few different ones
    "method", "client", "kind", "sender", "server_name", "server_version", "server_protocol", "tool_name",
    "source_id", "error_code", "outcome", "ended_by", "annotations", "tokens_by", "statement_type", "mode",
    "verdict", "rule", "principal", "via", *WORD_NAMES,
)  # fmt: skip
_LONG = "CODEC(ZSTD(1))"
_SPECIAL = {"ts": _MOMENT, "id": "UUID", **dict.fromkeys(BODIES, f"Nullable(String) {_LONG}")}


def _type(name: str, kind: str) -> str:
    if name in _FEW:
        return "LowCardinality(Nullable(String))"
    return _SPECIAL.get(name) or _TYPES[kind.partition(" USING")[0]]


LEG_NAMES = [name for name in HOP_COLUMNS if name not in ("event_id", *BODIES)]
_LEG = ", ".join(f"{name} {_TYPES[HOP_COLUMNS[name]]}" for name in LEG_NAMES)
_WORDS = {name: kind for name, kind in SESSION_COLUMNS.items() if name not in EVENT_COLUMNS}
COLUMNS = {
    "row_kind": "LowCardinality(String)",
    "row_key": "String",
    **{name: _type(name, kind) for name, kind in EVENT_COLUMNS.items()},
    "legs": f"Array(Tuple({_LEG}))",
    # Apart, so that they can go first.
    **dict.fromkeys(LEG_BODIES, f"Array(Nullable(String)) {_LONG}"),
    **{name: _type(name, kind) for name, kind in _WORDS.items()},
    "gap_until": _TYPES["TIMESTAMP"],
    "gap_count": "Nullable(Int64)",
    "gap_reason": "LowCardinality(Nullable(String))",
    "folder": "LowCardinality(String)",
    "to_offset": "Int64",
    "batch": "String",
    "place": "UInt32",  # in its batch
    "stored_on": "Date",
}
_BLOOM = "TYPE bloom_filter GRANULARITY 1"
_TABLE = f"""
CREATE TABLE IF NOT EXISTS {RECORD} (
    {", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items())},
    INDEX by_id id {_BLOOM}, INDEX by_session session_id {_BLOOM}, INDEX by_batch batch {_BLOOM}
) ENGINE = MergeTree PARTITION BY stored_on ORDER BY (row_kind, row_key, ts, id)
SETTINGS non_replicated_deduplication_window = {_REMEMBERED_INSERTS}
"""
_VERSIONS_TABLE = f"""
CREATE TABLE IF NOT EXISTS {_VERSIONS} (version UInt32, min_reader UInt32, applied_at DateTime)
ENGINE = ReplacingMergeTree ORDER BY version
"""

RECENT = f"stored_on >= toDate(now('UTC')) - {OPEN_DAYS}"
_CLOSED = f"SELECT id FROM {RECORD} WHERE row_kind = 'closed' AND {RECENT}"  # noqa: S608
IS_OPEN = f"row_kind = 'open' AND {RECENT} AND id NOT IN ({_CLOSED})"
# Settled and open ones.
EVENTS = f"(row_kind = 'event' AND row_key = '' OR {IS_OPEN})"
SESSIONS = f"""
SELECT row_key AS session_id, min(created_at) AS created_at, max(last_seen_at) AS last_seen_at,
    max(ended_at) AS ended_at, {", ".join(f"max({name}) AS {name}" for name in WORD_NAMES)},
    {", ".join(f"sum({name}) AS {name}" for name in SUM_NAMES)}
FROM {RECORD} WHERE row_kind = 'session' GROUP BY row_key
"""  # noqa: S608
LEGS = f"""
SELECT id AS event_id, leg_at, {", ".join(f"leg.{at} AS {name}" for at, name in enumerate(LEG_NAMES, 1))},
    {", ".join(f"{of}[leg_at] AS {name}" for name, of in zip(BODIES, LEG_BODIES, strict=True))}
FROM (SELECT id, legs, {", ".join(LEG_BODIES)} FROM {RECORD} WHERE row_kind = 'event' {{also}})
ARRAY JOIN legs AS leg, arrayEnumerate(legs) AS leg_at
"""  # noqa: S608


def _view_columns(names: dict[str, str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


_SELECTS = {
    "rpc_events": f"SELECT {_view_columns(EVENT_COLUMNS)} FROM {RECORD} WHERE {EVENTS}",  # noqa: S608
    "sessions": SESSIONS,
    "rpc_event_upstreams": f"SELECT {_view_columns(HOP_COLUMNS)} FROM ({LEGS.format(also='')})",  # noqa: S608
    "gaps": f"SELECT ts AS `from`, gap_until AS `to`, gap_count AS `count`, gap_reason AS reason"  # noqa: S608
    f" FROM {RECORD} WHERE row_kind = 'gap'",
}


def bring_up_to_date(connection: ClickhouseConnection, address: ClickhouseAddress) -> None:
    """Every statement makes what is missing, so that several may do it at once. Raises SetupError when the
    tables are from the future."""
    _check_version(connection, address)
    for statement in (_VERSIONS_TABLE, _TABLE):
        connection.run(statement)
    version = _check_version(connection, address)
    if version < SCHEMA_VERSION:
        for name, select in _SELECTS.items():
            _make_view(connection, name, select)
        # The last: until it is there, the next to come makes the views too.
        connection.run(f"INSERT INTO {_VERSIONS} SELECT {SCHEMA_VERSION}, {MIN_READER}, now()")


def _make_view(connection: ClickhouseConnection, name: str, select: str) -> None:
    """With our own rights for whoever reads it, so that a user can have the views alone. Servers before 24.2,
    and users that may not say so, have it without."""
    for rights in (" DEFINER = CURRENT_USER SQL SECURITY DEFINER", ""):
        try:
            connection.run(f"CREATE OR REPLACE VIEW {name}{rights} AS {select}")
        except ClickhouseError:
            if not rights:
                raise
        else:
            return


def _check_version(connection: ClickhouseConnection, address: ClickhouseAddress) -> int:
    """0: there is nothing yet."""
    found = connection.fetch(
        "SELECT count() AS tables FROM system.tables WHERE database = currentDatabase() AND name = $1",
        [_VERSIONS],
    )
    if not found[0]["tables"]:
        return 0
    (row,) = connection.fetch(
        f"SELECT max(version) AS version, max(min_reader) AS min_reader FROM {_VERSIONS}"  # noqa: S608
    )
    if row["min_reader"] > SCHEMA_VERSION:
        raise SetupError(
            SETUP_STORE_NEWER,
            f"The record's store at {address.shown} has tables of version {row['version']}, and "
            f"this Callgate knows {SCHEMA_VERSION}",
            hint="Install the version of Callgate that the other gateways on this store have",
        )
    return row["version"]
