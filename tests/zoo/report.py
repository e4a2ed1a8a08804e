"""docs/compatibility.md, written from results: nobody edits it by hand."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoo.compare import Difference, explained
from zoo.install import AS_OF, ROOT
from zoo.results import Result

DOCUMENT = ROOT / "docs" / "compatibility.md"

_TEMPLATE = """# Compatibility

This page shows which real MCP servers and clients were tried with Callgate, and whether their answers are the
same with and without it. `scripts/zoo` writes it; nobody edits it by hand ([how it works, and how to add a
server or client](zoo.md)).

{summary}

Packages as of {as_of}; {tools}.

How to read the tables:

- *same*: the answer was the same text as directly.
- *alike*: the answer differs from run to run even directly, and had the same shape.
- A number in brackets is an explained difference, [below](#differences-and-why).

## Servers

Each server is asked with its own tools, directly and behind a gateway. The steps are introduction, lists with
all schemas, calls, prompts, resources, progress, cancellation, questions, and a call after the server was
killed. At the end no process may be left.

By `stdio` the gateway starts with its client, and its first lists wait 4.5 s for the server. A server that
starts slower is a difference here. Where that came from a busy machine, a run with complete lists is shown
([which servers](zoo.md#when-something-differs)).

{servers}

## Clients

Each client is run against `@modelcontextprotocol/server-everything`, directly and through a gateway with a
second server; `stdio` joins that gateway. The steps are what the client's own interface offers of tools,
calls, errors, progress, prompts, resources and questions. Most SDKs first come without any capability. When
the client is gone, the processes that were started for it must be gone too.

{clients}

## Differences and why

{reasons}

## Unexplained

{unexplained}

## Not tried

{not_tried}
"""


@dataclass
class Notes:
    """Sentences that explain differences, numbered as they are first needed; and what none explains."""

    explanations: Sequence[Mapping[str, Any]]
    numbers: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)
    unexplained: list[tuple[str, str, Difference]] = field(default_factory=list)

    def cell(self, result: Result, way: str) -> str:
        found = result.ways.get(way)
        if found is None:
            return "–"
        marks: set[int] = set()
        open_ones = 0
        for each in found["differences"]:
            difference = Difference(**each)
            reasons = explained(result.name, way, difference, self.explanations)
            if not reasons:
                open_ones += 1
                self.unexplained.append((result.name, way, difference))
            for because in reasons:
                marks.add(self.numbers.setdefault(because, len(self.numbers) + 1))
                self.places.setdefault(because, []).append(result.name)
        parts = [f"{found['same']} same"]
        if found["alike"]:
            parts.append(f"{found['alike']} alike")
        if marks:
            parts.append(" ".join(f"[{mark}]" for mark in sorted(marks)))
        if open_ones:
            parts.append(f"**{open_ones} unexplained**")
        return ", ".join(parts)


def written(
    servers: Sequence[Result],
    clients: Sequence[Result],
    explanations: Sequence[Mapping[str, Any]],
    tools: str,
    missing: Sequence[str],
) -> tuple[str, list[tuple[str, str, Difference]]]:
    notes = Notes(explanations)
    server_table, client_table = _server_table(servers, notes), _client_table(clients, notes)
    reasons = [
        _item(f"{number}. ", f"{because} ({_named(notes.places[because])})")
        for because, number in notes.numbers.items()
    ]
    text = _TEMPLATE.format(
        as_of=AS_OF[:10],
        tools=tools,
        summary=_summary(servers, clients),
        servers="\n".join(server_table),
        clients="\n".join(client_table),
        reasons="\n".join(reasons) or "None.",
        unexplained="\n".join(_unexplained(notes)) or "None.",
        not_tried="\n".join(_not_tried([*servers, *clients], missing)) or "None.",
    )
    return text, notes.unexplained


def _summary(servers: Sequence[Result], clients: Sequence[Result]) -> str:
    tried = [each for each in (*servers, *clients) if each.ways]
    ways = [way for each in tried for way in each.ways.values()]
    same, alike = (sum(way[kind] for way in ways) for kind in ("same", "alike"))
    differing = sum(len(way["differences"]) for way in ways)
    running = [each for each in servers if each.ways]
    called = sum(1 for each in running if each.calls)
    clients_tried = len(tried) - len(running)
    return (
        f"{len(running)} servers ({called} of them called) and {clients_tried} clients were compared.\n"
        f"Of {same + alike + differing} answers {same} are the same as directly, {alike} are alike, "
        f"{differing} differ."
    )


def _server_table(servers: Sequence[Result], notes: Notes) -> list[str]:
    ways = ("/mcp", "/servers/x/mcp", "stdio", "/mcp, modern")
    rows = [
        "| server | package | tools, prompts, resources | calls | "
        + " | ".join(f"`{way}`" for way in ways)
        + " |",
        "|---|---|---|---|" + "---|" * len(ways),
    ]
    for each in servers:
        if each.ways:
            counts = ", ".join(str(each.counts.get(kind, 0)) for kind in ("tools", "prompts", "resources"))
            cells = " | ".join(notes.cell(each, way) for way in ways)
            rows.append(f"| {each.name} | {each.version} | {counts} | {each.calls} | {cells} |")
    return rows


def _client_table(clients: Sequence[Result], notes: Notes) -> list[str]:
    ways = ("/mcp", "/servers/x/mcp", "stdio")
    rows = [
        "| client | package | steps | " + " | ".join(f"`{way}`" for way in ways) + " |",
        "|---|---|---|" + "---|" * len(ways),
    ]
    for each in clients:
        if each.ways:
            cells = " | ".join(notes.cell(each, way) for way in ways)
            rows.append(f"| {each.name} | {each.version} | {each.calls} | {cells} |")
    return rows


def _named(names: Sequence[str]) -> str:
    different = list(dict.fromkeys(names))
    return ", ".join(different) if len(different) <= 6 else f"{len(different)} of them"


def _unexplained(notes: Notes) -> list[str]:
    if not notes.unexplained:
        return []
    rows = ["| name | way | step | directly | through the gateway |", "|---|---|---|---|---|"]
    for name, way, each in notes.unexplained:
        direct, through = map(_code, each.excerpts())
        rows.append(f"| {name} | `{way}` | {each.step} | `{direct}` | `{through}` |")
    return rows


def _not_tried(results: Sequence[Result], missing: Sequence[str]) -> list[str]:
    problems = [
        _item("- ", f"**{each.name}** ({each.version}): {_code(each.problem)}")
        for each in results
        if each.problem
    ]
    return [*problems, *(f"- **{name}**: not yet run with this state of the gateway" for name in missing)]


def _item(mark: str, text: str) -> str:
    """An item of a list in lines that can be read in an editor."""
    return textwrap.fill(
        text,
        110,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").replace("|", "/").split()).replace(str(ROOT), "…")
