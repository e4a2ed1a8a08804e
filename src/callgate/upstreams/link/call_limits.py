"""How long a tool call may take, on one server: a limit for all of its tools, and others for some.

Progress starts the time again, up to the end that `wire.connection.request_table` sets; a client that
gives up earlier cancels. Other requests have the link's own, shorter limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from callgate.wire.params import peek, text_of

# As long as a client that shows a person what it does would wait: tools build, crawl and render.
DEFAULT_CALL_TIMEOUT_S = 300.0


@dataclass(slots=True)
class CallLimits:
    """Of one server; its tools' own limits change with the operator's file."""

    timeout_s: float = DEFAULT_CALL_TIMEOUT_S
    by_tool: Mapping[str, float] = field(default_factory=dict[str, float])  # by the server's own names

    def of(self, params: bytes) -> tuple[float, str]:
        """As `of_tool`, for a call with these params, which name the tool as the server does."""
        if not self.by_tool:
            return self.timeout_s, "timeout_s"
        return self.of_tool(text_of(peek(params).name) or "")

    def of_tool(self, name: str) -> tuple[float, str]:
        """The limit, and its key in the server's entry."""
        if name in self.by_tool:
            return self.by_tool[name], f"tools.timeout_s.{name}"
        return self.timeout_s, "timeout_s"
