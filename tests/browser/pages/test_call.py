"""One call: what was asked and answered, by whom, and the same again."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from browser.browser_stage import COUNT, Stage, open_stage
from browser.page_watch import PageWatch
from browser.past import PastCall, PastSession, write_past
from end_to_end.gateway_process import get_json
from end_to_end.upstream_stage import Actor, say, staged
from playwright.async_api import Page, expect

import callgate
from callgate.model.exchange import StatementFacts

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def made(stage: Stage, tool: str, arguments: dict[str, Any]) -> str:
    async with stage.client() as client:
        await client.call_tool(tool, arguments)
    return (await stage.calls(limit=1))[0]["id"]


async def test_a_call_shows_its_statement_its_verdict_and_its_result_as_a_table(
    page: Page, stage: Stage
) -> None:
    call = await made(stage, "demo__query", {"query": "SELECT status, count(*) FROM shop.orders GROUP BY 1"})
    await page.goto(f"{stage.url}/calls/{call}")
    await expect(page.get_by_test_id("call-page")).to_have_attribute("data-call-id", call)
    await expect(page.get_by_test_id("call-sql")).to_contain_text("GROUP BY 1")
    await expect(page.get_by_test_id("call-verdict")).to_contain_text("allow")
    await expect(page.get_by_test_id("result-table")).to_contain_text("delivered")
    await expect(page.get_by_test_id("call-outcome")).to_contain_text("answered")


async def test_a_statement_that_is_only_shown_takes_no_key(page: Page, stage: Stage) -> None:
    """The page's watch fails it when the browser complains of a style, as it did when one typed there."""
    await page.goto(f"{stage.url}/calls/{await made(stage, 'demo__query', {'query': COUNT})}")
    shown = page.get_by_test_id("call-sql").get_by_role("textbox")
    await shown.click()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("DROP")
    await expect(shown).to_have_text(COUNT)


async def test_a_call_with_one_pair_of_times_claims_nothing_about_the_gateways_part(
    page: Page, tmp_path: Path
) -> None:
    begun_s = time.time() - 60
    asked = ("demo", "query", {"query": COUNT}, {"content": []})
    shares = ((0.0, 1.0), (0.25, 0.75))
    calls = [PastCall(n, begun_s + n, 80.0, *asked, hop_share=share) for n, share in enumerate(shares)]
    await write_past(tmp_path, [(PastSession(1, "agent", "1", begun_s), calls)])
    async with open_stage(tmp_path) as stage:
        plain, other = await stage.calls(order="oldest")
        timeline = page.get_by_test_id("call-timeline")
        await page.goto(f"{stage.url}/calls/{other['id']}")
        await expect(timeline).to_contain_text("40 ms of 80 ms in the gateway itself")
        await page.goto(f"{stage.url}/calls/{plain['id']}")
        await expect(timeline.get_by_test_id("hop")).to_have_count(1)
        await expect(timeline).not_to_contain_text("in the gateway itself")
        await page.close()


async def test_json_inside_a_text_is_decoded(page: Page, stage: Stage) -> None:
    call = await made(stage, "tickets__search_tickets", {"text": "cart"})
    await page.goto(f"{stage.url}/calls/{call}")
    await expect(page.get_by_test_id("call-page")).to_contain_text("Export hangs for large carts")
    await expect(page.get_by_test_id("hop")).to_have_count(1)
    await expect(page.get_by_test_id("hop")).to_have_attribute("data-server", "tickets")


async def test_a_call_is_made_again(page: Page, stage: Stage) -> None:
    call = await made(stage, "demo__query", {"query": COUNT})
    await page.goto(f"{stage.url}/calls/{call}")
    await page.get_by_test_id("call-replay").click()
    again = await replayed(page, call)
    newest = (await stage.calls(limit=1))[0]
    assert newest["id"] == again
    assert newest["sql"] == COUNT


