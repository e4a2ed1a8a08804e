"""The operator's policy applied to one tool call, before anything is asked of an upstream."""

import msgspec

from callgate.model.error_codes import REFUSED_DESTRUCTIVE
from callgate.model.offers import Offer
from callgate.model.verdict import Allow, Deny, Verdict
from callgate.wire.json_rpc import NOT_READABLE


class _Hints(msgspec.Struct):
    readOnlyHint: bool = False  # noqa: N815 - the protocol's own spelling
    destructiveHint: bool = True  # noqa: N815 - the specification's default: what says nothing may destroy


_ALLOW = Allow()
_hints_decoder = msgspec.json.Decoder(_Hints)


def judge_call(offer: Offer, deny_destructive: bool) -> Verdict:
    if not deny_destructive or not _may_destroy(offer):
        return _ALLOW
    return Deny(
        REFUSED_DESTRUCTIVE,
        rule="policy.destructive",
        reason=f"{offer.public_name} may change or destroy something, and the policy denies such tools",
        hint='Use a read-only tool, or set destructive = "allow" under [policy]',
    )


def _may_destroy(offer: Offer) -> bool:
    if offer.annotations is None:
        return True
    try:
        hints = _hints_decoder.decode(offer.annotations)
    except NOT_READABLE:
        return True
    return not hints.readOnlyHint and hints.destructiveHint
