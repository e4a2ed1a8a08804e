"""What the SQL guard alone costs: a statement of a new shape and of a known one, on each dialect.

CPU time of this thread, without a database. "Short" are the statements below, of 30 to 110 characters, in the
words that all four engines share; "corpus" are the honest reads of the corpora of at most 200 characters.
Each figure is the median over the rounds of the mean over the statements. `--each` shows them one by one.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.engines.postgres.dialect.dialect import POSTGRES
from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judge import judge
from callgate.sql.guard.policy import Policy
from callgate.sql.server.verdicts import Verdicts

CORPUS = Path(__file__).parents[1] / "tests" / "sql" / "corpus"
MOST_CHARS = 200
# `%n` is another number in each text of a shape.
SHORT = (
    "SELECT * FROM customers LIMIT %n",
    "SELECT count(*) FROM orders WHERE status = 'paid %n'",
    "SELECT id, name, price FROM products WHERE price > %n ORDER BY price DESC LIMIT 20",
    "SELECT status, count(*) AS n, sum(amount) AS total FROM orders GROUP BY status ORDER BY n DESC LIMIT %n",
    "SELECT DISTINCT city FROM customers WHERE country IN ('DE', 'FR') AND id <> %n ORDER BY city",
    "SELECT id, customer, amount, placed, note FROM orders WHERE note <> 'note %n' AND id = 4711",
    "SELECT c.name, o.amount FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.amount > %n",
    "SELECT name FROM customers WHERE name LIKE 'a%n%' AND created BETWEEN '2024-01-01' AND '2024-12-31'",
    "SELECT CASE WHEN amount > %n THEN 'large' ELSE 'small' END AS size, avg(amount) FROM orders GROUP BY 1",
    "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE amount > %n) ORDER BY name",
    "WITH big AS (SELECT * FROM orders WHERE amount > %n) SELECT id, max(amount) FROM big GROUP BY id",
    "SELECT o.id, coalesce(name, '-') FROM orders o LEFT JOIN customers c ON c.id = o.by_id WHERE o.id = %n",
)


def cpu_us(work: Callable[[], object]) -> float:
    started = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - started) / 1_000


def new_shape(policy: Policy, text: str) -> float:
    """As the server meets a text of which nothing is known: looked up, judged and remembered."""
    verdicts = Verdicts(policy)
    return cpu_us(lambda: verdicts.judged(text.replace("%n", "1")))


def known_shape(policy: Policy, text: str) -> float:
    verdicts = Verdicts(policy)
    verdicts.judged(text.replace("%n", "1"))
    other = text.replace("%n", "2")
    return cpu_us(lambda: verdicts.judged(other))


def short_texts(dialect: Dialect) -> list[str]:
    policy = Policy(dialect)
    for text in SHORT:
        verdict = judge(text.replace("%n", "1"), policy).verdict
        if not judge(text.replace("%n", "1"), policy).allowed:
            raise SystemExit(f"{dialect.name} refuses {text}: {verdict}")
    return list(SHORT)


def corpus_texts(dialect: Dialect) -> list[str]:
    lines = (CORPUS / f"{dialect.name}_honest.jsonl").read_text().split("\n")
    entries = [json.loads(line) for line in lines if line]
    return [one["sql"] for one in entries if "mode" not in one and len(one["sql"]) <= MOST_CHARS]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--each", action="store_true")
    options = parser.parse_args()
    print(f"{'CPU µs':10} {'texts':>8} {'statements':>11} {'new shape':>10} {'known shape':>12}")
    for dialect in (SQLITE, MYSQL, DUCKDB, POSTGRES):
        policy = Policy(dialect)
        for name, texts in (("short", short_texts(dialect)), ("corpus", corpus_texts(dialect))):
            measured = {
                text: (
                    statistics.median(new_shape(policy, text) for _ in range(options.rounds)),
                    statistics.median(known_shape(policy, text) for _ in range(options.rounds)),
                )
                for text in texts
            }
            new = statistics.mean(new for new, _ in measured.values())
            known = statistics.mean(known for _, known in measured.values())
            print(f"{dialect.name:10} {name:>8} {len(texts):11} {new:10.1f} {known:12.1f}")
            if options.each:
                for text, (new, known) in measured.items():
                    print(f"{new:42.1f} {known:12.1f}  {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
