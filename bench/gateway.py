"""Calls a second through Callgate (HTTP, stdio, aggregate) beside direct, nginx and FastMCP, in one run."""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from _generated import DOCS, RESULTS, machine, put
from _goals import goals_table
from _load import Sample, mean_of, measure, median_of
from _processes import FOLDER, Cores, end_on_sigterm
from _targets import Target, UnavailableError, build_tools, callgate, echo, fastmcp, nginx, sketch


@dataclass(slots=True)
class Field:
    """Everything that takes part, in the order of a round; nginx frames each round, so that drift shows."""

    targets: list[Target] = field(default_factory=list)
    direct: Target | None = None
    nginx: Target | None = None
    fastmcp: Target | None = None
    absent: list[str] = field(default_factory=list)
    samples: dict[tuple[str, int], list[Sample]] = field(default_factory=lambda: defaultdict(list))

    def of(self, target: Target | None, connections: int) -> list[Sample]:
        return [] if target is None else self.samples[target.name, connections]


def line_up(stack: ExitStack, cores: Cores, options: argparse.Namespace) -> Field:
    taking_part = Field()
    upstream = taking_part.direct = stack.enter_context(echo(cores))

    def peer(start: Callable[[Cores, Target], AbstractContextManager[Target]]) -> Target | None:
        try:
            return stack.enter_context(start(cores, upstream))
        except (UnavailableError, RuntimeError) as problem:
            taking_part.absent.append(f"{start.__name__} left out: {problem}")
            return None

    taking_part.nginx = peer(nginx)
    taking_part.fastmcp = peer(fastmcp)
    state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="callgate-bench-")))
    gateway = stack.enter_context(callgate(cores, upstream, state / "recorded", sync="reply"))
    lazy = stack.enter_context(callgate(cores, upstream, state / "lazy", sync="interval"))
    modern = stack.enter_context(echo(cores, "--modern"))
    silent = stack.enter_context(callgate(cores, upstream, state / "silent", recording=False, modern=modern))
    taking_part.targets = [upstream, gateway.over_http(), gateway.over_stdio(), gateway.aggregate()]
    taking_part.targets += [
        lazy.over_http('Callgate, HTTP upstream, sync = "interval"'),
        lazy.over_stdio('Callgate, stdio upstream, sync = "interval"'),
        silent.over_http("Callgate, HTTP upstream, recording off"),
        silent.over_stdio("Callgate, stdio upstream, recording off"),
        silent.over_modern_http("Callgate, HTTP upstream, modern era, recording off"),
    ]
    child = cores.on_load([str(FOLDER / "echo_mcp"), "--stdio"])
    for name, behind in (("HTTP", [upstream.url]), ("stdio", ["--", *child])):
        least = f"the least gateway in Python, {name} upstream"
        taking_part.targets.append(stack.enter_context(sketch(cores, least, behind)))
    if options.versus is not None:
        other = stack.enter_context(callgate(cores, upstream, state / "other", source=options.versus))
        taking_part.targets += [other.over_http("versus, HTTP"), other.over_stdio("versus, stdio")]
        taking_part.targets.append(other.aggregate("versus, aggregate /mcp"))
    if taking_part.fastmcp is not None:
        taking_part.targets.append(taking_part.fastmcp)
    return taking_part


def run_rounds(taking_part: Field, cores: Cores, options: argparse.Namespace) -> None:
    def one(target: Target, connections: int) -> Sample:
        sample = measure(target, connections, options.seconds, cores)
        print(f"  {connections:3} × {target.name:42} {sample.rps:9,.0f} req/s", file=sys.stderr)
        return sample

    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        for connections in options.connections:
            before = one(taking_part.nginx, connections) if taking_part.nginx else None
            for target in taking_part.targets:
                taking_part.samples[target.name, connections].append(one(target, connections))
            if before and taking_part.nginx:
                framed = mean_of(before, one(taking_part.nginx, connections))
                taking_part.samples[taking_part.nginx.name, connections].append(framed)


