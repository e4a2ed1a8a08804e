"""What a document shows is so: its consoles are typed here, its configurations loaded, its JSON read."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest
from docs.markdown_blocks import ROOT, Block, Command, blocks, commands
from docs.printed import is_printed

from callgate.app.setup.setup_problems import setup_problems
from callgate.config.load import load_config
from callgate.config.sources.flags import Flags
from callgate.wire.framing.sse import SseDecoder

# text: a drawing, an output of no command. sql: for somebody else's database. nginx: tests/replicas runs it.
KINDS = {"console", "toml", "json", "python", "sql", "sh", "sse", "text", "nginx"}
SERVES = {"scripts/run", "callgate"}  # without arguments: it goes on until the document ends
ADDRESS = "http://127.0.0.1:7420"  # in documents
HOME = "/home/you"
PATIENCE_S = 120  # a hang detector


def test_every_block_says_what_it_is() -> None:
    assert [f"{block}: {block.kind!r}" for block in blocks() if block.kind not in KINDS] == []


def test_what_is_not_run_says_why() -> None:
    assert [str(block) for block in blocks() if block.not_run is not None and len(block.not_run) < 10] == []


# ---- consoles


@dataclass(slots=True)
class Desk:
    """Where a document's commands are typed: a home of its own, and the gateway that the document started."""

    folder: Path
    stack: ExitStack
    url: str = ADDRESS

    def environment(self) -> dict[str, str]:
        bin_folder = Path(sys.executable).parent
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        kept["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
        return kept | {"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(self.folder), "TERM": "dumb"}

    def here(self, text: str) -> str:
        """As it reads on this machine."""
        return text.replace(ADDRESS, self.url).replace(HOME, str(self.folder))

    def type(self, command: Command) -> None:
        typed = command.typed.replace("scripts/run", "callgate")  # which it passes its arguments on to
        if command.typed in SERVES:
            printed = self.stack.enter_context(self._serving(f"{typed} serve --port 0"))
        else:
            printed = self.run(self.here(typed))
        assert is_printed(self.here(command.printed), printed), f"$ {command.typed}\n{printed}"

    def run(self, typed: str) -> str:
        done = subprocess.run(
            ["bash", "-c", typed], env=self.environment(), cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        return done.stdout

    @contextmanager
    def _serving(self, typed: str) -> Iterator[str]:
        process = subprocess.Popen(
            shlex.split(typed), env=self.environment(), cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stderr is not None
        try:
            printed = ""
            while "claude mcp add" not in printed:  # its last line
                line = process.stderr.readline()
                assert line, printed
                printed += line
            found = re.search(r"http://127\.0\.0\.1:\d+", printed)
            assert found is not None
            self.url = found[0]
            yield printed
        finally:
            process.terminate()
            process.communicate()


CONSOLES = [
    list(of_document) for _, of_document in groupby(blocks("console"), key=lambda block: block.document)
]


@pytest.mark.parametrize("consoles", CONSOLES, ids=lambda consoles: consoles[0].document.name)
def test_what_is_typed_prints_what_is_shown(consoles: list[Block], tmp_path: Path) -> None:
    """All of a document in order, as somebody who reads it would."""
    with ExitStack() as stack:
        desk = Desk(tmp_path, stack)
        for block in consoles:
            if block.before is not None:
                desk.run(block.before)
            if block.not_run is None:
                for command in commands(block):
                    desk.type(command)


# ---- the others


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_a_configuration_is_one_that_is_taken(block: Block, tmp_path: Path) -> None:
    """A part of one is completed with what it says it belongs to."""
    text = block.body if "version = 1" in block.body else f"version = 1\n{block.body}"
    text = text.replace("unix:/run/callgate/", f"unix:{tmp_path}/")  # a service's folder, which is not here
    if 'source = "shop"' in text and "[[sources]]" not in text:
        text += '\n[[sources]]\nid = "shop"\ndsn = "sqlite:///shop.db"\n'
    file = tmp_path / "callgate.toml"
    file.write_text(text)
    environment = dict.fromkeys(re.findall(r"\$\{(\w+)", text), "a-word-that-is-long-enough-1234567890")
    loaded = load_config(Flags(config=file), environment)
    assert loaded.warnings == ()
    assert list(setup_problems(loaded.config)) == []


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_json_is_json(block: Block) -> None:
    json.loads(block.body)


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_python_is_python_and_imports_what_there_is(block: Block) -> None:
    code = compile(block.body, str(block), "exec")
    imports = "\n".join(line for line in block.body.splitlines() if line.startswith(("import ", "from ")))
    exec(imports, {})
    assert code is not None


@pytest.mark.parametrize("block", blocks("sse"), ids=str)
def test_an_event_is_one(block: Block) -> None:
    (event,) = SseDecoder().feed(block.body.encode() + b"\n")
    assert event.data


@pytest.mark.parametrize("block", blocks("sh"), ids=str)
def test_every_script_that_is_named_is_there(block: Block) -> None:
    named = re.findall(
        r"^(?:python |\.venv/bin/python )?((?:scripts|docs|evals)/\S+)", block.body, re.MULTILINE
    )
    assert [name for name in named if not (ROOT / name).is_file()] == []
