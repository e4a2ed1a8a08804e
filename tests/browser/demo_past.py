"""An afternoon of five agents at the demo shop, the same in every run: what the screenshots show.

The statements are real, their answers those of the demo database.
"""

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from browser.past import PastCall, PastSession

from callgate.model.envelope import Era
from callgate.model.exchange import Outcome, StatementFacts

NOW = datetime(2026, 11, 12, 14, 32, tzinfo=UTC)
NOW_S = NOW.timestamp()

# client, version, era, minutes before NOW of begin and end (None: still here), calls, how much of it is SQL
_VISITS = (
    ("claude-code", "2.1.19", Era.MODERN, 172, 121, 90, 0.8),
    ("vscode", "1.107.0", Era.LEGACY, 148, 102, 55, 0.5),
    ("codex", "0.63.0", Era.LEGACY, 96, 64, 40, 0.9),
    ("gemini-cli", "0.14.1", Era.LEGACY, 71, 33, 60, 0.6),
    ("cursor", "1.9.2", Era.LEGACY, 44, None, 240, 0.7),
    ("claude-code", "2.1.19", Era.MODERN, 26, None, 310, 0.75),
)

# A statement, and the table it reads.
_QUESTIONS = (
    ("SELECT status, count(*) AS n FROM shop.orders GROUP BY status ORDER BY n DESC", "shop.orders"),
    (
        "SELECT country, count(*) AS n FROM shop.customers GROUP BY 1 ORDER BY n DESC LIMIT 8",
        "shop.customers",
    ),
    ("SELECT category, round(avg(price), 2) AS average FROM shop.products GROUP BY 1", "shop.products"),
    ("SELECT order_id, items, total FROM shop.order_totals ORDER BY 3 DESC LIMIT 10", "shop.order_totals"),
    ("SELECT sku, name, stock FROM shop.products WHERE stock < 15 ORDER BY stock", "shop.products"),
    ("SELECT id, name, email, city FROM shop.customers WHERE country = 'Germany' LIMIT 12", "shop.customers"),
)
_REFUSED = (
    ("DELETE FROM shop.orders WHERE status = 'cancelled'", "refused.read_only", "read_only"),
    ("DROP TABLE shop.orders", "refused.forbidden", "never"),
)
_SEARCHES = ("cart", "checkout", "mail", "cent")
_SQL_ANNOTATIONS = (
    b'{"title":"Execute SQLite Query","readOnlyHint":true,"destructiveHint":false,'
    b'"idempotentHint":false,"openWorldHint":true}'
)
_SEARCH_ANNOTATIONS = b'{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}'
_CLOSE_ANNOTATIONS = (
    b'{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}'
)


