"""Accounts of every kind that a server knows, for logins by the password of each."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from databases.database import Database

# Methods of logging in by a password, as the servers call them.
_MYSQL_METHODS = ("caching_sha2_password", "sha256_password", "mysql_native_password")
_MARIADB_METHODS = ("mysql_native_password", "ed25519", "parsec")
_POSTGRES_METHODS = ("scram-sha-256", "md5", "trust")
PASSWORD = "pa:ss wörd/1"


def make_each(server: Database, *, is_pooled: bool = False) -> dict[str, tuple[str, str]]:
    """By the method's name: an account's name and password. Methods that the server lacks are left out.

    PgBouncer has one method for all."""
    if server.scheme == "postgresql":
        methods = ("scram-sha-256",) if is_pooled else _POSTGRES_METHODS
        made = {method: _make_role(server, method) for method in methods}
        _let_in(server, {user: method for method, (user, _) in made.items()})
        return made
    methods = _MARIADB_METHODS if server.flavour == "mariadb" else _MYSQL_METHODS
    if server.flavour == "mariadb":
        for plugin in ("auth_ed25519", "auth_parsec"):
            with suppress(AssertionError):  # it is there already, or the package lacks it
                server.run(f"INSTALL SONAME '{plugin}'")
    active = server.run("SELECT plugin_name FROM information_schema.plugins WHERE plugin_status = 'ACTIVE'")
    known = {line.casefold() for line in active.splitlines()}
    return {method: _make_user(server, method) for method in methods if method in known}


def make_limited(server: Database, connections: int) -> tuple[str, str]:
    """An account of the server's usual kind, with so many connections at a time."""
    if server.scheme == "postgresql":
        user, password = _make_role(server, "scram-sha-256")
        server.run(f"ALTER ROLE {user} CONNECTION LIMIT {connections}")
        return user, password
    server.run(
        f"DROP USER IF EXISTS limited@'%'; CREATE USER limited@'%' IDENTIFIED BY '{PASSWORD}'"
        f" WITH MAX_USER_CONNECTIONS {connections}; GRANT SELECT ON callgate.* TO limited@'%'"
    )
    _log_in_once(server, "limited")
    return "limited", PASSWORD


def _make_role(server: Database, method: str) -> tuple[str, str]:
    user = f"by_{method.replace('-', '_')}"
    kept_as = "md5" if method == "md5" else "scram-sha-256"
    server.run(
        f"SET password_encryption = '{kept_as}'; SET client_min_messages = error;"
        f"DROP ROLE IF EXISTS {user}; CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'"
    )
    return user, PASSWORD


def _let_in(server: Database, methods: dict[str, str]) -> None:
    """Each role by its own method only."""
    file = Path(server.run("SHOW hba_file"))
    lines = [line for line in file.read_text().splitlines() if "by_" not in line]
    own = [f"host all {user} 127.0.0.1/32 {method}" for user, method in methods.items()]
    file.write_text("\n".join([*own, *lines, ""]))
    server.run("SELECT pg_reload_conf()")


def _make_user(server: Database, method: str) -> tuple[str, str]:
    user = f"by_{method}"
    proof = f"USING PASSWORD('{PASSWORD}')" if server.flavour == "mariadb" else f"BY '{PASSWORD}'"
    server.run(
        f"DROP USER IF EXISTS {user}@'%'; CREATE USER {user}@'%' IDENTIFIED WITH {method} {proof};"
        f"GRANT SELECT ON callgate.* TO {user}@'%'"
    )
    return user, PASSWORD


def _log_in_once(server: Database, user: str) -> None:
    """MySQL then remembers the password's hash, and a login needs no encrypted line."""
    client = tuple(f"--user={user}" if word.startswith("--user=") else word for word in server.client)
    replace(server, client=client, password=PASSWORD).run("SELECT 1")
