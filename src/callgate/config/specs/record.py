"""`[record]` and `[policy]`: what is kept of the calls, and which of them are let through."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from callgate.config.refusal import refusal
from callgate.config.specs.field_types import FilePath, Pattern
from callgate.config.specs.quantity import DurationS, SizeBytes
from callgate.config.specs.spec import Spec


class RecordSpec(Spec):
    enabled: bool = Field(default=True, description="Whether calls are recorded at all.")
    path: FilePath | None = Field(
        default=None, description="Folder of the record; record in the state folder if unset."
    )
    keep_s: DurationS = Field(
        default=30 * 86400.0, alias="keep", gt=0, description="How long calls are kept."
    )
    max_size_bytes: SizeBytes = Field(
        default=2 * 1024**3, alias="max_size", ge=1, description="How large the record may grow."
    )
    max_body_bytes: SizeBytes = Field(
        default=256 * 1024, alias="max_body", ge=0, description="Most bytes kept of one request or reply."
    )
    redact_keys: tuple[str, ...] = Field(
        default=(), description="Keys whose values are never recorded, beside the built-in ones."
    )
    redact_patterns: tuple[Pattern, ...] = Field(
        default=(), description="Regular expressions; what they match is never recorded."
    )
    on_failure: Literal["continue", "refuse"] = Field(
        default="continue", description="What becomes of calls while the record cannot be written."
    )
    sync: Literal["reply", "interval"] = Field(
        default="reply", description="Whether a reply waits until its call is written."
    )
    session_gap_s: DurationS = Field(
        default=30 * 60.0, alias="session_gap", gt=0, description="Silence after which a session ends."
    )
    offer: bool = Field(default=False, description="Offer each client its own calls, as the source record.")


def _read_destructive(value: Any) -> Any:
    if value == "ask":
        raise refusal('"ask" is not supported yet', 'Write "allow" or "deny".')
    return value


class PolicySpec(Spec):
    destructive: Annotated[Literal["allow", "deny"], BeforeValidator(_read_destructive)] = Field(
        default="allow", description="What becomes of calls to tools that may destroy something."
    )
