"""An MCP server that does as its caller says: over stdio or HTTP, in either era, well or badly.

    actor.py --log FILE [--offers FILE] [--era legacy|modern|@FILE] [--name NAME]
             [--needs FILE] [--awaits FILE] [--on-discover exit|silence] [--deaf] [--http [PORT]]
             [--revision REVISION]

Every frame it gets goes into the log as one line of JSON, with the process's number. Lists come from the
offers file, read each time. A call of the tool `play` carries its own part: the steps of `Scene.play`.
Other tools and unknown methods answer with the exact params they got, as base64.
"""

import base64
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from actor_stage import OPTIONS, PATIENCE_S, STAGE, Say

LISTS = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
}
INFO = {"name": OPTIONS.name, "version": "1.2.3"}
MODERN = "2026-07-28"
META = "io.modelcontextprotocol"


def raw_params(frame: bytes) -> bytes:
    """Exactly as it stands in the frame; ours is the last member of every frame the gateway sends."""
    _, found, rest = frame.partition(b'"params":')
    return rest.rstrip()[:-1] if found else b""


class Scene:
    """One request: its frame, where to say things, and what is known while it is played."""

    def __init__(self, frame: bytes, message: dict[str, Any], say: Say, session: str | None) -> None:
        self.frame = frame
        self.session = session
        self.rpc_id = json.dumps(message["id"])
        self.params: dict[str, Any] = message.get("params") or {}
        self.method: str = message["method"]
        self.say = say
        self.answer: Any = None

    def reply(self, result: Any) -> None:
        self.reply_raw(json.dumps(result).encode())

    def reply_raw(self, result: bytes) -> None:
        self.say(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (self.rpc_id.encode(), result))

    def fail(self, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        self.say(json.dumps({"jsonrpc": "2.0", "id": json.loads(self.rpc_id), "error": error}).encode())

    @property
    def declared(self) -> dict[str, Any]:
        """What the client said that it can do: with this request, or in the handshake."""
        meta = self.params.get("_meta") or {}
        return meta.get(f"{META}/clientCapabilities") or STAGE.declared.get(self.session) or {}

    def fill(self, text: str) -> bytes:
        token = (self.params.get("_meta") or {}).get("progressToken")
        for mark, value in (
            ("@ID@", self.rpc_id),
            ("@TOKEN@", json.dumps(token)),
            ("@ANSWER@", json.dumps(self.answer)),
            ("@PID@", str(os.getpid())),
            ("@NAME@", OPTIONS.name),
            ("@LISTEN@", STAGE.listen_ids[-1] if STAGE.listen_ids else "null"),
        ):
            text = text.replace(mark, value)
        return text.encode("utf-8", "surrogateescape")

    def play(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            ((what, value),) = step.items()
            getattr(self, f"do_{what}")(value)

    def do_say(self, text: str) -> None:
        """A frame on this request's own stream."""
        self.say(self.fill(text))

    def do_say_bytes(self, encoded: str) -> None:
        self.say(base64.b64decode(encoded))

    def do_announce(self, text: str) -> None:
        """A frame on the streams that listen; over stdio there is only the one."""
        for say in STAGE.listening:
            say(self.fill(text))

    def do_many(self, part: dict[str, Any]) -> None:
        frames = [self.fill(part["text"].replace("@N@", str(n))) for n in range(part["count"])]
        self.say(b"\n".join(frames) if OPTIONS.http is None else b"\n\ndata: ".join(frames))

    def do_times(self, part: list[Any]) -> None:
        count, step = part
        self.play([step] * count)

    def do_big(self, size_bytes: int) -> None:
        head = b'{"jsonrpc":"2.0","id":%b,"result":{"content":[],"x":"' % self.rpc_id.encode()
        self.say(head + b"x" * size_bytes + b'"}}')

    def do_answer(self, text: str) -> None:
        self.reply({"content": [{"type": "text", "text": self.fill(text).decode()}]})

    def do_exit(self, code: int) -> None:
        print("something broke", file=sys.stderr, flush=True)
        os._exit(code)

    def do_wait_cancelled(self, _: Any) -> None:
        STAGE.wait(lambda: self.rpc_id in STAGE.cancelled)

    def do_wait_file(self, path: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not Path(path).exists() and time.monotonic() < deadline:
            time.sleep(0.01)

    def do_pause(self, seconds: float) -> None:
        """A server that takes its time."""
        time.sleep(seconds)

    def do_ask(self, part: dict[str, Any]) -> None:
        """A question of our own, and wait for its answer."""
        with STAGE.changed:
            STAGE.questions += 1
            question = f"q{STAGE.questions}-{OPTIONS.name}"
        frame = json.dumps({"jsonrpc": "2.0", "id": question, **part}).encode()
        self.say(frame)
        STAGE.wait(lambda: question in STAGE.answers)
        self.answer = STAGE.answers[question]

    def do_hang(self, _: Any) -> None:
        """Nothing more; over HTTP the stream stays open."""

    def do_forget_sessions(self, _: Any) -> None:
        STAGE.sessions.clear()

    def do_close_stdout(self, _: Any) -> None:
        os.close(1)


def offers() -> dict[str, Any]:
    return json.loads(OPTIONS.offers.read_text()) if OPTIONS.offers else {"tools": ["play", "echo"]}


def definition(method: str, entry: Any) -> dict[str, Any]:
    if not isinstance(entry, str):
        return entry
    if method == "tools/list":
        return {"name": entry, "inputSchema": {"type": "object"}, "x-from": OPTIONS.name}
    if method == "prompts/list":
        return {"name": entry}
    return {"uri" if method == "resources/list" else "uriTemplate": entry, "name": entry}


def list_page(scene: Scene) -> None:
    member, _ = LISTS[scene.method]
    known = offers()
    if f"{member}_raw" in known:
        scene.reply_raw(known[f"{member}_raw"].encode())
        return
    if member not in known:
        scene.fail(-32601, "Method not found")
        return
    if known.get("silent") == member:
        return
    if known.get("failing") == member:
        scene.fail(-32603, "the index is locked")
        return
    # Offers may have more for clients that declare something: {"tools_if": {"elicitation": ["ask"]}}.
    more = [entry for word in scene.declared for entry in known.get(f"{member}_if", {}).get(word, [])]
    entries = [definition(scene.method, entry) for entry in known[member] + more]
    size, start = known.get("page_size", len(entries) or 1), int(scene.params.get("cursor") or 0)
    result: dict[str, Any] = {member: entries[start : start + size]}
    if start + size < len(entries):
        result["nextCursor"] = str(start + size)
    if OPTIONS.era == "modern":
        result |= {"resultType": "complete", "ttlMs": known.get("ttlMs", 60000), "cacheScope": "public"}
    scene.reply(result)


def listen(scene: Scene) -> None:
    """Modern: acknowledged, and then open until it is cancelled."""
    STAGE.listening.append(scene.say)
    STAGE.listen_ids.append(scene.rpc_id)
    meta = {"io.modelcontextprotocol/subscriptionId": json.loads(scene.rpc_id)}
    params = {"notifications": scene.params.get("notifications", {}), "_meta": meta}
    scene.say(
        json.dumps(
            {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
        ).encode()
    )
    if offers().get("listen") == "once" and len(STAGE.listen_ids) == 1:
        STAGE.listening.remove(scene.say)
        return  # an HTTP stream that breaks off
    STAGE.wait(lambda: scene.rpc_id in STAGE.cancelled)


def info() -> dict[str, Any]:
    return offers().get("serverInfo", INFO)


def instructions() -> dict[str, Any]:
    known = offers()
    return {"instructions": known["instructions"]} if "instructions" in known else {}


def discover(scene: Scene) -> None:
    if OPTIONS.on_discover == "exit":
        os._exit(4)
    if OPTIONS.on_discover == "silence":
        return
    if OPTIONS.era != "modern":
        scene.fail(-32601, "Method not found")
        return
    scene.reply(
        {
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": CAPABILITIES,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": info()},
            **instructions(),
        }
    )


def act(scene: Scene) -> None:
    match scene.method:
        case "server/discover":
            discover(scene)
        case "initialize" if OPTIONS.era == "legacy":
            version = OPTIONS.revision or scene.params["protocolVersion"]
            STAGE.declared[scene.session] = scene.params["capabilities"]
            told = {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": info()}
            scene.reply(told | instructions())
        case "initialize":
            scene.fail(-32601, "Method not found")
        case "subscriptions/listen":
            listen(scene)
        case method if method in LISTS:
            list_page(scene)
        case "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe":
            scene.reply({})
        case "tools/call" if scene.params["name"] == "play":
            scene.play(scene.params["arguments"]["steps"])
        case _:
            echo(scene)


def echo(scene: Scene) -> None:
    """The exact params, and what the test wants to see in the result."""
    got = base64.b64encode(raw_params(scene.frame)).decode()
    arguments = scene.params.get("arguments")
    wanted = arguments.get("result64") if isinstance(arguments, dict) else None
    wanted = wanted or scene.params.get("result64")
    if wanted:
        scene.reply_raw(base64.b64decode(wanted))
        return
    extra: dict[str, Any] = {"resultType": "complete"} if OPTIONS.era == "modern" else {}
    if scene.method == "resources/read":
        extra |= {"contents": [{"uri": scene.params["uri"], "text": f"{OPTIONS.name} has it"}]}
    elif scene.method == "prompts/get":
        extra |= {"messages": [{"role": "user", "content": {"type": "text", "text": OPTIONS.name}}]}
    elif scene.method == "completion/complete":
        extra |= {"completion": {"values": [OPTIONS.name]}}
    elif scene.method == "tools/call":
        extra |= {"content": [{"type": "text", "text": f"{OPTIONS.name}: {scene.params['name']}"}]}
    scene.reply({"params64": got, "server": OPTIONS.name, **extra})


def perform(frame: bytes, say: Say, **about: Any) -> bool:
    """True when an answer is to be waited for: it was a request."""
    STAGE.log(frame, **about)
    message = json.loads(frame)
    if "method" not in message:
        STAGE.said(lambda: STAGE.answers.update({message["id"]: message.get("result", message)}))
        return False
    if "id" not in message:
        if message["method"] == "notifications/cancelled":
            rpc_id = json.dumps(message["params"]["requestId"])
            STAGE.said(lambda: STAGE.cancelled.add(rpc_id))
        return False
    act(Scene(frame, message, say, about.get("session")))
    return True


# ---- stdio


def run_stdio() -> None:
    turn = threading.Lock()

    def say(frame: bytes) -> None:
        with turn:
            sys.stdout.buffer.write(frame + b"\n")
            sys.stdout.buffer.flush()

    STAGE.listening.append(say)
    for line in sys.stdin.buffer:
        if line.strip():
            threading.Thread(target=perform, args=(line, say), daemon=True).start()
    STAGE.log(b"", end="stdin")


def main() -> None:
    STAGE.log(b"", start=True)
    if OPTIONS.needs is not None and not OPTIONS.needs.exists():
        print("licence file not found", file=sys.stderr, flush=True)
        os._exit(3)
    awaited = OPTIONS.awaits
    if OPTIONS.awaits_again is not None:
        try:
            OPTIONS.awaits_again.with_suffix(".first").touch(exist_ok=False)
        except FileExistsError:
            awaited = OPTIONS.awaits_again
    while awaited is not None and not awaited.exists():
        time.sleep(0.02)
    if OPTIONS.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if OPTIONS.http is not None:
        from actor_http import serve  # half of the time that a start takes, which over stdio is nothing

        serve(perform, OPTIONS.http)
    run_stdio()
    while OPTIONS.deaf:
        signal.pause()


main()
