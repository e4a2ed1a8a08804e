"""The operator's word changes while a server is asked for its list: nobody is shown what is held now."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from relay.stage import BRIDGE, RememberingSink, StagedUpstream, arrival, reply_of, result_of, tool

from callgate.model.offers import OfferKind
from callgate.model.trust import TrustItem, TrustMode
from callgate.relay.lists.offer_rules import OfferRules
from callgate.relay.relay import Relay
from callgate.trust.lock_file import LockFile
from callgate.trust.trust import Trust


class Kept:
    """Implements `ports.DefinitionStore`."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put(self, server: str, items: Sequence[TrustItem]) -> None:
        self.kept |= {item.digest: item.now for item in items if item.now is not None}

    def get(self, server: str, kind: str, name: str, digest: str) -> bytes | None:
        return self.kept.get(digest)


class Shop(StagedUpstream):
    """While it answers, the operator says something."""

    def __init__(self, *tools: dict[str, Any]) -> None:
        super().__init__("shop", *tools)
        self.meanwhile: Callable[[], None] = lambda: None
        self.next_page = self._answer

    def _answer(self) -> bytes:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return json.dumps({"tools": self.tools}).encode()


def trust_in(folder: Path, mode: TrustMode) -> Trust:
    """Of the shop the tool `query` is accepted, and nothing else."""
    trust = Trust({"shop": mode}, LockFile(folder / "callgate.lock"), Kept())
    trust.show("shop", OfferKind.TOOL, [json.dumps(tool("query")).encode()], "common")
    return trust


async def names(relay: Relay) -> list[str]:
    return [entry["name"] for entry in result_of(await reply_of(relay, arrival("tools/list")))["tools"]]


@pytest.mark.parametrize("before", ["free", "watch"])
async def test_a_list_that_is_asked_for_while_its_server_becomes_held_shows_nothing_new(
    tmp_path: Path, before: TrustMode
) -> None:
    trust = trust_in(tmp_path, "watch")
    trust.use({"shop": before})
    shop = Shop(tool("query"), tool("delete"))
    relay = Relay([shop], sink=RememberingSink(), session_gap_s=1800, bridge=BRIDGE, faces=trust)
    shop.meanwhile = lambda: trust.use({"shop": "hold"})
    assert await names(relay) == ["shop__query"]


@pytest.mark.parametrize("before", ["free", "watch"])
async def test_a_server_that_is_started_beside_while_it_becomes_held_shows_nothing_new(
    tmp_path: Path, before: TrustMode
) -> None:
    """Another one, which is started with it, lets us wait."""
    trust = trust_in(tmp_path, "watch")
    trust.use({"shop": before, "mail": "free"})
    mail = Shop()
    mail.name = "mail"
    relay = Relay([], sink=RememberingSink(), session_gap_s=1800, bridge=BRIDGE, faces=trust)
    new = [Shop(tool("query"), tool("delete")), mail]
    mail.meanwhile = lambda: trust.use({"shop": "hold", "mail": "free"})
    prepared = await relay.prepare(new, new, OfferRules(), 5.0)
    relay.replace(new, OfferRules(), prepared)
    assert await names(relay) == ["shop__query"]


async def test_of_a_member_that_a_page_gives_twice_only_the_one_that_was_judged_is_passed_on(
    tmp_path: Path,
) -> None:
    """One reader takes the first, another the last."""
    trust = trust_in(tmp_path, "hold")
    shop = StagedUpstream("shop")
    relay = Relay([shop], sink=RememberingSink(), session_gap_s=1800, bridge=BRIDGE, faces=trust)
    shop.list_raw = b'{"tools":[%b], "tools": [%b]}' % tuple(
        json.dumps(tool(name)).encode() for name in ("delete", "query")
    )
    told = await reply_of(relay, arrival("tools/list", target="shop"))
    assert told.result is not None
    assert (b"query" in told.result, b"delete" in told.result) == (True, False)
