"""What a call costs with one worker and with several (CPU of all processes), and calls a second."""

import argparse
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from _load import Sample, measure
from _processes import Cores, end_on_sigterm
from _targets import Target, build_tools, callgate, echo

CONNECTIONS = 64


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    return parser.parse_args()


def main() -> None:
    end_on_sigterm()
    given, cores = options(), Cores()
    build_tools()
    targets: dict[str, Target] = {}
    samples: dict[str, list[Sample]] = {}
    with ExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="callgate-bench-")))
        upstream = stack.enter_context(echo(cores))
        for recording in (True, False):
            for workers in (1, *given.workers):
                many, how = "s" if workers > 1 else "", "recorded" if recording else "not recorded"
                name = f"{workers} worker{many}, {how}"
                place = state / f"{workers}-{recording}"
                gateway = stack.enter_context(
                    callgate(cores, upstream, place, recording=recording, with_child=False, workers=workers)
                )
                targets[name], samples[name] = gateway.over_http(name), []
        for _ in range(given.rounds):  # by turns: what the machine does in a round, it does to all
            for name, target in targets.items():
                samples[name].append(measure(target, CONNECTIONS, given.seconds, cores))
    print(f"{CONNECTIONS} connections, {given.rounds} rounds of {given.seconds:g} s; {cores}\n")
    print("| | req/s | CPU µs/req | CPU against one worker |")
    print("|---|---|---|---|")
    for name, found in samples.items():
        alone = samples[f"1 worker, {name.partition(', ')[2]}"]
        ratios = [one.cpu_us / other.cpu_us for one, other in zip(found, alone, strict=True)]
        cells = [
            name,
            f"{statistics.median(one.rps for one in found):,.0f}",
            f"{statistics.median(one.cpu_us for one in found):,.0f}",
            f"{statistics.median(ratios):.2f}",
        ]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
