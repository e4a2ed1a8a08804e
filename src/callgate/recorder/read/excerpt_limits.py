"""How much of one principal's history an excerpt holds, whichever store it is copied from."""

from callgate.model.error_codes import SOURCE_TIMEOUT
from callgate.model.errors import SourceError

# The newest of one principal. Copying so many takes half a second; a longer history is the operator's to ask.
MAX_EVENTS = 50_000
MAX_SESSIONS = 10_000
# Of bodies: what is copied waits for the disk, and is compressed.
MAX_BODY_BYTES = 64 * 1024 * 1024
TIMEOUT_S = 10.0


def out_of_time() -> SourceError:
    return SourceError(
        SOURCE_TIMEOUT,
        f"Your calls could not be read within {TIMEOUT_S:g} s.",
        hint="Ask for fewer columns, without request_json and response_json.",
    )
