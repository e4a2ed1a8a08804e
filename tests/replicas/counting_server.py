"""A server over stdio with a memory: it counts its calls, asks its client, and tells of changes.

counting_server.py LOG          every question that was answered, and every cancellation, is a line of the log
counting_server.py LOG modern   of the modern era, else it shakes hands; it then asks nothing
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

LOG = Path(sys.argv[1])
IS_MODERN = sys.argv[2:] == ["modern"]
RESOURCE = "note://one" if IS_MODERN else "memo://one"
ABILITIES = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {}}
INFO = {"name": "counting", "version": "1"}
tools = ["count", "ask", "touch", "wait", "grow"]
answers: dict[str, "Answer"] = {}
cancelled = threading.Condition()
cancelled_ids: set[Any] = set()
turn = threading.Lock()
state = {"count": 0, "questions": 0}
subscriptions: set[Any] = set()


class Answer:
    def __init__(self) -> None:
        self.ready = threading.Event()
        self.result: Any = None


def say(frame: dict[str, Any]) -> None:
    with turn:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
        sys.stdout.flush()


def note(text: str) -> None:
    with LOG.open("a") as log:
        log.write(f"{text}\n")


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def ask(question: str) -> str:
    state["questions"] += 1
    rpc_id = f"q{state['questions']}"
    answer = answers[rpc_id] = Answer()
    note("asks")
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    params = {"message": question, "requestedSchema": schema}
    say({"id": rpc_id, "method": "elicitation/create", "params": params})
    answer.ready.wait()
    note(f"answered {question}")
    return (answer.result or {}).get("content", {}).get("name", "nobody")


def call(rpc_id: Any, params: dict[str, Any]) -> None:
    arguments = params.get("arguments") or {}
    match params["name"]:
        case "count":
            state["count"] += 1
            result = text(f"{state['count']} {os.getpid()}")
        case "ask":
            question = arguments.get("question", "who?")
            result = text(f"{question} {ask(question)}")
        case "touch":
            say({"method": "notifications/resources/updated", "params": {"uri": RESOURCE}})
            say_changed("tools/list_changed")
            result = text("touched")
        case "grow":
            tools.append(f"grown_{len(tools)}")
            say_changed("tools/list_changed")
            result = text(tools[-1])
        case _ if params["name"] in tools[5:]:
            result = text(f"grown in {os.getpid()}")
        case _:  # wait
            note("waiting")
            with cancelled:
                cancelled.wait_for(lambda: rpc_id in cancelled_ids)
            note("cancelled")
            return
    say({"id": rpc_id, "result": finished(result)})


def say_changed(what: str) -> None:
    """In the modern era each subscription is told by its name, in the other one all are told at once."""
    for subscription in list(subscriptions) if IS_MODERN else [None]:
        meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": subscription}}
        say({"method": f"notifications/{what}", "params": {} if subscription is None else meta})


def finished(result: dict[str, Any]) -> dict[str, Any]:
    cached = {"resultType": "complete", "ttlMs": 60000, "cacheScope": "public"}
    return cached | result if IS_MODERN else result


def take(frame: dict[str, Any]) -> None:
    method, rpc_id = frame.get("method"), frame.get("id")
    params: dict[str, Any] = frame.get("params") or {}
    if method is None:
        answer = answers.pop(str(rpc_id))
        answer.result = frame.get("result")
        answer.ready.set()
    elif method == "notifications/cancelled":
        with cancelled:
            cancelled_ids.add(params["requestId"])
            cancelled.notify_all()
    elif method == "tools/call":
        threading.Thread(target=call, args=(rpc_id, params), daemon=True).start()
    elif method == "subscriptions/listen":
        subscriptions.add(rpc_id)
        meta = {"io.modelcontextprotocol/subscriptionId": rpc_id}
        wanted = {"notifications": params.get("notifications", {}), "_meta": meta}
        say({"method": "notifications/subscriptions/acknowledged", "params": wanted})
    elif method == "server/discover" and not IS_MODERN:
        say({"id": rpc_id, "error": {"code": -32601, "message": "Method not found"}})
    elif rpc_id is not None:
        say({"id": rpc_id, "result": finished(answer_to(method, params))})


def answer_to(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": ABILITIES, "serverInfo": INFO}
        case "server/discover":
            named = {"io.modelcontextprotocol/serverInfo": INFO}
            return {"supportedVersions": ["2026-07-28"], "capabilities": ABILITIES, "_meta": named}
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
        case "resources/list":
            return {"resources": [{"uri": RESOURCE, "name": "one"}]}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "text": f"{state['count']} {os.getpid()}"}]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case _:
            return {"prompts": []} if method == "prompts/list" else {}


for line in sys.stdin:
    take(json.loads(line))
