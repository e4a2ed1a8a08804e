"""A throw-away database on the real server, and what an attack did to it.

Talks through PyMySQL with several statements per call switched on, as a careless client would: our own driver
and guard are not asked. An administrator's account, so that nothing but the guard could have stopped it.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pymysql.err
from databases.database import Database
from pymysql.constants import CLIENT

_SCHEMA = (Path(__file__).parent / "corpus" / "mysql_schema.sql").read_text()
# What of it MySQL does not have. It partitions InnoDB's tables only.
_OF_MARIADB = (
    (r"CREATE SEQUENCE.*", ""),
    (r" WITH SYSTEM VERSIONING", ""),
    (r", PERIOD FOR valid \(starts, ends\)", ""),
    (r"default_storage_engine = MyISAM", "default_storage_engine = InnoDB"),
)
_TABLES = """SELECT table_name FROM information_schema.tables
             WHERE table_schema = 'corpus' AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')"""
_STRUCTURE = (
    """SELECT table_schema, table_name, table_type, engine FROM information_schema.tables
       WHERE table_schema LIKE 'corpus%'""",
    """SELECT table_name, column_name, column_type, is_nullable FROM information_schema.columns
       WHERE table_schema LIKE 'corpus%'""",
    "SELECT table_name, index_name FROM information_schema.statistics WHERE table_schema LIKE 'corpus%'",
    "SELECT table_name, partition_name FROM information_schema.partitions WHERE table_schema = 'corpus'",
    "SELECT * FROM information_schema.schemata",
    "SELECT routine_name FROM information_schema.routines WHERE routine_schema LIKE 'corpus%'",
    "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema LIKE 'corpus%'",
    "SELECT event_name FROM information_schema.events WHERE event_schema LIKE 'corpus%'",
    "SELECT host, user, priv FROM mysql.global_priv",
    "SELECT db, user FROM mysql.db",
    "SELECT server_name FROM mysql.servers",
)
_SEQUENCE = "SELECT next_not_cached_value, cycle_count FROM corpus.order_numbers"
# What moves by itself.
_NOISE = re.compile(r"timestamp|rand_seed|identity|insert_id|pseudo_thread|last_gtid|(error|warning)_count")
_SECRET = "TOP-SECRET-IN-A-FILE"


