"""Where a text is judged: short ones at once, long ones not on the event loop."""

import asyncio
import threading
from dataclasses import replace

from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import Token
from callgate.sql.server.judge_thread import JudgeThread


def recording(threads: list[int]) -> Policy:
    """A policy whose lexer says in which thread it was asked."""

    def lex(text: str) -> tuple[Token, ...]:
        threads.append(threading.get_ident())
        return SQLITE.lex(text)

    return Policy(replace(SQLITE, lex=lex))


def judged(*texts: str) -> list[int]:
    """In which threads the lexer was asked for them; the event loop is in this one."""
    threads: list[int] = []

    async def run() -> None:
        judge = JudgeThread(recording(threads))
        try:
            await judge.judged("SELECT cast(1 AS int)")  # the parser is loaded
            threads.clear()
            for text in texts:
                await judge.judged(text)
        finally:
            judge.close()

    asyncio.run(run())
    return threads


LONG = f"SELECT cast(a AS int) FROM t WHERE {' OR '.join(f'a{n} > cast(b AS int)' for n in range(300))}"


def test_a_long_text_is_not_judged_on_the_event_loop() -> None:
    assert 5_000 < len(LONG) < 10_000
    for text in (LONG, LONG[:1_000], LONG[:4_000]):
        threads = judged(text)
        assert threads
        assert threading.get_ident() not in threads


def test_a_short_text_is_judged_at_once_and_a_plain_one_without_the_lexer() -> None:
    assert set(judged("SELECT cast(a AS int) FROM t")) == {threading.get_ident()}
    assert judged("SELECT a FROM t WHERE b = 5", "SELECT a FROM t WHERE b = 6") == []


def test_a_text_of_100_kb_is_refused_by_its_length_before_anybody_reads_it() -> None:
    assert judged("SELECT a FROM t WHERE b IN (" + "1, " * 33_000 + "1)", "x" * 100_000) == []


def test_before_the_parser_is_loaded_plain_texts_are_judged_already() -> None:
    judge = JudgeThread(Policy(SQLITE))
    assert judge.judged_at_once("SELECT a FROM t WHERE b = 5") is not None
    assert judge.judged_at_once("SELECT cast(a AS int) FROM t") is None
    judge.close()
