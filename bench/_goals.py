"""The table of goals on docs/performance.md, made of one run of the gateway benchmark."""

from collections.abc import Callable, Sequence

from _load import Sample, median_of

HTTP, STDIO = "Callgate, HTTP upstream", "Callgate, stdio upstream"
AGGREGATE = "Callgate, aggregate /mcp, HTTP upstream"
MODERN = "Callgate, HTTP upstream, modern era, recording off"
# What is measured, its target's name, and the least part of nginx's calls a second.
_OF_NGINX = (
    ("HTTP server, recording off", f"{HTTP}, recording off", 0.50),
    ('HTTP server, `sync = "interval"`', f'{HTTP}, sync = "interval"', 0.40),
    ('HTTP server, `sync = "reply"`', HTTP, 0.33),
    ("stdio server, recording off", f"{STDIO}, recording off", 0.80),
    ('stdio server, `sync = "interval"`', f'{STDIO}, sync = "interval"', 0.55),
    ('stdio server, `sync = "reply"`', STDIO, 0.55),
)
# What is measured, its target's name, and whose calls a second it is held against.
_OF_OURS = (
    ('`/mcp` against `/servers/x/mcp`, `sync = "reply"`', AGGREGATE, HTTP),
    ("modern clients against legacy ones, recording off", MODERN, f"{HTTP}, recording off"),
)
_LEAST_OF_OURS = 0.90
_TIMES_FASTMCP = 100
_MOST_OVER_NGINX_MS = 0.15

# The samples of a target, by its name and the number of connections.
Samples = Callable[[str, int], list[Sample]]
Ratio = Callable[[list[Sample], list[Sample]], float | None]


def goals_table(
    samples: Samples, ratio: Ratio, peers: tuple[str | None, str | None], connections: Sequence[int]
) -> str:
    """`peers`: the names of nginx and FastMCP, where they took part."""
    nginx, fastmcp = peers
    many = max(connections)
    lines = [f"| {many} connections | goal | now | CPU µs a call |", "|---|---|---|---|"]
    if nginx is not None:
        theirs = samples(nginx, many)
        for title, name, least in _OF_NGINX:
            ours = samples(name, many)
            part = ratio(ours, theirs) or 0.0
            cpu = f"{median_of(ours).cpu_us:.0f} (nginx {median_of(theirs).cpu_us:.0f})"
            lines.append(_line(title, f"{least:.0%} of nginx", f"{part:.0%}", cpu, is_met=part >= least))
    for title, name, other in _OF_OURS:
        ours, others = samples(name, many), samples(other, many)
        part = ratio(ours, others) or 0.0
        cpu = f"{median_of(ours).cpu_us:.0f} ({median_of(others).cpu_us:.0f})"
        is_met = part >= _LEAST_OF_OURS
        lines.append(_line(title, f"{_LEAST_OF_OURS:.0%}", f"{part:.0%}", cpu, is_met=is_met))
    if fastmcp is not None:
        ours, theirs = samples(HTTP, many), samples(fastmcp, many)
        times = ratio(ours, theirs) or 0.0
        cpu = f"{median_of(ours).cpu_us:.0f} ({median_of(theirs).cpu_us:.0f})"
        goal, is_met = f"{_TIMES_FASTMCP} × FastMCP", times >= _TIMES_FASTMCP
        lines.append(_line('HTTP server, `sync = "reply"`', goal, f"{times:.0f} ×", cpu, is_met=is_met))
    if nginx is not None and 1 in connections:
        ours, theirs = median_of(samples(f"{HTTP}, recording off", 1)), median_of(samples(nginx, 1))
        over_ms = ours.p50_ms - theirs.p50_ms
        goal, is_met = f"{_MOST_OVER_NGINX_MS} ms over nginx", over_ms <= _MOST_OVER_NGINX_MS
        cpu = f"{ours.cpu_us:.0f} (nginx {theirs.cpu_us:.0f})"
        lines.append(
            _line("1 connection, p50, recording off", goal, f"{over_ms:+.2f} ms", cpu, is_met=is_met)
        )
    return "\n".join(lines)


def _line(title: str, goal: str, now: str, cpu: str, *, is_met: bool) -> str:
    return f"| {title} | {goal} | {now}{'' if is_met else ' (missed)'} | {cpu} |"