class DemoPast:
    def __init__(self, shop: Path) -> None:
        self._chance = random.Random(42)
        self._number = 0
        with closing(sqlite3.connect(f"file:{shop}?mode=ro", uri=True)) as database:
            self._answers = [self._ask(database, sql) for sql, _ in _QUESTIONS]

    def visits(self) -> Iterator[tuple[PastSession, Iterator[PastCall]]]:
        for number, (client, version, era, begin, end, count, sql_part) in enumerate(_VISITS, start=1):
            begun_s, ended_s = NOW_S - begin * 60, NOW_S - (end or 0) * 60
            times = sorted(self._chance.uniform(begun_s + 2, ended_s - 2) for _ in range(count))
            session = PastSession(number, client, version, begun_s, ended_s if end is not None else None, era)
            yield session, (self._call(at_s, sql_part) for at_s in times)

    def _call(self, at_s: float, sql_part: float) -> PastCall:
        self._number += 1
        dice = self._chance.random()
        if dice < 0.03:
            return self._refused(at_s)
        if dice < 0.05:
            return self._mistaken(at_s)
        if dice < sql_part:
            return self._asked(at_s)
        return self._of_tickets(at_s)

    def _asked(self, at_s: float) -> PastCall:
        which = self._chance.randrange(len(_QUESTIONS))
        (sql, table), answer = _QUESTIONS[which], self._answers[which]
        rows = len(answer["structuredContent"]["rows"])
        facts = StatementFacts("demo", sql, "SELECT", "read_only", "allow", None, (table,), rows)
        return PastCall(
            self._number, at_s, self._took_ms(2.4), "demo", "query", {"query": sql}, answer,
            annotations=_SQL_ANNOTATIONS, facts=facts,
        )  # fmt: skip

    def _refused(self, at_s: float) -> PastCall:
        sql, code, rule = self._chance.choice(_REFUSED)
        verb = sql.partition(" ")[0]
        said = f"Query blocked: {verb} operations are not allowed in READ-ONLY mode."
        facts = StatementFacts("demo", sql, verb, "read_only", "deny", rule)
        answer = _text(said, isError=True, _meta={"callgate/code": code, "callgate/rule": rule})
        return PastCall(
            self._number, at_s, self._took_ms(0.4), "demo", "query", {"query": sql}, answer,
            Outcome.REFUSED, code, said, _SQL_ANNOTATIONS, facts,
        )  # fmt: skip

    def _mistaken(self, at_s: float) -> PastCall:
        sql, said = "SELECT amount FROM shop.orders", "no such column: amount"
        facts = StatementFacts("demo", sql, "SELECT", "read_only", "allow", None, ("shop.orders",))
        answer = _text(said, isError=True, _meta={"callgate/code": "source.unknown_column"})
        return PastCall(
            self._number, at_s, self._took_ms(0.9), "demo", "query", {"query": sql}, answer,
            Outcome.TOOL_ERROR, "source.unknown_column", said, _SQL_ANNOTATIONS, facts,
        )  # fmt: skip

    def _of_tickets(self, at_s: float) -> PastCall:
        took_ms = self._took_ms(38.0)
        dice = self._chance.random()
        if dice < 0.7:
            words = self._chance.choice(_SEARCHES)
            found = {"tickets": [{"id": "T-1042", "title": "Export hangs for large carts", "state": "open"}]}
            return PastCall(
                self._number, at_s, took_ms, "tickets", "search_tickets", {"text": words},
                _text(json.dumps(found)), annotations=_SEARCH_ANNOTATIONS,
            )  # fmt: skip
        if dice < 0.85:
            return PastCall(
                self._number, at_s, took_ms, "tickets", "close_ticket", {"ticket": "T-1043"},
                _text("close_ticket: done"), annotations=_CLOSE_ANNOTATIONS,
            )  # fmt: skip
        if dice < 0.985:
            return PastCall(
                self._number, at_s, took_ms, "tickets", "summarize", {"ticket": "T-1041"},
                _text("summarize: done"), annotations=None,
            )  # fmt: skip
        said = "The server did not answer within 5 s"
        return PastCall(
            self._number, at_s, 5_000.0, "tickets", "summarize", {"ticket": "T-1042"},
            _text(said, isError=True), Outcome.FAILED, "upstream.timeout", said, None,
        )  # fmt: skip

    def _took_ms(self, typical_ms: float) -> float:
        return round(typical_ms * self._chance.lognormvariate(0, 0.7), 3)

    @staticmethod
    def _ask(database: sqlite3.Connection, sql: str) -> dict[str, Any]:
        found = database.execute(sql.replace("shop.", ""))
        names = [column[0] for column in found.description]
        rows = [list(row) for row in found]
        lines = [names, ["---"] * len(names), *rows]
        table = "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
        kinds = ["integer" if isinstance(cell, int) else "real" if isinstance(cell, float) else "text"
                 for cell in rows[0]]  # fmt: skip
        columns = [{"name": name, "type": kind} for name, kind in zip(names, kinds, strict=True)]
        content = {"columns": columns, "rows": rows, "rowCount": len(rows), "executionTime": 0.4}
        said = f"{table}\n\n{len(rows)} rows in 0.4 ms"
        return _text(said, structuredContent=content | {"truncated": False})


def _text(said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}
