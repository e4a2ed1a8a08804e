"""How long a tool call may take, on one server: a limit for all of its tools, and others for some.

Progress starts the time anew, up to the end that `wire.connection.request_table` sets; a client that gives up
earlier cancels. Other requests have the link's own, shorter limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from callgate.wire.params import peek, text_of

# As long as a client that shows a person what it does would wait: tools build, crawl and render.
DEFAULT_CALL_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class CallLimits:
    timeout_s: float = DEFAULT_CALL_TIMEOUT_S
    by_tool: Mapping[str, float] = field(default_factory=dict[str, float])  # by the server's own names

    def tool_of(self, params: bytes) -> str:
        """The tool of a call with these params, as the server names it; "" where it makes no difference."""
        return text_of(peek(params).name) or "" if self.by_tool else ""

    def of_tool(self, name: str) -> float:
        return self.by_tool.get(name, self.timeout_s)

    def key_of_tool(self, name: str) -> str:
        """The key of this limit in the server's entry."""
        return f"tools.timeout_s.{name}" if name in self.by_tool else "timeout_s"


DEFAULT_LIMITS = CallLimits()
