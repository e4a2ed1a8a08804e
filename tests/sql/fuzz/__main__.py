"""The differential fuzzer: scripts/fuzz ENGINE [--statements N] [--seed N]

Statements that the guard lets through are run on a live engine as a privileged user, without our engine
layer; nothing may be different afterwards. Ends with 1 when something is, or when the guard raised.
"""

import argparse
import sys
import time

from sql.fuzz.campaign import Campaign, to_stderr
from sql.fuzz.engines.open_engine import ENGINES, open_engine

from callgate.sql.guard.policy import Policy


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("--statements", type=int, default=100_000)
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="the same seed, the same statements"
    )
    wanted = parser.parse_args()
    print(f"{wanted.engine}, {wanted.statements:,} statements, --seed {wanted.seed}")
    with open_engine(wanted.engine) as engine:
        summary = Campaign(engine, Policy(engine.dialect), wanted.statements, wanted.seed, to_stderr).run()
    print(summary)
    return 0 if summary.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
