"""A modern client over HTTP that answers a server's question when the test says so, with what it says."""

from typing import Any

from edge.http_probe import MODERN_META
from end_to_end.raw_clients import Answering, ModernClient

Json = dict[str, Any]
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
FORMS = {"elicitation": {"form": {}}}
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "heard"}, "model": "raw"}
ANSWERS: dict[str, Json] = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ada"}},
    "sampling/createMessage": SAMPLED,
    "roots/list": {"roots": [{"uri": "file:///root"}]},
}
# The questions of the tool `ask_at_once`.
EVERYTHING = {"What is your name?", "sampling/createMessage", "roots/list"}


class AskingClient(ModernClient):
    def __init__(self, port: int, path: str, token: str | None = None, capabilities: Json = FORMS) -> None:
        super().__init__(port, path)
        self._token = {} if token is None else {"authorization": f"Bearer {token}"}
        self._capabilities = capabilities

    async def http(self, method: str, headers: dict[str, str], body: bytes = b"") -> Answering:
        return await super().http(method, headers | self._token, body)

    async def ask(self, tool: str, arguments: Json, **more: Any) -> Json:
        """One round: the whole answer, which may be `input_required`."""
        params = {"name": tool, "arguments": arguments, **more, "_meta": self.meta}
        return await self.request("tools/call", params)

    @property
    def meta(self) -> Json:
        return MODERN_META | {CAPABILITIES: self._capabilities}

    async def park(self, word: str, tool: str = "ask_back") -> Json:
        """A call that has come as far as its question."""
        result = (await self.ask(tool, {"word": word}))["result"]
        assert result["resultType"] == "input_required", result
        (question,) = result["inputRequests"].values()
        assert question["method"] == "elicitation/create"
        assert question["params"]["message"] == f"A name for {word}?"
        return result

    async def answer_all(self, tool: str, arguments: Json, parked: Json) -> Json:
        answers = {key: ANSWERS[request["method"]] for key, request in parked["inputRequests"].items()}
        state = parked["requestState"]
        return await self.ask(tool, arguments, inputResponses=answers, requestState=state)

    async def resume(self, word: str, parked: Json, name: str, tool: str = "ask_back", **other: Any) -> Json:
        answers = {key: {"action": "accept", "content": {"name": name}} for key in parked["inputRequests"]}
        more = {"inputResponses": answers, "requestState": parked["requestState"], **other}
        return await self.ask(tool, {"word": word}, **more)


def questions_of(answer: Json) -> set[str]:
    """What one `input_required` wants to know."""
    requests = answer["result"]["inputRequests"].values()
    return {request["params"].get("message", request["method"]) for request in requests}


def refusal(answer: Json) -> str:
    """Why a state was refused."""
    assert "error" in answer, answer
    error = answer["error"]
    assert error["data"]["code"] == "caller.request_state", error
    return error["message"]


def forged(state: str) -> str:
    """The same state with one character of its middle changed."""
    middle = len(state) // 2
    return state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
