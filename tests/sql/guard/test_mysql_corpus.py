"""MySQL's corpus against a real MariaDB: the attacks really harm, the honest statements really run.

An attack's `proof` says what is looked at:

    changes         data, definitions or accounts of the throw-away database
    global, session variables of the server, or what the next user of the connection would inherit
    session_table   a temporary table
    locks, row_locks  a lock that another session runs into
    reads_file, writes_file, reads_hash  a file, or a password hash in the result
    runs            that it runs at all is the harm (SLEEP, FLUSH, HANDLER), or the harm needs luck or time
    fatal, variant, size  not run: it would end the server; a spelling that this server refuses, or that needs
                    a file or another server; long texts, for the guard's own sake

`"only": "mysql"` marks what MariaDB does not understand: scripts/test-engines runs it on MySQL 9. `"mariadb"`
is the reverse (MySQL 9 has no MD5, for one). The attacks are proven on MariaDB alone.
"""

from collections.abc import Iterator
from typing import Any

import pymysql.err
import pytest
from databases.database import Database
from databases.mariadb import VARIABLE
from databases.mysql import is_mysql
from databases.server import unpacked
from sql.corpus_files import load, policy_for
from sql.mysql_lab import MySqlLab, Session

from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.guard.judge import judge

NOT_RUN = ("fatal", "variant", "size")
ATTACKS = [entry for entry in load("mysql_attacks") if "only" not in entry and entry["proof"] not in NOT_RUN]
ROOT = unpacked(VARIABLE)
FLAVOUR = "mysql" if ROOT is not None and is_mysql(ROOT) else "mariadb"
HONEST = [entry for entry in load("mysql_honest") if entry.get("only") in (None, FLAVOUR)]


@pytest.fixture(scope="module")
def lab(mariadb: Database) -> MySqlLab:
    return MySqlLab(mariadb)


@pytest.fixture
def attacker(lab: MySqlLab) -> Iterator[Session]:
    session = Session(lab)
    yield session
    session.close()


def prove_changes(lab: MySqlLab, attacker: Session, sql: str) -> None:
    attacker.run(sql)
    assert lab.changed()


def prove_global(lab: MySqlLab, attacker: Session, sql: str) -> None:
    with lab.globals_kept() as changed:
        attacker.run(sql)
        assert changed()


def prove_session(lab: MySqlLab, attacker: Session, sql: str) -> None:
    before = attacker.state()
    attacker.run(sql)
    assert attacker.state() != before
    attacker.connection.rollback()


def prove_session_table(lab: MySqlLab, attacker: Session, sql: str) -> None:
    attacker.run(sql)
    attacker.run("SELECT * FROM corpus.evil")


def prove_locks(lab: MySqlLab, attacker: Session, sql: str) -> None:
    attacker.run(sql)
    other = Session(lab)
    other.run("SELECT IS_USED_LOCK('corpus') IS NOT NULL AS taken")
    other.close()
    assert "(1,)" in other.output


def prove_row_locks(lab: MySqlLab, attacker: Session, sql: str) -> None:
    attacker.run("BEGIN")
    attacker.run(sql)
    other = Session(lab)
    with pytest.raises(pymysql.err.OperationalError, match="Lock wait timeout"):
        other.run("SELECT * FROM corpus.orders FOR UPDATE NOWAIT")
    other.close()
    attacker.run("ROLLBACK")


def prove_reads_file(lab: MySqlLab, attacker: Session, sql: str) -> None:
    attacker.run(sql)
    assert attacker.shows_secret()


def prove_writes_file(lab: MySqlLab, attacker: Session, sql: str) -> None:
    attacker.run(sql)
    (lab.files / "out.txt").unlink()


def prove_reads_hash(lab: MySqlLab, attacker: Session, sql: str) -> None:
    attacker.run(sql)
    assert attacker.shows_hash()


def prove_runs(lab: MySqlLab, attacker: Session, sql: str) -> None:
    attacker.run(sql)


PROOFS = {
    name.removeprefix("prove_"): proof for name, proof in list(globals().items()) if name.startswith("prove_")
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["id"])
def test_the_attack_really_harms(attack: dict[str, Any], lab: MySqlLab, attacker: Session) -> None:
    lab.database.needs_mariadb("proofs of attacks")
    if attack["id"].startswith("place_dotted_capital_i") and lab.mariadb_version >= 11:
        pytest.skip("MariaDB 11 no longer takes İ for I")
    try:
        PROOFS[attack["proof"]](lab, attacker, attack["sql"])
    finally:
        attacker.close()
        if attack["proof"] == "changes" or attack.get("mode") == "write":
            lab.changed()


@pytest.mark.parametrize("honest", HONEST, ids=lambda honest: honest["id"])
def test_the_honest_statement_really_runs(honest: dict[str, Any], lab: MySqlLab, attacker: Session) -> None:
    is_write = honest.get("mode") == "write"
    statements = judge(honest["sql"], policy_for(MYSQL, honest)).statements
    if not is_write and not statements[0].plans_write:
        attacker.run("START TRANSACTION READ ONLY")  # as our driver does: the engine must not mind either
    for statement in statements:
        attacker.run(statement.text)
    if is_write:
        lab.changed()


def test_honest_reads_and_attacks_that_only_read_left_everything_as_it_was(lab: MySqlLab) -> None:
    assert not lab.changed()


def test_the_corpus_is_large_and_mostly_proven() -> None:
    assert len(load("mysql_attacks")) >= 150
    assert len(ATTACKS) >= 150
    assert len(HONEST) >= 150
