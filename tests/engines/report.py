"""docs/engines.md: which servers and proxies were tried, and what held on each. Pure but for the file."""

import re
from pathlib import Path

from engines.catalogue import BY_NAME, CATALOGUE, Entry, Kind
from engines.results import TRIALS, Result

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
_TITLES = {
    "mariadb-10": "MariaDB {version}",
    "mariadb-11": "MariaDB {version}",
    "mysql-8.0": "MySQL {version}",
    "mysql-8.4": "MySQL {version}",
    "mysql-9": "MySQL {version}",
    "postgresql-15": "PostgreSQL {version}",
    "postgresql-17": "PostgreSQL {version}",
    "postgresql-18": "PostgreSQL {version}",
    "pgbouncer": "PgBouncer {version}, transaction mode, PostgreSQL {behind}",
    "router": "MySQL Router {version}, MySQL {behind}",
    "haproxy-mysql": "HAProxy {version}, MySQL {behind}",
    "haproxy-postgresql": "HAProxy {version}, PostgreSQL {behind}",
}
_HEAD = """# Tried servers and proxies

This page says on which database servers, and through which proxies, Callgate's drivers and guard were tried,
and how many cases held. `scripts/test-engines` writes it; change `tests/engines/report.py` instead.

The servers come from packages of Debian and Ubuntu, unpacked below `.cache/engines`. All run on loopback.
MySQL 8.0 and 8.4 are packages of Ubuntu alone: Debian has 9, and PyPI, npm and Maven have no later server than 5.6.
ProxySQL and MaxScale were not tried: no suite of Debian has them, nor have PyPI and npm. What they share with
MySQL Router (the greeting's number is not the server's) and with HAProxy (each connection may reach another
server) is tried with these two.

## What was tried

| column | one case is |
|---|---|
| login kinds | a login by password with one of the server's methods |
| values | a value of one type, by text or by a prepared statement, equal to what the server itself shows |
| cancel | a statement that its caller cancels is gone from the server's process list |
| time-out | the same, after `timeout_s` |
| disconnect | the same, when an HTTP client hangs up |
| kill -9 of the gateway | the same, when nobody is left to end it: the server's own limit does |
| restart | a call that is answered after the server was killed and started again |
| failover | a call that the second server of the address answers after the first was killed |
| full server | a caller that is answered though the server gives the account two connections |
| pins | a call whose session has our settings, whatever the server and the account are set to |

## What held

*Run* says when (UTC) and on which commit; a `+` behind it: with files that had changed since. A row stays as it is
until its server is run again, so look there before you take two rows for one run.

"""
_SERVERS = ("MariaDB ", "MySQL ", "PostgreSQL ", "PgBouncer ", "HAProxy ")


def write(results: dict[str, Result], missing: dict[str, str]) -> None:
    columns = list(TRIALS.values())
    before_trials, before_suites = _rows_before()
    lines = [
        f"| server | run | {' | '.join(columns)} |",
        f"|---|---|{'---|' * len(columns)}",
    ]
    for entry in CATALOGUE:
        if (result := results.get(entry.name)) is not None:
            cells = [result.run, *(result.trials[column].text for column in columns)]
            lines.append(f"| {_title(entry, results)} | {' | '.join(cells)} |")
        else:
            lines += before_trials.get(_kind(entry), [])
    lines += [
        "",
        "## Suites",
        "",
        "The tests of the drivers (`tests/sql/network` and others) and of the guard's corpora, run on the",
        "server. Skipped ones are about something that the server lacks, or prove attacks on MariaDB.",
        "",
    ]
    lines += ["| server | run | drivers | corpora | skipped |", "|---|---|---|---|---|"]
    for entry in CATALOGUE:
        result = results.get(entry.name)
        if result is not None and result.drivers.passed:  # a proxy, or a run of the trials alone, has none
            cells = (result.suites_run, result.drivers.text, result.guard.text, str(result.skipped))
            lines.append(f"| {_title(entry, results)} | {' | '.join(cells)} |")
        elif result is None:
            lines += before_suites.get(_kind(entry), [])
    failures = [
        (entry, failure)
        for entry in CATALOGUE
        if entry.name in results
        for failure in results[entry.name].failures
    ]
    if failures:
        lines += ["", "## What did not hold", ""]
        lines += [f"- {entry.name}: `{failure}`" for entry, failure in failures]
    if missing:
        lines += ["", "## What could not be had", ""]
        lines += [f"- {name}: {why}" for name, why in missing.items()]
    PAGE.write_text(_HEAD + "\n".join(lines) + "\n")


def _rows_before() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The page's rows of trials and of suites, by the server's name and the first numbers of its version."""
    trials, _, suites = PAGE.read_text().partition("## Suites")
    found: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
    for rows, part in zip(found, (trials, suites), strict=True):
        for line in part.splitlines():
            if line.startswith(tuple(f"| {name}" for name in _SERVERS)):
                title = line.removeprefix("| ").partition(" |")[0]
                rows.setdefault(_short(title), []).append(line)
    return found


def _kind(entry: Entry) -> str:
    behind = BY_NAME[entry.behind].version if entry.behind else ""
    version = entry.version or ("10." if entry.kind is Kind.MYSQL else "15.")
    return _short(_TITLES[entry.name].format(version=version.removeprefix("1:"), behind=behind))


def _short(title: str) -> str:
    """`MySQL 8.4.8` and `MySQL 8.4.` are one kind of server, `MySQL 9.7.4` another; so are `PostgreSQL 15.18`."""
    numbers = {"MySQL 8": r"(\d+\.\d+)[.\d]*"}.get(title[:7], r"(\d+)\.[.\d]*")
    return re.sub(numbers, r"\1", title)


def _title(entry: Entry, results: dict[str, Result]) -> str:
    behind = results.get(entry.behind) if entry.behind else None
    fallback = BY_NAME[entry.behind].version.rstrip(".") if entry.behind else ""
    return _TITLES[entry.name].format(
        version=results[entry.name].version, behind=behind.version if behind else fallback
    )
