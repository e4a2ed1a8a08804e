import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.config.specs.quantity import format_duration, format_size, parse_duration_s, parse_size_bytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30d", 2_592_000), ("30m", 1800), ("90s", 90), ("500ms", 0.5), ("1.5h", 5400), ("2 w", 1_209_600)],
)
def test_a_duration_becomes_seconds(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("2GiB", 2 * 1024**3),
        ("500MB", 500_000_000),
        ("1024", 1024),
        ("16mib", 16 * 1024**2),
        ("0", 0),
        ("7 B", 7),
    ],
)
def test_a_size_becomes_bytes(text: str, size_bytes: int) -> None:
    assert parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1y", "1e9s", "30d30", "١s"])
def test_what_is_no_duration_is_not_guessed(text: str) -> None:
    assert parse_duration_s(text) is None


@pytest.mark.parametrize("text", ["", "2Gi", "-1", "1 PiB", "2GiBs", "x"])
def test_what_is_no_size_is_not_guessed(text: str) -> None:
    assert parse_size_bytes(text) is None


@given(st.integers(min_value=1, max_value=10**10))
def test_a_duration_survives_being_shown_and_read_again(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert parse_duration_s(format_duration(seconds)) == pytest.approx(seconds)


@given(st.integers(min_value=0, max_value=10**12 - 1))
def test_a_size_survives_being_shown_and_read_again(size_bytes: int) -> None:
    assert parse_size_bytes(format_size(size_bytes)) == size_bytes
