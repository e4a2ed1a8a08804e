"""Fixtures for every test. What only some tests need lives in their own folder's conftest."""

from databases.fixtures import mariadb, postgres
from hypothesis import settings

__all__ = ["mariadb", "postgres"]

# No assertion about time: on a busy machine hypothesis' 200 ms for an example would be one.
settings.register_profile("callgate", deadline=None)
settings.load_profile("callgate")
