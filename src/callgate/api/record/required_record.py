"""The record, where there is one."""

from typing import TypeVar

from callgate.model.error_codes import SETUP_RECORD_OFF
from callgate.model.errors import SetupError

_Part = TypeVar("_Part")


def required(record: _Part | None) -> _Part:
    """What there is only where calls are recorded."""
    if record is None:
        raise SetupError(
            SETUP_RECORD_OFF, "Calls are not recorded here", hint="Set [record] enabled = true to keep them"
        )
    return record
