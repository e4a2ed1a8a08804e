"""The official Python SDK before the modern era, `mcp` 1.x. Told what to do by lines (`lines.py`)."""

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import mcp.types as t
from lines import ROOT, Driver, Json, Link, ServerRefusedError, answer_elicitation, answer_sampling
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError

warnings.simplefilter("ignore")
LISTS = {
    "tools": "list_tools",
    "prompts": "list_prompts",
    "resources": "list_resources",
    "resourceTemplates": "list_resource_templates",
}


def wire(model: Any) -> Json:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def refusing(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except McpError as error:
        raise ServerRefusedError(error.error.code, error.error.message, error.error.data) from None


class Sdk1Link(Link):
    session: ClientSession

    async def open(self, ready: Callable[[Json], None]) -> None:
        if "url" in self.target:
            transport: Any = streamable_http_client(self.target["url"])
        else:
            transport = stdio_client(StdioServerParameters(**self.target["command"]))
        answers: Json = {}
        if not self.target.get("silent"):
            answers = {
                "elicitation_callback": self._elicit,
                "sampling_callback": self._sample,
                "list_roots_callback": self._roots,
            }
        async with (
            transport as (incoming, outgoing, *_),
            ClientSession(
                incoming, outgoing, message_handler=self._hear, logging_callback=self._log, **answers
            ) as self.session,
        ):
            introduced = await self.session.initialize()
            ready(
                {
                    "version": introduced.protocolVersion,
                    "capabilities": wire(introduced.capabilities),
                    "name": introduced.serverInfo.name,
                    "instructions": introduced.instructions,
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
        if isinstance(message, t.ServerNotification):
            said = wire(message)
            await self.note(said["method"], said.get("params", {}))

    async def _log(self, params: Any) -> None:
        await self.note("logged", wire(params))

    # ---- operations

    async def do_list(self, kind: str) -> list[Json]:
        found: list[Json] = []
        cursor = None
        while True:
            params = t.PaginatedRequestParams(cursor=cursor)
            page = wire(await refusing(getattr(self.session, LISTS[kind])(params=params)))
            found += page[kind]
            if not (cursor := page.get("nextCursor")):
                return found

    async def do_call(self, name: str, arguments: Json) -> Json:
        progress: list[Any] = []

        async def note(done: float, total: float | None, message: str | None) -> None:
            progress.append([done, total, message])

        result = await refusing(self.session.call_tool(name, arguments, progress_callback=note))
        return {"result": wire(result), "progress": progress}

    async def do_cancel(self, name: str, arguments: Json) -> Json:
        """Cancelled as soon as it has begun; this SDK leaves it to its user to send the notification."""
        begun = asyncio.Event()
        request_id = self.session._request_id

        async def note(*_: Any) -> None:
            begun.set()

        call = asyncio.ensure_future(self.session.call_tool(name, arguments, progress_callback=note))
        await asyncio.wait([asyncio.ensure_future(begun.wait()), call], return_when="FIRST_COMPLETED")
        if call.done():
            await refusing(call)
            return {"cancelled": False}
        params = t.CancelledNotificationParams(requestId=request_id, reason="changed my mind")
        await self.session.send_notification(t.ClientNotification(t.CancelledNotification(params=params)))
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        return {"cancelled": True}

    async def do_prompt(self, name: str, arguments: Json) -> Json:
        return wire(await refusing(self.session.get_prompt(name, arguments)))

    async def do_read(self, uri: str) -> Json:
        return wire(await refusing(self.session.read_resource(uri)))  # type: ignore[arg-type]

    async def do_complete(self, ref: Json, argument: Json) -> Json:
        kind: Any = t.PromptReference if ref["type"] == "ref/prompt" else t.ResourceTemplateReference
        return wire(await refusing(self.session.complete(kind.model_validate(ref), argument)))

    async def do_log(self, level: str, name: str) -> list[Json]:
        """What a call of that tool logs at that level."""
        await refusing(self.session.set_logging_level(level))  # type: ignore[arg-type]
        await refusing(self.session.call_tool(name, {}))
        logged = [entry["params"] for entry in self.told if entry["method"] == "logged"]
        await self.do_forget()
        return logged

    async def do_follow(self, uri: str) -> Json:
        await refusing(self.session.subscribe_resource(uri))  # type: ignore[arg-type]
        return {}

    async def do_leave(self, uri: str) -> Json:
        await refusing(self.session.unsubscribe_resource(uri))  # type: ignore[arg-type]
        return {}


Driver(Sdk1Link).run()
