"""sqlglot's compiled modules (sqlglotc): they are passed over, and never the reason to refuse everything."""

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest
import sqlglot

from callgate.sql.guard.sqlglot_source import refuse_compiled

_JUDGE = """
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.guard.judge import judge_in_full
from callgate.sql.guard.policy import Policy

print(judge_in_full("SELECT a FROM t WHERE b = 1", Policy(MYSQL)).allowed)
print(judge_in_full("SELECT * FROM t" + " JOIN t" * 22, Policy(MYSQL)).rule)
"""


def test_where_compiled_modules_are_installed_the_source_is_read(tmp_path: Path) -> None:
    package = tmp_path / "sqlglot"
    package.mkdir()
    for part in Path(sqlglot.__file__).parent.iterdir():
        (package / part.name).symlink_to(part)
    for name in ("parser", "errors", "tokenizer_core"):
        (package / f"{name}{EXTENSION_SUFFIXES[0]}").write_text("whoever loads this fails")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _JUDGE], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["True", "parser_budget"], done.stderr


def test_a_parser_that_was_loaded_in_its_compiled_form_is_named() -> None:
    loaded = ModuleType("sqlglot.parser")
    loaded.__file__ = f"/x/sqlglot/parser{EXTENSION_SUFFIXES[0]}"
    with pytest.raises(RuntimeError, match="Uninstall sqlglotc"):
        refuse_compiled(loaded)