async def test_a_call_is_made_again_with_other_arguments(page: Page, stage: Stage) -> None:
    call = await made(stage, "demo__query", {"query": COUNT})
    await page.goto(f"{stage.url}/calls/{call}")
    await page.get_by_test_id("call-edit").click()
    editor = page.get_by_test_id("sql-argument").get_by_role("textbox")
    await editor.click()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.insert_text("SELECT 42 AS answer")
    await page.get_by_test_id("edit-arguments").get_by_role("tab", name="JSON").click()
    await expect(page.get_by_test_id("edit-arguments")).to_contain_text('"query": "SELECT 42 AS answer"')
    await page.get_by_test_id("edit-send").click()
    await replayed(page, call)
    assert (await stage.calls(limit=1))[0]["sql"] == "SELECT 42 AS answer"


async def test_a_destructive_call_is_made_again_only_after_a_question(page: Page, stage: Stage) -> None:
    call = await made(stage, "tickets__close_ticket", {"ticket": "T-1042"})
    await page.goto(f"{stage.url}/calls/{call}")
    await page.get_by_test_id("call-replay").click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("dialog")).to_be_hidden()
    assert (await stage.calls(limit=1))[0]["id"] == call
    await page.get_by_test_id("call-replay").click()
    await page.get_by_role("dialog").get_by_role("button").last.click()
    await replayed(page, call)
    assert (await stage.calls(limit=1))[0]["id"] != call


async def test_a_refused_call_says_why(page: Page, stage: Stage) -> None:
    call = await made(stage, "demo__query", {"query": "DROP TABLE shop.orders"})
    await page.goto(f"{stage.url}/calls/{call}")
    await expect(page.get_by_test_id("call-outcome")).to_contain_text("refused")
    await expect(page.get_by_test_id("call-page")).to_contain_text("refused.forbidden")


async def test_a_call_shows_the_annotations_its_tool_had_then(page: Page, stage: Stage) -> None:
    call = await made(stage, "tickets__summarize", {"ticket": "T-1041"})
    await page.goto(f"{stage.url}/calls/{call}")
    for hint in ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"):
        badge = page.get_by_test_id("call-page").locator(f'[data-hint="{hint}"]')
        await expect(badge).to_have_attribute("data-state", "default")


async def test_a_tool_that_wrote_though_declared_read_only_is_warned_about(
    page: Page, tmp_path: Path
) -> None:
    sql = "UPDATE shop.orders SET status = 'shipped'"
    facts = StatementFacts("demo", sql, "UPDATE", "write", "allow", rows=3)
    call = PastCall(1, time.time() - 60, 2.0, "demo", "query", {"query": sql}, {"content": []}, facts=facts)
    await write_past(tmp_path, [(PastSession(1, "agent", "1", call.at_s - 1), [call])])
    async with open_stage(tmp_path) as stage:
        recorded = (await stage.calls())[0]["id"]
        await page.goto(f"{stage.url}/calls/{recorded}")
        await expect(page.get_by_test_id("wrote-warning")).to_be_visible()
        await page.close()


async def test_a_call_that_is_not_in_the_record_says_so(page: Page, stage: Stage, watch: PageWatch) -> None:
    watch.tolerate("404")
    await page.goto(f"{stage.url}/calls/00000000-0000-7000-8000-000000000000")
    await expect(page.get_by_test_id("error-state")).to_be_visible()


async def replayed(page: Page, call: str) -> str:
    """The id of the new call, shown on the page or by the address it went to."""
    await page.wait_for_function(
        """(before) => {
          const shown = document.querySelector('[data-testid="replay-result"]')?.dataset.callId;
          const here = document.querySelector('[data-testid="call-page"]')?.dataset.callId;
          return (shown && shown !== before) || (here && here !== before);
        }""",
        arg=call,
    )
    return await page.evaluate(
        """(before) => document.querySelector('[data-testid="replay-result"]')?.dataset.callId
          ?? document.querySelector('[data-testid="call-page"]').dataset.callId""",
        call,
    )


