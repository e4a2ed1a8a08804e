"""docs/configuration.md and .env.example know every key and variable, and no variable too many."""

import re
from pathlib import Path

import pytest

from callgate.config.load import load_config
from callgate.config.sources.environment import CONFIG_VARIABLE, STATE_DIR_VARIABLE, scalar_variables
from callgate.config.sources.environment_sources import MYSQL_VARIABLES, URL_VARIABLES
from callgate.config.specs.config import (
    Config,
    McpServerSpec,
    OtelSpec,
    PolicySpec,
    RecordSpec,
    ReplicasSpec,
    ServerSpec,
    SourceSpec,
    TokenSpec,
    ToolParamSpec,
    ToolSpec,
)
from callgate.config.specs.spec import known_keys
from callgate.config.specs.ssh import SshSpec

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/configuration.md").read_text("utf-8")
EXAMPLE = (ROOT / ".env.example").read_text("utf-8")
VARIABLES = {*scalar_variables(), CONFIG_VARIABLE, STATE_DIR_VARIABLE, *MYSQL_VARIABLES, *URL_VARIABLES}


def section(heading: str) -> str:
    found = re.search(rf"^### `{re.escape(heading)}`.*?(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section {heading}"
    return found[0]


@pytest.mark.parametrize(
    ("heading", "spec"),
    [
        ("[server]", ServerSpec),
        ("[server]", TokenSpec),
        ("[[sources]]", SourceSpec),
        ("[sources.ssh]", SshSpec),
        ("[[tools]]", ToolSpec),
        ("[[tools]]", ToolParamSpec),
        ("[mcpServers.<name>]", McpServerSpec),
        ("[record]", RecordSpec),
        ("[policy]", PolicySpec),
        ("[otel]", OtelSpec),
        ("[replicas]", ReplicasSpec),
    ],
)
def test_every_key_is_in_its_section_of_the_page(heading: str, spec: type) -> None:
    text = section(heading)
    assert [key for key in known_keys(spec) if f"`{key}`" not in text] == []


def test_every_table_is_on_the_page() -> None:
    assert [key for key in known_keys(Config) if key not in PAGE] == []


def test_every_variable_is_on_the_page_and_in_the_example() -> None:
    assert [name for name in sorted(VARIABLES) if f"`{name}`" not in PAGE] == []
    listed = set(re.findall(r"^#?([A-Z][A-Z_]+)=", EXAMPLE, re.MULTILINE))
    assert listed - {"CALLGATE_TOKEN"} == VARIABLES


def test_the_page_s_example_is_a_valid_file(tmp_path: Path) -> None:
    found = re.search(r"```toml\n(version = 1\n.*?)```", PAGE, re.DOTALL)
    assert found is not None
    (tmp_path / "callgate.toml").write_text(found[1])
    environ = {
        "CALLGATE_TOKEN": "8d41f0c7b29e6a35d07c1f84be52a963",
        "SHOP_PASSWORD": "x",
        "GITHUB_TOKEN": "x",
    }
    loaded = load_config(environ=environ)
    assert loaded.warnings == ()
    assert [source.id for source in loaded.config.sources] == ["shop"]


def test_the_defaults_on_the_page_are_the_defaults() -> None:
    sections = {
        "[server]": ServerSpec,
        "[record]": RecordSpec,
        "[policy]": PolicySpec,
        "[otel]": OtelSpec,
        "[replicas]": ReplicasSpec,
    }
    for heading, spec in sections.items():
        text = section(heading)
        for key, value in spec().shown().items():
            written = {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value
            row = next(line for line in text.splitlines() if line.startswith(f"| `{key}`"))
            assert (f'`"{written}"`' if isinstance(value, str) else f"`{written}`") in row, key
