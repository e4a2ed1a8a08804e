"""Fitting results into the character limit: whole rows, the same in text and structured content. Pure."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from callgate.sql.drivers.driver import StatementResult
from callgate.sql.guard.policy import Limits

# Kept free for counts and messages, so that the whole text stays within the limit.
_RESERVE_CHARS = 600


def fit_rows(
    results: list[StatementResult],
    limits: Limits,
    at_most: Sequence[int],
    row_sizes: Callable[[int], Sequence[int]],
) -> list[StatementResult]:
    """The results, cut so that their rows fit the limit together; the very list where nothing is cut.

    `at_most`: for each result, characters that its rows do not exceed; where that is enough to see that all
    of them fit, they are not counted. `row_sizes` tells the characters of each row of the result with that
    number.
    """
    left = max(limits.character_limit - _RESERVE_CHARS, 0)
    if sum(map(_overhead, results)) + sum(at_most) <= left:
        return results
    fitted: list[StatementResult] = []
    for number, result in enumerate(results):
        left -= _overhead(result)
        kept = 0
        for size in row_sizes(number):
            left -= size
            if left < 0:
                break
            kept += 1
        if kept < len(result.rows):
            left = 0
            count = result.row_count if result.is_write else kept
            fitted.append(replace(result, rows=result.rows[:kept], row_count=count, truncated=True))
        else:
            fitted.append(result)
    return fitted


def _overhead(result: StatementResult) -> int:
    """Column names, their types, punctuation and the line with the count."""
    size = 120
    for column in result.columns:
        size += len(column.name) + len(column.type) + 24
    return size


def truncation_message(result: StatementResult, limits: Limits) -> str:
    """How to get the rest, in words that fit the reason of the cut; empty when all rows are there."""
    if not result.truncated:
        return ""
    shown = len(result.rows)
    if shown == 0:
        return (
            f"Results truncated: the first row alone is longer than {limits.character_limit:,} characters. "
            "Select fewer columns, or parts of long texts with substr(column, 1, 200)."
        )
    if shown >= limits.max_rows:
        reason = f"only the first {shown:,} rows are shown (the limit is {limits.max_rows:,} rows)"
    else:
        reason = (
            f"only the first {shown:,} rows are shown (the limit is {limits.character_limit:,} characters)"
        )
    return (
        f"Results truncated: {reason}. For the rest, add LIMIT {shown} OFFSET {shown} with an ORDER BY, "
        "filter with WHERE, or select fewer columns."
    )
