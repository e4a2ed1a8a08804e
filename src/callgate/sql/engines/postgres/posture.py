"""What the role may really do at a PostgreSQL server, held against what the mode needs.

Every role may read what is asked here. Counterpart: `sql.drivers.posture` (the value).
"""

# ruff: noqa: S608 - made of our own fragments only

from callgate.model.wording import counted
from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.server import Ask
from callgate.sql.drivers.posture import Finding, Posture, Severity
from callgate.sql.guard.policy import Policy

_ROLE = (
    "SELECT current_user, pg_is_in_recovery(), rolsuper, rolcreaterole, rolcreatedb, rolreplication,"
    " rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = current_user"
)
_SETTINGS = (
    "SELECT name, setting FROM pg_catalog.pg_settings WHERE name IN ('standard_conforming_strings',"
    " 'default_transaction_read_only', 'statement_timeout', 'search_path', 'TimeZone', 'server_encoding')"
)
_MEMBER = (
    "SELECT rolname FROM pg_catalog.pg_roles WHERE pg_has_role(current_user, oid, 'member') AND rolname IN"
    " ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program', 'pg_signal_backend',"
    " 'pg_write_all_data', 'pg_checkpoint', 'pg_maintain', 'pg_create_subscription')"
)
_USER_SCHEMAS = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'"
_WRITABLE = (
    "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relkind IN ('r', 'p', 'v', 'f') AND {_USER_SCHEMAS}"
    " AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')"
)
_CREATING = (
    "SELECT n.nspname FROM pg_catalog.pg_namespace n"
    f" WHERE {_USER_SCHEMAS} AND has_schema_privilege(n.oid, 'CREATE') ORDER BY 1 LIMIT 5"
)
_DEFINERS = (
    "SELECT count(*) FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace"
    f" WHERE p.prosecdef AND {_USER_SCHEMAS} AND has_function_privilege(p.oid, 'EXECUTE')"
)
# Their functions and tables reach other servers, files and programs, which no read-only transaction holds.
_REACHING_NAMES = (
    "extname IN ('dblink', 'postgres_fdw', 'file_fdw', 'mysql_fdw', 'oracle_fdw', 'tds_fdw', 'mongo_fdw',"
    " 'multicorn', 'redis_fdw', 'jdbc_fdw', 'odbc_fdw', 'sqlite_fdw', 'parquet_fdw', 'http', 'pgsql_http',"
    " 'pg_net', 'pg_cron', 'pg_background', 'adminpack', 'aws_s3', 'aws_lambda', 'plsh', 'plr')"
)
_REACHING = f"SELECT extname FROM pg_catalog.pg_extension WHERE {_REACHING_NAMES} ORDER BY 1"
_UNTRUSTED = (
    "SELECT lanname FROM pg_catalog.pg_language WHERE NOT lanpltrusted AND lanispl"
    " UNION SELECT extname FROM pg_catalog.pg_extension WHERE extname IN ('plpython3u', 'plperlu', 'pltclu')"
    " ORDER BY 1"
)
# Views that call functions of such extensions, directly.
_REACHING_VIEWS = (
    "SELECT DISTINCT n.nspname || '.' || v.relname FROM pg_catalog.pg_extension e"
    " JOIN pg_catalog.pg_depend m ON m.refclassid = 'pg_catalog.pg_extension'::regclass"
    " AND m.refobjid = e.oid AND m.deptype = 'e' AND m.classid = 'pg_catalog.pg_proc'::regclass"
    " JOIN pg_catalog.pg_depend d ON d.refclassid = m.classid AND d.refobjid = m.objid"
    " AND d.classid = 'pg_catalog.pg_rewrite'::regclass"
    " JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid JOIN pg_catalog.pg_class v ON v.oid = r.ev_class"
    f" JOIN pg_catalog.pg_namespace n ON n.oid = v.relnamespace WHERE {_REACHING_NAMES} ORDER BY 1 LIMIT 5"
)
_FOREIGN_TABLES = "SELECT count(*) FROM pg_catalog.pg_foreign_table"
_POWERS = (
    (3, "CREATEROLE", "may create roles"),
    (4, "CREATEDB", "may create databases"),
    (5, "REPLICATION", "may read the whole server's log of changes"),
    (6, "BYPASSRLS", "is not bound by row level security"),
)


