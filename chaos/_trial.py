"""How a trial says what held and what did not, and how those that were asked for are run."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Any


class TrialError(Exception):
    """What should have held did not."""


def expect(held: bool, sentence: str) -> None:
    print(f"  {'ok  ' if held else 'FAIL'} {sentence}", flush=True)
    if not held:
        raise TrialError(sentence)


def run_trials(
    parser: argparse.ArgumentParser,
    trials: Mapping[str, Callable[[argparse.Namespace], Coroutine[Any, Any, None]]],
) -> None:
    """Those that the command line names, or all, one after the other, until one fails."""
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"{', '.join(trials)}; all if none")
    options = parser.parse_args()
    if unknown := set(options.trials) - trials.keys():
        parser.error(f"no such trial: {', '.join(sorted(unknown))}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in options.trials or trials:
        try:
            asyncio.run(trials[name](options))
        except TrialError:
            sys.exit(1)
