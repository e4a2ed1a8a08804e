"""NetworkDriver: one database server, a pool of connections, a watchdog over each call. Implements `Driver`.

Rules
1. A call that is stopped (time-out, cancelled caller, closed source) ends twice: what it runs is ended at the
   server over another connection, and only then its own one is closed: a pooler forgets whom to tell when its
   client is gone. The watchdog's own flag says why.
2. A stopped call's place in the pool is free only when the server was told: what runs there never exceeds
   the pool's size.
3. A server that is down is looked after in the background, with a back-off, until it answers.
4. A read that fails because its idle connection was closed under it is run once more on a fresh one.

Talks; does not judge. Knows no engine: see `server.NetworkEngine`.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Generic

from callgate.model import error_codes as codes
from callgate.model.errors import CallgateError, SourceError
from callgate.sql.drivers.driver import Cell, StatementResult
from callgate.sql.drivers.network.pool import ConnectionPool, PoolBusy, PoolClosed
from callgate.sql.drivers.network.running_calls import RunningCall, RunningCalls
from callgate.sql.drivers.network.server import Connection, NetworkEngine, OpenFailed, StatementFailed
from callgate.sql.drivers.network.statement_errors import lost_error, timeout_error
from callgate.sql.drivers.network.stream import OUT_OF_STEP, ConnectionLost
from callgate.sql.drivers.posture import Posture
from callgate.sql.drivers.workers.job import StopReason
from callgate.sql.guard.judgement import Bound, Statement
from callgate.sql.guard.policy import Limits, Policy

_log = logging.getLogger(__name__)

# As long as ending statements at a server may take, and a little more.
_CLOSING_LIMIT_S = 2.0

# That a connection was closed while it lay idle shows with the first bytes that are sent over it.
_LOST_AT_ONCE_S = 1.0

# A server is back within a second for who asks.
_LOOK_EVERY_S = 0.25

# A bug that repeats itself must not fill the log.
_AFTER_BUG_S = 30.0

# Our own questions (names near a misspelt one, posture): as many as a person would look through.
_OWN_LIMITS = Limits(timeout_s=5.0, max_rows=2_000, character_limit=1_000_000)


class NetworkDriver(Generic[Connection]):
    def __init__(
        self, source_id: str, engine: NetworkEngine[Connection], policy: Policy, pool_size: int
    ) -> None:
        self._source_id = source_id
        self._engine = engine
        self._policy = policy
        self._pool: ConnectionPool[Connection] = ConnectionPool(engine, pool_size, policy.limits.timeout_s)
        self._version = engine.display_name
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: RunningCalls[Connection] = RunningCalls(self._pool, self._tend)
        self._looks_after = False
        self._posture: Posture | None = None
        self._closed = False

    def start(self) -> None:
        """Look whether the server is there, in the background. Needs a running loop, returns at once."""
        self._look_after()

    def limit_connections(self, most: int) -> None:
        self._pool.resize(most)

    @property
    def version(self) -> str:
        return self._version

    def placeholder(self, index: int) -> str:
        return self._engine.placeholder(index)

    async def run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        try:
            return await self._run(statements)
        except LostIdle:
            return await self._run_again(statements)

    async def _run_again(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        """Rule 4. What is at hand by now may be another one that was lost."""
        try:
            return await self._run(statements)
        except LostIdle:
            self._look_after()
            raise lost_error(self._policy) from None

    async def _run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        # Most often there is one: the coroutines of `_take` are spared then.
        connection = self._pool.take_at_once() or await self._take()
        own_limits = [statement.limits.timeout_s for statement in statements if statement.limits is not None]
        timeout_s = min(own_limits) if own_limits else self._policy.limits.timeout_s
        call = RunningCall(timeout_s)
        self._running.begin(connection, call)
        return await self._ended(connection, call, statements, connection.run(statements))

    async def _ended(
        self,
        connection: Connection,
        call: RunningCall,
        statements: Sequence[Statement],
        results: Awaitable[tuple[StatementResult, ...]],
    ) -> tuple[StatementResult, ...]:
        """What came of them. Raises what callers are told, and `LostIdle`."""
        try:
            ended = await results
        except StatementFailed as failed:
            if call.stop_reason is not None:
                raise self._stopped(call) from None
            if self._policy.may_write and failed.fault.code in self._engine.failover_codes:
                self._pool.drop_idle()
                connection.close()
            raise await self._explained(connection, failed, statements) from failed
        except (ConnectionLost, *OUT_OF_STEP) as error:
            if call.stop_reason is not None:
                raise self._stopped(call) from None
            if isinstance(error, OUT_OF_STEP):
                # Its kind alone: the message may hold somebody's data.
                _log.warning(
                    "source %s: an answer cannot be read (%s)", self._source_id, type(error).__name__
                )
            self._pool.drop_idle()
            was_lost_at_once = time.monotonic() - call.began_at < _LOST_AT_ONCE_S
            if was_lost_at_once and self._pool.was_reused(connection) and not self._policy.may_write:
                raise LostIdle from None
            self._look_after()
            raise lost_error(self._policy) from None
        except asyncio.CancelledError:
            self._running.stop(connection, call, StopReason.CANCELLED)
            raise
        finally:
            self._running.end(connection, call)
        if call.stop_reason is not None:
            raise self._stopped(call)
        return ended

    async def posture(self) -> Posture:
        if self._posture is None:
            posture = replace(await self._engine.examine(self._ask), version=self._version)
            if self._posture is None:  # another caller may have been quicker
                self._posture = posture
                self._tell_posture(posture)
        return self._posture

    def trouble(self) -> str | None:
        failure = self._pool.failure
        return str(failure) if failure is not None else None

    async def close(self) -> None:
        self._closed = True
        self._running.close()
        self._pool.close()
        self._running.close_watchdog()
        for task in self._tasks:
            if task.get_name() == _LOOKING_AFTER:
                task.cancel()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_CLOSING_LIMIT_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._engine.close()

    async def _take(self) -> Connection:
        try:
            connection = await self._pool.take()
        except OpenFailed as failed:
            self._look_after()
            raise SourceError(failed.told.code, failed.told.message, hint=failed.told.hint) from None
        except PoolBusy:
            raise SourceError(
                codes.SOURCE_TIMEOUT,
                f"No connection became free within {self._policy.limits.timeout_s:g} s.",
                hint="Other queries are still running. Try again in a moment.",
            ) from None
        except PoolClosed:
            raise _closed() from None
        self._version = connection.version
        return connection

    async def _ask(self, sql: str, parameters: tuple[Bound, ...] = ()) -> list[tuple[Cell, ...]]:
        statement = Statement(sql, "SELECT", parameters=parameters, limits=_OWN_LIMITS)
        return list((await self.run((statement,)))[-1].rows)

    async def _explained(
        self, connection: Connection, failed: StatementFailed, statements: Sequence[Statement]
    ) -> CallgateError:
        async def ask(sql: str, parameters: tuple[Bound, ...]) -> list[tuple[Cell, ...]]:
            """On the same connection, whose watchdog still runs: a busy pool must not delay an error."""
            statement = Statement(sql, "SELECT", parameters=parameters, limits=_OWN_LIMITS)
            try:
                return list((await connection.run((statement,)))[-1].rows)
            except (StatementFailed, ConnectionLost):
                return []  # the first error is the one to tell

        told = await self._engine.explain(failed.fault, statements[failed.number], ask)
        if len(statements) > 1:
            done = failed.number
            told.message += f" (Statement {done + 1} of {len(statements)}; {done} before it were run.)"
        return told

    def _look_after(self) -> None:
        if not self._looks_after and not self._closed:
            self._looks_after = True
            self._tend(self._wait_for_server(), _LOOKING_AFTER)

    async def _wait_for_server(self) -> None:
        try:
            while True:
                # In steps: somebody who asks meanwhile makes the wait shorter.
                await asyncio.sleep(min(self._pool.retry_in_s, _LOOK_EVERY_S))
                if self._pool.retry_in_s > 0:
                    continue
                try:
                    await self._pool.probe()
                    await self.posture()
                except OpenFailed:
                    continue
                except (PoolBusy, PoolClosed, CallgateError):
                    return  # in use, so it is there; or nobody needs it any more
                except (LookupError, ValueError) as error:
                    kind = type(error).__name__
                    _log.warning("source %s: its account could not be examined (%s)", self._source_id, kind)
                except Exception:  # noqa: BLE001 - a bug of ours must not leave the server unattended
                    _log.exception("source %s: checking the server failed", self._source_id)
                    await asyncio.sleep(_AFTER_BUG_S)
                    continue
                return
        finally:
            self._looks_after = False

    def _tend(self, work: Coroutine[Any, Any, None], name: str | None = None) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell_posture(self, posture: Posture) -> None:
        for finding in posture.warnings:
            _log.warning("source %s: %s %s", self._source_id, finding.text, finding.advice)

    def _stopped(self, call: RunningCall) -> SourceError:
        if call.stop_reason is StopReason.TIMEOUT:
            return timeout_error(call.timeout_s, self._policy)
        return _closed()


def _closed() -> SourceError:
    return SourceError(codes.SOURCE_UNAVAILABLE, "the source was closed.", hint="")


class LostIdle(Exception):  # noqa: N818 - it never leaves the drivers
    """The connection had been closed while it lay idle."""


_LOOKING_AFTER = "callgate-source-looked-after"
