"""JudgeThread: the guard's verdicts of one policy, remembered; of long texts not on the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial

from callgate.sql.guard.judge import judge
from callgate.sql.guard.judgement import Judgement
from callgate.sql.guard.policy import Policy

# A verdict depends on text and policy alone. 256 texts of 10,000 characters at most: under 10 MB.
_REMEMBERED_VERDICTS = 256
# The parser takes about 5 µs a character: longer texts would hold the event loop for milliseconds.
_JUDGED_ON_LOOP_CHARS = 500


class JudgeThread:
    def __init__(self, policy: Policy) -> None:
        self._judge = lru_cache(maxsize=_REMEMBERED_VERDICTS)(partial(judge, policy=policy))
        # Importing the parser takes 95 ms: the first judgement always happens in this thread.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="callgate-judge")
        self._parser_is_loaded = False

    def load_parser(self) -> None:
        """In the background, before the first statement comes."""
        self._thread.submit(self._judge, "SELECT 1")

    async def judged(self, sql: str) -> Judgement:
        if self._parser_is_loaded and len(sql) <= _JUDGED_ON_LOOP_CHARS:
            return self._judge(sql)
        judgement = await asyncio.get_running_loop().run_in_executor(self._thread, self._judge, sql)
        self._parser_is_loaded = True
        return judgement

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
