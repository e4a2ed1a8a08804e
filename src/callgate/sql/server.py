"""SqlServer: one source as an upstream. Arguments > judge > driver > answer; the facts go on the hop.

Implements `ports.upstream.Upstream`. Knows no transport and no engine: policy and driver are handed in.
A refused or failed statement is an answer (`isError`), not a fault: it tells the model how to do better.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial

import msgspec

from callgate.model import error_codes as codes
from callgate.model.errors import CallerError, CallgateError, RefusedError
from callgate.model.exchange import Hop, StatementFacts
from callgate.model.health import Health, State
from callgate.model.heard import News
from callgate.model.reply import Item, Reply
from callgate.model.session import Session
from callgate.model.verdict import Deny
from callgate.ports.upstream import Asker
from callgate.sql.arguments import QueryArguments, check_arguments, read_params
from callgate.sql.driver import Driver
from callgate.sql.guard.judge import judge
from callgate.sql.guard.judgement import Judgement
from callgate.sql.policy import Policy
from callgate.sql.results.answer import answer_error, answer_results
from callgate.sql.tool import TOOL_NAME, query_tool

# A verdict depends on text and policy alone. 256 texts of 10,000 characters at most: under 10 MB.
_REMEMBERED_VERDICTS = 256
# The parser takes about 5 µs a character: longer texts would hold the event loop for milliseconds.
_JUDGED_ON_LOOP_CHARS = 500


class SqlServer:
    def __init__(self, source_id: str, policy: Policy, driver: Driver) -> None:
        self._source_id = source_id
        self._policy = policy
        self._driver = driver
        self._tools = msgspec.json.encode({"tools": [query_tool(policy)]})
        self._judge = lru_cache(maxsize=_REMEMBERED_VERDICTS)(partial(judge, policy=policy))
        # Importing the parser takes 95 ms: the first judgement always happens in this thread.
        self._judge_thread = ThreadPoolExecutor(1, thread_name_prefix="callgate-judge")
        self._parser_is_loaded = False

    @property
    def name(self) -> str:
        return self._source_id

    @property
    def policy(self) -> Policy:
        return self._policy

    async def ask(self, hop: Hop, asker: Asker) -> AsyncGenerator[Item]:
        hop.server_version = self._driver.version
        hop.is_built_in = True
        if hop.method == "tools/list":
            yield Reply(result=self._tools)
        elif hop.method == "tools/call":
            yield Reply(result=await self._call(hop))
        else:
            raise CallerError(
                codes.CALLER_UNKNOWN_METHOD,
                f"The SQL source {self._source_id} does not answer {hop.method}.",
                hint="It answers tools/list and tools/call.",
            )

    def tell(self, method: str, params: bytes, session: Session) -> None:
        """No notification of a client's means anything to a database."""

    def hear(self, listener: Callable[[News], None]) -> None:
        """A database says nothing of its own accord."""

    def view_of(self, session: Session) -> str | None:
        return None

    def forget(self, session: Session) -> None:
        """Sessions share the pool; nothing is kept for one."""

    def health(self) -> Health:
        label = f"{self._policy.dialect.display_name}, {self._policy.mode.label}"
        trouble = self._driver.trouble()
        if trouble is None:
            return Health(self._source_id, "sql", State.UP, label)
        code = codes.SOURCE_UNAVAILABLE.code
        return Health(self._source_id, "sql", State.DOWN, f"{label}: {trouble}", code)

    async def close(self) -> None:
        await self._driver.close()
        self._judge_thread.shutdown(wait=True, cancel_futures=True)

    async def _call(self, hop: Hop) -> bytes:
        params = read_params(hop.params)
        if params.name != TOOL_NAME:
            raise CallerError(
                codes.CALLER_UNKNOWN_TOOL,
                f"The SQL source {self._source_id} has no tool {params.name[:100]!r}.",
                hint=f"Its tool is {TOOL_NAME}.",
            )
        arguments = check_arguments(params.arguments)
        if isinstance(arguments, list):
            problems = "\n".join(f"- {problem}" for problem in arguments)
            return answer_error(f"Error: Invalid input parameters.\n\n{problems}", codes.CALLER_BAD_ARGUMENTS)
        return await self._query(arguments, hop)

    async def _query(self, arguments: QueryArguments, hop: Hop) -> bytes:
        judgement = await self._judged(arguments.query)
        hop.facts = self._facts(arguments.query, judgement)
        if isinstance(judgement.verdict, Deny):
            deny = judgement.verdict
            return answer_error(f"Query blocked: {deny.reason} {deny.hint}", deny.code, deny.rule)
        try:
            results = await self._driver.run(judgement.statements)
        except RefusedError as error:
            # The guard let it through and the engine did not: the second wall, worth a rule of its own.
            hop.facts = replace(hop.facts, verdict="deny", rule="engine")
            return answer_error(f"Query blocked: {error.message} {error.hint}".strip(), error.code, "engine")
        except CallgateError as error:
            return answer_error(f"Error: {error.message}\n\n{error.hint}".strip(), error.code)
        reply, fitted = answer_results(
            results, arguments.response_format, self._policy, self._policy.note_on(judgement.tables)
        )
        hop.facts = self._facts(
            arguments.query, judgement, rows=fitted[-1].row_count, truncated=any(r.truncated for r in fitted)
        )
        return reply

    async def _judged(self, sql: str) -> Judgement:
        if self._parser_is_loaded and len(sql) <= _JUDGED_ON_LOOP_CHARS:
            return self._judge(sql)
        judgement = await asyncio.get_running_loop().run_in_executor(self._judge_thread, self._judge, sql)
        self._parser_is_loaded = True
        return judgement

    def _facts(
        self, sql: str, judgement: Judgement, *, rows: int | None = None, truncated: bool = False
    ) -> StatementFacts:
        return StatementFacts(
            source_id=self._source_id,
            sql=sql,
            statement_type=judgement.statement_type,
            mode=self._policy.mode.value,
            verdict="allow" if judgement.allowed else "deny",
            rule=judgement.rule,
            tables=judgement.tables,
            rows=rows,
            truncated=truncated,
        )
