"""`callgate guard`: what would happen to a statement, and why. No database is asked, nothing is run.

It judges safety alone: names need no database before them unless that is asked for. With --jsonl it answers
one line for each line of stdin, at once, and no line can end it: what cannot be read or judged is blocked.
"""

import json
import logging
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from callgate.cli.terminal import Exit, print_json, print_line
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS
from callgate.model.errors import CallerError
from callgate.model.near_miss import did_you_mean
from callgate.model.verdict import Deny
from callgate.sql.engines.engine import ALIASES, ENGINES, find_engine
from callgate.sql.guard.judge import judge
from callgate.sql.guard.judgement import Judgement
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import Mode

_log = logging.getLogger(__name__)

_MODES = {
    **dict.fromkeys(("read_only", "read-only", "readonly", "read"), Mode.READ_ONLY),
    **dict.fromkeys(("write", "write_enabled", "read_write"), Mode.WRITE),
}

_ONE_OF = "One of mysql, mariadb, postgres, sqlite, duckdb."


@dataclass(frozen=True, slots=True)
class GuardOptions:
    """What holds for every statement; a line of --jsonl names its own dialect and mode."""

    dialect: str | None = None
    mode: str = "read_only"
    require_qualified: bool = False
    allow_ddl: bool = False
    allow_functions: tuple[str, ...] = ()


def run_guard(sql: str | None, options: GuardOptions, as_json: bool) -> None:
    if options.dialect is None:
        raise _bad("--dialect is missing", _ONE_OF)
    text = _stdin() if sql is None or sql == "-" else sql
    judgement = judge(text, _policy(options.dialect, options.mode, options))
    if as_json:
        print_json(_told(judgement))
    else:
        _show(judgement)
    sys.exit(Exit.OK if judgement.allowed else Exit.REFUSED)


def _stdin() -> str:
    """What is not UTF-8 is the lexer's to refuse."""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def run_guard_lines(options: GuardOptions) -> None:
    try:
        for answer in _answers(sys.stdin.buffer, options):
            sys.stdout.write(_line(answer))
            sys.stdout.flush()  # a caller that asks line by line waits for it
    except BrokenPipeError:
        # Nobody reads any more. The interpreter would try to flush once again at its end.
        sys.stderr.close()
        sys.exit(Exit.ERROR)


def _answers(lines: Iterable[bytes], options: GuardOptions) -> Iterator[dict[str, Any]]:
    for raw in lines:
        if raw.strip(b"\xef\xbb\xbf \t\r\n"):
            yield _answer(raw, options)


def _answer(raw: bytes, options: GuardOptions) -> dict[str, Any]:
    try:
        line = json.loads(raw.decode("utf-8-sig"), parse_constant=_no_number)
    except (ValueError, RecursionError) as problem:
        return _blocked(None, "bad_line", f"the line is not JSON in UTF-8: {str(problem)[:200]}")
    if not isinstance(line, dict):
        return _blocked(None, "bad_line", "the line is not a JSON object")
    members = cast("dict[str, Any]", line)
    asked_id, sql = members.get("id"), members.get("sql")
    if not isinstance(sql, str):
        return _blocked(asked_id, "bad_line", "the line has no text under sql")
    dialect = str(members.get("dialect") or options.dialect or "")
    mode = str(members.get("mode") or options.mode)
    try:
        verdict = judge(sql, _policy(dialect, mode, options)).verdict
    except CallerError as error:
        return _blocked(asked_id, "bad_line", f"{error.message}. {error.hint}".strip())
    except Exception:  # noqa: BLE001 - a bug of ours must neither let a statement through nor end the run
        _log.exception("judging failed")
        return _blocked(asked_id, "internal", "the guard itself failed on this statement")
    if isinstance(verdict, Deny):
        return _blocked(asked_id, verdict.rule, verdict.reason)
    return {"id": asked_id, "verdict": "allow", "rule": None, "reason": None}


def _line(answer: dict[str, Any]) -> str:
    try:
        return json.dumps(answer, allow_nan=False) + "\n"
    except (ValueError, RecursionError):  # an id such as 1e999, or nested too deep to be written again
        return json.dumps(answer | {"id": None}) + "\n"


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _blocked(asked_id: Any, rule: str, reason: str) -> dict[str, Any]:
    return {"id": asked_id, "verdict": "block", "rule": rule, "reason": reason}


@lru_cache(maxsize=64)
def _policy(dialect: str, mode: str, options: GuardOptions) -> Policy:
    found = find_engine(dialect)
    if not dialect:
        raise _bad("No dialect is named", _ONE_OF)
    if found is None:
        hint = did_you_mean(dialect, (*ENGINES, *ALIASES)) or _ONE_OF
        raise _bad(f"There is no dialect {dialect[:40]!r}", hint)
    wanted = _MODES.get(mode.strip().lower())
    if wanted is None:
        raise _bad(f"There is no mode {mode[:40]!r}", "read_only or write.")
    return Policy(
        found.dialect,
        wanted,
        allow_ddl=options.allow_ddl,
        allow_functions=frozenset(name.lower() for name in options.allow_functions),
        require_qualified=options.require_qualified,
    )


def _bad(message: str, hint: str) -> CallerError:
    return CallerError(CALLER_BAD_ARGUMENTS, message, hint=hint)


def _told(judgement: Judgement) -> dict[str, Any]:
    verdict = judgement.verdict
    told: dict[str, Any] = {
        "verdict": "allow" if judgement.allowed else "block",
        "rule": judgement.rule,
        "statements": [statement.statement_type for statement in judgement.statements],
        "tables": list(judgement.tables),
    }
    if isinstance(verdict, Deny):
        told |= {"code": verdict.code.code, "reason": verdict.reason, "hint": verdict.hint}
    return told


def _show(judgement: Judgement) -> None:
    verdict = judgement.verdict
    tables = f" on {', '.join(judgement.tables)}" if judgement.tables else ""
    if not isinstance(verdict, Deny):
        print_line(f"allowed: {judgement.statement_type}{tables}")
        return
    print_line(f"blocked: {judgement.statement_type}{tables}")
    print_line(f"  rule    {verdict.rule} ({verdict.code.code})")
    print_line(f"  why     {verdict.reason}")
    print_line(f"  instead {verdict.hint}")
