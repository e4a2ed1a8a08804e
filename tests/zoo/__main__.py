"""scripts/zoo: install, go offline, run, write the table."""

import argparse
import asyncio
import fcntl
import os
import platform
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from zoo import manifest, offline, report
from zoo.install import ZOO, InstallError, forget_failures, install
from zoo.manifest import Client, Server
from zoo.results import Result, gateway_digest, keep, known
from zoo.stand import stand, web_site
from zoo.try_client import try_client
from zoo.try_server import try_server

AT_ONCE = 2  # a test bed of two cores is the smallest that this should work on
SECOND = "filesystem"  # beside server-everything, when a client is tried


def main() -> int:
    options = _options()
    servers, clients = manifest.servers(), manifest.clients()
    entries: list[Server | Client] = [*servers.values(), *clients.values()]
    if unknown := set(options.only) - {each.name for each in entries}:
        print(f"zoo: no such server or client: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    gateway = gateway_digest()
    wanted = [each for each in entries if not options.only or each.name in options.only]
    todo = [each for each in wanted if options.again or known(each, gateway) is None]
    if not _is_alone():
        print("zoo: another run works below .cache/zoo; wait for its end", file=sys.stderr)
        return 2
    if todo and not offline.is_inside():
        if options.again:
            forget_failures()
        _install_all(todo, servers)
        offline.go_offline(sys.argv[1:])
    elif offline.is_inside():
        offline.raise_loopback()
    if todo:
        asyncio.run(_run_all(todo, servers, gateway))
    return _report([*servers.values()], [*clients.values()], gateway, options.partial)


def _is_alone() -> bool:
    """Runs share folders. The lock lasts until the process ends, also when it becomes another program."""
    if offline.is_inside():
        return True
    ZOO.mkdir(parents=True, exist_ok=True)
    lock = os.open(ZOO / "lock", os.O_RDWR | os.O_CREAT)  # never closed: that would end it
    os.set_inheritable(lock, True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/zoo", description="Real servers and clients, directly and through the gateway"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="only these servers and clients"
    )
    parser.add_argument(
        "--again", action="store_true", help="also what is known already, and failed installations"
    )
    parser.add_argument(
        "--partial", action="store_true", help="write the table without what has no result yet"
    )
    return parser.parse_args()


def _install_all(todo: list[Server | Client], servers: dict[str, Server]) -> None:
    def one(entry: Server | Client) -> None:
        begun = time.monotonic()
        try:
            install(entry.name, entry)
        except InstallError as problem:
            print(f"  not installed  {entry.name}: {str(problem)[:200]}", flush=True)
        else:
            if (took := time.monotonic() - begun) > 1:
                print(f"  installed      {entry.name}  {took:.0f} s", flush=True)

    needed = {each.name: each for each in (*todo, servers["everything"], servers[SECOND])}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, needed.values()))


async def _run_all(todo: list[Server | Client], servers: dict[str, Server], gateway: str) -> None:
    running = asyncio.current_task()
    assert running is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)  # what was started is ended
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(entry: Server | Client, page: str) -> None:
        async with slots:
            begun = time.monotonic()
            result = await _try(entry, servers, page)
            keep(entry, gateway, result)
            differing = sum(len(way["differences"]) for way in result.ways.values())
            took = f"{time.monotonic() - begun:.0f} s"
            print(f"  {differing:3} different  {entry.name}  {took}  {result.problem[:100]}", flush=True)

    with web_site() as page:
        await asyncio.gather(*(one(entry, page) for entry in todo))


async def _try(entry: Server | Client, servers: dict[str, Server], page: str) -> Result:
    try:
        installed = install(entry.name, entry)
        if isinstance(entry, Server):
            return await try_server(stand(entry, installed, page))
        pair = (servers["everything"], servers[SECOND])
        place = ZOO / "run" / f"client-{entry.name}"
        first, second = (stand(each, install(each.name, each), page, place / each.name) for each in pair)
        return await try_client(entry, installed, first, second)
    except InstallError as problem:
        return Result(entry.name, entry.version, f"not installed: {problem}")


def _report(servers: list[Server], clients: list[Client], gateway: str, is_partial: bool) -> int:
    found = [[known(each, gateway) for each in entries] for entries in (servers, clients)]
    missing = [
        entry.name
        for entries, results in zip((servers, clients), found, strict=True)
        for entry, result in zip(entries, results, strict=True)
        if result is None
    ]
    of_servers, of_clients = ([result for result in results if result is not None] for results in found)
    text, unexplained = report.written(of_servers, of_clients, manifest.explanations(), _tools(), missing)
    if missing:
        print(f"no result for this gateway yet: {', '.join(missing)}")
    if not missing or is_partial:
        report.DOCUMENT.write_text(text)
    else:
        print("docs/compatibility.md is not written (--partial)")
    for name, way, each in unexplained:
        direct, through = each.excerpts()
        print(f"unexplained: {name} {way} {each.step}\n    direct   {direct}\n    through  {through}")
    print(f"{len(unexplained)} differences are not explained (tests/zoo/differences.toml)")
    return 1 if unexplained else 0


def _tools() -> str:
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return f"Python {platform.python_version()}, Node {node.removeprefix('v')}"


if __name__ == "__main__":
    sys.exit(main())
