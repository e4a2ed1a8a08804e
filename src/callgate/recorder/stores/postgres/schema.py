"""The tables of the record in PostgreSQL, its views, and the role that users' SQL runs under.

`callgate_store` holds the tables, `callgate` the four views that everybody reads. Columns are those of the
DuckDB store, with the bodies in a table of their own: sums scan 220 bytes a row, and bodies may go first.
A row lies in the partition of the day on which it was stored, by the database's clock, so that a late row
never needs a partition that is gone.
Columns may be added, never change meaning: processes of two versions write side by side, each names its own.
How tables come to be is `migrations`.
"""

from callgate.recorder.stores.batch_rows import SUM_NAMES, WORD_NAMES
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS, SESSION_COLUMNS

STORE, VIEWS = "callgate_store", "callgate"
READER_ROLE = "callgate_reader"
# Advisory locks, each held for a transaction: whoever changes the tables, makes partitions, numbers batches;
# and the first number of those that store a backlog, with a place as the second.
MIGRATION_LOCK, PARTITION_LOCK, NUMBERING_LOCK = 0x63616C6C67617465, 0x63616C6C67617466, 0x63616C6C67617467
BACKLOG_LOCK = 0x63616C6C
ARCHIVE_LOCK = 0x63616C6C67617468  # held for as long as a day is archived

_BODIES = ("request_json", "response_json")
_TYPES = {
    "VARCHAR": "text",
    "TIMESTAMP": "timestamp",
    "DOUBLE": "float8",
    "BIGINT": "bigint",
    "BOOLEAN": "boolean",
    "UUID": "uuid",
    "VARCHAR[]": "text[]",
}
EVENT_NAMES = [name for name in EVENT_COLUMNS if name not in _BODIES]
HOP_NAMES = [name for name in HOP_COLUMNS if name not in (*_BODIES, "event_id")]
SESSION_NAMES = [name for name in SESSION_COLUMNS if name != "writer"]
GAP_NAMES = ["from", "to", "count", "reason"]
PARTED = ("rpc_events", "rpc_bodies", "rpc_event_upstreams", "gaps")


def _columns(names: list[str], kinds: dict[str, str]) -> str:
    return ", ".join(f'"{name}" {_TYPES[kinds[name].partition(" USING")[0]]}' for name in names)


_EVENTS = _columns(EVENT_NAMES, EVENT_COLUMNS)
_STORED_ON = "stored_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date"
_PARTED = "PARTITION BY LIST (stored_on)"
TABLES = f"""
CREATE SEQUENCE {STORE}.batch_numbers;
CREATE TABLE {STORE}.batches (
    batch bigint PRIMARY KEY DEFAULT nextval('{STORE}.batch_numbers'), segment text NOT NULL,
    from_offset bigint NOT NULL, to_offset bigint NOT NULL, events bigint NOT NULL, writer text NOT NULL,
    {_STORED_ON}, UNIQUE (segment, from_offset));
CREATE TABLE {STORE}.writers (writer text PRIMARY KEY, folder text NOT NULL, {_STORED_ON});
CREATE TABLE {STORE}.rpc_events ({_EVENTS}, {_STORED_ON},
    batch bigint NOT NULL DEFAULT currval('{STORE}.batch_numbers')) {_PARTED};
CREATE INDEX ON {STORE}.rpc_events (id);
CREATE INDEX ON {STORE}.rpc_events (ts, id);
CREATE INDEX ON {STORE}.rpc_events (session_id, ts);
CREATE INDEX ON {STORE}.rpc_events (seq);
CREATE TABLE {STORE}.rpc_bodies (
    id uuid NOT NULL, leg smallint NOT NULL, request_json text, response_json text, {_STORED_ON}) {_PARTED};
CREATE INDEX ON {STORE}.rpc_bodies (id);
CREATE TABLE {STORE}.rpc_event_upstreams (
    event_id uuid NOT NULL, leg smallint NOT NULL, {_columns(HOP_NAMES, HOP_COLUMNS)},
    {_STORED_ON}) {_PARTED};
CREATE INDEX ON {STORE}.rpc_event_upstreams (event_id);
CREATE TABLE {STORE}.gaps (
    "from" timestamp, "to" timestamp, "count" bigint, reason text, {_STORED_ON}) {_PARTED};
CREATE TABLE {STORE}.rpc_open ({_EVENTS}, request_json text, response_json text, writer text NOT NULL,
    PRIMARY KEY (id));
CREATE TABLE {STORE}.session_parts ({_columns(SESSION_NAMES, SESSION_COLUMNS)}, writer text NOT NULL,
    PRIMARY KEY (session_id, writer));
CREATE INDEX ON {STORE}.session_parts (created_at, session_id);
CREATE INDEX ON {STORE}.session_parts (principal);
"""
# Who reads numbers the batches (see numbering). Batches stored before have no moment, and get no number.
LIVE_TABLES = f"""
CREATE SEQUENCE {STORE}.batch_order;
ALTER TABLE {STORE}.batches ADD COLUMN number bigint, ADD COLUMN stored_at timestamptz;
ALTER TABLE {STORE}.batches ALTER COLUMN stored_at SET DEFAULT now();
CREATE UNIQUE INDEX ON {STORE}.batches (number);
CREATE INDEX ON {STORE}.batches (stored_at) WHERE number IS NULL;
ALTER TABLE {STORE}.rpc_events ADD COLUMN place integer;
CREATE INDEX ON {STORE}.rpc_events (batch);
DROP INDEX {STORE}.rpc_events_seq_idx;
ALTER TABLE {STORE}.writers ADD COLUMN seen_at timestamptz;
ALTER TABLE {STORE}.writers ALTER COLUMN seen_at SET DEFAULT now();
CREATE TABLE {STORE}.leases (name text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL);
"""
# A body is looked up only where its column is asked for: the planner leaves such a subquery out.
_BODY = (
    "(SELECT b.{name} FROM {store}.rpc_bodies b WHERE b.id = {id} AND b.leg = {leg} AND b.stored_on = {day})"
)


