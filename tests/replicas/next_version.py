"""A Callgate of the next version: another version's name, and tables with one more column.

next_version.py ARGUMENTS…   as `callgate` with these arguments
"""

import sys
from typing import Any

import callgate

callgate.__version__ = "99.0.0"

from callgate.recorder.stores.postgres import migrations  # noqa: E402


async def _add_column(connection: Any) -> None:
    await connection.execute("ALTER TABLE callgate_store.rpc_events ADD COLUMN next_version text")


migrations.STEPS = (*migrations.STEPS, (_add_column, 1))
migrations.SCHEMA_VERSION = len(migrations.STEPS)

from callgate.cli.start import main  # noqa: E402

sys.exit(main())
