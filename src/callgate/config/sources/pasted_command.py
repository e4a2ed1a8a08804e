"""A pasted command line: the program of an MCP server, or the line by which a client would be given one.

Owns how a line is taken apart, and what a server is called by its program. Pure. No shell reads the line
here, so what only a shell could do with it (pipes, redirections, several commands) is refused.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PROGRAM = re.compile(r"[\w./~@$%{]")
_PUNCTUATION = "();<>|&"
_CONTINUED = re.compile(r"\\\r?\n[ \t]*")
_ADDRESS = re.compile(r"https?://\S+")
_VERSION = re.compile(r"(?<=.)(?:@[^/]*|==.*|\[.*)$")
# What programs that start packages add to the name of one, and what every server is called.
_AFFIXES = re.compile(r"^(?:mcp-server-|server-mcp-|server-|mcp-)|(?:-mcp-server|-server-mcp|-mcp|-server)$")
GENERIC_NAMES = frozenset({"mcp", "server", "api", "www", "sse", "app", "com", "dist", "build", "bin", "src"})
_ENTRY_POINTS = frozenset({"index", "main", "__main__", "server", "cli", "app", "run", "start"})
_PACKAGE_RUNNERS = frozenset(
    {"npx", "bunx", "uvx", "pipx", "pnpx", "pnpm", "yarn", "bun", "uv", "dlx", "npm"}
)
_RUNNER_WORDS = frozenset({"run", "dlx", "x", "exec", "tool", "start"})
_INTERPRETERS = frozenset(
    {"python", "python3", "node", "deno", "bun", "tsx", "ruby", "php", "java", "bash", "sh"}
)
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts")
_MAX_READ_CHARS = 200
# Of a client's own `mcp add`: those with a value, and what becomes of it.
_VALUED = {
    "-t": "type", "--transport": "type", "-s": "", "--scope": "", "-e": "env", "--env": "env", "-H": "header",
    "--header": "header", "--url": "url", "--bearer-token-env-var": "bearer_token_env_var", "--cwd": "cwd",
    "--timeout": "", "--description": "", "--callback-port": "", "--client-id": "",
}  # fmt: skip


class CommandTextError(Exception):
    """Repeats no value."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(slots=True)
class ReadCommand:
    entry: dict[str, Any] = field(default_factory=dict[str, Any])
    name: str | None = None  # what the line calls it
    json: str | None = None  # it holds an entry as JSON instead


def read_command(text: str) -> ReadCommand:
    """Raises CommandTextError."""
    words = _words(text)
    match [PurePath(words[0]).name, *words[1:]]:
        case [_, "mcp", "add-json", *rest]:
            return _add_json(rest)
        case [_, "mcp", "add", *rest]:
            return _mcp_add(rest)
        case [_, "--add-mcp", entry]:
            return ReadCommand(json=entry)
        case _:
            return ReadCommand(_program(words))


