"""The record, where there is one."""

from callgate.model.error_codes import SETUP_RECORD_OFF
from callgate.model.errors import SetupError
from callgate.ports.record_reader import RecordReader


def required(record: RecordReader | None) -> RecordReader:
    if record is None:
        raise SetupError(
            SETUP_RECORD_OFF, "Calls are not recorded here", hint="Set [record] enabled = true to keep them"
        )
    return record
