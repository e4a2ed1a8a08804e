"""The official Python SDK, `mcp` 2.3: `mode` is "legacy" or "auto". Told what to do by lines (`lines.py`)."""

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as t
from lines import ROOT, Driver, Json, Link, ServerRefusedError, answer_elicitation, answer_sampling
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

warnings.simplefilter("ignore")  # logging, sampling and roots are deprecated, and subjects here
MODERN = "2026-07-28"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
LISTS = {
    "tools": "list_tools",
    "prompts": "list_prompts",
    "resources": "list_resources",
    "resourceTemplates": "list_resource_templates",
}
EVENTS = {
    "ToolsListChanged": "notifications/tools/list_changed",
    "PromptsListChanged": "notifications/prompts/list_changed",
    "ResourcesListChanged": "notifications/resources/list_changed",
    "ResourceUpdated": "notifications/resources/updated",
}


def wire(model: Any) -> Json:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def refusing(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except MCPError as error:
        raise ServerRefusedError(error.error.code, error.error.message, error.error.data) from None


class Sdk2Link(Link):
    client: Client

    async def open(self, ready: Callable[[Json], None]) -> None:
        target = self.target
        server: Any = target.get("url") or StdioServerParameters(**target["command"])
        answers: Json = {}
        if not target.get("silent"):
            answers = {
                "elicitation_callback": self._elicit,
                "sampling_callback": self._sample,
                "list_roots_callback": self._roots,
            }
        self.client = Client(
            server, mode=target["mode"], message_handler=self._hear, logging_callback=self._log, **answers
        )
        async with self.client:
            info = self.client.server_info
            ready(
                {
                    "version": self.client.protocol_version,
                    "capabilities": wire(self.client.server_capabilities),
                    "name": info.name if info is not None else None,
                    "instructions": self.client.instructions,
                }
            )
            await self.until_closed()

    async def _elicit(self, _: Any, params: Any) -> t.ElicitResult:
        asked = wire(params)
        self.questions.append({"method": "elicitation/create", "params": asked})
        return t.ElicitResult.model_validate(answer_elicitation(asked))

    async def _sample(self, _: Any, params: Any) -> t.CreateMessageResult:
        asked = wire(params)
        self.questions.append({"method": "sampling/createMessage", "params": asked})
        return t.CreateMessageResult.model_validate(answer_sampling(asked))

    async def _roots(self, _: Any) -> t.ListRootsResult:
        self.questions.append({"method": "roots/list", "params": {}})
        return t.ListRootsResult.model_validate({"roots": [ROOT]})

    async def _hear(self, message: Any) -> None:
        if isinstance(message, Exception):
            return
        said = wire(message)
        if "method" in said and self.client.protocol_version != MODERN:
            await self.note(said["method"], said.get("params", {}))

    async def _log(self, params: Any) -> None:
        await self.note("logged", wire(params))

    # ---- operations

    async def do_list(self, kind: str) -> list[Json]:
        found: list[Json] = []
        cursor = None
        while True:
            listed = await refusing(getattr(self.client, LISTS[kind])(cursor=cursor, cache_mode="bypass"))
            page = wire(listed)
            found += page[kind]
            if not (cursor := page.get("nextCursor")):
                return found

    async def do_call(self, name: str, arguments: Json) -> Json:
        told: list[Any] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            told.append([progress, total, message])

        result = await refusing(self.client.call_tool(name, arguments, progress_callback=note))
        return {"result": wire(result), "progress": told}

    async def do_cancel(self, name: str, arguments: Json) -> Json:
        """Cancelled as soon as it has begun."""
        scope = anyio.CancelScope()

        async def stop(progress: float, total: float | None, message: str | None) -> None:
            scope.cancel()

        with scope:
            await refusing(self.client.call_tool(name, arguments, progress_callback=stop))
        return {"cancelled": scope.cancelled_caught}

    async def do_prompt(self, name: str, arguments: Json) -> Json:
        return wire(await refusing(self.client.get_prompt(name, arguments)))

    async def do_read(self, uri: str) -> Json:
        return wire(await refusing(self.client.read_resource(uri)))

    async def do_complete(self, ref: Json, argument: Json) -> Json:
        kind: Any = t.PromptReference if ref["type"] == "ref/prompt" else t.ResourceTemplateReference
        return wire(await refusing(self.client.complete(kind.model_validate(ref), argument)))

    async def do_log(self, level: str, name: str) -> list[Json]:
        """What a call of that tool logs at that level."""
        if self.client.protocol_version == MODERN:
            await refusing(self.client.call_tool(name, {}, meta={LOG_LEVEL: level}))
        else:
            await refusing(self.client.set_logging_level(level))  # pyright: ignore[reportArgumentType]
            await refusing(self.client.call_tool(name, {}))
        logged = [entry["params"] for entry in self.told if entry["method"] == "logged"]
        await self.do_forget()
        return logged

    async def do_follow(self, uri: str) -> Json:
        """Changes of that resource and of every list, from now on."""
        if self.client.protocol_version != MODERN:
            await refusing(self.client.subscribe_resource(uri))
            return {}
        opened = asyncio.get_running_loop().create_future()
        self._listening = asyncio.ensure_future(self._listen(uri, opened))
        return await opened

    async def _listen(self, uri: str, opened: "asyncio.Future[Json]") -> None:
        try:
            async with self.client.listen(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                resource_subscriptions=[uri],
            ) as subscription:
                opened.set_result(wire(subscription.honored))
                async for event in subscription:
                    about = {"uri": event.uri} if isinstance(event, ResourceUpdated) else {}
                    await self.note(EVENTS[type(event).__name__], about)
        except MCPError as error:
            refusal = ServerRefusedError(error.error.code, error.error.message, error.error.data)
            if not opened.done():
                opened.set_exception(refusal)

    async def do_leave(self, uri: str) -> Json:
        if self.client.protocol_version != MODERN:
            await refusing(self.client.unsubscribe_resource(uri))
        else:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        return {}


Driver(Sdk2Link).run()
