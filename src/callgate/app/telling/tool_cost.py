"""One line in the log after a start with tools that would fill a client's context, and how to avoid that."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from callgate.model.health import Health, State

_log = logging.getLogger(__name__)

# A tenth of what most models can read at all, spent before the first question.
MANY_TOKENS = 20_000
_EVERY_S = 1.0
# A server that takes longer to start is counted when somebody looks: `callgate tools`, the page.
_PATIENCE_S = 120.0


class ToolCost:
    def __init__(
        self,
        health: Callable[[], Sequence[Health]],
        count: Callable[[], Awaitable[tuple[int, int]]],
        every_s: float = _EVERY_S,
    ) -> None:
        """`count`: how many tools are offered, and the tokens of their definitions."""
        self._health = health
        self._count = count
        self._every_s = every_s

    async def tell(self) -> None:
        """Once, when every server has come up or failed to; nothing when there is little to tell."""
        for _ in range(int(_PATIENCE_S / self._every_s)):
            if all(entry.state is not State.STARTING for entry in self._health()):
                break
            await asyncio.sleep(self._every_s)
        try:
            tools, tokens = await self._count()
        except Exception:  # noqa: BLE001 - a hint that fails is no reason for more than a line
            _log.exception("The cost of the tools could not be counted")
            return
        if tokens > MANY_TOKENS:
            _log.warning(
                "%s tools take about %s tokens of every client's context; [server] tool_search = true lists "
                'two in their place, tools = { leave_out = ["…"] } on a server leaves some out, '
                "and `callgate tools` shows what each costs",
                f"{tools:,}",
                f"{tokens:,}",
            )
