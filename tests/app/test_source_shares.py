"""How many connections to a database each of several replicas takes."""

import pytest

from callgate.app.sources import connections_of
from callgate.config.specs.source import SourceSpec


@pytest.mark.parametrize(
    ("most", "replicas", "taken"),
    [(None, 20, 8), (40, 1, 8), (40, 5, 8), (40, 6, 6), (40, 39, 1), (40, 400, 1)],
)
def test_a_replica_takes_its_share_but_at_least_one_and_never_more_than_its_pool(
    most: int | None, replicas: int, taken: int
) -> None:
    spec = SourceSpec.read({"id": "shop", "dsn": "mysql://me@db/shop", "max_connections": most})
    assert connections_of(spec, replicas) == taken
