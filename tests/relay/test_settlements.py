"""How an exchange ended, whatever the server's result looks like."""

import pytest

from callgate.model.exchange import EndedBy, Outcome
from callgate.model.reply import Reply
from callgate.relay.settlements import of_reply


@pytest.mark.parametrize("depth", [10, 900, 980, 1000, 100_000])
def test_a_result_nested_to_any_depth_is_settled(depth: int) -> None:
    nested = b"[" * depth + b"]" * depth
    result = b'{"isError":true,"structuredContent":%b,"content":[]}' % nested
    settlement = of_reply(Reply(result=result), "tools/call", EndedBy.UPSTREAM, is_ours=False)
    assert settlement.outcome in (Outcome.TOOL_ERROR, Outcome.ANSWERED)
    assert settlement.reply == result
