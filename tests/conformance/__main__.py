"""scripts/conformance: the official suite directly and through the gateway, and what was lost between.

Prints checks kept of those that succeed directly, per leg and upstream, and each lost one. Ends with 1 if
there is any, or if the suite could not run. `bridge` runs each era's legs against upstreams of the other era;
there a loss may have its reason in `bridge_losses.py`, which is printed beside it. `--replicas 3` puts three
gateways behind nginx instead of one, with PostgreSQL through PgBouncer: the same checks must be kept.
`matrix` runs our own matrix of five clients and six servers (docs/bridge.md) by itself; over replicas those
of its cells that are about HTTP.
"""

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from conformance.bridge_losses import ON_A_PIPE, REASONS
from conformance.stage import BOTH_ERAS, ONE_ERA, Reference, standing_stage
from conformance.suite import CACHE, LEGS, Leg, SuiteError, install

RESULTS = CACHE / "results"
BRIDGE = "bridge"
MATRIX = "matrix"
_MATRIX_TESTS = Path(__file__).parents[1] / "bridge" / "test_matrix.py"
Runs = list[tuple[Leg, tuple[Reference, ...]]]


def runs_of(names: list[str]) -> Runs:
    """Which leg against which upstreams: its own era's, or, over the bridge, the other's."""
    if BRIDGE not in names:
        # A process that all clients share does not know which handshake client to ask.
        own = tuple(each for each in BOTH_ERAS if each.isolation != "shared")
        legs = [LEGS[name] for name in names or LEGS]
        return [(leg, BOTH_ERAS if leg.era == "modern" else own) for leg in legs]
    legs = [LEGS[name] for name in names if name != BRIDGE] or list(LEGS.values())
    return [(leg, tuple(each for each in ONE_ERA if each.era != leg.era)) for leg in legs]


async def run(runs: Runs, replicas: int) -> bool:
    """Whether nothing was lost without a reason."""
    suite = install()
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    # The default action of SIGTERM would leave the gateway and the reference server running.
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    whole = True
    upstreams = list(dict.fromkeys(each for _, through in runs for each in through))
    async with standing_stage(suite, RESULTS, upstreams, replicas=replicas) as stage:
        for leg, through in runs:
            failing = [
                f"{check.scenario} {check.check_id}"
                for check, verdict in (await stage.direct(leg)).items()
                if verdict.status == "FAILURE"
            ]
            for upstream in through:
                comparison = await stage.compare(leg, upstream.name)
                on_a_pipe = ON_A_PIPE[upstream.era] if upstream.transport == "stdio" else {}
                reasons = {**REASONS[upstream.era], **on_a_pipe}
                whole = whole and comparison.total > 0 and all(lost in reasons for lost in comparison.lost)
                print(f"{leg.name:9} {upstream.transport:6} {comparison.told(reasons)}", flush=True)
            for check in failing:
                print(f"    fails directly, so it is not counted: {check}", flush=True)
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/conformance", description=__doc__)
    parser.add_argument(
        "legs",
        nargs="*",
        metavar="LEG",
        help=f"{', '.join(LEGS)}; all of them by default; bridge, matrix: see above",
    )
    parser.add_argument("--setup", action="store_true", help="only install the suite")
    parser.add_argument("--replicas", type=int, default=1, metavar="N", help="so many gateways behind nginx")
    words = parser.parse_args()
    if words.legs == [MATRIX]:
        environment = {**os.environ, "CALLGATE_MATRIX_REPLICAS": str(words.replicas)}
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(_MATRIX_TESTS)]
        return subprocess.call(command, env=environment)
    unknown = [name for name in words.legs if name not in LEGS and name != BRIDGE]
    if unknown:
        parser.error(f"no leg is called {', '.join(unknown)}; there are {', '.join(LEGS)}")
    try:
        if words.setup:
            install()
            return 0
        with suppress(KeyboardInterrupt, asyncio.CancelledError):
            whole = asyncio.run(run(runs_of(words.legs), words.replicas))
            good = "Nothing lost without a reason" if BRIDGE in words.legs else "Nothing lost"
            print(f"{good if whole else 'NOT whole'}; every verdict is below {RESULTS}")
            return 0 if whole else 1
    except SuiteError as problem:
        print(f"scripts/conformance: {problem}", file=sys.stderr)
        return 1
    return 130


if __name__ == "__main__":
    sys.exit(main())
