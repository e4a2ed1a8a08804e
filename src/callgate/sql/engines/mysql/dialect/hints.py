"""Optimizer hints, `SELECT /*+ … */`: a comment that MySQL obeys. Pure.

Those that choose indexes, join orders and algorithms are harmless. SET_VAR sets any session variable for the
statement, RESOURCE_GROUP moves it to other threads, MAX_EXECUTION_TIME lifts the server's own time limit.
"""

import re

from callgate.sql.guard.tokens import word_set

# The default time limit of a source: a shorter one than the operator's is a courtesy, a longer one is not.
_LONGEST_MS = 30_000

_HARMLESS = word_set(
    """
    bka bnl derived_condition_pushdown derived_merge group_index hash_join icp index index_merge jobs
    join_fixed_order join_index join_order join_prefix join_suffix merge mrr no_bka no_bnl
    no_derived_condition_pushdown no_group_index no_hash_join no_icp no_index no_index_merge no_join_index
    no_merge no_mrr no_order_index no_range_optimization no_semijoin no_skip_scan no_split_materialized
    no_subquery order_index qb_name semijoin skip_scan split_materialized subquery
    """
)
# Strategies that stand inside SEMIJOIN(…) and SUBQUERY(…), names of tables, indexes and query blocks.
_INSIDE = re.compile(r"[A-Za-z0-9_$@`.,\s\x80-\U0010FFFF]*")
_HINT = re.compile(r"\s*,?\s*([A-Za-z_]+)\s*(?:\(([^()]*)\))?\s*")


def fault_in_hints(text: str) -> str:
    """Why the text of a hint comment is refused, or the empty string."""
    at = 0
    while at < len(text) and not text[at:].isspace():
        match = _HINT.match(text, at)
        if match is None:
            return "an optimizer hint /*+ … */ could not be understood"
        name, inside = match.group(1).lower(), match.group(2) or ""
        if name == "max_execution_time":
            if not (inside.strip().isdecimal() and 1 <= int(inside) <= _LONGEST_MS):
                return f"the hint MAX_EXECUTION_TIME must be from 1 to {_LONGEST_MS:,} ms"
        elif name not in _HARMLESS:
            return f"the optimizer hint {name.upper()[:40]} is not allowed"
        elif _INSIDE.fullmatch(inside) is None:
            return "an optimizer hint /*+ … */ could not be understood"
        at = match.end()
    return ""
