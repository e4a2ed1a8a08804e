"""`[record]` and `[policy]`: what is kept of the calls, and which of them are let through."""

from typing import Annotated, Any, Literal

from callgate.config.reading.markers import Before, spec_key
from callgate.config.reading.mistakes import refusal
from callgate.config.specs.archive_address import ArchiveField
from callgate.config.specs.field_types import FilePath, Pattern
from callgate.config.specs.quantity import DurationS, SizeBytes
from callgate.config.specs.record_store import StoreAddressSpec, StoreField, mask_store
from callgate.config.specs.spec import Spec, shows


class RecordSpec(Spec):
    enabled: bool = spec_key(default=True, description="Whether calls are recorded at all.")
    path: FilePath | None = spec_key(
        default=None, description="Folder of the record; record in the state folder if unset."
    )
    store: StoreField = spec_key(
        default_factory=StoreAddressSpec,
        repr=False,
        description="duckdb: files in that folder; postgres: the database of [replicas]; or an address.",
    )
    journal_max_bytes: SizeBytes | None = spec_key(
        default=None,
        alias="journal_max",
        ge=1024**2,
        description="How much waits in that folder while the database is away; 4GiB if unset.",
    )
    keep_bodies_s: DurationS | None = spec_key(
        default=None,
        alias="keep_bodies",
        gt=0,
        description="How long requests and replies are kept; as long as their calls if unset.",
    )
    migrate: bool = spec_key(
        default=True, description="Whether a gateway makes and changes the tables of that database itself."
    )
    keep_s: DurationS = spec_key(
        default=30 * 86400.0, alias="keep", gt=0, description="How long calls are kept."
    )
    max_size_bytes: SizeBytes = spec_key(
        default=2 * 1024**3, alias="max_size", ge=1, description="How large the record may grow."
    )
    max_body_bytes: SizeBytes = spec_key(
        default=256 * 1024, alias="max_body", ge=0, description="Most bytes kept of one request or reply."
    )
    redact_keys: tuple[str, ...] = spec_key(
        default=(), description="Keys whose values are never recorded, beside the built-in ones."
    )
    redact_patterns: tuple[Pattern, ...] = spec_key(
        default=(), description="Regular expressions; what they match is never recorded."
    )
    on_failure: Literal["continue", "refuse"] = spec_key(
        default="continue", description="What becomes of calls while the record cannot be written."
    )
    sync: Literal["reply", "interval", "store"] = spec_key(
        default="reply", description="Whether a reply waits until its call is written."
    )
    session_gap_s: DurationS = spec_key(
        default=30 * 60.0, alias="session_gap", gt=0, description="Silence after which a session ends."
    )
    archive: ArchiveField | None = spec_key(
        default=None,
        description="Where closed days are archived as Parquet before they are deleted; s3://… or a folder.",
    )
    offer: bool = spec_key(
        default=False, description="Offer each client its own calls, as the source record."
    )

    @shows("store")
    def _show_store(self, store: StoreAddressSpec, is_effective: bool) -> str:
        written = self.as_written(is_effective, "store")
        return str(store) if written is None else mask_store(written)


def _read_destructive(value: Any) -> Any:
    if value == "ask":
        raise refusal('"ask" is not supported yet', 'Write "allow" or "deny".')
    return value


class PolicySpec(Spec):
    destructive: Annotated[Literal["allow", "deny"], Before(_read_destructive)] = spec_key(
        default="allow", description="What becomes of calls to tools that may destroy something."
    )
