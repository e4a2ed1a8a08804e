"""`callgate stdio`: nothing but protocol on stdout, whatever goes wrong."""

from dataclasses import dataclass
from pathlib import Path

from callgate.app.loop import run_loop
from callgate.app.setup.loading import load_config
from callgate.app.stdio import join, pump, serve_alone
from callgate.cli.log import LogFormat, LogLevel, log_options, log_to_stderr
from callgate.config.sources.flags import Flags
from callgate.edge.stdio import claim_stdout


@dataclass(frozen=True, slots=True)
class StdioOrder:
    """What was written on the command line; None where nothing was."""

    config: Path | None = None
    state_dir: Path | None = None
    log_level: LogLevel | None = None
    log_format: LogFormat = LogFormat.TEXT
    addresses: tuple[str, ...] = ()


def run_stdio(order: StdioOrder) -> None:
    out_fd = claim_stdout()  # before anything that could print
    log_to_stderr(log_options(order.log_level, order.log_format, quiet=True))
    loaded = load_config(Flags(order.config, state_dir=order.state_dir, addresses=order.addresses))
    gateway = join(loaded)
    if gateway is not None:
        with gateway:
            pump(gateway, 0, out_fd)
    else:
        run_loop(serve_alone(loaded, 0, out_fd))
