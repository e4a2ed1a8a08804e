"""The tool's answer in MCP's legacy shape: text, and structuredContent with the very same rows. Pure.

The relay adds what the modern era needs. Counterpart: `tool` declares the output schema of this.

An integer beyond ±2^53 is a string there: most readers of JSON keep numbers as floats, and would lose digits.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from callgate.model.error_codes import ErrorCode
from callgate.sql.drivers.driver import Cell, Column, StatementResult
from callgate.sql.guard.policy import Policy
from callgate.sql.results.fit import fit_rows, truncation_message
from callgate.sql.results.tables import header_lines, row_lines

_encode = msgspec.json.Encoder().encode
# The largest integer up to which floats tell each from the next.
_MAX_NUMBER = 2**53 - 1
# Rows without so many digits in a row hold no integer beyond: few are looked through cell by cell. Digits are
# made alike and then searched for as one text: a regular expression takes fifteen times as long.
_DIGITS_ALIKE = bytes(ord("0") if chr(byte) in "123456789" else byte for byte in range(256))
_MANY_DIGITS = b"0" * len(str(_MAX_NUMBER))


class _Text(msgspec.Struct, tag_field="type", tag="text"):
    text: str


class _Result(msgspec.Struct):
    """Of a tool's call, as MCP has it."""

    content: list[_Text]
    structuredContent: msgspec.Raw  # noqa: N815 - MCP's own name
    isError: bool = False  # noqa: N815 - MCP's own name


class _Entry(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """One statement's result, as `tool` declares it."""

    statement_type: str = ""  # only where there are several
    columns: tuple[Column, ...]
    rows: msgspec.Raw
    row_count: int
    execution_time: float
    truncated: bool
    message: str = ""
    statements: list["_Entry"] = []


def answer_results(
    results: Sequence[StatementResult], response_format: str, policy: Policy, note: str = ""
) -> tuple[bytes, list[StatementResult]]:
    """The raw result object, and the results as they were cut to fit it."""
    # All rows are written at once: they are most of the work, and few results have to be cut.
    exact: list[StatementResult] = []
    written: list[bytes] = []
    for result in results:
        raw = _encode(result.rows)
        if result.has_large_numbers and _MANY_DIGITS in raw.translate(_DIGITS_ALIKE):
            result = _with_exact_integers(result)
            raw = _encode(result.rows)
        exact.append(result)
        written.append(raw)
    if response_format == "json":
        at_most = list(map(len, written))  # bytes are never fewer than characters
        fitted = fit_rows(exact, policy.limits, at_most, lambda number: _json_sizes(exact[number]))
        structured = _structured(fitted, _as_fitted(written, exact, fitted), policy, note)
        text = structured.decode()
    else:
        lines = [row_lines(result.rows) for result in exact]
        sizes = [[len(line) + 1 for line in of_result] for of_result in lines]
        fitted = fit_rows(exact, policy.limits, list(map(sum, sizes)), sizes.__getitem__)
        structured = _structured(fitted, _as_fitted(written, exact, fitted), policy, note)
        text = "\n\n".join(filter(None, (_markdown(fitted, lines, policy), note)))
    return _encode(_Result([_Text(text)], msgspec.Raw(structured))), fitted


def answer_error(text: str, code: ErrorCode, rule: str | None = None) -> bytes:
    meta = {"callgate/code": code.code}
    if rule is not None:
        meta["callgate/rule"] = rule
    return _encode({"content": [{"type": "text", "text": text}], "isError": True, "_meta": meta})


def _with_exact_integers(result: StatementResult) -> StatementResult:
    return replace(result, rows=tuple(tuple(map(_exact, row)) for row in result.rows))


def _exact(cell: Cell) -> Cell:
    return str(cell) if isinstance(cell, int) and not -_MAX_NUMBER <= cell <= _MAX_NUMBER else cell


def _json_sizes(result: StatementResult) -> list[int]:
    """Characters of each row and the comma behind it."""
    return [len(_encode(row).decode()) + 1 for row in result.rows]


def _as_fitted(
    written: list[bytes], results: list[StatementResult], fitted: list[StatementResult]
) -> list[bytes]:
    """Each result's rows as JSON, without those that did not fit."""
    if fitted is results:
        return written
    return [
        raw if kept is result else _encode(kept.rows)
        for raw, result, kept in zip(written, results, fitted, strict=True)
    ]


def _structured(
    results: Sequence[StatementResult], written: Sequence[bytes], policy: Policy, note: str
) -> bytes:
    last = _entry(results[-1], written[-1], policy)
    if len(results) > 1:
        last.statements = [_entry(result, raw, policy) for result, raw in zip(results, written, strict=True)]
        for entry, result in zip(last.statements, results, strict=True):
            entry.statement_type = result.statement_type
    if note:
        last.message = f"{last.message} {note}".lstrip()
    return _encode(last)


def _entry(result: StatementResult, written: bytes, policy: Policy) -> _Entry:
    return _Entry(
        columns=result.columns,
        rows=msgspec.Raw(written),
        row_count=result.row_count,
        execution_time=result.elapsed_ms,
        truncated=result.truncated,
        message=truncation_message(result, policy.limits) if result.truncated else "",
    )


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
