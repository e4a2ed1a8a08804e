"""What the commands that change the setup are fed with: entries, secrets, clients' files, trust, backups."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from cli.hostile_stage import Stage, toml_text
from cli.hostile_text import HOSTILE
from cli.terminal_stage import Shown

SERVER = Path(__file__).with_name("hostile_server.py")


def feed_add(stage: Stage) -> Iterator[Shown]:
    command = ("--dry-run", "--", sys.executable, str(SERVER), HOSTILE)
    yield stage.run("add", *command)
    yield stage.run("add", "--json", *command)
    yield stage.run("add", "--name", HOSTILE, "https://127.0.0.1:1/mcp")


def feed_remove(stage: Stage) -> Iterator[Shown]:
    yield stage.run("remove", HOSTILE)


def feed_import(stage: Stage) -> Iterator[Shown]:
    """The clients' files of the folder, in which names and commands are anybody's."""
    cursor = stage.config.parent / ".cursor" / "mcp.json"
    cursor.parent.mkdir(exist_ok=True)
    cursor.write_text(json.dumps({"mcpServers": {HOSTILE: {"command": HOSTILE, "args": [HOSTILE]}}}))
    try:
        yield stage.run("import", "--dry-run")
        yield stage.run("import", "--dry-run", "--json")
        yield stage.run("import", "--from", HOSTILE)
    finally:
        cursor.unlink()


def feed_connect(stage: Stage) -> Iterator[Shown]:
    yield stage.run("connect", HOSTILE)
    yield stage.run("connect", "cursor", "--project", "--undo")


def feed_secret_set(stage: Stage) -> Iterator[Shown]:
    """It asks for the value, and repeats neither that nor the name: only its usage can be wrong."""
    yield stage.run("secret", "set", "x", HOSTILE)


def feed_secret_list(stage: Stage) -> Iterator[Shown]:
    yield stage.run("secret", "list", "--config", str(missing(stage)))


def feed_secret_remove(stage: Stage) -> Iterator[Shown]:
    yield stage.run("secret", "remove", HOSTILE)


def feed_config_get(stage: Stage) -> Iterator[Shown]:
    yield stage.run("config", "get", HOSTILE)
    yield stage.run("config", "get", "mcpServers.hostile.args")


def feed_config_set(stage: Stage) -> Iterator[Shown]:
    yield stage.run("config", "set", "server.max_offers", HOSTILE)
    yield stage.run("config", "set", f"server.{toml_text(HOSTILE)}", "1")


def feed_config_unset(stage: Stage) -> Iterator[Shown]:
    yield stage.run("config", "unset", "server.max_offers", "--config", str(missing(stage)))


def feed_backup(stage: Stage) -> Iterator[Shown]:
    yield stage.run("backup", f"/dev/null/{HOSTILE}")


def feed_restore(stage: Stage) -> Iterator[Shown]:
    yield stage.run("restore", f"/dev/null/{HOSTILE}")


def missing(stage: Stage) -> Path:
    return stage.config.with_name(f"missing {HOSTILE}")


SETUP_FEEDS: dict[tuple[str, ...], Callable[[Stage], Iterator[Shown]]] = {
    ("add",): feed_add,
    ("remove",): feed_remove,
    ("import",): feed_import,
    ("connect",): feed_connect,
    ("secret", "set"): feed_secret_set,
    ("secret", "list"): feed_secret_list,
    ("secret", "remove"): feed_secret_remove,
    ("config", "get"): feed_config_get,
    ("config", "set"): feed_config_set,
    ("config", "unset"): feed_config_unset,
    ("backup",): feed_backup,
    ("restore",): feed_restore,
}
