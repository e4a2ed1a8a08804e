"""`[principals]`: who may call, and what else each of them may do."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any

from callgate.config.problem import shown
from callgate.config.reading.markers import After, ReadBy, ShownBy, spec_key
from callgate.config.reading.mistakes import refusal
from callgate.config.secret import Secret
from callgate.config.specs.server import check_token
from callgate.config.specs.spec import Spec
from callgate.model.identity import Role, RoleWord

_HASH = re.compile("sha256:[0-9a-f]{64}")
_EXAMPLE = "Write a date or a moment, as in 2027-02-13 or 2027-02-13T18:00:00Z."


def _check_hash(text: str) -> str:
    if not _HASH.fullmatch(text):
        raise refusal(
            "this is not the hash of a token", 'Make one with "callgate token add"; it begins with sha256:.'
        )
    return text


def _read_expiry(value: Any) -> datetime:
    """A date is good until its last second, in UTC, as is a moment that names no zone."""
    if isinstance(value, str):
        try:
            value = (
                date.fromisoformat(value)
                if len(value) == len("2027-02-13")
                else datetime.fromisoformat(value)
            )
        except ValueError:
            raise refusal(f"{shown(value)} is not a date", _EXAMPLE) from None
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        try:
            return datetime.combine(value + timedelta(days=1), time(), UTC)
        except OverflowError:
            raise refusal("this date is too far away", _EXAMPLE) from None
    raise refusal("a date is expected", _EXAMPLE)


class PrincipalSpec(Spec):
    token: Annotated[Secret, After(check_token)] | None = spec_key(
        default=None, description="The bearer token; better give its hash."
    )
    token_hash: Annotated[str, After(_check_hash)] | None = spec_key(
        default=None, description='sha256: and the SHA-256 of the token, as "callgate token add" writes it.'
    )
    role: RoleWord | None = spec_key(
        default=None,
        description="What it may do: call tools; watch: also read the record; operate: also change things.",
    )
    expires: (
        Annotated[
            datetime,
            ReadBy(_read_expiry, {"type": "string", "examples": ["2027-02-13"]}),
            ShownBy(datetime.isoformat),
        ]
        | None
    ) = spec_key(default=None, description="Until when its token is good; a date counts whole, in UTC.")

    @property
    def has_token(self) -> bool:
        return self.token is not None or self.token_hash is not None

    def role_or(self, otherwise: Role) -> Role:
        return otherwise if self.role is None else Role[self.role.upper()]
