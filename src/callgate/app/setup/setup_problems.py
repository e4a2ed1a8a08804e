"""What is wrong with a configuration that only the parts themselves can tell. No database is asked."""

import grp
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

from callgate.app.setup.loading import load_config
from callgate.app.sources import tool_problems
from callgate.app.telling.telemetry import otel_problems
from callgate.config.load import Loaded
from callgate.config.problem import ConfigProblem, ConfigProblems, shown
from callgate.config.sources.file import ConfigFile
from callgate.config.sources.flags import Flags
from callgate.config.specs.config import Config
from callgate.model.wording import install_extra


def load_and_check(flags: Flags, file: ConfigFile | None = None) -> Loaded:
    """Raises ConfigProblems, also for what loading alone does not find. `file`: see `load_config`."""
    loaded = load_config(flags, file=file)
    if problems := list(setup_problems(loaded.config)):
        raise ConfigProblems(problems, loaded.origin, loaded.notes)
    return loaded


def problems_in(flags: Flags, file: ConfigFile) -> Sequence[ConfigProblem]:
    """Of a file that is not written yet."""
    try:
        load_and_check(flags, file)
    except ConfigProblems as found:
        return found.problems
    return ()


def setup_problems(config: Config) -> Iterator[ConfigProblem]:
    yield from tool_problems(config)
    yield from otel_problems(config)
    yield from _store_problems(config)
    yield from _socket_problems(config)
    yield from _child_problems(config)
    yield from _source_problems(config)
    if config.server.workers > 1 and config.replicas.is_on:
        hint = "Leave workers out, and start a replica for each core, each with a state_dir of its own."
        yield ConfigProblem("server.workers", "workers and [replicas] do not go together", hint)


def _socket_problems(config: Config) -> Iterator[ConfigProblem]:
    path, group = config.server.listen.socket_path, config.server.socket_group
    if path is not None and not path.parent.is_dir():
        text = f"there is no folder {shown(str(path.parent), otherwise='of this name')} for the socket"
        yield ConfigProblem("server.listen", text, "Make it, or choose another path.")
    if group is None:
        return
    if path is None:
        hint = 'Leave it out, or write listen = "unix:/run/callgate/http.sock".'
        yield ConfigProblem("server.socket_group", "it is for a Unix socket, and listen is none", hint)
    try:
        grp.getgrnam(group)
    except KeyError:
        yield ConfigProblem(
            "server.socket_group",
            f"there is no group {shown(group, otherwise='of this name')} on this machine",
        )


def _child_problems(config: Config) -> Iterator[ConfigProblem]:
    """Each program has a process from the start; none of them could be left out for another."""
    programs = sum(
        1 for spec in config.mcp_servers.values() if spec.command is not None and not spec.disabled
    )
    limit = config.server.max_children
    if programs > limit:
        text = f"{programs} servers are programs, and only {limit} processes may run"
        yield ConfigProblem("server.max_children", text, f"Write max_children = {2 * programs} or more.")


def _source_problems(config: Config) -> Iterator[ConfigProblem]:
    for at, source in enumerate(config.sources):
        if source.ssh is not None and find_spec("asyncssh") is None:
            text = "an SSH tunnel needs a package that is not installed here"
            yield ConfigProblem(f"sources[{at}].ssh", text, install_extra("ssh"))


def _store_problems(config: Config) -> Iterator[ConfigProblem]:
    record = config.record
    has_driver = find_spec("asyncpg") is not None
    if record.archive is not None and find_spec("obstore") is None:
        yield ConfigProblem(
            "record.archive",
            "an archive needs a package that is not installed here",
            install_extra("archive"),
        )
    if record.archive is not None and record.store.clickhouse is not None:
        yield ConfigProblem(
            "record.archive",
            "a record in ClickHouse cannot be archived by Callgate",
            "Leave it out, and use ClickHouse's own BACKUP.",
        )
    if record.store.is_postgres and not has_driver:
        text = "a record in PostgreSQL needs a driver that is not installed here"
        yield ConfigProblem("record.store", text, install_extra("postgres"))
    if record.store.clickhouse is not None and not record.migrate:
        hint = "Leave it out: ClickHouse's tables are made by whoever comes first."
        yield ConfigProblem("record.migrate", "this is for a record in PostgreSQL", hint)
    if record.store.is_database:
        return
    hint = 'Write store = "postgres://…" or "clickhouse://…" too, or leave it out.'
    if record.sync == "store":
        yield ConfigProblem("record.sync", '"store" is for a record in a database', hint)
    keys = (
        ("keep_bodies", record.keep_bodies_s is not None),
        ("journal_max", record.journal_max_bytes is not None),
        ("migrate", not record.migrate),
    )
    for key, is_given in keys:
        if is_given:
            yield ConfigProblem(f"record.{key}", "this is for a record in a database", hint)