def _body_columns(event_id: str, leg: str, day: str) -> dict[str, str]:
    return {
        name: _BODY.format(name=name, store=STORE, id=event_id, leg=leg, day=day) + f" AS {name}"
        for name in _BODIES
    }


def _view_columns(names: dict[str, str], bodies: dict[str, str]) -> str:
    return ", ".join(bodies.get(name) or f't."{name}"' for name in names)


_WORDS = ["last_seen_at", "ended_at", *WORD_NAMES]
SESSIONS = f"""
SELECT session_id, min(created_at) AS created_at, {", ".join(f"max({name}) AS {name}" for name in _WORDS)},
    {", ".join(f"sum({name})::bigint AS {name}" for name in SUM_NAMES)}
FROM {STORE}.session_parts GROUP BY session_id
"""  # noqa: S608
CREATE_VIEWS = f"""
CREATE OR REPLACE VIEW {VIEWS}.rpc_events AS
SELECT {_view_columns(EVENT_COLUMNS, _body_columns("t.id", "0", "t.stored_on"))} FROM {STORE}.rpc_events t
UNION ALL SELECT {_view_columns(EVENT_COLUMNS, {})} FROM {STORE}.rpc_open t;
CREATE OR REPLACE VIEW {VIEWS}.rpc_event_upstreams AS
SELECT {_view_columns(HOP_COLUMNS, _body_columns("t.event_id", "t.leg", "t.stored_on"))}
FROM {STORE}.rpc_event_upstreams t;
CREATE OR REPLACE VIEW {VIEWS}.gaps AS SELECT "from", "to", "count", reason FROM {STORE}.gaps;
CREATE OR REPLACE VIEW {VIEWS}.sessions AS {SESSIONS};
"""  # noqa: S608
CREATE_ROLE = f"""
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{READER_ROLE}') THEN
        CREATE ROLE {READER_ROLE} NOLOGIN;
    END IF;
    IF NOT pg_has_role(current_user, '{READER_ROLE}', 'MEMBER') THEN
        EXECUTE format('GRANT {READER_ROLE} TO %I', current_user);
    END IF;
END $$;
"""
GRANTS = f"""
GRANT USAGE ON SCHEMA {VIEWS} TO {READER_ROLE};
GRANT SELECT ON ALL TABLES IN SCHEMA {VIEWS} TO {READER_ROLE};
"""
LZ4 = "".join(f"ALTER TABLE {STORE}.rpc_bodies ALTER COLUMN {name} SET COMPRESSION lz4;" for name in _BODIES)
