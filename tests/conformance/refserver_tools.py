"""The tools of the reference server: one for each that the official suite calls by name.

A tool gets the request's context, its arguments and the whole params (`inputResponses`, `requestState`).
What it wants of the client it gets by `inputs`, in either era.
"""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as t
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from refserver_shapes import (
    BOOL,
    MODERN,
    PNG,
    STR,
    WAV,
    answer,
    elicit,
    fresh,
    need,
    obj,
    ok,
    res,
    sample,
    text,
    unseal,
)

Tool = Callable[[Any, dict[str, Any], dict[str, Any]], Awaitable[dict[str, Any]]]

bus = InMemorySubscriptionBus()
legacy_sessions: dict[int, Any] = {}  # by connection: a change is told to each


async def remember_legacy(ctx: Any, call_next: Any) -> Any:
    if ctx.protocol_version != MODERN:
        legacy_sessions[id(ctx.session._connection)] = ctx.session
    return await call_next(ctx)


class InputNeededError(Exception):
    """Modern: the call ends with `input_required`, and comes again with the answers."""

    def __init__(self, requests: dict[str, Any], state: str | None = None) -> None:
        self.result = need(requests, state)


async def ask_client(ctx: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Server-initiated request on the originating request's stream (handshake era only)."""
    return await ctx.session._request_outbound.send_raw_request(method, params, None)


async def inputs(ctx: Any, p: Any, requests: dict[str, Any], state: str | None = None) -> dict[str, Any]:
    """The client's answers by key: those it sent along; in the handshake era they are asked for now."""
    if ctx.protocol_version == MODERN:
        answers = {key: answer(p, key) for key in requests}
        if not all(answers.values()) or (state is not None and unseal(p.get("requestState")) != state):
            raise InputNeededError(requests, state)
        return answers
    asked: dict[str, Any] = {}

    async def ask(key: str, request: dict[str, Any]) -> None:
        asked[key] = await ask_client(ctx, request["method"], request.get("params", {}))

    async with anyio.create_task_group() as questions:
        for key, request in requests.items():
            questions.start_soon(ask, key, request)
    return asked


async def log(ctx: Any, msg: str) -> None:
    await ctx.session.send_log_message("info", msg, logger="refserver", related_request_id=ctx.request_id)


async def t_logging(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    for m in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await log(ctx, m)
        await anyio.sleep(0.05)
    return ok(text("Tool with logging executed successfully"))


async def t_progress(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    for n in (0, 50, 100):
        await ctx.session.report_progress(n, 100, f"Completed step {n} of 100")
        await anyio.sleep(0.05)
    return ok(text("progress done"))


async def t_sampling(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    r = (await inputs(ctx, p, {"reply": sample(a["prompt"], 100)}))["reply"]
    return ok(text(f"LLM response: {r['content']['text']}"))


def form(message: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    }


async def t_elicit(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    schema = obj({"response": {**STR, "description": "User's response"}}, required=["response"])
    r = (await inputs(ctx, p, {"reply": form(a["message"], schema)}))["reply"]
    return ok(text(f"User response: action={r['action']}, content={json.dumps(r.get('content') or {})}"))


async def t_elicit_defaults(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    schema = obj(
        {
            "name": {**STR, "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {**STR, "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {**BOOL, "default": True},
        }
    )
    r = (await inputs(ctx, p, {"reply": form("Review", schema)}))["reply"]
    return ok(text(f"Elicitation result: action={r['action']}, content={json.dumps(r.get('content') or {})}"))


def _const(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"const": c, "title": ti} for c, ti in pairs]


async def t_elicit_enums(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    titled = _const(("value1", "First"), ("value2", "Second"), ("value3", "Third"))
    options = ["option1", "option2", "option3"]
    schema = obj(
        {
            "untitledSingle": {**STR, "enum": options},
            "titledSingle": {**STR, "oneOf": titled},
            "legacyEnum": {**STR, "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
            "untitledMulti": {"type": "array", "items": {**STR, "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }
    )
    r = (await inputs(ctx, p, {"reply": form("Pick", schema)}))["reply"]
    return ok(
        text(f"Elicitation completed: action={r['action']}, content={json.dumps(r.get('content') or {})}")
    )


async def t_reconnect(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    await log(ctx, "Before disconnect")
    if ctx.close_sse_stream:
        await ctx.close_sse_stream()
    await anyio.sleep(0.2)
    await log(ctx, "After reconnect")
    return ok(text("Reconnection test completed"))


async def t_missing_cap(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    caps = ctx.session.client_capabilities
    if caps is None or caps.sampling is None:
        raise MCPError(
            t.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool requires the client 'sampling' capability",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return ok(text("sampling declared"))


async def t_ir_elicit(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    r = (await inputs(ctx, p, {"user_name": elicit("What is your name?", name=STR)}))["user_name"]
    return ok(text(f"Hello, {(r.get('content') or {}).get('name', '?')}!"))


async def t_ir_sampling(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    r = await inputs(ctx, p, {"capital_question": sample("What is the capital of France?", 100)})
    return ok(text(f"Model said: {(r['capital_question'].get('content') or {}).get('text', '?')}"))


async def t_ir_roots(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    r = (await inputs(ctx, p, {"client_roots": {"method": "roots/list"}}))["client_roots"]
    return ok(text(f"Client exposed {len(r.get('roots') or [])} root(s)."))


async def t_ir_state(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    await inputs(ctx, p, {"confirm": elicit("Please confirm", ok=BOOL)}, "nonce")
    return ok(text("state-ok: confirmation received"))


async def t_ir_multi_inputs(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    wanted = {
        "user_name": elicit("What is your name?", name=STR),
        "greeting": sample("Generate a greeting", 50),
        "client_roots": {"method": "roots/list"},
    }
    await inputs(ctx, p, wanted, "multi")
    return ok(text("All inputs received."))


async def t_ir_rounds(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    first, second = (
        {"step1": elicit("Step 1: What is your name?", name=STR)},
        {"step2": elicit("Step 2: favourite colour?", color=STR)},
    )
    if ctx.protocol_version != MODERN:
        named, coloured = await inputs(ctx, p, first), await inputs(ctx, p, second)
        name = (named["step1"].get("content") or {}).get("name")
        return ok(text(f"{name} likes {(coloured['step2'].get('content') or {}).get('color')}."))
    st = json.loads(unseal(p.get("requestState")) or '{"round":0}')
    if st["round"] == 1 and (r := answer(p, "step1")):
        raise InputNeededError(second, json.dumps({"round": 2, "name": (r.get("content") or {}).get("name")}))
    if st["round"] == 2 and (r := answer(p, "step2")):
        return ok(text(f"{st.get('name')} likes {(r.get('content') or {}).get('color')}."))
    raise InputNeededError(first, '{"round": 1}')


async def t_ir_tampered(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    await inputs(ctx, p, {"confirm": elicit("Please confirm", ok=BOOL)}, "round-1")
    return ok(text("state-ok: round-1"))


async def t_ir_caps(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    caps, reqs = ctx.session.client_capabilities, {}
    if caps is None or caps.sampling is not None:
        reqs["sample"] = sample("Say hello", 50)
    if caps is None or caps.elicitation is not None:
        reqs["ask"] = elicit("What is your name?", name=STR)
    await inputs(ctx, p, reqs, "caps")
    return ok(text("asked what was declared"))


async def t_stream_elicit(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    await ctx.session.report_progress(1, 2, "working")
    return await t_ir_elicit(ctx, a, p)


async def tell_legacy(tell: Callable[[Any], Awaitable[None]]) -> None:
    for session in list(legacy_sessions.values()):
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it has ended
            await tell(session)


async def t_tools_changed(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    await bus.publish(ToolsListChanged())
    await tell_legacy(lambda session: session.send_tool_list_changed())
    return ok(text("tool list changed"))


async def t_prompts_changed(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    await bus.publish(PromptsListChanged())
    await tell_legacy(lambda session: session.send_prompt_list_changed())
    return ok(text("prompt list changed"))


def const(result: dict[str, Any]) -> Tool:
    async def f(ctx: Any, a: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
        return result

    return f


JSON_SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {"$anchor": "addressDef", "type": "object", "properties": {"street": STR, "city": STR}}
    },
    "properties": {
        "name": STR,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {**STR, "enum": ["phone", "email"]},
        "phone": STR,
        "email": STR,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

TOOLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "test_simple_text": (const(ok(text("This is a simple text response for testing."))), obj()),
    "test_image_content": (const(ok({"type": "image", "data": PNG, "mimeType": "image/png"})), obj()),
    "test_audio_content": (const(ok({"type": "audio", "data": WAV, "mimeType": "audio/wav"})), obj()),
    "test_embedded_resource": (const(ok(res("test://embedded-resource", "text/plain", "embedded"))), obj()),
    "test_multiple_content_types": (
        const(
            ok(
                text("Multiple content types test:"),
                {"type": "image", "data": PNG, "mimeType": "image/png"},
                res("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
            )
        ),
        obj(),
    ),
    "test_error_handling": (
        const({"content": [text("This tool intentionally returns an error for testing")], "isError": True}),
        obj(),
    ),
    "test_tool_with_logging": (t_logging, obj()),
    "test_logging_tool": (t_logging, obj()),
    "test_tool_with_progress": (t_progress, obj()),
    "test_sampling": (t_sampling, obj({"prompt": STR}, required=["prompt"])),
    "test_elicitation": (t_elicit, obj({"message": STR}, required=["message"])),
    "test_elicitation_sep1034_defaults": (t_elicit_defaults, obj()),
    "test_elicitation_sep1330_enums": (t_elicit_enums, obj()),
    "test_reconnection": (t_reconnect, obj()),
    "test_missing_capability": (t_missing_cap, obj()),
    "test_streaming_elicitation": (t_stream_elicit, obj()),
    "test_trigger_tool_change": (t_tools_changed, obj()),
    "test_trigger_prompt_change": (t_prompts_changed, obj()),
    "test_x_mcp_header": (const(ok(text("region ok"))), obj({"region": {**STR, "x-mcp-header": "Region"}})),
    "json_schema_2020_12_tool": (const(ok(text("ok"))), JSON_SCHEMA_2020),
    "test_input_required_result_elicitation": (t_ir_elicit, obj()),
    "test_input_required_result_sampling": (t_ir_sampling, obj()),
    "test_input_required_result_list_roots": (t_ir_roots, obj()),
    "test_input_required_result_request_state": (t_ir_state, obj()),
    "test_input_required_result_multiple_inputs": (t_ir_multi_inputs, obj()),
    "test_input_required_result_multi_round": (t_ir_rounds, obj()),
    "test_input_required_result_tampered_state": (t_ir_tampered, obj()),
    "test_input_required_result_capabilities": (t_ir_caps, obj()),
    "echo": (None, obj({"text": STR}, required=["text"])),  # for latency benchmarks
}


async def list_tools(ctx: Any, params: Any) -> dict[str, Any]:
    return {
        "tools": [
            {"name": n, "description": f"fixture {n}", "inputSchema": s} for n, (_, s) in TOOLS.items()
        ],
        **fresh(ctx),
    }


async def call_tool(ctx: Any, params: Any) -> dict[str, Any]:
    args = params.arguments or {}
    if params.name == "echo":
        return ok(text(args.get("text", "")))
    if params.name not in TOOLS:
        raise MCPError(t.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return await TOOLS[params.name][0](ctx, args, dict(ctx.params or {}))
