"""The comparer: what counts as lost."""

import json
from pathlib import Path

import pytest
from conformance.verdicts import Check, Comparison, Verdict, compare, read_verdicts

RESUME = Check("server-sse-polling", "resume")
PING = Check("server-ping", "ping")
GOOD = Verdict("SUCCESS")


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SKIPPED", "INFO"])
def test_a_check_that_succeeds_directly_only_is_lost(status: str) -> None:
    comparison = compare({PING: GOOD}, {PING: Verdict(status, "why")}, info_is_kept=False)
    assert comparison == Comparison(1, {PING: Verdict(status, "why")})
    assert not comparison.is_whole
    assert str(comparison) == f"0/1\n    lost: server-ping ping: {status} why"


def test_a_check_that_was_never_made_through_the_gateway_is_lost() -> None:
    assert list(compare({PING: GOOD, RESUME: GOOD}, {PING: GOOD}, info_is_kept=True).lost) == [RESUME]


def test_not_applicable_is_kept_where_that_is_right() -> None:
    assert compare({RESUME: GOOD}, {RESUME: Verdict("INFO")}, info_is_kept=True) == Comparison(1, {})


def test_what_fails_directly_is_not_ours_to_keep() -> None:
    direct = {PING: GOOD, RESUME: Verdict("FAILURE")}
    assert compare(direct, direct, info_is_kept=False) == Comparison(1, {})


def test_a_run_in_which_nothing_succeeded_directly_proves_nothing() -> None:
    assert not compare({}, {}, info_is_kept=False).is_whole


def test_a_check_made_several_times_is_as_good_as_its_worst(tmp_path: Path) -> None:
    scenario = tmp_path / "server-ping-2026-11-15T05-37-10-055Z"
    scenario.mkdir()
    statuses = ("INFO", "SUCCESS", "FAILURE", "WARNING")
    entries = [{"id": "ping", "status": status, "errorMessage": status.lower()} for status in statuses]
    (scenario / "checks.json").write_text(json.dumps(entries))
    assert read_verdicts(tmp_path) == {PING: Verdict("FAILURE", "failure")}