def ratio(ours: list[Sample], theirs: list[Sample]) -> float | None:
    """The median of each round's own ratio: what the machine did in that round, it did to both."""
    if not theirs:
        return None
    return statistics.median(our.rps / their.rps for our, their in zip(ours, theirs, strict=True))


HEAD = "req/s | CPU µs/req | p50 ms | p99 ms | p50 over direct, ms | of nginx | × FastMCP |"
FOOT = """Every reply was verified. nginx was measured before and after in each round; ratios are medians of
each round's own ratio. CPU is user and system time of the target's whole process tree (a stdio upstream is
part of it) until it is idle again after the last reply, so that recording that lags behind is counted too
(what follows the last reply is divided by all calls, those of the warm-up too).
FastMCP runs at the best setting that was found (bench/_fastmcp_proxy.py). Callgate records with
sync = "reply" where nothing else is said. The least gateway in Python (bench/_sketch.py) only passes messages
on."""


def table(taking_part: Field, connections: int) -> str:
    plural = "s" if connections > 1 else ""
    lines = [f"| {connections} connection{plural} | {HEAD}", "|---|---|---|---|---|---|---|---|"]
    first, *others = taking_part.targets
    direct = median_of(taking_part.of(taking_part.direct, connections))
    for target in [first, *([taking_part.nginx] if taking_part.nginx else []), *others]:
        samples = taking_part.of(target, connections)
        middle = median_of(samples)
        of_nginx = ratio(samples, taking_part.of(taking_part.nginx, connections))
        of_fastmcp = ratio(samples, taking_part.of(taking_part.fastmcp, connections))
        cells = [
            target.name,
            f"{middle.rps:,.0f}",
            f"{middle.cpu_us:,.0f}",
            f"{middle.p50_ms:.2f}",
            f"{middle.p99_ms:.2f}",
            f"{middle.p50_ms - direct.p50_ms:+.2f}",
            "–" if of_nginx is None else f"{of_nginx:.1%}",
            "–" if of_fastmcp is None else f"{of_fastmcp:,.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def report(taking_part: Field, cores: Cores, options: argparse.Namespace) -> str:
    command = " ".join(["scripts/bench gateway", *sys.argv[1:]])
    how = f"{options.rounds} rounds of {options.seconds:g} s for each figure, medians; {cores}"
    tables = [table(taking_part, connections) for connections in options.connections]
    begin = f"Machine: {machine()}.\nCommand: `{command}` ({how})."
    return "\n\n".join([begin, *tables, FOOT, *taking_part.absent])


def goals_of(taking_part: Field, options: argparse.Namespace) -> str:
    peers = (taking_part.nginx and taking_part.nginx.name, taking_part.fastmcp and taking_part.fastmcp.name)
    samples = taking_part.samples
    made = goals_table(lambda name, count: samples[name, count], ratio, peers, options.connections)
    how = f"medians of {options.rounds} rounds of {options.seconds:g} s, in one run that ended at a load of"
    return f"{made}\n\n{machine()};\n{how} {os.getloadavg()[0]:.0f}."


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench gateway", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="64 connections only, 1 s, one round")
    parser.add_argument(
        "--write", action="store_true", help="store the tables in bench/RESULTS.md and docs/performance.md"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.5, help="of each measurement")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument(
        "--versus", type=Path, metavar="SRC", help="also measure Callgate from this src folder"
    )
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds, options.connections = 1, 1.0, [64]
    return options


def main() -> None:
    options = read_options()
    end_on_sigterm()
    build_tools()
    cores = Cores()
    begun = time.monotonic()
    with ExitStack() as stack:
        taking_part = line_up(stack, cores, options)
        for line in taking_part.absent:
            print(line, file=sys.stderr)
        run_rounds(taking_part, cores, options)
        text = report(taking_part, cores, options)
    goals = goals_of(taking_part, options)
    print(f"{text}\n\n{goals}")
    print(f"\n{time.monotonic() - begun:.0f} s in all", file=sys.stderr)
    if options.write:
        put(RESULTS, "gateway", text)
        put(DOCS / "performance.md", "goals", goals)


if __name__ == "__main__":
    main()
