"""`callgate`, with a supervisor that looks at its workers often, and an archive that begins at once.

quick_looks.py ARGUMENTS…   as `callgate` with these arguments
"""

import sys

from callgate.app.workers import supervisor, worker
from callgate.cli.start import main
from callgate.recorder.archive.archive_keeper import ArchiveKeeper

supervisor._LOOK_S = 0.5
worker._BEAT_S = 0.05
ArchiveKeeper.__init__.__defaults__ = (0.0,)

sys.exit(main())
