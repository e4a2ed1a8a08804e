"""JudgeThread: the guard's verdicts of one policy, remembered; of long texts not on the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from callgate.sql.guard.judge import judge
from callgate.sql.guard.judgement import Judgement
from callgate.sql.guard.policy import Policy
from callgate.sql.server.verdicts import Verdicts

# The parser takes about 5 µs a character, the shape 0.1 µs: longer texts would hold the event loop.
_JUDGED_ON_LOOP_CHARS = 500
_KNOWN_ON_LOOP_CHARS = 5_000


class JudgeThread:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._verdicts = Verdicts(policy)
        # Importing the parser takes 95 ms: the first judgement always happens in this thread.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="callgate-judge")
        self._parser_is_loaded = False

    def load_parser(self) -> None:
        """In the background, before the first statement comes."""
        self._thread.submit(self._verdicts.judge_in_full, "SELECT 1")

    def judged_at_once(self, sql: str) -> Judgement | None:
        """Of a text that is known, plain or short. None: the parser would hold the event loop too long."""
        if len(sql) > _KNOWN_ON_LOOP_CHARS:
            return None
        if (known := self._verdicts.remembered(sql) or self._verdicts.judge_plainly(sql)) is not None:
            return known
        is_short = self._parser_is_loaded and len(sql) <= _JUDGED_ON_LOOP_CHARS
        return self._verdicts.judge_in_full(sql) if is_short else None

    async def judged(self, sql: str) -> Judgement:
        if (judgement := self.judged_at_once(sql)) is not None:
            return judgement
        judgement = await asyncio.get_running_loop().run_in_executor(self._thread, self._verdicts.judged, sql)
        self._parser_is_loaded = True
        return judgement

    async def judged_with_types(self, sql: str, own_types: frozenset[str]) -> Judgement:
        """Of a text that was refused for a type of the database which proved to be harmless. Not remembered:
        types come and go."""
        policy = replace(self._policy, own_types=own_types)
        return await asyncio.get_running_loop().run_in_executor(self._thread, judge, sql, policy)

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