class MySqlLab:
    def __init__(self, database: Database) -> None:
        self.database = database
        self._is_mariadb = database.flavour == "mariadb"
        self._run = self.connect(None)
        with self._run.cursor() as cursor:
            self.files = Path(str(_all(cursor, "SELECT @@secure_file_priv")[0][0]))
        self.mariadb_version = int(database.run("SELECT version()").partition(".")[0])
        self.password_hash = self._hash() if self._is_mariadb else ""
        (self.files / "secret.txt").write_text(_SECRET)
        (self.files / "rows.txt").write_text("70\tloaded\n")
        self._script("DROP DATABASE IF EXISTS corpus; CREATE DATABASE corpus")
        self.rebuild()
        self._script("DROP DATABASE IF EXISTS pristine; CREATE DATABASE pristine")
        for table in self._table_names():
            self._script(f"CREATE TABLE pristine.`{table}` AS SELECT * FROM corpus.`{table}`")

    def connect(self, database: str | None = "corpus") -> Any:
        return pymysql.connect(
            unix_socket=str(self.database.socket),  # where MySQL takes a password without TLS
            user=self.database.user,
            password=self.database.password,
            database=database,
            charset="utf8mb4",
            autocommit=True,
            client_flag=CLIENT.MULTI_STATEMENTS,
            ssl_disabled=True,  # or each connection would read all authorities of the machine
        )

    def rebuild(self) -> None:
        self._remove_evil()
        schema = _SCHEMA
        for pattern, other in () if self._is_mariadb else _OF_MARIADB:
            schema = re.sub(pattern, other, schema)
        self._script(schema)
        self._data = self._checksums()
        self._structure = self._read_structure()

    def changed(self) -> bool:
        """Whether the database is not what it was; if so, it is made so again."""
        if self._read_structure() != self._structure:
            self._remove_evil()
            if self._read_structure() != self._structure:
                self.rebuild()
            self._restore_data()
            return True
        return self._restore_data()

    def _remove_evil(self) -> None:
        """What attacks create is called evil: quicker than to build all anew."""
        for what in (
            *(("SEQUENCE",) if self._is_mariadb else ()),
            "VIEW",
            "TRIGGER",
            "FUNCTION",
            "PROCEDURE",
            "EVENT",
            "TABLE",
        ):
            self._script(f"DROP {what} IF EXISTS corpus.evil")
        for what in ("DATABASE", "SERVER", "USER", "ROLE"):
            self._script(f"DROP {what} IF EXISTS corpus_evil")
        self._script("DROP USER IF EXISTS corpus_evil@localhost")

    def _restore_data(self) -> bool:
        data = self._checksums()
        differing = [table for table in data if data[table] != self._data[table]]
        if {"prices", "sequence"} & set(differing):
            self.rebuild()
            return True
        for table in differing:
            self._script(
                f"DELETE FROM corpus.`{table}`;INSERT INTO corpus.`{table}` SELECT * FROM pristine.`{table}`"
            )
        return bool(differing)

    @contextmanager
    def globals_kept(self) -> Iterator[Callable[[], bool]]:
        """Give a question: have global variables changed? They are set back at the end."""
        with self._run.cursor() as cursor:
            before = dict(_all(cursor, "SHOW GLOBAL VARIABLES"))

            def differing() -> list[str]:
                after = dict(_all(cursor, "SHOW GLOBAL VARIABLES"))
                return [name for name in before if before[name] != after[name] and not _NOISE.search(name)]

            yield lambda: bool(differing())
            for name in differing():
                cursor.execute(f"SET GLOBAL {name} = {before[name]}")

    def text(self, sql: str) -> str:
        """The attack with this server's paths in it."""
        path = f"{self.files}/secret.txt"
        return sql.replace("{files}", str(self.files)).replace("{hexfile}", "0x" + path.encode().hex())

    def _hash(self) -> str:
        with self._run.cursor() as cursor:
            (found,) = _all(cursor, "SELECT priv FROM mysql.global_priv WHERE user = 'callgate'")
        match = re.search(r"\*[0-9A-F]{40}", str(found))
        assert match is not None
        return match.group()

    def _script(self, sql: str) -> None:
        with self._run.cursor() as cursor:
            cursor.execute(sql)
            while cursor.nextset():
                pass

    def _table_names(self) -> list[str]:
        with self._run.cursor() as cursor:
            return [name for (name,) in _all(cursor, _TABLES)]

    def _read_structure(self) -> list[str]:
        with self._run.cursor() as cursor:
            asked = [sql for sql in _STRUCTURE if self._is_mariadb or "global_priv" not in sql]
            return [str(sorted(_all(cursor, sql), key=str)) for sql in asked]

    def _checksums(self) -> dict[str, str]:
        names = ", ".join(f"corpus.`{name}`" for name in self._table_names())
        with self._run.cursor() as cursor:
            rows = _all(cursor, f"CHECKSUM TABLE {names} EXTENDED")
            sums = {str(name).partition(".")[2]: str(checksum) for name, checksum in rows}
            if self._is_mariadb:
                history = _all(cursor, "SELECT COUNT(*) FROM corpus.prices FOR SYSTEM_TIME ALL")
                sums["prices"] += str(history)
                sums["sequence"] = str(_all(cursor, _SEQUENCE))
        return sums


class Session:
    """One connection of the attacker's."""

    def __init__(self, lab: MySqlLab) -> None:
        self.lab = lab
        self.connection = lab.connect()
        self.output = ""

    def run(self, sql: str) -> None:
        """All statements to their end; what they returned is in `output`."""
        shown: list[str] = []
        with self.connection.cursor() as cursor:
            cursor.execute(self.lab.text(sql))
            shown.append(str(cursor.fetchall()))
            while cursor.nextset():
                shown.append(str(cursor.fetchall()))
        self.output = "".join(shown)

    def state(self) -> dict[str, str]:
        """What a later user of this connection would inherit."""
        with self.connection.cursor() as cursor:
            variables = dict(_all(cursor, "SHOW SESSION VARIABLES"))
            kept = {name: str(value) for name, value in variables.items() if not _NOISE.search(name)}
            kept["database()"] = str(_all(cursor, "SELECT DATABASE(), @@in_transaction, @evil"))
        return kept

    def shows_secret(self) -> bool:
        return _SECRET in self.output or _SECRET.encode().hex().upper() in self.output

    def shows_hash(self) -> bool:
        return self.lab.password_hash in self.output

    def close(self) -> None:
        if self.connection.open:
            self.connection.close()


def _all(cursor: Any, sql: str) -> list[Any]:
    cursor.execute(sql)
    return list(cursor.fetchall())
