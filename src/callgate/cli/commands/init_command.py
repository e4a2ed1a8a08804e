"""`callgate init`: a first `callgate.toml`, with everything that is common in it as a comment."""

from pathlib import Path

from callgate.cli.terminal import print_line
from callgate.config.sources.file import FILE_NAME
from callgate.model.error_codes import SETUP_CONFIG
from callgate.model.errors import SetupError

# A line that begins with "#" and no blank is a setting that can be switched on by removing the "#".
_TEXT = """\
# Callgate reads this file when it is started in this folder. After a change: callgate config check
# Every key: docs/configuration.md, or callgate config schema
version = 1

[server]
listen = "127.0.0.1:7420"
# Nothing listens beyond this machine without a token. ${NAME} is a variable of the environment.
#tokens = [{ token = "${ALICE_TOKEN}", principal = "alice" }]

# Databases: mysql, mariadb, postgres, sqlite, duckdb; Parquet, CSV and JSON files by duckdb:///file.parquet.
# Agents only read, unless you write mode = "write". Each is offered as <id>__query, <id>__search_objects…
#[[sources]]
#id = "shop"
#dsn = "postgres://agent:${SHOP_PASSWORD}@db.example.com/shop"
#timeout_s = 30
#max_rows = 1000

#[[sources]]
#id = "notes"
#dsn = "sqlite:///notes.db"

# A tool of your own: one statement, with parameters that cannot change what it does.
#[[tools]]
#name = "orders_of_customer"
#source = "shop"
#description = "The orders of one customer, newest first"
#sql = "SELECT * FROM orders WHERE customer_id = :customer ORDER BY created_at DESC"
#params.customer = { type = "integer", description = "The customer's id" }

# MCP servers, as any client's configuration has them.
#[mcpServers.files]
#command = "npx"
#args = ["-y", "@modelcontextprotocol/server-filesystem", "."]

#[mcpServers.github]
#url = "https://api.githubcopilot.com/mcp/"
#headers = { Authorization = "Bearer ${GITHUB_TOKEN}" }

# What is kept of every call. Passwords, keys and tokens are removed before anything is written.
[record]
keep = "30d"
max_size = "2GiB"
#redact_keys = ["iban"]

# Refuse tools of MCP servers that do not say that they are harmless.
#[policy]
#destructive = "deny"
"""


def run_init(folder: Path) -> None:
    path = folder / FILE_NAME
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(_TEXT)
    except FileExistsError:
        hint = "Edit it, or remove it first. callgate config check says whether it is right"
        raise SetupError(SETUP_CONFIG, f"There is a file {path} already", hint=hint) from None
    print_line(f"Wrote {path}. Name your databases and servers in it, then: callgate")
