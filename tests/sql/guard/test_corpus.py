"""Every engine's corpus against the guard alone: all attacks refused, all honest statements allowed.

That the attacks really harm and the honest statements really run is shown by `test_<engine>_corpus.py`.
"""

from typing import Any

import pytest
from sql.corpus_files import DIALECTS, FOLDER, load, load_all, policy_for

from callgate.model.verdict import Deny
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judge import judge
from callgate.sql.guard.policy import Policy

Case = tuple[Dialect, dict[str, Any]]


def name(case: Case) -> str:
    dialect, entry = case
    return f"{dialect.name}-{entry['id']}"


@pytest.mark.parametrize("case", load_all("attacks"), ids=name)
def test_the_guard_alone_refuses_every_attack(case: Case) -> None:
    dialect, attack = case
    verdict = judge(attack["sql"], policy_for(dialect, attack)).verdict
    assert isinstance(verdict, Deny)
    assert verdict.code.code == attack["code"], verdict
    assert verdict.rule
    assert verdict.reason
    assert verdict.hint


@pytest.mark.parametrize("case", load_all("honest"), ids=name)
def test_the_guard_lets_every_honest_statement_through(case: Case) -> None:
    dialect, honest = case
    judgement = judge(honest["sql"], policy_for(dialect, honest))
    assert judgement.allowed, judgement.verdict


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_guard_refuses_every_line_of_the_further_attacks(dialect: Dialect) -> None:
    """Not run on an engine: some need a version, a file or a plugin that the tests do not have."""
    lines = (FOLDER / f"{dialect.name}_refused.txt").read_text().split("\n")
    texts = [line.replace(r"\n", "\n").replace(r"\u00a0", "\u00a0") for line in lines if line]
    assert len(texts) >= 60
    assert not [text for text in texts if judge(text, Policy(dialect)).allowed]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_honest_corpus_has_400_statements_of_each_engine(dialect: Dialect) -> None:
    assert len(load(f"{dialect.name}_honest")) >= 400
