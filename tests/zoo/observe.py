"""What the zoo tries with one server, as a client sees it: a name for each step, and what came of it.

The same steps are taken directly and through the gateway; `compare.py` looks for differences. Knows nothing
of ways: it is given a `Talk`, and how the server's tools are called there.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from zoo.manifest import Json
from zoo.talk import Heard, Talk

LISTS = {
    "tools": ("tools/list", "tools", "name"),
    "prompts": ("prompts/list", "prompts", "name"),
    "resources": ("resources/list", "resources", "uri"),
    "templates": ("resources/templates/list", "resourceTemplates", "uriTemplate"),
}
MOST_READ = 10  # a server may list a thousand resources
MOST_PAGES = 50


@dataclass(frozen=True)
class Plan:
    """A server's part of the manifest, with its places filled in."""

    calls: tuple[Json, ...]
    progress: Json | None
    cancel: Json | None
    prefix: str
    """What stands before the server's own names on this way."""


@dataclass
class Seen:
    steps: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


async def observe(talk: Talk, plan: Plan) -> Seen:
    seen = Seen()
    seen.steps["introduction"] = _introduction(talk.introduced)
    for kind in LISTS:
        listed = await list_all(talk, kind, plan.prefix)
        seen.steps[kind] = listed
        if isinstance(listed, list):
            seen.counts[kind] = len(listed)
    for at, call in enumerate(plan.calls, start=1):
        seen.steps[f"call {at}: {call['tool']}"] = _told(await _call(talk, plan, call))
    await _read_and_prompt(talk, plan, seen)
    if plan.progress is not None:
        heard = await talk.ask("tools/call", _params(plan, plan.progress), on_progress=lambda: None)
        steps = [
            {key: value for key, value in step.items() if key != "progressToken"} for step in heard.progress
        ]
        seen.steps["progress"] = {"steps": steps, **_told(heard)}
    if plan.cancel is not None:
        await talk.cancel("tools/call", _params(plan, plan.cancel))
        again = await _call(talk, plan, plan.calls[0])
        seen.steps["cancellation, then a call"] = _told(again)
    return seen


async def survives(talk: Talk, plan: Plan) -> Json:
    """What the next call gets after the server was killed."""
    call = plan.calls[0] if plan.calls else None
    heard = await (_call(talk, plan, call) if call else talk.ask("tools/list", {}))
    return _told(heard)


async def _read_and_prompt(talk: Talk, plan: Plan, seen: Seen) -> None:
    resources, prompts = seen.steps["resources"], seen.steps["prompts"]
    for resource in resources[:MOST_READ] if isinstance(resources, list) else ():
        uri = resource["uri"]
        seen.steps[f"read {uri}"] = _told(await talk.ask("resources/read", {"uri": uri}))
    for prompt in prompts[:MOST_READ] if isinstance(prompts, list) else ():
        given = {each["name"]: "one" for each in prompt.get("arguments", [])}
        params = {"name": plan.prefix + prompt["name"], "arguments": given}
        seen.steps[f"prompt {prompt['name']}"] = _told(await talk.ask("prompts/get", params))


def _params(plan: Plan, call: Json) -> Json:
    return {"name": plan.prefix + call["tool"], "arguments": call.get("arguments", {})}


async def _call(talk: Talk, plan: Plan, call: Json) -> Heard:
    try:
        return await talk.ask("tools/call", _params(plan, call))
    except (TimeoutError, asyncio.IncompleteReadError) as problem:
        return Heard({"error": {"message": f"no answer: {type(problem).__name__}"}})


async def list_all(talk: Talk, kind: str, prefix: str) -> Any:
    method, member, key = LISTS[kind]
    found: list[Json] = []
    params: Json = {}
    for _ in range(MOST_PAGES):
        answer = (await talk.ask(method, params)).answer
        if "result" not in answer:
            return {"error": _error(answer["error"])}
        found += answer["result"][member]
        if not (cursor := answer["result"].get("nextCursor")):
            break
        params = {"cursor": cursor}
    if kind in ("tools", "prompts") and prefix:
        # What another server or the gateway itself offers is not this server's.
        found = [
            entry | {key: entry[key].removeprefix(prefix)} for entry in found if entry[key].startswith(prefix)
        ]
    return found


def _introduction(answer: Json) -> Json:
    result = dict(answer.get("result", answer))
    return {key: result.get(key) for key in ("protocolVersion", "capabilities", "serverInfo", "instructions")}


def _told(heard: Heard) -> Json:
    """A result without what its era adds to it, or the error."""
    told: Json = {}
    if "error" in heard.answer:
        told["error"] = _error(heard.answer["error"])
    else:
        result = heard.answer.get("result", {})
        told["result"] = {
            key: value for key, value in result.items() if key not in ("resultType", "ttlMs", "cacheScope")
        }
    # When a server asks for roots is its own affair; what it made of them is in its answers.
    if asked := [question for question in heard.questions if question["method"] != "roots/list"]:
        told["questions"] = asked
    return told


def _error(error: Json) -> Json:
    return {key: value for key, value in error.items() if key in ("code", "message")}
