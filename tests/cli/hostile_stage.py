"""A gateway with hostile servers, and a terminal to show what commands say of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from cli.terminal_stage import Shown, run_on_terminal
from end_to_end.gateway_process import CALLGATE, clean_environment


@dataclass(frozen=True, slots=True)
class Stage:
    """A gateway with hostile servers, in a folder with a hostile name, and calls in its record."""

    state: Path
    config: Path
    url: str

    def run(
        self, *arguments: str, until: str | None = None, answers: Mapping[str, str] | None = None
    ) -> Shown:
        environment, folder = clean_environment(self.state), self.config.parent
        return run_on_terminal([*CALLGATE, *arguments], environment, folder, until=until, answers=answers)

    def call_id(self, tool: str) -> str:
        with urlopen(f"{self.url}/api/v1/tool-calls?tool=hostile__{tool}") as answer:
            return json.load(answer)["tool_calls"][0]["id"]


def toml_text(text: str) -> str:
    """TOML has the same escapes as JSON, and wants DEL escaped too."""
    return json.dumps(text).replace("\x7f", "\\u007f")
