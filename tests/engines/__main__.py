"""scripts/test-engines: fetch servers and proxies, run the suites on each, write docs/engines.md.

Exits with 0 when all held, 1 when a test failed, and 3 when a server could not be had: never green then.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from engines import report, results
from engines.catalogue import BY_NAME, CATALOGUE, Entry, Kind, Origin
from engines.packages import PLACE, Missing, root_of, unpack

_TRIALS = "tests/engines/test_trials.py"
_DRIVERS = (
    "tests/sql/network",
    "tests/sql/test_schema_engines.py",
    "tests/sql/test_error_categories.py",
    "tests/sql/test_least_privilege.py",
)
_CORPORA = {
    "mysql": ("tests/sql/guard/test_mysql_corpus.py",),
    "postgres": ("tests/sql/guard/test_postgres_corpus.py", "tests/sql/guard/test_postgres_functions.py"),
}
_VERSION = {
    Kind.MYSQL: "SELECT version()",
    Kind.POSTGRES: "SHOW server_version",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test-engines", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BY_NAME))
    parser.add_argument("--fetch", action="store_true", help="only fetch and unpack")
    parser.add_argument("--again", action="store_true", help="also what was run on this code before")
    parser.add_argument(
        "--trials", action="store_true", help="only the trials of the table, without the suites"
    )
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BY_NAME]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}. There are: {', '.join(BY_NAME)}")
    wanted = [BY_NAME[name] for name in options.names] or list(CATALOGUE)
    missing: dict[str, str] = {}
    for entry in wanted:
        try:
            _had(entry)
        except Missing as why:
            missing[entry.name] = str(why)
            print(f"{entry.name}: cannot be had: {why}", file=sys.stderr)
    if not options.fetch:
        for entry in wanted:
            if entry.name not in missing and (options.again or results.read(entry.name) is None):
                _run(entry, only_trials=options.trials)
        known = {
            entry.name: kept
            for entry in CATALOGUE
            if (kept := results.read(entry.name, of_any_code=True)) is not None
        }
        report.write(known, missing)
        if any(known[entry.name].failures for entry in wanted if entry.name in known):
            return 1
    return 3 if missing else 0


def _had(entry: Entry) -> None:
    """Its programs are here, and those of the server behind it."""
    if entry.behind is not None:
        _had(BY_NAME[entry.behind])
    owner = BY_NAME[entry.program_of] if entry.program_of else entry
    if owner.origin is not Origin.MACHINE:
        unpack(owner)


def _run(entry: Entry, *, only_trials: bool) -> None:
    server = BY_NAME[entry.behind] if entry.behind else entry
    engine = "mysql" if server.kind is Kind.MYSQL else "postgres"
    environment = (
        os.environ
        | _variables(entry, server)
        | {
            "CALLGATE_TEST_ENGINE": engine,
            "CALLGATE_TEST_TARGET": "mariadb" if engine == "mysql" else "postgres",
            "CALLGATE_TEST_TIMES": os.environ.get("CALLGATE_TEST_TIMES", "20"),
            "PYTHONPATH": "tests",
        }
    )
    tests = [_TRIALS]
    if not entry.is_proxy and not only_trials:
        tests += [*_DRIVERS, *_CORPORA[engine]]
    junit = PLACE / "results" / f"{entry.name}.xml"
    junit.parent.mkdir(parents=True, exist_ok=True)
    junit.unlink(missing_ok=True)
    began = time.monotonic()
    print(f"{entry.name}: running …", file=sys.stderr, flush=True)
    log = junit.with_suffix(".log")
    with log.open("wb") as output:
        subprocess.run(
            [sys.executable, "-P", "-m", "pytest", "-q", "-p", "engines.selection", "-p", "no:cacheprovider",
             f"--junitxml={junit}", "-o", "junit_family=xunit1", *tests],
            env=environment, stdout=output, stderr=output,
        )  # fmt: skip
    if not junit.exists():
        raise SystemExit(f"{entry.name}: pytest ended without a result, see {log}")
    result = results.from_junit(junit, _version(entry))
    if only_trials and (before := results.read(entry.name, of_any_code=True)) is not None:
        result.drivers, result.guard, result.skipped = before.drivers, before.guard, before.skipped
        result.suites_run = before.suites_run
        result.failures += [name for name in before.failures if "test_trials" not in name]
    results.write(entry.name, result)
    print(
        f"{entry.name} {result.version}: drivers {result.drivers.text}, corpora {result.guard.text},"
        f" {len(result.failures)} failed, {result.skipped} skipped,"
        f" {time.monotonic() - began:.0f} s (see {log})",
        file=sys.stderr,
        flush=True,
    )


def _variables(entry: Entry, server: Entry) -> dict[str, str]:
    told: dict[str, str] = {}
    if server.origin is not Origin.MACHINE:
        told[f"CALLGATE_TEST_{server.kind.name}"] = str(root_of(server.name))
    if entry.is_proxy:
        root = root_of(entry.program_of or entry.name)
        told["CALLGATE_TEST_PROXY"] = f"{entry.kind}:{root}"
        if entry.kind is Kind.PGBOUNCER:
            told["CALLGATE_TEST_PGBOUNCER"] = str(root)
    return told


def _version(entry: Entry) -> str:
    """As its own program says it."""
    owner = BY_NAME[entry.program_of] if entry.program_of else entry
    root = root_of(owner.name) if owner.origin is not Origin.MACHINE else Path("/")
    names = {
        Kind.MYSQL: ("usr/sbin/mariadbd", "usr/sbin/mysqld"),
        Kind.POSTGRES: ("usr/lib/postgresql/*/bin/postgres",),
        Kind.PGBOUNCER: ("usr/sbin/pgbouncer",),
        Kind.ROUTER: ("usr/bin/mysqlrouter",),
        Kind.HAPROXY: ("usr/sbin/haproxy",),
    }[entry.kind]
    found = [program for name in names for program in sorted(root.glob(name))]
    option = "-v" if entry.kind is Kind.HAPROXY else "--version"
    said = subprocess.run([found[0], option], capture_output=True, text=True, check=True).stdout
    number = re.search(r"(?:Ver|PostgreSQL\)|PgBouncer|version) +(\d+(?:\.\d+)+)", said)
    return number[1] if number is not None else "?"


if __name__ == "__main__":
    sys.exit(main())
