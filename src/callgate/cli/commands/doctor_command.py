"""`callgate doctor`: configuration, sources and servers, each with what to do about it.

Exit codes: 3 when the configuration has problems, 5 when something cannot be reached, 0 otherwise; a
warning (an account that may do more than its mode needs) is no failure.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from callgate.app.commands.doctor import examine
from callgate.app.loop import run_loop
from callgate.app.server_care import Diagnosis
from callgate.app.setup.setup_problems import load_and_check
from callgate.cli.config_origin import origin_in_words
from callgate.cli.log import LogLevel, LogOptions, log_to_stderr
from callgate.cli.terminal import Exit, indented, print_json, print_line, print_text
from callgate.config.load import Loaded
from callgate.config.problem import ConfigProblem, ConfigProblems
from callgate.config.sources.flags import Flags
from callgate.sandbox.kernel import KernelAbilities, kernel_abilities

_KINDS = {"sql": "source", "mcp": "server", "replicas": "replicas", "record": "record"}
_MARKS = {"problem": "✗", "warning": "!", "note": "·"}


def run_doctor(flags: Flags, as_json: bool) -> None:
    log_to_stderr(LogOptions(LogLevel.ERROR))  # what drivers warn of is in the report
    try:
        loaded = load_and_check(flags)
    except ConfigProblems as found:
        _show_problems(found, as_json)
        sys.exit(Exit.CONFIG)
    diagnoses = run_loop(examine(loaded.config, loaded.origin))
    if as_json:
        print_json(_told(loaded, diagnoses))
    else:
        _show(loaded, diagnoses)
    sys.exit(Exit.OK if all(one.reachable for one in diagnoses) else Exit.UNREACHABLE)


def _show_problems(found: ConfigProblems, as_json: bool) -> None:
    if as_json:
        problems, notes = ([_problem(one) for one in told] for told in (found.problems, found.notes))
        print_json({"ok": False, "config": {"problems": problems, "notes": notes}})
        return
    print_text(f"✗ configuration: {indented(found.message)}")
    print_line(f"  {found.hint}")
    _show_notes(found.notes)


def _show_notes(notes: Sequence[ConfigProblem]) -> None:
    for note in notes:
        print_line(f"  · {note}")


def _problem(problem: ConfigProblem) -> dict[str, str]:
    return {"key": problem.key_path, "message": problem.message, "hint": problem.hint}


def _told(loaded: Loaded, diagnoses: list[Diagnosis]) -> dict[str, Any]:
    return {
        "ok": all(one.reachable for one in diagnoses),
        "config": {
            "file": loaded.origin and str(loaded.origin),
            "workers": loaded.config.server.workers,
            "problems": [],
            "warnings": [_problem(warning) for warning in loaded.warnings],
            "notes": [_problem(note) for note in loaded.notes],
        },
        "kernel": asdict(kernel_abilities()),
        "upstreams": [asdict(one) | {"settings": dict(one.settings)} for one in diagnoses],
    }


def _show(loaded: Loaded, diagnoses: list[Diagnosis]) -> None:
    print_line(f"✓ configuration: {origin_in_words(loaded, 'no file, all defaults')}")
    for warning in loaded.warnings:
        print_line(f"  ! {warning}")
    _show_notes(loaded.notes)
    if (workers := loaded.config.server.workers) > 1:
        print_line(f"  · {workers} worker processes serve; limits and stdio servers are for each of them")
    if any(spec.command is not None for spec in loaded.config.mcp_servers.values()):
        print_line(f"  · {_sandbox_in_words(kernel_abilities())}")
    if loaded.config.is_empty:
        print_line("· no source and no server is configured: the read-only demo shop would be served")
    for one in diagnoses:
        _show_one(one)


def _sandbox_in_words(kernel: KernelAbilities) -> str:
    if kernel.obstacle:
        return f"programs cannot be confined: {kernel.obstacle}"
    held = f"programs can be confined (Landlock {kernel.landlock}, seccomp)"
    return f"{held}; {kernel.gaps}" if kernel.gaps else held


def _show_one(one: Diagnosis) -> None:
    kind = _KINDS[one.kind]
    about = ", ".join(filter(None, (one.version, one.mode, one.account, one.role)))
    state = f"reachable ({about})" if one.reachable and about else "reachable" if one.reachable else "down"
    name = f"{one.name} ({one.title})" if one.title else one.name
    print_line(f"{'✓' if one.reachable else '✗'} {kind} {name}: {state}")
    if one.address:
        print_line(f"  {one.address}")
    if one.settings:
        print_line("  " + ", ".join(f"{name} = {value}" for name, value in one.settings))
    for finding in one.findings:
        print_line(f"  {_MARKS[finding.severity]} {finding.text}")
        for line in finding.advice.splitlines():
            print_line(f"    {line}")
