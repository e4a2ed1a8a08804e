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
    _tell_machine()
    for name in options.trials or trials:
        try:
            asyncio.run(trials[name](options))
        except TrialError:
            sys.exit(1)


def run_trial(
    parser: argparse.ArgumentParser, trial: Callable[[argparse.Namespace], Coroutine[Any, Any, None]]
) -> None:
    """The only one that there is."""
    options = parser.parse_args()
    _tell_machine()
    has_failed = False
    try:
        asyncio.run(trial(options))
    except* TrialError as failed:  # the SDK's client puts it into a group
        has_failed = True
        print(*_told(failed), sep="\n", file=sys.stderr)
    if has_failed:
        sys.exit(1)


def _told(failed: BaseExceptionGroup[TrialError]) -> list[str]:
    """What failed, of all groups in it."""
    found: list[str] = []
    for one in failed.exceptions:
        found += _told(one) if isinstance(one, BaseExceptionGroup) else [str(one)]
    return found


def _tell_machine() -> None:
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
