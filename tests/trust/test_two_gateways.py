"""Two gateways that share a lock and see a server for the first time at the same moment: what one of them
accepted counts for both."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from callgate.model.offers import OfferKind
from callgate.model.trust import TrustItem, TrustMode
from callgate.trust.lock_file import LockFile
from callgate.trust.trust import Trust

ADD = b'{"name":"add","description":"Adds.","inputSchema":{"type":"object"}}'
OTHER_ADD = b'{"name":"add","description":"Adds otherwise.","inputSchema":{"type":"object"}}'
MUL = b'{"name":"mul","description":"Multiplies.","inputSchema":{"type":"object"}}'
ASK = b'{"name":"ask","description":"Asks.","inputSchema":{"type":"object"}}'


class _Kept:
    """Implements `ports.DefinitionStore`; the other gateway has its turn while we keep something."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str, str, str], bytes] = {}
        self.other: Trust | None = None
        self.other_sees: list[bytes] = []

    def put(self, server: str, items: Sequence[TrustItem]) -> None:
        for item in items:
            assert item.now is not None
            self.kept[server, item.kind, item.name, item.digest] = item.now
        other, self.other = self.other, None
        if other is not None:
            other.show(server, OfferKind.TOOL, self.other_sees, "common")

    def get(self, server: str, kind: str, name: str, digest: str) -> bytes | None:
        return self.kept.get((server, kind, name, digest))


def _gateways(folder: Path, mode: TrustMode, other_sees: list[bytes]) -> Trust:
    """Ours; the other one is first, as late as can be."""
    kept, path = _Kept(), folder / "callgate.lock"
    ours = Trust({"one": mode}, LockFile(path), kept)
    kept.other, kept.other_sees = Trust({"one": mode}, LockFile(path), kept), other_sees
    return ours


@pytest.mark.parametrize(("mode", "shown"), [("hold", [ADD]), ("watch", [OTHER_ADD, MUL])])
def test_who_is_second_shows_what_the_first_one_accepted(
    tmp_path: Path, mode: TrustMode, shown: list[bytes]
) -> None:
    ours = _gateways(tmp_path, mode, [ADD])
    found = ours.show("one", OfferKind.TOOL, [OTHER_ADD, MUL], "common")
    assert found.entries == shown
    assert {(item.name, item.change) for item in ours.of("one").items} == {("add", "changed"), ("mul", "new")}
    assert ours.hides("one", OfferKind.TOOL, "mul") is (mode == "hold")


def test_who_is_second_accepts_no_tool_for_some_clients_as_at_first_sight(tmp_path: Path) -> None:
    ours = _gateways(tmp_path, "hold", [ADD])
    ours.show("one", OfferKind.TOOL, [MUL], "common")
    assert ours.show("one", OfferKind.TOOL, [MUL, ASK], "capable").entries == []


def test_both_accept_the_same_list(tmp_path: Path) -> None:
    ours = _gateways(tmp_path, "hold", [ADD, MUL])
    assert ours.show("one", OfferKind.TOOL, [ADD, MUL], "common").entries == [ADD, MUL]
    assert ours.of("one").items == ()
