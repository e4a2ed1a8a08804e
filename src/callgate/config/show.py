"""The effective configuration for people and for comparison, every secret masked.

The masking itself is the specs' own serialisation, so that no other dump can show more than this one. What
was filled in from `${VAR}` or `file:` in a `dsn` or under `mcpServers` is shown as it was written.
"""

import hashlib
import json
from typing import Any

from callgate.config.specs.config import Config
from callgate.config.specs.spec import EFFECTIVE

_WHEREABOUTS = {"server": {"listen", "state_dir", "workers"}, "replicas": {"listen", "advertise"}}


def masked(config: Config) -> dict[str, Any]:
    """As the file would say it: its keys, durations and sizes as text; what is unset is left out."""
    without = None if config.replicas.is_on else {"replicas"}  # a table that is there needs a database
    return config.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=without)


def fingerprint(config: Config) -> str:
    """Whether two processes run the same configuration; a difference in secrets alone does not show.

    Follows what variables hold, unlike `masked`: another `${HOST}` is another configuration. Where it listens
    and where its state lies are not part of it: `callgate serve --port 0` serves what the file says, and who
    compares has found it by its state folder already.
    """
    values = config.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude=_WHEREABOUTS, context=EFFECTIVE
    )
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
