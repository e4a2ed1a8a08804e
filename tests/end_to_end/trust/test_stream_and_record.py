"""What operators hear of a server that changes itself: on the event stream, and afterwards in the record."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from end_to_end.gateway_process import get_json
from end_to_end.upstream_stage import Actor, Stage, announce, client_of, staged, text_of
from waiting import until

ADD = {"name": "add", "description": "Adds two numbers.", "inputSchema": {"type": "object"}}
PLAY = {"name": "play", "inputSchema": {"type": "object"}}


async def change(actor: Actor, stage: Stage, description: str) -> None:
    """It lists something else from now on, and says so. No client lists afterwards."""
    actor.offer(tools=[{**ADD, "description": description}, PLAY])
    async with client_of(stage, "legacy") as client:
        told = announce("notifications/tools/list_changed")
        assert text_of(await client.play("one__play", told, {"answer": "fine"})) == "fine"


def next_trust(stream: Any) -> dict[str, Any]:
    kind = ""
    for line in stream:
        name, _, value = line.decode().strip().partition(": ")
        if name == "event":
            kind = value
        elif name == "data" and kind == "trust.changed":
            return json.loads(value)["data"]["servers"][0]
    raise AssertionError("the stream ended")


async def test_a_change_that_a_server_announces_is_told_on_the_stream_although_no_client_lists(
    tmp_path: Path,
) -> None:
    actor = Actor("one", tmp_path, ["--era", "legacy"], trust="hold")
    actor.offer(tools=[ADD, PLAY])
    async with staged(actor) as stage:
        base = f"http://127.0.0.1:{stage.port}"
        await stage.until_state("one", "up")
        await until(lambda: asyncio.to_thread((stage.folder / "callgate.lock").exists))
        with await asyncio.to_thread(urlopen, f"{base}/api/v1/events", timeout=30) as stream:
            assert await asyncio.to_thread(stream.readline) == b"retry: 2000\n"
            await change(actor, stage, "Adds them.")
            told = await asyncio.to_thread(next_trust, stream)
            assert (told["server"], told["held"], told["changed"]) == ("one", 1, 0)
            assert "Adds" not in json.dumps(told)

            await change(actor, stage, "Adds them all.")  # another text, and the same numbers
            again = await asyncio.to_thread(next_trust, stream)
            assert (again["held"], again["version"] != told["version"]) == (1, True)

            item = (await asyncio.to_thread(get_json, f"{base}/api/v1/trust/one"))["items"][0]
            await answer(base, "accept", item)
            assert (await asyncio.to_thread(next_trust, stream))["held"] == 0


async def answer(base: str, word: str, item: dict[str, Any]) -> None:
    body = json.dumps({"items": [{name: item[name] for name in ("kind", "name", "digest")}]}).encode()
    asked = Request(f"{base}/api/v1/trust/one/{word}", body, {"content-type": "application/json"})
    with await asyncio.to_thread(urlopen, asked, timeout=30) as told:
        assert told.status == 200


async def test_what_an_operator_accepts_and_blocks_is_a_row_of_the_record(tmp_path: Path) -> None:
    actor = Actor("one", tmp_path, ["--era", "legacy"], trust="hold")
    actor.offer(tools=[ADD, PLAY])
    async with staged(actor) as stage:
        base = f"http://127.0.0.1:{stage.port}"
        await stage.until_state("one", "up")
        await until(lambda: asyncio.to_thread((stage.folder / "callgate.lock").exists))
        for word, description in (("accept", "Adds them."), ("block", "Adds them all.")):
            await change(actor, stage, description)

            async def held() -> dict[str, Any] | None:
                items = (await asyncio.to_thread(get_json, f"{base}/api/v1/trust/one"))["items"]
                return items[0] if items else None

            item = await until(held)
            assert item is not None
            await answer(base, word, item)
            rows: list[dict[str, Any]] = []
            url = f"{base}/api/v1/exchanges?method=operator/{word}Trust"

            async def is_recorded(rows: list[dict[str, Any]] = rows, url: str = url) -> bool:
                rows[:] = (await asyncio.to_thread(get_json, url))["exchanges"]
                return bool(rows)

            await until(is_recorded)
            assert [row["sender"] for row in rows] == ["operator"]
            row = await asyncio.to_thread(get_json, f"{base}/api/v1/exchanges/{rows[0]['id']}")
            told = json.loads(row["request_json"])
            assert told["server"] == "one"
            assert told["items"] == [{"kind": "tool", "name": "add", "digest": item["digest"]}]
            assert description not in json.dumps(row)
