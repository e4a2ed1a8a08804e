"""The fuzzer of what reads strangers' bytes: scripts/fuzz bytes [TARGET …] [--inputs N] [--seed N]

Every input is read whole and in packets. Ends with 1 when one crashed, hung, or was read in two ways.
"""

import argparse
import sys
import time

from fuzz.campaign import keep, run
from fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz bytes", description=(__doc__ or "").partition("\n\n")[2]
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(TARGETS)}; all if none")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="for all targets together")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed, the same inputs")
    wanted = parser.parse_args()
    if unknown := set(wanted.targets) - TARGETS.keys():
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    chosen = [TARGETS[name] for name in wanted.targets or TARGETS]
    shares = sum(target.share for target in chosen)
    print(f"{wanted.inputs:,} inputs, --seed {wanted.seed}", flush=True)
    is_clean = True
    for target in chosen:
        summary = run(target, max(1, wanted.inputs * target.share // shares), wanted.seed)
        print(summary, flush=True)
        keep(summary)
        is_clean = is_clean and summary.is_clean
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
