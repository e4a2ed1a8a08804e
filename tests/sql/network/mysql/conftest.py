"""What the tests of MySQL's and MariaDB's driver share."""

import pytest

from callgate.sql.engines.mysql.driver import session_reset, short_way


@pytest.fixture
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is due, and nothing is asked again, because a test is slow."""
    monkeypatch.setattr(session_reset, "_MOST_S", 3600.0)
    monkeypatch.setattr(short_way, "_REFRESHED_AFTER_S", 3600.0)
