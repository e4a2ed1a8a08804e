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
    # Each row is written once, for its size and for the answer: rows are most of the work.
    if response_format == "json":
        sizes = [[len(_encode(row).decode()) + 1 for row in result.rows] for result in results]
        fitted = fit_rows(results, policy.limits, sizes.__getitem__)
        structured = _encode(_structured(fitted, policy, note))
        text = structured.decode()
    else:
        lines = [list(map(row_line, result.rows)) for result in results]
        fitted = fit_rows(results, policy.limits, lambda number: [len(line) + 1 for line in lines[number]])
        structured = _encode(_structured(fitted, policy, note))
        text = "\n\n".join(filter(None, (_markdown(fitted, lines, policy), note)))
    reply = {
        "content": [{"type": "text", "text": text}],
        "structuredContent": msgspec.Raw(structured),
        "isError": False,
    }
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


def _markdown(results: Sequence[StatementResult], lines: Sequence[Sequence[str]], policy: Policy) -> str:
    """`lines` are those of all rows that came; as many of them are shown as the results have kept."""
    parts: list[str] = []
    for number, result in enumerate(results):
        if len(results) > 1:
            parts.append(f"**Statement {number + 1} of {len(results)}: {result.statement_type}**")
        parts.append(_section(result, lines[number][: len(result.rows)], policy))
    return "\n\n".join(parts)


def _section(result: StatementResult, lines: Sequence[str], policy: Policy) -> str:
    blocks: list[str] = []
    if result.columns:
        blocks.append("\n".join([header_lines(result.columns), *lines]))
    rows = "row" if result.row_count == 1 else "rows"
    affected = " affected" if result.is_write else ""
    blocks.append(f"{result.row_count:,} {rows}{affected} in {result.elapsed_ms:.1f} ms")
    if message := truncation_message(result, policy.limits):
        blocks.append(message)
    return "\n\n".join(blocks)
