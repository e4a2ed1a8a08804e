"""The query tool as clients see it: description, schemas and annotations, all read from the policy.

Counterparts: `statement_runner` answers, `results.answer` builds what the output schema declares.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import msgspec

from callgate.model.exchange import Hop
from callgate.sql.guard.dialect import VerbClass
from callgate.sql.guard.judgement import Bound
from callgate.sql.guard.policy import MAX_QUERY_CHARS, MAX_STATEMENTS, Policy
from callgate.sql.server.arguments import RESPONSE_FORMAT, Parameter, input_schema
from callgate.sql.server.statement_runner import JudgedRequest, StatementRunner
from callgate.sql.settings import Mode


class _Arguments(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """As `QueryTool.parameters` say, but for the length of the query."""

    query: str
    response_format: Literal["markdown", "json"] = "markdown"


class _Params(msgspec.Struct, gc=False):
    name: str
    arguments: _Arguments


_read_call = msgspec.json.Decoder(_Params).decode


class QueryTool:
    name = "query"

    def __init__(self, runner: StatementRunner) -> None:
        self._runner = runner
        self.parameters = (query_parameter(runner.policy), RESPONSE_FORMAT)

    def definition(self) -> dict[str, Any]:
        policy = self._runner.policy
        return {
            "name": self.name,
            "title": f"Execute {policy.dialect.display_name} Query",
            "description": _description(policy),
            "inputSchema": input_schema(self.parameters),
            "outputSchema": output_schema(),
            "annotations": annotations(policy, f"Execute {policy.dialect.display_name} Query"),
        }

    def judged_at_once(self, raw_params: bytes) -> JudgedRequest | None:
        """Of a call that is allowed, and told to be so in no time. None: `call` it, which is the definition.

        Raises what a decoder raises.
        """
        params = _read_call(raw_params)
        if params.name != self.name or not (sql := params.arguments.query):
            return None
        judgement = self._runner.judged_at_once(sql)
        if judgement is None or not judgement.allowed:
            return None
        return JudgedRequest(sql, judgement, params.arguments.response_format)

    async def call(self, arguments: Mapping[str, Bound], hop: Hop) -> bytes:
        sql = str(arguments["query"])
        request = JudgedRequest(sql, await self._runner.judged(sql), str(arguments["response_format"]))
        return await self._runner.answer(request, hop)


def annotations(policy: Policy, title: str) -> dict[str, Any]:
    return {
        "title": title,
        "readOnlyHint": not policy.may_write,
        "destructiveHint": policy.may_write,
        "idempotentHint": False,
        "openWorldHint": True,
    }


def for_reads(policy: Policy) -> Policy:
    """The policy of a tool that only ever reads, whatever the source allows beside it."""
    return replace(policy, mode=Mode.READ_ONLY)


def query_parameter(policy: Policy, max_chars: int = MAX_QUERY_CHARS) -> Parameter:
    names = ""
    if policy.require_qualified:
        names = f" Must use fully qualified table names ({policy.dialect.wording.qualified_name})."
    return Parameter(
        "query",
        "string",
        f"SQL query to execute, in {policy.dialect.display_name}'s dialect.{names}",
        required=True,
        min_chars=1,
        max_chars=max_chars,
    )


def output_schema() -> dict[str, Any]:
    properties: dict[str, Any] = {
        "columns": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
                "required": ["name", "type"],
            },
        },
        "rows": {
            "type": "array",
            "items": {"type": "array"},
            "description": "A cell is a string, a number, a boolean or null. Decimals, and integers beyond "
            "±9007199254740991 (2^53 - 1), are strings, so that no digit is lost",
        },
        "rowCount": {"type": "integer", "description": "Rows returned; of a write: affected rows"},
        "executionTime": {"type": "number", "description": "Milliseconds"},
        "truncated": {"type": "boolean"},
        "message": {"type": "string", "description": "How to get the rest, when truncated; or a note"},
    }
    required = ["columns", "rows", "rowCount", "executionTime", "truncated"]
    one = {
        "type": "object",
        "properties": {"statementType": {"type": "string"}, **properties},
        "required": required,
    }
    statements = {"type": "array", "items": one, "description": "Of several statements: each one's result"}
    return {"type": "object", "properties": {**properties, "statements": statements}, "required": required}


def _description(policy: Policy) -> str:
    limits = policy.limits
    size = f"{limits.max_rows:,} rows, {limits.character_limit:,} characters, {limits.timeout_s:g} s"
    engine = policy.dialect.display_name
    label = policy.mode.label
    lines = [
        f"Execute a SQL query against the {engine} database. The server operates in {label} mode.",
        "",
        *([policy.about, ""] if policy.about else []),
        f"**{label} mode**:",
        *_mode_lines(policy),
        "",
        "**Query requirements**:",
        f"- {engine}'s SQL dialect, 1 to {MAX_QUERY_CHARS:,} characters, at most {MAX_STATEMENTS} statements",
        "- Built-in functions only; write values into the query, placeholders are not bound",
        "- To find tables and columns, use search_objects; for a query's plan, explain",
        *_name_lines(policy),
        "",
        f"**Limits**: {size}. Results are cut at a row and say so: use LIMIT, WHERE, or aggregate.",
        "",
        "**Examples**:",
        *_example_lines(policy),
        "",
        '**Returns**: a Markdown table, or with response_format "json":',
        '{"columns": [{"name", "type"}], "rows": [[…]], "rowCount", "executionTime", "truncated"}.',
        "Integers beyond 2^53 and decimals are strings in it.",
    ]
    return "\n".join(lines)


def _mode_lines(policy: Policy) -> list[str]:
    wording = policy.dialect.wording
    verbs = ", ".join(verb for verb, kind in policy.dialect.grammar.verbs.items() if kind is VerbClass.WRITE)
    if not policy.may_write:
        return [
            f"- ALLOWED: {wording.reads}",
            f"- BLOCKED: {verbs}, transactions, CREATE, ALTER, {wording.never}",
            f"- {policy.write_advice}",
        ]
    writes = f"{verbs}, transactions within one call (BEGIN; …; COMMIT)"
    if policy.may_define:
        return [
            f"- ALLOWED: {wording.reads}, {writes}, CREATE TABLE, CREATE INDEX, CREATE VIEW, ALTER TABLE",
            f"- BLOCKED: {wording.never}",
        ]
    return [f"- ALLOWED: {wording.reads}, {writes}", f"- BLOCKED: CREATE, ALTER, {wording.never}"]


def _name_lines(policy: Policy) -> list[str]:
    if policy.require_qualified:
        return [f"- Must use fully qualified table names: {policy.dialect.wording.qualified_name}"]
    if policy.schema:
        return [f"- Tables may be written as table or {policy.schema}.table"]
    return []


def _example_lines(policy: Policy) -> list[str]:
    wording = policy.dialect.wording
    examples = [f"List tables: {wording.list_tables_sql}", *wording.examples]
    if policy.may_write:
        examples += wording.write_examples
    return [f"- {example.format(master=policy.table_list)}" for example in examples]
