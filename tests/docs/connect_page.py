"""The part of docs/connect.md with a section for each client, from the definition that the page shows.

`PYTHONPATH=tests .venv/bin/python -m docs.connect_page` writes it anew.
"""

from pathlib import Path

from docs.markdown_blocks import ROOT

from callgate.config.mcp_clients import CLIENTS, Door, McpClient

PAGE = ROOT / "docs" / "connect.md"
OPEN = Door("http://127.0.0.1:7420/mcp", program="/path/to/callgate")
LOCKED = Door("https://callgate.example.com/mcp", needs_token=True, program="/path/to/callgate")
BEGIN, END = "<!-- clients: begin -->\n", "<!-- clients: end -->\n"
KINDS = {
    "json": "json",
    "toml": "text",
    "yaml": "text",
}  # `toml` is a configuration of ours in these documents


def sections() -> str:
    return "\n".join(map(_section, CLIENTS))


def with_sections(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + sections() + END + rest.partition(END)[2]


def _section(client: McpClient) -> str:
    lines = [f"### {client.title}", ""]
    lines += ["| where | file |", "|---|---|"]
    lines += [f"| {file.system} | `{file.path}` |" for file in client.files]
    if client.note:
        lines += ["", *_wrapped(client.note)]
    lines += _entry(client, OPEN)
    if client.transport == "http":
        lines += ["", "With a token:", *_entry(client, LOCKED)]
    if client.command:
        lines += ["", "Or in a shell:", "", "```sh", client.command(OPEN), client.command(LOCKED), "```"]
    if client.link:
        lines += ["", "A link that adds it; the client asks first:", "", "```text", client.link(OPEN), "```"]
    return "\n".join(lines) + "\n"


def _entry(client: McpClient, door: Door) -> list[str]:
    return ["", f"```{KINDS[client.syntax]}", client.entry(door), "```"]


def _wrapped(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= 118:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


if __name__ == "__main__":
    Path(PAGE).write_text(with_sections(PAGE.read_text()))
