"""A campaign: generate, judge, run what is allowed without our engine layer, and compare the state.

The state is looked at after a batch of statements; when it differs, the batch is run again one by one to find
the statement that did it.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from sql.corpus_files import FOLDER, load
from sql.fuzz.compose import Composer
from sql.fuzz.engines.engine import Engine, differences
from sql.fuzz.mutate import Mutator
from sql.other_values import judged_with_values, seen, with_other_values

from callgate.sql.guard.judge import judge
from callgate.sql.guard.judgement import Judgement
from callgate.sql.guard.policy import Policy
from callgate.sql.server.verdicts import Verdicts

_BATCH = 200
_QUICK_S = 0.05  # slow statements have slow offspring
_SLOW_S = 0.1  # the design's promise for a hostile text of 10,000 characters


@dataclass
class Summary:
    statements: int = 0
    allowed: int = 0
    ran: int = 0
    failed: int = 0  # the engine had an error
    crashes: list[str] = field(default_factory=list)  # the guard raised
    changes: list[str] = field(default_factory=list)
    opinions: list[str] = field(default_factory=list)  # the engine's parser sees what must not be there
    shapes: list[str] = field(default_factory=list)  # judged otherwise when something is remembered
    known_shapes: int = 0
    slow: list[str] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)
    elapsed_s: float = 0.0

    @property
    def is_clean(self) -> bool:
        return not (self.crashes or self.changes or self.opinions or self.shapes)

    def __str__(self) -> str:
        counts = f"{self.statements:,} statements, {self.allowed:,} allowed, {self.ran:,} ran to their end"
        found = f"{len(self.changes)} changes, {len(self.crashes)} crashes, {len(self.opinions)} opinions"
        lines = [
            f"{counts}, {self.failed:,} failed at the engine, {self.elapsed_s:.0f} s",
            f"{found}, {len(self.slow)} judged in more than {_SLOW_S:g} s",
            f"{self.known_shapes:,} of a known shape, {len(self.shapes)} of them judged otherwise",
            "refused by: " + ", ".join(f"{rule} {count:,}" for rule, count in self.rules.most_common()),
        ]
        for title in ("changes", "crashes", "opinions", "shapes", "slow"):
            lines += [f"  {title}: {entry}" for entry in getattr(self, title)[:20]]
        return "\n".join(lines)


def seeds_of(engine: str) -> list[str]:
    """Its own corpora twice, the others' once: what one engine reads as a text is a command to another."""
    seeds: list[str] = []
    for path in sorted(FOLDER.glob("*.jsonl")):
        entries = [entry["sql"] for entry in load(path.stem)]
        seeds += entries * 2 if path.stem.startswith(engine) else entries
    return seeds


class _Source:
    """Where statements come from."""

    def __init__(self, engine: Engine, seeds: Sequence[str], random: Random) -> None:
        self._random = random
        self.mutator = Mutator(seeds, random)
        self._composer = Composer(engine.dialect, engine.tables, random)
        self._dialect = engine.dialect
        self._last = ""

    def next(self) -> str:
        """Now and then the last one again, with other values in it."""
        chosen = self._random.random()
        if chosen < 0.25:
            self._last = with_other_values(self._last, self._dialect, self._random)
        else:
            self._last = self._composer.composed() if chosen < 0.5 else self.mutator.mutated()
        return self._last


@dataclass
class Campaign:
    engine: Engine
    policy: Policy
    statements: int
    seed: int
    report: Callable[[str], None] = lambda line: None
    seeds: Sequence[str] = ()  # what is taken apart and mixed; of all corpora if none are given

    def __post_init__(self) -> None:
        self._verdicts = Verdicts(self.policy)

    def run(self) -> Summary:
        summary = Summary()
        started = time.monotonic()
        seeds = self.seeds or seeds_of(self.engine.dialect.name)
        source = _Source(self.engine, seeds, Random(self.seed))
        batch: list[Judgement] = []
        while summary.statements < self.statements:
            if (judgement := self._judged(source.next(), summary)) is not None:
                batch.append(judgement)
            is_last = summary.statements == self.statements
            if len(batch) == _BATCH or (is_last and batch):
                self._run_batch(batch, summary, source.mutator)
                batch = []
            if summary.statements % 10_000 == 0 or is_last:
                summary.elapsed_s = time.monotonic() - started
                self.report(str(summary).partition("\n")[0])
        return summary

    def _judged(self, sql: str, summary: Summary) -> Judgement | None:
        summary.statements += 1
        started = time.thread_time()  # the machine may be busy with others
        try:
            judgement = judge(sql, self.policy)
        except Exception as error:  # noqa: BLE001 - a guard that raises is what we look for
            summary.crashes.append(f"{type(error).__name__}: {error} <- {sql!r}")
            return None
        if (took_s := time.thread_time() - started) > _SLOW_S:
            summary.slow.append(f"{took_s:.2f} s <- {sql[:300]!r}")
        self._compare(sql, judgement, summary)
        if not judgement.allowed:
            summary.rules[judgement.rule or "?"] += 1
            return None
        summary.allowed += 1
        return judgement

    def _compare(self, sql: str, judgement: Judgement, summary: Summary) -> None:
        """What is remembered of its shape; what the guard in full says, and its rules see all values."""
        if (known := self._verdicts.remembered(sql)) is None:
            known = self._verdicts.judge(sql)
        else:
            summary.known_shapes += 1
        with_values = judged_with_values(sql, self.policy)
        if known != judgement or seen(known) != seen(with_values):
            summary.shapes.append(f"{known.verdict}, {with_values.verdict} <- {sql!r}")

    def _run_batch(self, batch: list[Judgement], summary: Summary, mutator: Mutator) -> None:
        engine = self.engine
        clean = engine.state()
        texts = [statement.text for judgement in batch for statement in judgement.statements]
        for text in texts:
            started = time.monotonic()
            if engine.run(text) is None:
                summary.ran += 1
                if time.monotonic() - started < _QUICK_S:
                    mutator.learn(text)
            else:
                summary.failed += 1
            if (opinion := engine.opinion(text)) is not None:
                summary.opinions.append(f"{opinion} <- {text!r}")
        if not differences(clean, engine.state()):
            return
        engine.reset()
        clean = engine.state()
        found_before = len(summary.changes)
        for text in texts:
            engine.run(text)
            if found := differences(clean, engine.state()):
                summary.changes.append(f"{'; '.join(found)} <- {text!r}")
                engine.reset()
                clean = engine.state()
        if len(summary.changes) == found_before:
            summary.changes.append(f"{len(texts)} statements changed something that none changes alone")


def to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
