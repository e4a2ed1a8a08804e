"""StatementRunner: from a text to an answer, for every tool of one source: judge, run, say what it was.

Must not know tools or their arguments.
"""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from callgate.model.errors import CallgateError, RefusedError
from callgate.model.exchange import Hop, StatementFacts
from callgate.model.verdict import Deny
from callgate.sql.drivers.driver import BegunRead, Driver, PlainReader, StatementResult
from callgate.sql.guard.judgement import Judgement
from callgate.sql.guard.policy import Policy
from callgate.sql.results.answer import answer_error, answer_results
from callgate.sql.schema.like import like_exactly
from callgate.sql.schema.reader import SchemaReader
from callgate.sql.server.judge_thread import JudgeThread

_MAX_CANDIDATES = 3  # enough to recognise the right one by
_UNQUALIFIED = "unqualified_table"  # the guard's rule (guard.refusals)
_UNKNOWN_TYPE = "type"  # a rule of PostgreSQL's: the guard cannot know the types of a database


class JudgedRequest(Struct, frozen=True):
    """Statements that were judged, and how their results are wanted."""

    sql: str  # as the caller or the operator wrote it, for the record
    judgement: Judgement
    response_format: str


class StatementRunner:
    def __init__(self, source_id: str, policy: Policy, driver: Driver, schema_reader: SchemaReader) -> None:
        self._source_id = source_id
        self._schema_reader = schema_reader
        self.policy = policy
        self.driver = driver
        self._mode = policy.mode.value
        self._plain_reader = driver if isinstance(driver, PlainReader) else None
        self.begins = self._plain_reader is not None  # whether it is worth to ask for `begin`
        self._judge = JudgeThread(policy)
        self.judged_at_once = self._judge.judged_at_once

    def load_parser(self) -> None:
        """In the background, before the first statement comes."""
        self._judge.load_parser()

    async def judged(self, sql: str) -> Judgement:
        judgement = await self._judge.judged(sql)
        if judgement.rule != _UNKNOWN_TYPE:
            return judgement
        try:
            own_types = await self._schema_reader.own_types()
        except CallgateError:
            return judgement  # the refusal stands
        return await self._judge.judged_with_types(sql, own_types) if own_types else judgement

    async def answer(self, request: JudgedRequest, hop: Hop) -> bytes:
        """The tool's raw result. A refusal or a failure is an answer too, and teaches."""
        judgement = request.judgement
        hop.facts = self._facts(request)
        if isinstance(judgement.verdict, Deny):
            deny = judgement.verdict
            candidates = await self._candidates(judgement) if deny.rule == _UNQUALIFIED else ""
            text = f"Query blocked: {deny.reason} {deny.hint} {candidates}".rstrip()
            return answer_error(text, deny.code, deny.rule)
        return await self.answer_of(request, self.driver.run(judgement.statements), hop)

    def begin(
        self, request: JudgedRequest, hop: Hop, told: Callable[[StatementResult | None], None]
    ) -> BegunRead | None:
        """Without a task: see `PlainReader`. None: nothing has happened."""
        judgement = request.judgement
        statements = judgement.statements
        if len(statements) != 1 or not statements[0].is_plain_read or not judgement.allowed:
            return None
        begun = None if self._plain_reader is None else self._plain_reader.begin(statements[0], told)
        if begun is not None:
            hop.facts = self._facts(request)
        return begun

    async def answer_of(
        self, request: JudgedRequest, running: Awaitable[Sequence[StatementResult]], hop: Hop
    ) -> bytes:
        """`running`: the results of what was judged, and raises what a driver does."""
        try:
            results = await running
        except RefusedError as error:
            # The guard let it through and the engine did not: the second wall, worth a rule of its own.
            hop.facts = replace(hop.facts or self._facts(request), verdict="deny", rule="engine")
            return answer_error(f"Query blocked: {error.message} {error.hint}".strip(), error.code, "engine")
        except CallgateError as error:
            return answer_error(f"Error: {error.message}\n\n{error.hint}".strip(), error.code)
        return self.told(request, results, hop)

    def told(self, request: JudgedRequest, results: Sequence[StatementResult], hop: Hop) -> bytes:
        """The answer of what was run."""
        facts = hop.facts or self._facts(request)
        note = self.policy.note_on(facts.tables)
        if len(results) > 1 or results[0].note:
            note = " ".join(filter(None, dict.fromkeys([note, *[result.note for result in results]])))
        reply, fitted = answer_results(results, request.response_format, self.policy, note)
        is_cut = fitted[-1].truncated if len(fitted) == 1 else any(result.truncated for result in fitted)
        hop.facts = replace(facts, rows=fitted[-1].row_count, truncated=is_cut)
        return reply

    async def _candidates(self, judgement: Judgement) -> str:
        """Where tables of the names without a database are: the guard cannot know."""
        bare = [table for table in judgement.statements[-1].tables if "." not in table]
        found: list[str] = []
        try:
            for name in bare[:_MAX_CANDIDATES]:
                tables = await self._schema_reader.find_tables(like_exactly(name), "", _MAX_CANDIDATES)
                found += [f"{table.database}.{table.name}" for table in tables]
        except CallgateError:
            return ""  # the refusal stands without them
        return f"Did you mean {' or '.join(found)}?" if found else ""

    def close(self) -> None:
        self._judge.close()

    def _facts(self, request: JudgedRequest) -> StatementFacts:
        judgement = request.judgement
        return StatementFacts(
            source_id=self._source_id,
            sql=request.sql,
            statement_type=judgement.statement_type,
            mode=self._mode,
            verdict="deny" if isinstance(judgement.verdict, Deny) else "allow",
            rule=judgement.rule,
            tables=judgement.tables,
        )
