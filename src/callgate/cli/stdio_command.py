"""`callgate stdio`: nothing but protocol on stdout, whatever goes wrong."""

from callgate.app.loop import run_loop
from callgate.app.stdio import join, pump, serve_alone
from callgate.cli.serve_command import log_to_stderr
from callgate.config.flags import Flags
from callgate.config.load import load_config
from callgate.edge.stdio import claim_stdout


def run_stdio(flags: Flags) -> None:
    out_fd = claim_stdout()  # before anything that could print
    log_to_stderr()
    loaded = load_config(flags)
    gateway = join(loaded)
    if gateway is not None:
        with gateway:
            pump(gateway, 0, out_fd)
    else:
        run_loop(serve_alone(loaded, 0, out_fd))
