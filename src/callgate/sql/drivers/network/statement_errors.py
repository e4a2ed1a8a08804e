"""What callers are told when a statement fails for a reason that no engine words. Pure."""

from callgate.model import error_codes as codes
from callgate.model.errors import CallgateError, RefusedError, SourceError
from callgate.sql.guard.policy import Policy


def lost_error(policy: Policy) -> SourceError:
    undone = " A write may or may not have been done: look before you repeat it."
    return SourceError(
        codes.SOURCE_UNAVAILABLE,
        "the connection to the database was lost while the statement ran.",
        hint="The gateway opens it again. Try again in a moment." + (undone if policy.may_write else ""),
    )


def read_only_error(policy: Policy) -> CallgateError:
    """The database itself refused a write: our session's doing, or the server's own."""
    if policy.may_write:
        return SourceError(
            codes.SOURCE_ACCESS_DENIED,
            "the database accepts no writes at the moment.",
            hint="It may be a replica, or locked by its administrator. Reading works.",
        )
    return RefusedError(
        codes.REFUSED_READ_ONLY,
        "the session with the database is read-only, and the statement would change something.",
        hint=policy.write_advice,
    )


def timeout_error(timeout_s: float, policy: Policy) -> SourceError:
    variable = policy.dialect.wording.timeout_variable if policy.from_environment else None
    raise_it = (
        f"Increase {variable} environment variable if needed"
        if variable is not None
        else "The operator can raise timeout_s for this source"
    )
    return SourceError(
        codes.SOURCE_TIMEOUT,
        f"Query execution timeout exceeded ({round(timeout_s * 1000)}ms).",
        hint="Suggestions:\n"
        "- Add a LIMIT clause to reduce result set size\n"
        "- Add WHERE clauses to filter data more specifically\n"
        "- Use indexes on filtered columns (see EXPLAIN)\n"
        f"- {raise_it}",
        operator_hint="See whether the server is overloaded, or raise timeout_s for this source.",
    )
