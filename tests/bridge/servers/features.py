"""What every upstream of the matrix offers, written once: no SDK, no era, no transport.

A tool, prompt or resource gets a `Turn`: its request, as the era and the SDK below make it possible to ask
the client, report progress, log or tell of a change. `legacy_server.py` (mcp 1.x) and `reference_server.py`
(mcp 2.3) are the counterparts. Runs in both SDKs' environments, so it imports nothing of either.
"""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import anyio

Json = dict[str, Any]
INVALID_PARAMS = -32602
# The revisions differ (changelog of 2026-07-28, minor change 6): only the SDK's side knows which one it is.
RESOURCE_NOT_FOUND = "resource not found"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
PIECE_S = 0.05
IMPATIENCE_S = 0.3  # the gateway looks for further questions for a moment, and is to be done with that
PATIENCE_S = 60.0  # only so that nothing of a failed test waits for ever


class RefusedError(Exception):
    """A JSON-RPC error; the code may be one that the era chooses."""

    def __init__(self, code: int | str, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Turn(Protocol):
    is_modern: bool

    async def ask_all(self, questions: dict[str, Json]) -> dict[str, Json]:
        """All at once; each has `method` and `params`, and comes back under its key."""
        ...

    async def progress(self, done: float, total: float, message: str) -> None: ...
    async def log(self, level: str, data: Any) -> None: ...
    async def changed(self, kind: str) -> None: ...
    async def updated(self, uri: str) -> None: ...


async def ask(turn: Turn, key: str, method: str, params: Json) -> Json:
    return (await turn.ask_all({key: {"method": method, "params": params}}))[key]


class Features:
    """One server's offers. `marks` is a folder where it writes what no answer can tell."""

    def __init__(self, name: str, marks: Path) -> None:
        self._marks = marks
        self.root = f"bridge://{name}"
        self.renamed = {"tools": "newest", "prompts": "newest", "resources": "newest"}
        self.tools: dict[str, tuple[Callable[[Turn, Json], Awaitable[Json]], Json]] = {
            "echo": (self._echo, _object(text={"type": "string"})),
            "add": (self._add, _object(a={"type": "integer"}, b={"type": "integer"})),
            "fail": (self._fail, _object()),
            "count": (self._count, _object()),
            "wait": (self._wait, _object(mark={"type": "string"})),
            "log": (self._log, _object()),
            "ask_name": (self._ask_name, _object()),
            "ask_back": (self._ask_back, _object(word={"type": "string"})),
            "ask_twice": (self._ask_twice, _object()),
            "ask_at_once": (self._ask_at_once, _object()),
            "ask_between": (self._ask_between, _object()),
            "ask_then_wait": (self._ask_then_wait, _object(word={"type": "string"})),
            "ask_impatient": (self._ask_impatient, _object(word={"type": "string"})),
            "numbers": (self._numbers, _object()),
            "ask_decline": (self._ask_decline, _object()),
            "open_page": (self._open_page, _object()),
            "ask_model": (self._ask_model, _object(prompt={"type": "string"})),
            "ask_roots": (self._ask_roots, _object()),
            "rename": (self._rename, _object(kind={"type": "string"}, name={"type": "string"})),
            "touch": (self._touch, _object(uri={"type": "string"})),
        }

    # ---- tools

    def list_tools(self, is_modern: bool) -> Json:
        listed: list[Json] = [
            {"name": name, "description": f"Does {name}", "inputSchema": schema}
            for name, (_, schema) in self.tools.items()
        ]
        outputs = {"add": _object(sum={"type": "integer"})}
        if is_modern:
            outputs["numbers"] = {"type": "array", "items": {"type": "integer"}}
        for tool in listed:
            if tool["name"] in outputs:
                tool["outputSchema"] = outputs[tool["name"]]
        listed.append({"name": self.renamed["tools"], "inputSchema": {"type": "object"}})
        return {"tools": listed}

    async def call_tool(self, turn: Turn, name: str, arguments: Json) -> Json:
        if name not in self.tools:
            raise RefusedError(INVALID_PARAMS, f"Unknown tool: {name}")
        run, schema = self.tools[name]
        for wanted in schema["required"]:
            if wanted not in arguments:
                raise RefusedError(INVALID_PARAMS, f"{name} needs {wanted}", {"missing": wanted})
        return await run(turn, arguments)

    async def _echo(self, _: Turn, arguments: Json) -> Json:
        return _text(arguments["text"])

    async def _add(self, _: Turn, arguments: Json) -> Json:
        total = arguments["a"] + arguments["b"]
        return {**_text(str(total)), "structuredContent": {"sum": total}}

    async def _fail(self, _: Turn, arguments: Json) -> Json:
        return {**_text("it broke"), "isError": True}

    async def _count(self, turn: Turn, arguments: Json) -> Json:
        for step in (1, 2, 3):
            await turn.progress(step, 3, f"step {step}")
        # The TypeScript SDK forgets progress that it reads in one piece with the answer.
        await anyio.sleep(PIECE_S)
        return _text("counted")

    async def _wait(self, turn: Turn, arguments: Json) -> Json:
        """Ends only when it is cancelled, and leaves a mark then: a cancelled call has no answer."""
        (self._marks / f"{arguments['mark']} began").touch()
        await turn.progress(1, 2, "waiting")
        try:
            await anyio.sleep(PATIENCE_S)
        except anyio.get_cancelled_exc_class():
            (self._marks / arguments["mark"]).touch()
            raise
        return _text("nobody cancelled")

    async def _log(self, turn: Turn, arguments: Json) -> Json:
        for level in ("debug", "info", "warning", "error"):
            await turn.log(level, f"said at {level}")
        return _text("logged")

    async def _ask_name(self, turn: Turn, arguments: Json) -> Json:
        return _text(f"Hello, {await _ask_name(turn)}!")

    async def _ask_back(self, turn: Turn, arguments: Json) -> Json:
        """Tells its own call from every other; a mark of that name when it is cancelled while it asks."""
        word = arguments["word"]
        (self._marks / f"{word}.pid").write_text(str(os.getpid()))
        try:
            said = await ask(turn, "name", "elicitation/create", _form(f"A name for {word}?", "name"))
        except anyio.get_cancelled_exc_class():
            (self._marks / word).touch()
            raise
        return _text(f"{word} is {said['content']['name']}")

    async def _ask_twice(self, turn: Turn, arguments: Json) -> Json:
        name = await _ask_name(turn)
        colour = await ask(turn, "colour", "elicitation/create", _form("Which colour?", "colour"))
        return _text(f"{name} likes {colour['content']['colour']}")

    async def _ask_at_once(self, turn: Turn, arguments: Json) -> Json:
        message = {"role": "user", "content": {"type": "text", "text": "Greet"}}
        said = await turn.ask_all(
            {
                "name": {"method": "elicitation/create", "params": _form("What is your name?", "name")},
                "words": {
                    "method": "sampling/createMessage",
                    "params": {"messages": [message], "maxTokens": 10},
                },
                "roots": {"method": "roots/list", "params": {}},
            }
        )
        name, words = said["name"]["content"]["name"], said["words"]["content"]["text"]
        return _text(f"{words}, {name} of {said['roots']['roots'][0]['uri']}")

    async def _ask_between(self, turn: Turn, arguments: Json) -> Json:
        """Progress before the question and after it; the modern era runs it twice."""
        await turn.progress(1, 3, "before")
        await _ask_name(turn)
        await turn.progress(2, 3, "after")
        await anyio.sleep(PIECE_S)
        return _text("asked between")

    async def _ask_then_wait(self, turn: Turn, arguments: Json) -> Json:
        await self._ask_back(turn, arguments)
        return await self._wait(turn, {"mark": f"{arguments['word']} waited"})

    async def _ask_impatient(self, turn: Turn, arguments: Json) -> Json:
        """Does not wait for its own question."""
        with anyio.move_on_after(IMPATIENCE_S):
            await ask(turn, "name", "elicitation/create", _form(f"A name for {arguments['word']}?", "name"))
        (self._marks / arguments["word"]).touch()
        return _text("gave up")

    async def _numbers(self, turn: Turn, arguments: Json) -> Json:
        """Structured content that is no object: 2026-07-28 alone has that (changelog, minor change 10)."""
        found = _text("[1, 2, 3]")
        return {**found, "structuredContent": [1, 2, 3]} if turn.is_modern else found

    async def _ask_decline(self, turn: Turn, arguments: Json) -> Json:
        said = await ask(turn, "no", "elicitation/create", _form("Please decline", "name"))
        return _text(f"answered {said['action']}")

    async def _open_page(self, turn: Turn, arguments: Json) -> Json:
        page = {"mode": "url", "message": "Please sign in", "url": "https://example.com/sign-in?x=1"}
        said = await ask(turn, "page", "elicitation/create", page)
        return _text(f"answered {said['action']}")

    async def _ask_model(self, turn: Turn, arguments: Json) -> Json:
        message = {"role": "user", "content": {"type": "text", "text": arguments["prompt"]}}
        said = await ask(turn, "model", "sampling/createMessage", {"messages": [message], "maxTokens": 10})
        return _text(f"{said['model']}: {said['content']['text']}")

    async def _ask_roots(self, turn: Turn, arguments: Json) -> Json:
        said = await ask(turn, "roots", "roots/list", {})
        return _text(" ".join(str(root["uri"]) for root in said["roots"]))

    async def _rename(self, turn: Turn, arguments: Json) -> Json:
        self.renamed[arguments["kind"]] = arguments["name"]
        await turn.changed(arguments["kind"])
        return _text("renamed")

    async def _touch(self, turn: Turn, arguments: Json) -> Json:
        await turn.updated(arguments["uri"])
        return _text("touched")

    # ---- prompts

    def list_prompts(self) -> Json:
        name = {"name": "name", "description": "Who", "required": True}
        greet = {"name": "greet", "description": "Greets", "arguments": [name]}
        return {"prompts": [greet, {"name": "greet_asked"}, {"name": self.renamed["prompts"]}]}

    async def get_prompt(self, turn: Turn, name: str, arguments: Json) -> Json:
        if name == "greet":
            who = arguments.get("name")
        elif name == "greet_asked":
            said = await ask(turn, "who", "elicitation/create", _form("Whom shall I greet?", "name"))
            who = said["content"]["name"]
        else:
            raise RefusedError(INVALID_PARAMS, f"Unknown prompt: {name}")
        return {"messages": [{"role": "user", "content": {"type": "text", "text": f"Greet {who}"}}]}

    # ---- resources

    def list_resources(self) -> Json:
        names = {"text": "text/plain", "pixel": "image/png", "asks": "text/plain"}
        listed = [{"uri": f"{self.root}/{n}", "name": n, "mimeType": kind} for n, kind in names.items()]
        newest = self.renamed["resources"]
        return {"resources": [*listed, {"uri": f"{self.root}/{newest}", "name": newest}]}

    def list_templates(self) -> Json:
        template = {
            "uriTemplate": f"{self.root}/items/{{id}}",
            "name": "item",
            "mimeType": "application/json",
        }
        return {"resourceTemplates": [template]}

    async def read_resource(self, turn: Turn, uri: str) -> Json:
        _, _, path = uri.partition(f"{self.root}/")
        if path == "text":
            content: Json = {"mimeType": "text/plain", "text": "plain words"}
        elif path == "pixel":
            content = {"mimeType": "image/png", "blob": PIXEL}
        elif path == "asks":
            said = await ask(turn, "reader", "elicitation/create", _form("Who reads?", "name"))
            content = {"mimeType": "text/plain", "text": f"read by {said['content']['name']}"}
        elif path.startswith("items/"):
            content = {"mimeType": "text/plain", "text": f"item {path.removeprefix('items/')}"}
        else:
            raise RefusedError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})
        return {"contents": [{"uri": uri, **content}]}

    # ---- completion

    def complete(self, reference: Json, argument: Json) -> Json:
        known = ["ada", "alan", "grace"] if reference["type"] == "ref/prompt" else ["1", "10", "2"]
        values = [word for word in known if word.startswith(argument["value"])]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}


async def _ask_name(turn: Turn) -> str:
    said = await ask(turn, "name", "elicitation/create", _form("What is your name?", "name"))
    return said["content"]["name"]


def _text(words: str) -> Json:
    return {"content": [{"type": "text", "text": words}]}


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _form(message: str, field: str) -> Json:
    return {"mode": "form", "message": message, "requestedSchema": _object(**{field: {"type": "string"}})}
