"""Whether a recorded call can be made again, and as what. Pure."""

from collections.abc import Callable, Sequence
from typing import Literal

from callgate.api.json_object import object_in
from callgate.api.record.row_views import MASK, annotations_of, recorded_arguments
from callgate.api.shapes import Annotations, Replay
from callgate.model.offers import Offer
from callgate.ports.record_reader import TOOL_CALL, Row

Lacking = Callable[[str, str], list[str]]


def replay_of(row: Row, offers: Sequence[Offer], lacking: Lacking) -> Replay:
    """`lacking`: see `ports.Status`."""
    if row["method"] != TOOL_CALL:
        return Replay(False, "not_a_call", None, False, [])
    then = annotations_of(object_in(row.get("annotations")))
    if row.get("tool_name") is None:
        return Replay(False, "no_tool", None, _may_destroy(then), [])
    offer = offered(row, offers)
    if offer is None:
        missing = lacking(row["server_name"] or "", row["tool_name"])
        reason = "missing_capability" if missing else "not_offered"
        return Replay(False, reason, None, _may_destroy(then), missing)
    now = annotations_of(object_in(offer.annotations))
    reason = _missing(row)
    return Replay(reason is None, reason, offer.public_name, _may_destroy(then) or _may_destroy(now), [])


def offered(row: Row, offers: Sequence[Offer]) -> Offer | None:
    """The tool of a recorded call, if it is still there, at the same server. A call through
    /servers/<name>/mcp has the server's own name for it."""
    tool, server = row["tool_name"], row["server_name"]
    own = [offer for offer in offers if offer.route.upstream == server]
    by_name = [offer for offer in own if offer.public_name == tool]
    return next(iter(by_name or [offer for offer in own if offer.route.native_name == tool]), None)


def _missing(row: Row) -> Literal["redacted", "cut"] | None:
    if recorded_arguments(row) is not None:
        return None
    return "redacted" if MASK in (row.get("request_json") or "") else "cut"


def _may_destroy(declared: Annotations | None) -> bool:
    """The specification's defaults: not read-only, and destructive."""
    hints = declared or Annotations()
    return hints.read_only_hint is not True and hints.destructive_hint is not False
