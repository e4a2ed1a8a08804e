"""Checks that cannot pass across the eras, by the upstream's era, each with its reason in the specification.

A check that is lost and is not here is a defect; one that is here and passes is a line to delete.
"""

from collections.abc import Mapping

from conformance.verdicts import Check

_NO_KEY = (
    "the suite looks for the key `user_name`; keys are assigned by whoever writes `inputRequests` "
    "(basic/patterns/mrtr, InputRequests), and a handshake server's question has none"
)
_EARLY = (
    "answers that come before any question: without `requestState` there is no call for them, and a handshake"
    " server cannot be told beforehand (2025-11-25, client/elicitation)"
)
_NOTHING_TO_RESUME = (
    "does not apply: a modern server has no stream to break off and resume "
    "(2026-07-28, changelog, major change 9)"
)

_ONE_PROCESS_EACH = (
    "the suite waits 600 ms for the first call that declares other capabilities; a handshake server hears of "
    "them once, at `initialize` (2025-11-25, basic/lifecycle), so that call starts a process"
)

# Beside the others, and only over stdio; not lost where processes start quickly.
ON_A_PIPE: Mapping[str, Mapping[Check, str]] = {
    "both": {},
    "legacy": {
        Check(
            "server-server-stateless", "sep-2575-http-server-no-independent-requests-on-stream"
        ): _ONE_PROCESS_EACH
    },
    "modern": {},
}
REASONS: Mapping[str, Mapping[Check, str]] = {
    "both": {},
    "legacy": {
        Check(f"server-input-required-result-{scenario}", f"sep-2322-{check}"): why
        for scenario, check, why in (
            ("basic-elicitation", "elicitation-incomplete", _NO_KEY),
            ("basic-elicitation", "elicitation-complete", _NO_KEY),
            ("ignore-extra-params", "ignore-unexpected-params", _EARLY),
        )
    },
    "modern": {Check("server-server-sse-polling", "server-sse-disconnect-resume"): _NOTHING_TO_RESUME},
}
