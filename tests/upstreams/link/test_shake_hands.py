"""How long a server may be silent at its start: as long as it may take to start, where its era is known."""

from typing import Any, cast

import pytest

from callgate.model.envelope import Era
from callgate.model.error_codes import UPSTREAM_TIMEOUT
from callgate.model.errors import UpstreamError
from callgate.model.reply import Reply
from callgate.upstreams.link.handshake import PROBE_TIMEOUT_S, shake_hands
from callgate.upstreams.transport import Opened


@pytest.mark.parametrize(
    ("era", "waited"),
    [
        (Era.MODERN, [("server/discover", 120.0)]),
        (None, [("server/discover", PROBE_TIMEOUT_S), ("initialize", 120.0)]),
        (Era.LEGACY, [("initialize", 120.0)]),
    ],
)
async def test_only_the_question_for_the_era_is_short(
    era: Era | None, waited: list[tuple[str, float]]
) -> None:
    asked: list[tuple[str, float]] = []

    async def silent(method: str, params: bytes, timeout_s: float) -> Reply:
        asked.append((method, timeout_s))
        raise UpstreamError(UPSTREAM_TIMEOUT, "silence")

    opened = Opened(cast(Any, None), era)  # nothing is sent past these questions
    with pytest.raises(UpstreamError, match="silence"):
        await shake_hands("one", None, opened, silent, 120.0)
    assert asked == waited
