"""What the account may really do at a MySQL or MariaDB server, held against what the mode needs.

Reads SHOW GRANTS, which every account may ask about itself. Counterpart: `sql.drivers.posture` (the value).
"""

import re

from callgate.model.wording import counted
from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.server import Ask
from callgate.sql.drivers.posture import Finding, Posture, Severity
from callgate.sql.guard.policy import Policy

_GRANT = re.compile(
    r"GRANT (?P<what>.+?) ON (?:TABLE |PROCEDURE |FUNCTION |PACKAGE |PACKAGE BODY )?(?P<where>\S+) TO "
)
_COLUMNS = re.compile(r"\([^)]*\)")
_WRITES = frozenset(
    (
        *(
            "INSERT",
            "UPDATE",
            "DELETE",
            "CREATE",
            "DROP",
            "ALTER",
            "INDEX",
            "TRIGGER",
            "EVENT",
            "LOCK TABLES",
        ),
        *("CREATE VIEW", "CREATE ROUTINE", "ALTER ROUTINE", "DELETE HISTORY"),
    )
)
_OUTSIDE = {
    "FILE": "reads and writes files on the database server (LOAD_FILE, INTO OUTFILE)",
    "SUPER": "may change the server's own settings and end other people's sessions",
    "SHUTDOWN": "may stop the server",
    "RELOAD": "may flush logs and privileges",
    "PROCESS": "sees the statements of all other sessions",
    "CREATE USER": "may create accounts",
    "GRANT OPTION": "may hand its rights on to others",
    "SYSTEM_VARIABLES_ADMIN": "may change the server's own settings",
    "CONNECTION_ADMIN": "may end other people's sessions",
    "BINLOG ADMIN": "may change the binary log",
    "SET USER": "may define routines that run as somebody else",
    "FEDERATED ADMIN": "may reach other servers",
}
_ADMINISTRATOR = frozenset(("SELECT", "INSERT", "DROP", "SUPER", "SHUTDOWN", "FILE", "CREATE USER"))
_SETTINGS = (
    "SELECT current_user(), @@version, @@session.sql_mode, @@global.read_only, @@global.local_infile,"
    " @@session.autocommit, @@session.character_set_client, @@global.secure_file_priv"
)
# Only those that the account may see, and so may run as their definer.
_DEFINERS = (
    "SELECT count(*) FROM information_schema.routines WHERE security_type = 'DEFINER'"
    " AND routine_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"
)


# Engines whose tables lie elsewhere: on another server, in a file, behind a program.
_REMOTE = (
    "SELECT engine, count(*) FROM information_schema.tables WHERE engine IN"
    " ('FEDERATED', 'CONNECT', 'SPIDER', 'S3', 'MaxScale') GROUP BY engine ORDER BY engine"
)
_DEFINER_VIEWS = (
    "SELECT count(*) FROM information_schema.views WHERE security_type = 'DEFINER'"
    " AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"
)


async def examine(ask: Ask, policy: Policy) -> Posture:
    rows = await ask(_SETTINGS, ())
    account, _, modes, read_only, local_infile, autocommit, charset, file_folder = rows[0]
    grants = [str(row[0]) for row in await ask("SHOW GRANTS", ())]
    definers = int(str((await ask(_DEFINERS, ()))[0][0]))
    is_replica = str(read_only) not in ("0", "OFF", "")
    findings = _grant_findings(grants, policy)
    is_administrator = any(_is_everything(grant) for grant in grants)  # says the rest too
    if not is_administrator:
        findings += _routine_findings(definers, grants)
    findings += _reach_findings(await ask(_REMOTE, ()), int(str((await ask(_DEFINER_VIEWS, ()))[0][0])))
    if not is_administrator and "FILE" in _rights(grants) and file_folder == "":
        findings.append(
            Finding(Severity.WARNING, "secure_file_priv is empty: FILE reaches every folder of the server.")
        )
    return Posture(
        account=str(account),
        role="replica" if is_replica else "primary",
        settings=(
            ("sql_mode", str(modes)),
            ("character_set", str(charset)),
            ("autocommit", str(autocommit)),
            ("read_only (server)", str(read_only)),
            ("local_infile (server)", str(local_infile)),
        ),
        findings=tuple(findings),
    )


def _grant_findings(grants: list[str], policy: Policy) -> list[Finding]:
    rights = _rights(grants)
    findings: list[Finding] = []
    if any(_is_everything(grant) for grant in grants):
        return [
            Finding(
                Severity.WARNING,
                "The account has all privileges on everything.",
                "Make one that may only read: CREATE USER …; GRANT SELECT, SHOW VIEW ON shop.* TO it.",
            )
        ]
    findings += [
        Finding(
            Severity.WARNING,
            f"The account has {right}: it {what}.",
            f"REVOKE {right} ON *.* FROM it.",
        )
        for right, what in _OUTSIDE.items()
        if right in rights
    ]
    writing = sorted(rights & _WRITES)
    if writing and not policy.may_write:
        findings.append(
            Finding(
                Severity.WARNING,
                f"The source is read-only, and its account may write: {', '.join(writing)}.",
                "GRANT SELECT, SHOW VIEW is all that reading needs.",
            )
        )
    return findings


def _routine_findings(definers: int, grants: list[str]) -> list[Finding]:
    if not definers or "EXECUTE" not in _rights(grants):
        return []
    return [
        Finding(
            Severity.WARNING,
            f"The account may run {counted(definers, 'routine')} with the rights of their definer.",
            "Stored functions are refused unless allow_functions names them; REVOKE EXECUTE makes sure.",
        )
    ]


def _reach_findings(remote: list[tuple[Cell, ...]], definer_views: int) -> list[Finding]:
    findings = [
        Finding(
            Severity.WARNING,
            f"Tables of the engine {engine} are stored elsewhere ({count} here), and SHOW CREATE TABLE may"
            " show the password for them.",
            "REVOKE SELECT on them, or keep the password in CREATE SERVER.",
        )
        for engine, count in remote
    ]
    if definer_views:
        findings.append(
            Finding(
                Severity.NOTE,
                f"{counted(definer_views, 'view')} with SQL SECURITY DEFINER: what is inside, stored"
                " functions included, runs with the definer's rights.",
                "SQL SECURITY INVOKER makes a view run with the reader's own rights.",
            )
        )
    return findings


def _is_everything(grant: str) -> bool:
    """MySQL 8 and later list every right of an administrator's instead of ALL PRIVILEGES."""
    match = _GRANT.match(grant)
    if match is None or match["where"] != "*.*":
        return False
    return "ALL PRIVILEGES" in match["what"] or _rights([grant]) >= _ADMINISTRATOR


def _rights(grants: list[str]) -> frozenset[str]:
    rights: set[str] = set()
    for grant in grants:
        if match := _GRANT.match(grant):
            rights |= {right.strip().upper() for right in _COLUMNS.sub("", match["what"]).split(",")}
            if "ALL PRIVILEGES" in rights:
                rights |= _WRITES | {"EXECUTE"} | (_OUTSIDE.keys() if match["where"] == "*.*" else set())
        if grant.endswith("WITH GRANT OPTION"):
            rights.add("GRANT OPTION")
    return frozenset(rights)
