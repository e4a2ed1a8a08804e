"""The reference server of the conformance runs (mcp 2.3) with the matrix's features beside its own.

reference_server.py NAME MARKS stdio --era both
reference_server.py NAME MARKS http --port 0 --era modern      prints its port
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

import refserver as ref
from features import LEVELS, RESOURCE_NOT_FOUND, Features, Json, RefusedError
from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from refserver_shapes import MODERN, fresh, unseal
from refserver_tools import InputNeededError, bus, inputs, tell_legacy

LEGACY_RESOURCE_NOT_FOUND, MODERN_RESOURCE_NOT_FOUND = -32002, -32602
CHANGES = {
    "tools": (ToolsListChanged, "send_tool_list_changed"),
    "prompts": (PromptsListChanged, "send_prompt_list_changed"),
    "resources": (ResourcesListChanged, "send_resource_list_changed"),
}

# By legacy connection: the level it was told with logging/setLevel, and the resources it follows.
levels: dict[Any, str] = {}
followed: dict[Any, set[str]] = {}


class ReferenceTurn:
    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self.is_modern = ctx.protocol_version == MODERN

    async def ask_all(self, questions: dict[str, Json]) -> dict[str, Json]:
        """Modern: what was answered in earlier rounds travels in `requestState`."""
        if not self.is_modern:
            for question in questions.values():
                if question["params"].get("mode") == "url":
                    question["params"]["elicitationId"] = f"page-{id(self)}"
            return await inputs(self._ctx, None, questions)
        sent = self._ctx.params or {}
        answers = json.loads(unseal(sent.get("requestState")) or "{}") | (sent.get("inputResponses") or {})
        missing = {key: question for key, question in questions.items() if key not in answers}
        if missing:
            raise InputNeededError(missing, json.dumps(answers))
        return answers

    async def progress(self, done: float, total: float, message: str) -> None:
        await self._ctx.session.report_progress(done, total, message)

    async def log(self, level: str, data: Any) -> None:
        wanted = levels.get(self._ctx.session._connection, "debug")
        if self.is_modern or LEVELS.index(level) >= LEVELS.index(wanted):
            await self._ctx.session.send_log_message(
                level, data, logger="reference", related_request_id=self._ctx.request_id
            )

    async def changed(self, kind: str) -> None:
        event, function = CHANGES[kind]
        await bus.publish(event())
        await tell_legacy(lambda session: getattr(session, function)())

    async def updated(self, uri: str) -> None:
        await bus.publish(ResourceUpdated(uri=uri))

        async def tell(session: Any) -> None:
            if uri in followed.get(session._connection, ()):
                await session.send_resource_updated(uri)

        await tell_legacy(tell)


def plain(answer: Any) -> Any:
    async def handler(ctx: Any, params: Any) -> Json:
        try:
            return await answer(ReferenceTurn(ctx), params)
        except RefusedError as refusal:
            code = refusal.code
            if code == RESOURCE_NOT_FOUND:
                is_modern = ctx.protocol_version == MODERN
                code = MODERN_RESOURCE_NOT_FOUND if is_modern else LEGACY_RESOURCE_NOT_FOUND
            raise MCPError(int(code), str(refusal), refusal.data) from None

    return ref.era(handler)


def beside(own: Any, theirs: Any, member: str) -> Any:
    async def handler(ctx: Any, params: Any) -> Json:
        return {
            member: own(ctx.protocol_version == MODERN)[member] + (await theirs(ctx, params))[member],
            **fresh(ctx),
        }

    return ref.era(handler)


def handlers(features: Features) -> dict[str, Any]:
    async def read(turn: ReferenceTurn, params: Any) -> Json:
        return {**await features.read_resource(turn, str(params.uri)), **fresh(turn._ctx)}

    async def complete(turn: ReferenceTurn, params: Any) -> Json:
        return features.complete(params.ref.model_dump(mode="json"), params.argument.model_dump())

    async def set_level(ctx: Any, params: Any) -> Json:
        levels[ctx.session._connection] = params.level
        return {}

    async def follow(ctx: Any, params: Any) -> Json:
        followed.setdefault(ctx.session._connection, set()).add(str(params.uri))
        return {}

    async def leave(ctx: Any, params: Any) -> Json:
        followed.get(ctx.session._connection, set()).discard(str(params.uri))
        return {}

    return {
        "on_list_tools": beside(features.list_tools, ref.list_tools, "tools"),
        "on_list_prompts": beside(lambda _: features.list_prompts(), ref.list_prompts, "prompts"),
        "on_list_resources": beside(lambda _: features.list_resources(), ref.list_resources, "resources"),
        "on_list_resource_templates": beside(
            lambda _: features.list_templates(), ref.list_templates, "resourceTemplates"
        ),
        "on_call_tool": plain(lambda turn, p: features.call_tool(turn, p.name, p.arguments or {})),
        "on_get_prompt": plain(lambda turn, p: features.get_prompt(turn, p.name, p.arguments or {})),
        "on_read_resource": plain(read),
        "on_completion": plain(complete),
        "on_set_logging_level": set_level,
        "on_subscribe_resource": follow,
        "on_unsubscribe_resource": leave,
    }


if __name__ == "__main__":
    name, marks, *words = sys.argv[1:]
    ref.serve(ref.build(**handlers(Features(name, Path(marks)))), ref.parser().parse_args(words))
