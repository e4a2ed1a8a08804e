"""What a call shows of answers that nobody can rely on."""

import pytest

from callgate.cli.call_command import hint_and_code


@pytest.mark.parametrize("data", [None, [], "text", 5, {"hint": 5, "code": {}}, {"hint": [], "code": None}])
def test_a_server_s_error_data_can_be_anything(data: object) -> None:
    assert hint_and_code(data) == (None, None)


def test_ours_has_a_hint_and_a_code() -> None:
    assert hint_and_code({"hint": "do", "code": "refused.read_only"}) == ("do", "refused.read_only")
