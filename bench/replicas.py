"""Replicas and their stores, as ratios of one run: relay, flush, hop, staleness, writers, lists, memory."""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import _replicas_model
from _generated import DOCS, RESULTS, machine, put
from _processes import Cores, end_on_sigterm, set_niceness, tree
from _replica_gateways import Figure, hop, memory, relay, staleness, with_database
from _replica_retention import retention
from _replica_stores import flush, postmaster, processes, reads, writers
from _targets import build_tools, echo
from databases.database import Database
from databases.pgbouncer import pooler_of
from databases.postgres import postgres_server

_NICENESS = 10  # as the recorder's
PARTS = (
    "processes",
    "flush",
    "relay",
    "hop",
    "staleness",
    "writers",
    "retention",
    "memory",
    "reads",
)


def run(options: argparse.Namespace) -> tuple[list[Figure], dict[str, float]]:
    figures: list[Figure] = []
    costs: dict[str, float] = {}
    cores = Cores()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="callgate-bench-")))
        server = stack.enter_context(
            postgres_server(
                "fsync=on", "synchronous_commit=on", "max_connections=300", "track_commit_timestamp=on"
            )
        )
        for part in options.parts or PARTS:
            begun = time.monotonic()
            (folder / part).mkdir()
            found = _figures(part, options, cores, folder / part, server, costs)
            figures += found
            for figure in found:
                print(_line(figure), flush=True)
            print(f"    {part}: {time.monotonic() - begun:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    return figures, costs


def _figures(
    part: str,
    options: argparse.Namespace,
    cores: Cores,
    folder: Path,
    server: Database,
    costs: dict[str, float],
) -> list[Figure]:
    match part:
        case "flush":
            found, measured = asyncio.run(flush(folder, server, 20_000))
            costs.update(measured)
            return found
        case "reads":
            return asyncio.run(reads(folder, server, options.events))
        case "writers":
            return writers(folder, server, 64, options.seconds)
        case "retention":
            return retention(folder, server, 100_000, options.seconds)
        case "processes":
            with pooler_of(server) as pooler:
                return processes(folder, server, pooler, 200, 5)
        case _:
            build_tools()
            database = with_database(server, f"bench_{part}")
            with echo(cores) as upstream, beside_the_load(cores, server):
                if part == "relay":
                    return relay(
                        cores, upstream, folder, database, postmaster(server), options.rounds, options.seconds
                    )
                if part == "memory":
                    return memory(cores, upstream, folder, database)
                if part == "hop":
                    return asyncio.run(hop(cores, upstream, folder, database, 300))
                return asyncio.run(
                    staleness(cores, upstream, folder, database, options.rate, 3 * options.seconds)
                )


@contextmanager
def beside_the_load(cores: Cores, server: Database) -> Iterator[None]:
    """What PostgreSQL starts meanwhile runs on the core of load and upstream: it is not the target. It has
    what those leave, as the thread that stores into DuckDB files has what the relay leaves: else a wait of
    theirs would be taken for the gateway's."""
    pid = postmaster(server)
    every = os.sched_getaffinity(pid)
    if cores.pinned:
        for member in tree(pid):
            os.sched_setaffinity(member, {cores.load})
            set_niceness(member, _NICENESS)
    yield
    for member in tree(pid):
        os.sched_setaffinity(member, every)
        with suppress(PermissionError):  # only root may raise it again
            set_niceness(member, 0)


def _line(figure: Figure) -> str:
    missed = " (missed)" if figure.is_met is False else ""
    return f"| {figure.what} | {figure.goal} | {figure.found}{missed} |"


def publish(figures: list[Figure], load: float) -> None:
    command = " ".join(["scripts/bench replicas", *sys.argv[1:]])
    lines = [
        f"Machine: {machine()}.", f"Command: `{command}`; load {load:.1f} when it began.", "",
        "| what | goal | found |", "|---|---|---|", *map(_line, figures),
    ]  # fmt: skip
    put(RESULTS, "replicas", "\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench replicas", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all if none is named")
    parser.add_argument(
        "--write", action="store_true", help="store the table in bench/RESULTS.md and docs/replicas.md"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument(
        "--rate", type=float, default=200.0, help="calls a second of each replica, for staleness"
    )
    parser.add_argument(
        "--events", type=int, default=1_000_000, help="calls in the lists; a million takes some minutes"
    )
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    end_on_sigterm()
    load = os.getloadavg()[0]
    print(machine(), f"load {load:.1f}")
    figures, costs = run(options)
    if options.write:
        publish(figures, load)
        if costs:
            put(DOCS / "replicas.md", "model", _replicas_model.table(costs))


if __name__ == "__main__":
    main()