async def examine(ask: Ask, policy: Policy) -> Posture:
    role = (await ask(_ROLE, ()))[0]
    settings = tuple((str(name), str(value)) for name, value in await ask(_SETTINGS, ()))
    findings = _role_findings(role)
    findings += [
        Finding(
            Severity.WARNING,
            f"The role is a member of {name}, which reaches beyond its own data.",
            f"REVOKE {name} FROM it.",
        )
        for (name,) in await ask(_MEMBER, ())
        if not role[2]  # a superuser is a member of everything
    ]
    if not policy.may_write:
        findings += await _write_findings(ask)
    findings += await _reach_findings(ask)
    return Posture(
        account=str(role[0]),
        role="replica" if role[1] else "primary",
        settings=settings,
        findings=tuple(findings),
    )


def _role_findings(role: tuple[Cell, ...]) -> list[Finding]:
    if role[2]:
        return [
            Finding(
                Severity.WARNING,
                "The role is a superuser: it reads files and runs programs on the database server.",
                "Make one that may only read: CREATE ROLE … LOGIN; GRANT pg_read_all_data TO it.",
            )
        ]
    return [
        Finding(Severity.WARNING, f"The role has {power}: it {what}.", f"ALTER ROLE … NO{power}.")
        for place, power, what in _POWERS
        if role[place]
    ]


async def _write_findings(ask: Ask) -> list[Finding]:
    findings: list[Finding] = []
    writable = int(str((await ask(_WRITABLE, ()))[0][0]))
    if writable:
        findings.append(
            Finding(
                Severity.WARNING,
                f"The source is read-only, and its role may write to {counted(writable, 'table')}.",
                "GRANT SELECT is all that reading needs.",
            )
        )
    creating = [str(row[0]) for row in await ask(_CREATING, ())]
    if creating:
        findings.append(
            Finding(
                Severity.WARNING,
                f"The source is read-only, and its role may create in the schemas {', '.join(creating)}.",
                f"REVOKE CREATE ON SCHEMA {creating[0]} FROM it (or from PUBLIC).",
            )
        )
    return findings


async def _reach_findings(ask: Ask) -> list[Finding]:
    findings: list[Finding] = []
    definers = int(str((await ask(_DEFINERS, ()))[0][0]))
    if definers:
        findings.append(
            Finding(
                Severity.WARNING,
                f"The role may run {definers} functions that run as their owner (SECURITY DEFINER).",
                "Such functions are refused unless allow_functions names them; REVOKE EXECUTE makes sure.",
            )
        )
    findings += [
        Finding(
            Severity.WARNING,
            f"The extension {name} is installed: a read-only session does not stop what it does on"
            " other servers, in files or with programs.",
            "Its functions are refused here, but views and functions of yours may call them. Drop it if"
            " nobody needs it, or REVOKE EXECUTE on its functions.",
        )
        for (name,) in await ask(_REACHING, ())
    ]
    findings += [
        Finding(
            Severity.WARNING,
            f"The language {name} is installed: its functions may do anything on the database server.",
            "They are refused here, but views may call them. Drop it if nobody needs it.",
        )
        for (name,) in await ask(_UNTRUSTED, ())
    ]
    findings += [
        Finding(
            Severity.WARNING,
            f"The view {name} reaches out through such an extension: reading it may write elsewhere.",
            "REVOKE SELECT on it from this role.",
        )
        for (name,) in await ask(_REACHING_VIEWS, ())
    ]
    foreign = int(str((await ask(_FOREIGN_TABLES, ()))[0][0]))
    if foreign:
        findings.append(
            Finding(Severity.NOTE, f"{foreign} foreign tables are read with rights of their user mappings.")
        )
    return findings
