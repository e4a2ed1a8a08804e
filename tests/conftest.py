"""Fixtures for every test. What only some tests need lives in their own folder's conftest."""

from databases.fixtures import mariadb, postgres

__all__ = ["mariadb", "postgres"]
