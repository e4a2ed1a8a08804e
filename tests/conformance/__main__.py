"""scripts/conformance: the official suite directly and through the gateway, and what was lost between.

Prints checks kept of those that succeed directly, per leg and upstream, and each lost one. Ends with 1 if
there is any, or if the suite could not run.
"""

import argparse
import asyncio
import shutil
import signal
import sys
from contextlib import suppress

from conformance.stage import standing_stage
from conformance.suite import CACHE, LEGS, Leg, SuiteError, install

RESULTS = CACHE / "results"
UPSTREAMS = {"ref": "HTTP", "refio": "stdio"}


async def run(legs: list[Leg]) -> bool:
    """Whether nothing was lost."""
    suite = install()
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    # The default action of SIGTERM would leave the gateway and the reference server running.
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    whole = True
    async with standing_stage(suite, RESULTS) as stage:
        for leg in legs:
            failing = [
                f"{check.scenario} {check.check_id}"
                for check, verdict in (await stage.direct(leg)).items()
                if verdict.status == "FAILURE"
            ]
            for upstream, transport in UPSTREAMS.items():
                comparison = await stage.compare(leg, upstream)
                whole = whole and comparison.is_whole
                print(f"{leg.name:9} {transport:6} {comparison}", flush=True)
            for check in failing:
                print(f"    fails directly, so it is not counted: {check}", flush=True)
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/conformance", description=__doc__)
    parser.add_argument("legs", nargs="*", metavar="LEG", help=f"{', '.join(LEGS)}; all of them by default")
    parser.add_argument("--setup", action="store_true", help="only install the suite")
    words = parser.parse_args()
    unknown = [name for name in words.legs if name not in LEGS]
    if unknown:
        parser.error(f"no leg is called {', '.join(unknown)}; there are {', '.join(LEGS)}")
    try:
        if words.setup:
            install()
            return 0
        with suppress(KeyboardInterrupt, asyncio.CancelledError):
            whole = asyncio.run(run([LEGS[name] for name in words.legs or LEGS]))
            print(f"{'Nothing lost' if whole else 'NOT whole'}; every verdict is below {RESULTS}")
            return 0 if whole else 1
    except SuiteError as problem:
        print(f"scripts/conformance: {problem}", file=sys.stderr)
        return 1
    return 130


if __name__ == "__main__":
    sys.exit(main())
