"""The explain tool: the plan of a query, which is not run.

The caller's text is judged by itself (one read, nothing else) and once more as the EXPLAIN statement that
runs.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from callgate.model import error_codes as codes
from callgate.model.exchange import Hop
from callgate.model.verdict import Deny
from callgate.sql.guard.dialect import VerbClass
from callgate.sql.guard.judgement import Bound, Judgement
from callgate.sql.guard.policy import MAX_QUERY_CHARS
from callgate.sql.server.arguments import RESPONSE_FORMAT, input_schema
from callgate.sql.server.statement_runner import JudgedRequest, StatementRunner
from callgate.sql.server.tool import annotations, for_reads, output_schema, query_parameter


class ExplainTool:
    name = "explain"

    def __init__(self, runner: StatementRunner) -> None:
        self._runner = runner
        self._prefix = f"{runner.policy.dialect.wording.explain_prefix} "
        query = query_parameter(runner.policy, MAX_QUERY_CHARS - len(self._prefix))
        self.parameters = (
            replace(query, description="The SELECT query to explain. It is not run."),
            RESPONSE_FORMAT,
        )

    def definition(self) -> dict[str, Any]:
        engine = self._runner.policy.dialect.display_name
        return {
            "name": self.name,
            "title": f"Explain {engine} Query",
            "description": (
                f"Show how {engine} would execute a query: which indexes it uses and what it scans. The "
                "query is not run. Use it before a query on large tables, and when one was stopped by the "
                f"time limit.\n\nSend the query alone; it is explained with {self._prefix.strip()}."
            ),
            "inputSchema": input_schema(self.parameters),
            "outputSchema": output_schema(),
            "annotations": annotations(for_reads(self._runner.policy), f"Explain {engine} Query"),
        }

    async def call(self, arguments: Mapping[str, Bound], hop: Hop) -> bytes:
        sql = str(arguments["query"])
        judgement = await self._runner.judged(sql)
        composed = sql
        if judgement.allowed and (deny := self._not_one_read(judgement)) is not None:
            judgement = Judgement(deny, judgement.statements)
        elif judgement.allowed and judgement.statement_type != "EXPLAIN":
            composed = self._prefix + judgement.statements[0].text
            judgement = await self._runner.judged(composed)
        return await self._runner.answer(
            JudgedRequest(composed, judgement, str(arguments["response_format"])), hop
        )

    def _not_one_read(self, judgement: Judgement) -> Deny | None:
        kinds = [statement.statement_type for statement in judgement.statements]
        verbs = self._runner.policy.dialect.grammar.verbs
        if len(kinds) == 1 and (kinds[0] == "EXPLAIN" or verbs.get(kinds[0]) is VerbClass.READ):
            return None
        return Deny(
            codes.REFUSED_FORBIDDEN,
            "explain",
            f"{', '.join(kinds)} cannot be explained here.",
            "Give one SELECT, VALUES or WITH … SELECT statement.",
        )
