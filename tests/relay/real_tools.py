"""Definitions of tools as 20 real servers list them, and questions about them.

`real_tools.jsonl` was written down from servers of npm (`@modelcontextprotocol/server-` filesystem, memory,
everything and sequential-thinking 2026.8.31, github 2025.4.8, slack and gitlab 2025.4.25, google-maps 0.6.2,
puppeteer 2025.5.12; `@playwright/mcp` 0.0.83, `@notionhq/notion-mcp-server` 2.5.2, `mcp-server-kubernetes`
4.1.7, `chrome-devtools-mcp` 1.11.0, `mongodb-mcp-server` 3.0.4) and of PyPI (`mcp-server-` git and time
2026.10.19, fetch 2026.10.24, sqlite 2025.4.25; `redis-mcp-server` 0.5.1,
`awslabs.aws-documentation-mcp-server` 1.2.3), all under the MIT or the Apache 2.0 licence.

Run as a program it is the stdio server that lists one of these servers' tools: `real_tools.py <server>`.
"""

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_Json = dict[str, Any]


def tools_by_server() -> dict[str, list[_Json]]:
    found: dict[str, list[_Json]] = {}
    with (HERE / "real_tools.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            found.setdefault(entry["server"], []).append(entry["tool"])
    return found


def questions(which: str) -> list[tuple[str, list[str]]]:
    """Words, and the tools that would be right. By hand, before the search was made to find them; the set
    `held_out` was written when the search was done, and nothing was changed for it."""
    told = json.loads((HERE / "tool_questions.json").read_text(encoding="utf-8"))
    return [(words, right) for words, right in told[which]]


def serve(server: str) -> None:
    tools = tools_by_server()[server]
    info = {"name": server, "version": "1"}
    introduction = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answers: dict[str, _Json] = {"initialize": introduction, "tools/list": {"tools": tools}, "ping": {}}
        result = answers.get(message["method"], {"content": [{"type": "text", "text": server}]})
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        sys.stdout.write(json.dumps(answer, separators=(",", ":")) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
