"""Hostile clients, servers and databases: what each costs, and its bound.

Every scenario has a gateway of its own and an honest client that calls all the while.
"""

import argparse
import asyncio
import os
import sys
from dataclasses import replace

from _hostile.groups import GROUPS
from _hostile.scenario import Scenario
from _hostile.stage import Result, run

_COLUMNS = f"{'':4} {'scenario':44} {'CPU s':>13} {'MiB':>13} {'longest ms':>15} {'p99':>6}"


def chosen(groups: list[str], only: str, *, is_short: bool) -> list[Scenario]:
    return [
        scenario
        for name in groups or GROUPS
        for scenario in GROUPS[name].scenarios
        if only in scenario.name and (scenario.in_short or only or not is_short)
    ]


def line(result: Result) -> str:
    bound, verdict = result.scenario.bound, "ok" if result.held else "FAIL"
    return (
        f"{verdict:4} {result.scenario.name[:44]:44} {result.cpu_s:6.2f} /{bound.cpu_s:5g}"
        f" {result.memory_mib:6.0f} /{bound.memory_mib:5g} {result.longest_ms:8.0f} /{bound.wait_ms:5g}"
        f" {result.p99_ms:6.1f}"
    )


async def attack(options: argparse.Namespace) -> int:
    failed = 0
    group = ""
    for scenario in chosen(options.groups, options.only, is_short=options.short):
        if scenario.group != group:
            group = scenario.group
            print(f"\n{group}\n{_COLUMNS}", flush=True)
        scenario = replace(scenario, bound=scenario.bound.times(options.allow))
        result = await run(scenario, is_short=options.short, with_times=not options.without_times)
        failed += not result.held
        print(line(result), flush=True)
        for sentence in result.broken:
            print(f"       {sentence}", flush=True)
    print(f"\n{failed} failed" if failed else "\nall held")
    return 1 if failed else 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/chaos hostile", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"{', '.join(GROUPS)}; all if none")
    parser.add_argument("--only", default="", help="scenarios with this in their name")
    parser.add_argument("--short", action="store_true", help="a tenth of everything, without the long ones")
    parser.add_argument(
        "--without-times",
        action="store_true",
        help="CPU and waiting never fail: for shared machines",
    )
    parser.add_argument(
        "--allow", type=float, default=1.0, help="so many times of each bound (slow machines)"
    )
    parser.add_argument("--list", action="store_true", help="names the scenarios")
    options = parser.parse_args()
    if unknown := set(options.groups) - GROUPS.keys():
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    if options.list:
        for scenario in chosen(options.groups, options.only, is_short=options.short):
            print(f"{scenario.group:12} {scenario.name}")
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; found / bound")
    sys.exit(asyncio.run(attack(options)))


if __name__ == "__main__":
    main()
