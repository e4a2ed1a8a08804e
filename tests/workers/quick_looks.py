"""`callgate`, with a supervisor that looks at its workers often.

quick_looks.py ARGUMENTS…   as `callgate` with these arguments
"""

import sys

from callgate.app.workers import supervisor, worker
from callgate.cli.main import main

supervisor._LOOK_S = 0.5  # pyright: ignore[reportPrivateUsage]
worker._BEAT_S = 0.05  # pyright: ignore[reportPrivateUsage]

sys.exit(main())
