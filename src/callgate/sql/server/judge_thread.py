"""JudgeThread: the guard's verdicts of one policy, remembered; of long texts not on the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from callgate.sql.guard.judgement import Judgement
from callgate.sql.guard.policy import Policy
from callgate.sql.server.verdicts import Verdicts

# The parser takes about 5 µs a character, the shape 0.1 µs: longer texts would hold the event loop.
_JUDGED_ON_LOOP_CHARS = 500
_KNOWN_ON_LOOP_CHARS = 5_000


class JudgeThread:
    def __init__(self, policy: Policy) -> None:
        self._verdicts = Verdicts(policy)
        # Importing the parser takes 95 ms: the first judgement always happens in this thread.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="callgate-judge")
        self._parser_is_loaded = False

    def load_parser(self) -> None:
        """In the background, before the first statement comes."""
        self._thread.submit(self._verdicts.judge, "SELECT 1")

    async def judged(self, sql: str) -> Judgement:
        if len(sql) <= _KNOWN_ON_LOOP_CHARS and (known := self._verdicts.remembered(sql)) is not None:
            return known
        if self._parser_is_loaded and len(sql) <= _JUDGED_ON_LOOP_CHARS:
            return self._verdicts.judge(sql)
        judgement = await asyncio.get_running_loop().run_in_executor(self._thread, self._verdicts.judged, sql)
        self._parser_is_loaded = True
        return judgement

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