# With the token under which the server was asked for it.
PROGRESS = (
    '{"jsonrpc":"2.0","method":"notifications/progress",'
    '"params":{"progressToken":@TOKEN@,"progress":1,"total":3,"message":"reading"}}'
)
HOSTILE = "<img src=x onerror=\"document.title='pwned'\"> [click](javascript:alert(1)) \u202egnp.exe"


async def test_what_was_said_and_asked_during_a_call_stands_on_its_time_line(
    page: Page, tmp_path: Path
) -> None:
    capabilities = {"elicitation": {}, "sampling": {}}
    async with staged(Actor("one", tmp_path)) as stage, stage.client(capabilities=capabilities) as client:
        message = {"role": "user", "content": {"type": "text", "text": "Sum it up"}}
        steps = [
            {"say": PROGRESS},
            say("notifications/message", {"level": "warning", "logger": "disk", "data": HOSTILE}),
            {"ask": {"method": "elicitation/create", "params": {"message": "Really close it?"}}},
            {"ask": {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 9}}},
            {"answer": "fine"},
        ]
        params = {"name": "one__play", "arguments": {"steps": steps}, "_meta": {"progressToken": "p"}}
        asking = await client.send("tools/call", params)
        await asking.read_head()
        question = await asking.until_method("elicitation/create")
        await client.respond(question, {"action": "accept", "content": {"sure": HOSTILE}})
        question = await asking.until_method("sampling/createMessage")
        said = {"role": "assistant", "model": "m-1", "content": {"type": "text", "text": "In short: no."}}
        await client.respond(question, said)
        await asking.next()
        url = f"http://127.0.0.1:{stage.port}"
        newest = (await asyncio.to_thread(get_json, f"{url}/api/v1/tool-calls?limit=1"))["tool_calls"][0]
        await page.goto(f"{url}/calls/{newest['id']}")
        line = page.get_by_test_id("call-timeline")
        await expect(line.get_by_test_id("said")).to_have_count(4)
        progress, log, elicitation, sampling = (line.get_by_test_id("said").nth(n) for n in range(4))
        await expect(progress).to_contain_text("1 of 3 · reading")
        await expect(log).to_contain_text("log · warning")
        await expect(log).to_contain_text(HOSTILE)
        await expect(elicitation).to_contain_text("Really close it?")
        await expect(elicitation).to_contain_text("accept")
        await expect(sampling).to_contain_text("Sum it up")
        await expect(sampling).to_contain_text("In short: no.")
        assert await line.locator("img, a[href^='javascript']").count() == 0
        await elicitation.get_by_role("button").click()
        await expect(elicitation.get_by_role("link", name="All of it")).to_be_visible()
        await expect(page).not_to_have_title("pwned")
        await page.close()


async def test_a_replay_is_the_pages_own_call_in_the_record(page: Page, stage: Stage) -> None:
    call = await made(stage, "demo__query", {"query": COUNT})
    await page.goto(f"{stage.url}/calls/{call}")
    await page.get_by_test_id("call-replay").click()
    await replayed(page, call)
    newest = (await stage.calls(limit=1))[0]
    assert newest["client"] == f"callgate-page/{callgate.__version__}"
    session = await stage.gateway.get(f"/api/v1/sessions/{newest['session_id']}")
    assert (session["client_name"], session["client_version"]) == ("callgate-page", callgate.__version__)


async def test_a_short_id_is_the_beginning_of_the_whole_which_is_what_is_copied(
    page: Page, stage: Stage
) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    call = await made(stage, "demo__query", {"query": COUNT})
    session = (await stage.calls(limit=1))[0]["session_id"]
    await page.goto(f"{stage.url}/calls/{call}")
    link = page.get_by_role("complementary", name="Details").get_by_role("link", name=session[:13])
    await expect(link).to_have_text(session[:13])
    await page.get_by_role("button", name="Copy the whole id of the session").click()
    await page.wait_for_function(
        "whole => navigator.clipboard.readText().then(text => text === whole)", arg=session
    )
