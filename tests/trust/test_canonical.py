"""What counts for the digest of a definition, by which a change is noticed."""

import pytest

from callgate.trust.canonical import read_definition


def digest(default: str) -> str:
    return read_definition(f'{{"name":"add","default":{default}}}'.encode()).digest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0.5", "0.50000000000000000000073697879711111410332"),
        ("9007199254740992.0", "9007199254740993.0"),
        ("1e400", "1e500"),
        ("0.0", "1e-400"),
    ],
)
def test_digits_that_are_lost_when_a_number_is_read_count(before: str, after: str) -> None:
    assert float(before) == float(after)
    assert digest(before) != digest(after)


def test_order_and_blanks_do_not_count() -> None:
    one, other = b'{"name":"add","default":[0.5,1e2]}', b'{ "default" : [ 0.5, 1e2 ], "name" : "add" }'
    assert read_definition(one).digest == read_definition(other).digest
