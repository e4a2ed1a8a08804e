"""Every engine's corpus against the guard alone: all attacks refused, all honest statements allowed.

That the attacks really harm and the honest statements really run is shown by `test_<engine>_corpus.py`.
"""

from typing import Any

import pytest
from sql.corpus_files import load_all, policy_for

from callgate.model.verdict import Deny
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judge import judge

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
