"""`callgate record migrate`: the tables of a record in PostgreSQL, changed by whoever may change them."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from callgate.app.commands.record_days import archive_of
from callgate.config.specs.config import Config
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS
from callgate.model.errors import CallerError
from callgate.recorder.flush.retention import Retention

if TYPE_CHECKING:
    from callgate.recorder.stores.postgres.connection import StoreAddress
    from callgate.recorder.stores.postgres.upkeep import MigrationReport


async def migrate_record(config: Config, days_ahead: int, grant_to: Sequence[str]) -> "MigrationReport":
    """Raises SetupError."""
    record, store = config.record, config.store
    if not store.is_postgres:
        raise CallerError(
            CALLER_BAD_ARGUMENTS,
            "The record is kept in DuckDB files, which need no migration",
            hint="Name a database in [record] store, or in CALLGATE_RECORD_STORE",
        )
    from callgate.recorder.stores.postgres.connection import StoreAddress
    from callgate.recorder.stores.postgres.upkeep import migrate

    address = StoreAddress(store.dsn, store.shown)
    is_archived = None if record.archive is None else (await _archived_days(config, address)).__contains__
    retention = Retention(record.keep_s, record.max_size_bytes, record.keep_bodies_s, is_archived)
    return await migrate(address, retention, days_ahead, grant_to)


async def _archived_days(config: Config, address: "StoreAddress") -> set[date]:
    """Closed days whose manifests were read back: only these may be dropped."""
    from callgate.recorder.days.postgres_days import PostgresDays

    archive = archive_of(config, None)
    async with PostgresDays(address) as days:
        return {day for day in await days.closed_days() if await archive.find(days, day) is not None}
