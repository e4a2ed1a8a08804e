"""Minutes of load, with attacks in every other phase: memory flat, honest p99 as without, nothing lost.

Phases with and without hostile traffic take turns, so that the machine's moods hit both alike.
"""

import argparse
import json
import statistics
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from _gateway import Gateway, running_gateway
from _hostile.meter import resident_mib
from _hostile.stage import TOKEN, program
from _load import Load
from _trial import expect, run_trial
from record import expect_all_once, recorded

_HERE = Path(__file__).parent
_PHASE_IDS = 10_000_000
# What a gateway may grow by from its first quarter to its last: caches fill, the record's day grows.
_GROWN_MIB = 48.0
_P99_RATIO = 1.5
_WARM_ATTACKS = 36


@dataclass
class Phase:
    is_hostile: bool
    answered: list[int]
    p99_ms: float
    resident_mib: float
    attacks: Counter[str]


async def phase(
    gateway: Gateway, first_id: int, seconds: float, is_hostile: bool, options: argparse.Namespace
) -> Phase:
    load = Load(gateway.echo, first_id, credentials=gateway.credentials)
    attacks: Counter[str] = Counter()
    process = None
    async with AsyncExitStack() as stack:
        if is_hostile:
            rate = str(options.rate * options.hostile / 100)
            process, _ = await stack.enter_async_context(
                program(_HERE / "_hostile" / "traffic.py", str(gateway.port), TOKEN, rate)
            )
        await load.run(options.rate, seconds)
        if process is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            attacks.update(json.loads(await process.stdout.readline()))
    p99_ms = statistics.quantiles(load.waits_ms, n=100)[98]
    return Phase(is_hostile, load.answered, p99_ms, resident_mib(gateway.process.pid), attacks)


def judge(phases: list[Phase], options: argparse.Namespace) -> None:
    seconds = options.phase_s * len(phases)
    answered = sum(len(one.answered) for one in phases)
    attacks = sum((one.attacks for one in phases), Counter[str]())
    print(f"  {answered} calls answered, {answered / seconds:.0f}/s (asked for {options.rate:g}/s)")
    print(f"  {attacks.total()} attacks: {', '.join(f'{name} {count}' for name, count in attacks.items())}")
    if answered < 0.9 * seconds * options.rate:
        print("  this machine cannot do that rate: the figures are of the rate it could do")
    expect(attacks.total() > 0, "there were attacks")
    quarter = max(1, len(phases) // 4)
    first, last = (
        statistics.median(one.resident_mib for one in part)
        for part in (phases[quarter : 2 * quarter], phases[-quarter:])
    )
    grown = f"{last - first:.0f} MiB grown from the second quarter ({first:.0f} MiB) to the last"
    expect(last - first <= _GROWN_MIB, f"{grown}, limit {_GROWN_MIB:g}")
    pairs = [(quiet.p99_ms, hostile.p99_ms) for quiet, hostile in zip(phases[::2], phases[1::2], strict=True)]
    quiet_ms, hostile_ms = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(hostile / quiet for quiet, hostile in pairs)
    sentence = f"p99 {hostile_ms:.2f} ms with attacks, {quiet_ms:.2f} ms without: {ratio:.2f} times"
    if options.without_times:
        print(f"  {sentence}")
    else:
        expect(ratio <= _P99_RATIO, f"{sentence}, limit {_P99_RATIO:g}")


async def soak(options: argparse.Namespace) -> None:
    count = max(2, round(options.minutes * 60 / options.phase_s) // 2 * 2)
    print(
        f"{count} phases of {options.phase_s:g} s at {options.rate:g} calls/s, {options.hostile:g} % hostile"
    )
    async with AsyncExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _, echo = await stack.enter_async_context(program(_HERE / "_upstream.py"))
        gateway = await stack.enter_async_context(running_gateway(state, echo, token=TOKEN))
        # Warm: each attack comes a few times and the record is read: what a first one loads is no leak.
        await phase(gateway, 0, _WARM_ATTACKS * 100 / (options.rate * options.hostile), True, options)
        await recorded(gateway, " AND false")
        phases: list[Phase] = []
        for number in range(count):
            first_id, is_hostile = (number + 1) * _PHASE_IDS, number % 2 == 1
            phases.append(await phase(gateway, first_id, options.phase_s, is_hostile, options))
            print(f"\r  {number + 1} of {count}, {phases[-1].resident_mib:.0f} MiB", end="", flush=True)
        print()
        expect(gateway.process.returncode is None, "the gateway lives")
        found = await recorded(gateway, f" AND ok AND rpc_id::BIGINT >= {_PHASE_IDS}")
        expect_all_once([call for one in phases for call in one.answered], found)
        judge(phases, options)


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/chaos soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=1000.0, help="calls a second")
    parser.add_argument("--hostile", type=float, default=1.0, help="attacks, in percent of the calls")
    parser.add_argument("--phase-s", type=float, default=10.0, help="how long a phase is")
    parser.add_argument("--without-times", action="store_true", help="p99 is shown, but no failure")
    run_trial(parser, soak)


if __name__ == "__main__":
    main()
