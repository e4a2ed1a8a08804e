"""`callgate stdio`: nothing but protocol on stdout, whatever goes wrong."""

from callgate.app.loop import run_loop
from callgate.app.setup.loading import load_config
from callgate.app.stdio import join, pump, serve_alone
from callgate.cli.log import LogOptions, log_to_stderr
from callgate.config.sources.flags import Flags
from callgate.edge.stdio import claim_stdout


def run_stdio(flags: Flags, log: LogOptions) -> None:
    out_fd = claim_stdout()  # before anything that could print
    log_to_stderr(log)
    loaded = load_config(flags)
    gateway = join(loaded)
    if gateway is not None:
        with gateway:
            pump(gateway, 0, out_fd)
    else:
        run_loop(serve_alone(loaded, 0, out_fd))
