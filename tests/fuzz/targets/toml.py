"""What an operator writes: `config.load_config`."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from callgate.config.load import ConfigProblems, Flags, load_config

_TABLES = (
    *("[server]", "[record]", "[policy]", "[otel]", "[[sources]]", "[[tools]]", "[mcpServers.a]"),
    *("[mcpServers.b.env]",),
    *("[mcpServers]", "[tools]", "[sources]", "[x]", "[[mcpServers]]", "[server.tokens]", "[[tools.params]]"),
)  # fmt: skip
_KEYS = (
    *("version", "listen", "tokens", "allowed_hosts", "max_body", "state_dir", "id", "dsn", "mode"),
    *("timeout_s",),
    *("max_rows", "pool_size", "redact_keys", "redact_patterns", "name", "source", "sql", "params"),
    *("url", "headers"),
    *("command", "args", "env", "cwd", "type", "isolation", "enabled", "path", "keep", "max_size"),
    *("endpoint", "x"),
)  # fmt: skip
_VALUES = (
    *("1", "0", "-1", "1.5", "nan", "inf", "true", '""', '"a"', '"127.0.0.1:0"', '"[::1]:99999"'),
    *('"16MiB"', '"30d"'),
    *('"mysql://u:p@h:3306/d"', '"postgres://%zz@h"', '"sqlite:///x.db"', '"duckdb:///:memory:"'),
    *('"x://["', '"://"'),
    *('"${X}"', '"${X:-${Y}}"', '"${"', '"file:/nowhere"', '"file:${X}"', '"SELECT :a"'),
    *('"http://h/"', '"http://["'),
    *("[]", '["a"]', "[1, [2]]", "{}", '{ a = "b" }', "1979-05-27T07:32:00Z", "9" * 400, '"\\u0000"'),
    *('"(?P<"', "[[]]"),
    *('["((((((((((a*)*)*)*)*)*"]', '"9999999999999999999d"', '"1e400s"', '"read_only"', '"write"'),
    *('"shared"',),
)  # fmt: skip


class TomlTarget:
    name = "toml"
    share = 1
    hang_cpu_s = 2.0
    is_cut = False
    words = (*(word.encode() for word in (*_TABLES, *_KEYS, *_VALUES)), b"\n", b" = ", b"'''", b'"""')
    seeds = (
        b'version = 1\n[server]\ntokens = ["0123456789abcdef"]\n[record]\nkeep = "3d"\n',
        b'version = 1\n[[sources]]\nid = "a"\ndsn = "mysql://u:${P}@h/d?ssl=off"\nredact_patterns = ["a+"]\n',
        b'version = 1\n[[sources]]\nid = "s"\ndsn = "sqlite:///x.db"\n[[tools]]\nname = "t"\nsource = "s"\n',
        b'version = 1\n[[tools]]\nsql = "SELECT :a"\nparams.a = { type = "integer", default = 1 }\n',
        b'version = 1\n[mcpServers.a]\ncommand = "x"\nargs = ["--token", "y"]\nenv = { A = "b" }\n',
        b'version = 1\n[mcpServers.b]\nurl = "https://h/mcp"\nheaders = { A = "${T:-x}" }\n',
    )

    def __init__(self) -> None:
        folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self._folder = tempfile.TemporaryDirectory(dir=folder)
        self._path = Path(self._folder.name) / "callgate.toml"

    def run(self, pieces: Sequence[bytes]) -> Any:
        """Whether it is a configuration; if not, every problem has its sentence."""
        self._path.write_bytes(b"".join(pieces))
        try:
            load_config(Flags(config=self._path), {"X": "x", "P": "p@/:?#"})
        except ConfigProblems as problems:
            return str(problems)
        return None

    def generated(self, random: Random) -> bytes:
        lines = ["version = 1"] if random.random() < 0.9 else []
        for _ in range(random.randint(1, 4)):
            lines.append(random.choice(_TABLES))
            written = range(random.randint(0, 5))
            lines += [f"{random.choice(_KEYS)} = {random.choice(_VALUES)}" for _ in written]
        return "\n".join(lines).encode()
