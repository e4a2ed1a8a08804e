"""Stores of a record by their addresses, for the commands that move or migrate it: `duckdb:FOLDER` or
`postgres://…`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.app.commands.record_access import record_api
from callgate.config.load import Loaded
from callgate.config.paths import record_folder
from callgate.config.reading.mistakes import RefusedValueError
from callgate.config.specs.archive_address import read_archive
from callgate.config.specs.config import Config
from callgate.config.specs.record_store import DUCKDB, StoreAddressSpec, read_store
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS, CALLER_BAD_PARAMS, SETUP_RECORD_OFF
from callgate.model.errors import CallerError, SetupError
from callgate.model.wording import install_extra
from callgate.recorder.days.copy_days import CopiedSection, Tell, copy_days
from callgate.recorder.days.duckdb_days import DuckdbDays
from callgate.recorder.days.record_days import RecordDays
from callgate.recorder.flush.retention import Retention

if TYPE_CHECKING:
    from callgate.recorder.archive.archive import Archive, ArchivedDay
    from callgate.recorder.stores.postgres.connection import StoreAddress
    from callgate.recorder.stores.postgres.upkeep import MigrationReport

_HINT = "Write duckdb:FOLDER, or postgres://user@host/database with the password in PGPASSWORD"


@dataclass(frozen=True, slots=True)
class CopiedRecord:
    sections: list[CopiedSection]
    is_in_use: bool  # the file that a gateway writes to was left out

    @property
    def is_equal(self) -> bool:
        return all(section.is_equal for section in self.sections)


async def copy_record(loaded: Loaded, come_from: str | None, go_to: str, tell: Tell) -> CopiedRecord:
    """`come_from`: None is the configured store. Raises CallerError and SetupError."""
    source = days_at(come_from, "--from") if come_from is not None else configured_days(loaded)
    target = days_at(go_to, "--to", is_target=True)
    if source.shown == target.shown:
        raise CallerError(CALLER_BAD_PARAMS, "A record cannot be copied onto itself", hint=_HINT)
    if come_from is None:
        await store_journalled(loaded)
    async with source, target:
        return CopiedRecord(await copy_days(source, target, tell), source.is_in_use)


def configured_days(loaded: Loaded) -> RecordDays:
    if not loaded.config.record.enabled:
        raise SetupError(
            SETUP_RECORD_OFF, "The record is switched off", hint="Remove enabled = false from [record]"
        )
    store = loaded.config.store
    if store.clickhouse is not None:
        raise _not_from_clickhouse("[record] store")
    return _in_postgres(store) if store.is_postgres else DuckdbDays(record_folder(loaded.config).resolve())


def _not_from_clickhouse(place: str) -> CallerError:
    return CallerError(
        CALLER_BAD_PARAMS,
        f"{place}: a record in ClickHouse cannot be copied or archived by Callgate",
        hint="Use ClickHouse's own BACKUP, or callgate export for calls as Parquet, CSV or JSON lines",
    )


def days_at(text: str, option: str, *, is_target: bool = False) -> RecordDays:
    kind, _, folder = text.partition(":")
    if kind == DUCKDB and folder and not folder.startswith("//"):
        return DuckdbDays(Path(folder).expanduser().resolve(), is_target=is_target)
    try:
        store = read_store(text)
    except RefusedValueError as refused:
        # Never the text itself: it may hold a password.
        raise CallerError(CALLER_BAD_PARAMS, f"{option}: {refused.message}", hint=_HINT) from None
    if store.clickhouse is not None:
        raise _not_from_clickhouse(option)
    if not store.is_postgres:
        raise CallerError(CALLER_BAD_PARAMS, f"{option}: the folder is missing", hint=_HINT)
    if store.is_of_replicas:
        raise CallerError(CALLER_BAD_PARAMS, f"{option}: the address of the database is missing", hint=_HINT)
    return _in_postgres(store)


def _in_postgres(store: StoreAddressSpec) -> RecordDays:
    if find_spec("asyncpg") is None:
        raise CallerError(
            CALLER_BAD_PARAMS,
            "A record in PostgreSQL needs a driver that is not installed here",
            hint=install_extra("postgres"),
        )
    from callgate.recorder.days.postgres_days import PostgresDays
    from callgate.recorder.stores.postgres.connection import StoreAddress

    return PostgresDays(StoreAddress(store.dsn, store.shown))


async def store_journalled(loaded: Loaded) -> None:
    """Brings what is journalled into the store, as every read does: by the gateway that runs, else here."""
    async with record_api(loaded) as api:
        await api.get("about")


async def archive_record(
    loaded: Loaded, go_to: str | None, tell: Callable[[date], object]
) -> "list[ArchivedDay]":
    """Every closed day that is not there yet. Raises CallerError and SetupError."""
    archive = archive_of(loaded.config, go_to)
    await store_journalled(loaded)
    found: list[ArchivedDay] = []
    async with configured_days(loaded) as days:
        for day in await days.closed_days():
            tell(day)
            found.append(await archive.add(days, day))
    return found


def archive_of(config: Config, go_to: str | None) -> "Archive":
    """`go_to`: None is the configured one."""
    address = config.record.archive
    if go_to is not None:
        try:
            address = read_archive(go_to if "://" in go_to else str(Path(go_to).expanduser().absolute()))
        except RefusedValueError as refused:
            raise CallerError(CALLER_BAD_PARAMS, f"--to: {refused.message}", hint=refused.hint) from None
    if address is None:
        raise CallerError(
            CALLER_BAD_PARAMS, "No archive is configured", hint="Set [record] archive, or give one with --to"
        )
    if find_spec("obstore") is None:
        raise CallerError(
            CALLER_BAD_PARAMS,
            "An archive needs a package that is not installed here",
            hint=install_extra("archive"),
        )
    from callgate.recorder.archive.archive import Archive
    from callgate.recorder.archive.object_folder import ObjectFolder

    return Archive(ObjectFolder(address), record_folder(config) / "passing")


async def migrate_record(config: Config, days_ahead: int, grant_to: Sequence[str]) -> "MigrationReport":
    """Raises SetupError."""
    record, store = config.record, config.store
    if not store.is_postgres:
        kept = "ClickHouse, whose tables a gateway makes" if store.clickhouse is not None else "DuckDB files"
        raise CallerError(
            CALLER_BAD_ARGUMENTS,
            f"The record is kept in {kept}: nothing is to be migrated",
            hint="Name a PostgreSQL in [record] store, or in CALLGATE_RECORD_STORE",
        )
    from callgate.recorder.stores.postgres.connection import StoreAddress
    from callgate.recorder.stores.postgres.upkeep import migrate

    address = StoreAddress(store.dsn, store.shown)
    archived = None if record.archive is None else await _archived_days(config, address)
    archived_days = None if archived is None else lambda: archived
    retention = Retention(record.keep_s, record.max_size_bytes, record.keep_bodies_s, archived_days)
    return await migrate(address, retention, days_ahead, grant_to)


async def _archived_days(config: Config, address: "StoreAddress") -> set[date]:
    """Closed days whose manifests were read back: only these may be dropped."""
    from callgate.recorder.days.postgres_days import PostgresDays

    archive = archive_of(config, None)
    async with PostgresDays(address) as days:
        return {day for day in await days.closed_days() if await archive.find(days, day) is not None}
