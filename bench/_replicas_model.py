"""From 1 to 1,000 replicas: a queueing model of PostgreSQL that takes their flushes, with measured costs.

Each replica flushes once a second (± 25 %), or as soon as 4,096 rows wait, and the next flush begins when the
one before is committed. PostgreSQL has cores, each of which serves one transaction, and a log disk that
writes one commit after the other. Nothing else is modelled: no reads, no checkpoints, no network.
"""

import heapq
import random
import statistics
from collections.abc import Mapping

CORES = 8
LOG_BYTES_S = 200e6
_FSYNC_S = 0.002
_COMMIT_CPU_S = 0.0004  # of a transaction beside its rows: BEGIN, the batch row, COMMIT
_MOST_ROWS = 4096
_SHAPES = ((1, 100), (3, 10), (10, 100), (100, 10), (100, 100), (300, 100), (1000, 10), (1000, 100))


def simulate(
    replicas: int, rate: float, costs: Mapping[str, float], seconds: float = 30.0
) -> tuple[float, float, float]:
    """Staleness p99 in seconds, commits a second, and how much of the time its cores work."""
    chance = random.Random(replicas * 7919 + int(rate))
    # When each next flush begins, whose it is, and since when its oldest row waits.
    due = [(chance.uniform(0, 1), number, 0.0) for number in range(replicas)]
    heapq.heapify(due)
    free = [0.0] * CORES  # when each core has nothing left
    log_free = 0.0
    late: list[float] = []
    commits, worked = 0, 0.0
    while due:
        begins, number, since = heapq.heappop(due)
        if begins >= seconds:
            continue
        rows = max(1, min(round((begins - since) * rate), _MOST_ROWS))
        core = heapq.heappop(free)
        cpu = rows * costs["theirs_us"] / 1e6 + _COMMIT_CPU_S
        computed = max(core, begins + rows * costs["ours_us"] / 1e6) + cpu
        heapq.heappush(free, computed)
        size = rows * costs["log_bytes"]
        # Commits that wait for the disk together share its fsync.
        log_free = max(log_free, computed) + size / LOG_BYTES_S
        done = log_free + _FSYNC_S
        worked += cpu
        commits += 1
        taken_until = since + rows / rate
        if begins > seconds / 2:  # the queue has its length
            late += [done - since, done - (since + taken_until) / 2]
        is_behind = (begins - since) * rate > _MOST_ROWS
        heapq.heappush(
            due, (done if is_behind else max(done, begins + chance.uniform(0.75, 1.25)), number, taken_until)
        )
    p99 = statistics.quantiles(late, n=100)[98] if len(late) > 1 else 0.0
    return p99, commits / seconds, worked / seconds / CORES


def table(costs: Mapping[str, float]) -> str:
    each = (
        f"{costs['ours_us']:.0f} µs of a gateway's CPU, {costs['theirs_us']:.0f} µs of PostgreSQL's,"
        f" {costs['log_bytes']:,.0f} bytes of WAL\nand {costs['disk_bytes']:,.0f} bytes on disk"
    )
    lines = [
        f"An event of 2.7 KB costs {each}, as `scripts/bench replicas` measured it.",
        (
            f"With these costs the queue of a PostgreSQL with {CORES} cores and a log disk of"
            f" {LOG_BYTES_S / 1e6:.0f} MB/s was simulated\n(`bench/_replicas_model.py`); more than three"
            " replicas were not measured."
        ),
        "",
        "| replicas | calls/s each | calls/s | commits/s | its CPU | WAL MB/s | late by, p99 | disk a day |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for replicas, rate in _SHAPES:
        p99, commits, busy = simulate(replicas, rate, costs)
        total = replicas * rate
        disk = total * 86400 * costs["disk_bytes"] / 1e9
        log = min(total * costs["log_bytes"] / 1e6, LOG_BYTES_S / 1e6)
        late = f"{p99:.1f} s" if p99 < 3 else f"**{p99:.0f} s after 30 s: falls behind**"
        size = f"{disk:,.0f} GB" if disk < 1000 else f"{disk / 1000:,.1f} TB"
        lines.append(
            f"| {replicas:,} | {rate} | {total:,} | {commits:,.0f} | {busy:.0%} |"
            f" {log:.0f} | {late} | {size} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table({"ours_us": 16, "theirs_us": 40, "log_bytes": 2600, "disk_bytes": 2620}))