def _words(text: str) -> list[str]:
    lexer = shlex.shlex(_CONTINUED.sub(" ", text), posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if word and not word.strip(_PUNCTUATION) and not _is_quoted(word, text):
                raise CommandTextError(
                    "this line needs a shell: it has a pipe, a redirection or a second command"
                )
            words.append(word)
    except ValueError:
        raise CommandTextError("a quotation mark is not closed in this line") from None
    if not words:
        raise CommandTextError("there is no program in this line")
    return words


def _is_quoted(word: str, text: str) -> bool:
    return f'"{word}"' in text or f"'{word}'" in text


def _program(words: Sequence[str]) -> dict[str, Any]:
    env: dict[str, str] = {}
    at = 1 if words[0] in ("env", "export") else 0
    while at < len(words) and (found := _ASSIGNMENT.fullmatch(words[at])) is not None:
        env[found[1]] = found[2]
        at += 1
    if at == len(words):
        raise CommandTextError("there is no program in this line")
    if not _PROGRAM.match(words[at]):
        raise CommandTextError("this does not begin with the name of a program")
    entry: dict[str, Any] = {"command": words[at], "args": list(words[at + 1 :])}
    return {**entry, "env": env} if env else entry


def _add_json(rest: list[str]) -> ReadCommand:
    plain = [word for word in rest if not word.startswith("-")]
    if len(plain) < 2:
        raise CommandTextError("the entry is missing behind its name")
    return ReadCommand(name=plain[-2], json=plain[-1])


def _mcp_add(rest: list[str]) -> ReadCommand:
    """`claude mcp add`, `codex mcp add`, `gemini mcp add`."""
    made = ReadCommand()
    words: list[str] = []
    env: dict[str, str] = {}
    at = 0
    while at < len(rest):
        word, at = rest[at], at + 1
        if word == "--":
            words += rest[at:]
            break
        flag, equals, value = word.partition("=")
        if not word.startswith("-"):
            words.append(word)
            if len(words) == 2 and not _ADDRESS.fullmatch(word):  # what follows belongs to the program
                words += [one for one in rest[at:] if one != "--"]
                break
        elif flag in _VALUED:
            if not equals:
                value, at = (rest[at], at + 1) if at < len(rest) else ("", at)
            _take_option(made.entry, env, _VALUED[flag], value)
            while flag in ("-e", "--env") and at < len(rest) and _ASSIGNMENT.fullmatch(rest[at]):
                _take_option(made.entry, env, "env", rest[at])
                at += 1
    if not words or (len(words) == 1 and "url" not in made.entry):
        raise CommandTextError("the name and the server are missing behind mcp add")
    made.name = words[0]
    if len(words) > 1 and _ADDRESS.fullmatch(words[1]):
        made.entry["url"] = words[1]
    elif len(words) > 1:
        made.entry |= {"command": words[1], "args": words[2:]}
    if "command" in made.entry and env:
        made.entry["env"] = env
    return made


def _take_option(entry: dict[str, Any], env: dict[str, str], kind: str, value: str) -> None:
    if kind == "env" and (found := _ASSIGNMENT.fullmatch(value)) is not None:
        env[found[1]] = found[2]
    elif kind == "header":
        name, _, held = value.partition(":")
        entry.setdefault("headers", {})[name.strip()] = held.strip()
    elif kind == "bearer_token_env_var":
        entry.setdefault("headers", {})["Authorization"] = f"Bearer ${{{value}}}"
    elif kind in ("url", "cwd") or (kind == "type" and value in ("http", "sse", "stdio")):
        entry[kind] = value


def name_of_command(program: str, args: Sequence[str]) -> str:
    """What people call it: the package, the image or the file that is started."""
    runner = PurePath(program).stem
    if runner in _CONTAINERS:
        return _plain_name(_image_of(args) or runner)
    if runner in _PACKAGE_RUNNERS and (package := _package_of(args)) is not None:
        return _plain_name(_script_of([package]) or package if package.endswith(_SCRIPTS) else package)
    if runner.rstrip("0123456789.") in _INTERPRETERS and (started := _script_of(args)) is not None:
        return _plain_name(started)
    return _plain_name(runner)


def _image_of(args: Sequence[str]) -> str | None:
    """Options with values look like images; an image most often has a slash and no `=`."""
    plain = [arg for arg in args if not arg.startswith(("-", "/", ".")) and "=" not in arg and arg != "run"]
    found = next((arg for arg in plain if "/" in arg), plain[-1] if plain else None)
    return found and found.rpartition(":")[0] if found and ":" in found.rpartition("/")[2] else found


def _package_of(args: Sequence[str]) -> str | None:
    for at, arg in enumerate(args):
        if arg in ("--from", "--package", "-p", "--directory", "--with") and at + 1 < len(args):
            if arg in ("--from", "--package", "-p"):
                return args[at + 1]
        elif not arg.startswith("-") and arg not in _RUNNER_WORDS and args[at - 1 : at] != ["--directory"]:
            return arg
    return None


def _script_of(args: Sequence[str]) -> str | None:
    for at, arg in enumerate(args):
        if arg == "-m" and at + 1 < len(args):
            return args[at + 1].replace("_", "-")
        if not arg.startswith("-") and arg not in _RUNNER_WORDS:
            path = PurePath(arg)
            others = [
                part for part in reversed(path.parts[:-1]) if part not in (*GENERIC_NAMES, "/", ".", "..")
            ]
            return others[0] if path.stem in _ENTRY_POINTS and others else path.stem
    return None


def _plain_name(package: str) -> str:
    """`@modelcontextprotocol/server-filesystem@1.2` is filesystem's, `@playwright/mcp` is playwright's."""
    parts = [part for part in _VERSION.sub("", package[:_MAX_READ_CHARS]).lstrip("@").split("/") if part]
    for part in reversed(parts):
        name = _AFFIXES.sub("", _AFFIXES.sub("", PurePath(part).stem.replace("_", "-")))
        if name and name not in GENERIC_NAMES:
            return name
    return parts[-1] if parts else "server"
