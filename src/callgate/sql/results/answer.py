"""The tool's answer in MCP's legacy shape: text, and structuredContent with the very same rows. Pure.

The relay adds what the modern era needs. Counterpart: `tool` declares the output schema of this.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from callgate.model.error_codes import ErrorCode
from callgate.sql.driver import StatementResult
from callgate.sql.policy import Policy
from callgate.sql.results.fit import fit_rows, truncation_message
from callgate.sql.results.tables import header_lines, row_line

_encode = msgspec.json.Encoder().encode


def answer_results(
    results: Sequence[StatementResult], response_format: str, policy: Policy, note: str = ""
) -> tuple[bytes, tuple[StatementResult, ...]]:
    """The raw result object, and the results as they were cut to fit it."""
    if response_format == "json":
        fitted = fit_rows(results, policy.limits, lambda row: len(_encode(row).decode()) + 1)
        structured = _structured(fitted, policy, note)
        text = _encode(structured).decode()
    else:
        fitted = fit_rows(results, policy.limits, lambda row: len(row_line(row)) + 1)
        structured = _structured(fitted, policy, note)
        text = "\n\n".join(filter(None, (_markdown(fitted, policy), note)))
    reply = {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": False}
    return _encode(reply), fitted


def answer_error(text: str, code: ErrorCode, rule: str | None = None) -> bytes:
    meta = {"callgate/code": code.code}
    if rule is not None:
        meta["callgate/rule"] = rule
    return _encode({"content": [{"type": "text", "text": text}], "isError": True, "_meta": meta})


def _structured(results: Sequence[StatementResult], policy: Policy, note: str) -> dict[str, Any]:
    entries = [_entry(result, policy) for result in results]
    last = dict(entries[-1])
    if note:
        last["message"] = " ".join(filter(None, (last.get("message"), note)))
    if len(entries) > 1:
        last["statements"] = [
            {"statementType": result.statement_type, **entry}
            for result, entry in zip(results, entries, strict=True)
        ]
    return last


def _entry(result: StatementResult, policy: Policy) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "columns": [{"name": column.name, "type": column.type} for column in result.columns],
        "rows": result.rows,
        "rowCount": result.row_count,
        "executionTime": result.elapsed_ms,
        "truncated": result.truncated,
    }
    if message := truncation_message(result, policy.limits):
        entry["message"] = message
    return entry


def _markdown(results: Sequence[StatementResult], policy: Policy) -> str:
    parts: list[str] = []
    for number, result in enumerate(results, start=1):
        if len(results) > 1:
            parts.append(f"**Statement {number} of {len(results)}: {result.statement_type}**")
        parts.append(_section(result, policy))
    return "\n\n".join(parts)


def _section(result: StatementResult, policy: Policy) -> str:
    blocks: list[str] = []
    if result.columns:
        blocks.append("\n".join([header_lines(result.columns), *map(row_line, result.rows)]))
    rows = "row" if result.row_count == 1 else "rows"
    affected = " affected" if result.is_write else ""
    blocks.append(f"{result.row_count:,} {rows}{affected} in {result.elapsed_ms:.1f} ms")
    if message := truncation_message(result, policy.limits):
        blocks.append(message)
    return "\n\n".join(blocks)
