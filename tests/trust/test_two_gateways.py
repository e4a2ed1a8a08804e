"""Two gateways that share a lock: what one of them accepted counts for both, also at first sight, and what
two operators answer at the same moment is not lost."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from callgate.model.errors import CallerError
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
        self.meanwhile: Callable[[], None] = lambda: None

    def put(self, server: str, items: Sequence[TrustItem]) -> None:
        for item in items:
            assert item.now is not None
            self.kept[server, item.kind, item.name, item.digest] = item.now
        self.meanwhile()
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


def _item(trust: Trust) -> TrustItem:
    return next(item for item in trust.of("one").items if item.name == "add")


def _operators(folder: Path) -> tuple[Trust, Trust, _Kept]:
    """Both were shown the same changed tool."""
    kept, path = _Kept(), folder / "callgate.lock"
    both = [Trust({"one": "hold"}, LockFile(path), kept) for _ in range(2)]
    for one in both:
        one.show("one", OfferKind.TOOL, [ADD], "common")
    for one in both:
        assert one.show("one", OfferKind.TOOL, [OTHER_ADD], "common").entries == [ADD]
    return both[0], both[1], kept


def _shown_later(folder: Path, entries: list[bytes]) -> list[bytes]:
    kept = _Kept()
    trust = Trust({"one": "watch"}, LockFile(folder / "callgate.lock"), kept)
    return list(trust.show("one", OfferKind.TOOL, entries, "common").entries)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_who_accepts_what_another_operator_blocked_takes_no_block_back(tmp_path: Path, when: str) -> None:
    one, other, kept = _operators(tmp_path)
    asked = _item(other)
    if when == "before":
        one.answers.block("one", [_item(one)])
    else:
        kept.meanwhile = lambda: one.answers.block("one", [asked])
    with pytest.raises(CallerError, match="is blocked"):
        other.answers.accept("one", [asked])
    assert _shown_later(tmp_path, [OTHER_ADD]) == []
    assert other.hides("one", OfferKind.TOOL, "add") is (when == "before")
    other.look()
    assert other.hides("one", OfferKind.TOOL, "add")


def test_who_accepts_what_was_blocked_at_the_same_gateway_takes_no_block_back(tmp_path: Path) -> None:
    one, _, _ = _operators(tmp_path)
    asked = _item(one)
    one.answers.block("one", [asked])
    one.show("one", OfferKind.TOOL, [OTHER_ADD], "common")
    with pytest.raises(CallerError, match="is blocked"):
        one.answers.accept("one", [asked])
    assert one.hides("one", OfferKind.TOOL, "add")


def test_what_one_operator_accepted_is_still_accepted_when_another_blocks_and_unblocks_it(
    tmp_path: Path,
) -> None:
    one, other, _ = _operators(tmp_path)
    one.answers.accept("one", [_item(one)])
    other.answers.block("one", [_item(other)])
    assert other.show("one", OfferKind.TOOL, [OTHER_ADD], "common").entries == []
    other.answers.unblock("one", [_item(other)])
    for trust in (one, other):
        assert trust.show("one", OfferKind.TOOL, [OTHER_ADD], "common").entries == [OTHER_ADD]
        assert trust.of("one").items == ()


def test_what_is_gone_can_be_accepted_with_what_is_new(tmp_path: Path) -> None:
    kept = _Kept()
    trust = Trust({"one": "hold"}, LockFile(tmp_path / "callgate.lock"), kept)
    trust.show("one", OfferKind.TOOL, [ADD, MUL], "common")
    trust.show("one", OfferKind.TOOL, [MUL, ASK], "common")
    items = trust.of("one").items
    assert {(item.name, item.change) for item in items} == {("add", "gone"), ("ask", "new")}
    trust.answers.accept("one", items)
    assert trust.show("one", OfferKind.TOOL, [MUL, ASK], "common").entries == [MUL, ASK]
    assert trust.of("one").items == ()
    assert trust.show("one", OfferKind.TOOL, [ADD, MUL, ASK], "common").entries == [MUL, ASK], "it is new"
