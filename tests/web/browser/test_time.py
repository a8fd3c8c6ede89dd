"""The clock that one can move, and what happens beside messages: events, starts, the gate, a person, another model."""

from __future__ import annotations

import json

from playwright.async_api import expect

from web.browser.chromium import Guard
from web.browser.playground import VISIT, Playground, t


async def test_a_follow_up_arrives(playground: Playground) -> None:
    """Skipping to the next wake brings what a silent customer is written, and a day later the last word."""
    await playground.say("I would like a cleaning")
    await expect(playground.page.locator(".clock .next")).to_contain_text("Following up on silence")
    await playground.next.click()
    await expect(playground.last).to_contain_text(t("input.wake", flow="Following up on silence"))
    await playground.hears("Hello, it is me again. Shall we go on?")
    await playground.press("clock.day")
    await expect(playground.page.locator(".theirs > p").last).to_have_text(
        "I will leave it at that for now. Write to me whenever you like."
    )
    await expect(playground.page.locator(".clock .now")).to_contain_text("ahead")


async def test_an_answer_ends_the_silence(playground: Playground) -> None:
    """Who answers the follow-up is not written to again for it."""
    await playground.say("I would like a cleaning")
    await playground.next.click()
    await playground.hears("Hello, it is me again. Shall we go on?")
    await playground.say("yes, 2099-03-02 at 11am")
    flows = await playground.look("flows")
    await expect(flows).not_to_contain_text("pause")


async def test_an_event_is_reported(playground: Playground) -> None:
    """The event starts the flow that waits for it, in its own time; what comes of it is a turn like any other."""
    await playground.say(*VISIT)
    await playground.press("event.open")
    await playground.press("event.send", playground.dialog)
    await expect(playground.dialog).to_have_count(0)
    await expect(playground.last).to_contain_text("visit_done")
    await playground.press("clock.day")
    question = playground.page.locator(".theirs").filter(has_text="How was your visit, from 1 (bad) to 5 (very good)?")
    await expect(question.locator(".meta")).to_contain_text("question")
    await playground.say("5")
    await expect(playground.last).to_contain_text("Thank you, that is good to hear!")


async def test_a_flow_is_started_by_hand(playground: Playground) -> None:
    """Without a word of the customer."""
    await playground.press("start.open")
    await playground.dialog.get_by_role("combobox", name=t("flow")).select_option("hours")
    await playground.press("start.send", playground.dialog)
    await expect(playground.last).to_contain_text(t("input.start", flow="Opening hours"))
    await playground.hears("We are here Monday to Saturday, from 8 in the morning to 8 in the evening.")


async def test_the_gate_and_a_person(playground: Playground) -> None:
    """Behind a closed gate the assistant is silent and says why; a person writes; an open gate lets it speak again."""
    await playground.press("gate.close")
    await playground.dialog.get_by_role("textbox", name=t("gate.reason")).fill("Rita has this one")
    await playground.press("gate.close", playground.dialog)
    await expect(playground.page.locator(".gate")).to_contain_text("Rita has this one")
    await playground.say("how much is a filling?")
    await expect(playground.last).to_contain_text(t("turn.silenced"))

    await playground.page.get_by_role("combobox", name=t("composer.as")).select_option("person")
    await playground.page.get_by_role("textbox", name=t("name"), exact=True).fill("Rita")
    await playground.box.fill("Rita here. It is 75 euros.")
    await playground.press("composer.send")
    await playground.hears("Rita here. It is 75 euros.")
    await expect(playground.last.locator(".meta")).to_contain_text("person")
    await expect(playground.last.locator(".meta")).to_contain_text("Rita")

    await playground.page.get_by_role("combobox", name=t("composer.as")).select_option("customer")
    await playground.press("gate.open")
    await expect(playground.page.locator(".gate")).to_have_count(0)
    await playground.say("where is the clinic?")
    await playground.hears(
        "We are at Rua das Flores 12 in Lisbon, two minutes from the station. You can park in the yard."
    )


async def test_the_model_says_what_one_writes(playground: Playground, guard: Guard) -> None:
    """The scripted model gives its replies in their order; one that cannot be had says why, and nothing changes."""
    await playground.say("hello")
    await playground.press("model.open", name=t("model.lexical"))
    await playground.dialog.get_by_role("radio", name=t("model.scripted")).check()
    replies = [("understand", json.dumps({"flows": {"book": 0}})), ("speak", "We are on holiday.")]
    for number, (call, reply) in enumerate(replies):
        if number:
            await playground.press("queue.add", playground.dialog)
        await playground.dialog.get_by_role("combobox", name=t("queue.call")).nth(number).select_option(call)
        await playground.dialog.get_by_role("textbox", name=t("calls.reply"), exact=True).nth(number).fill(reply)
    await playground.press("model.use", playground.dialog)
    await expect(playground.button("model.open", name=t("model.scripted"))).to_be_visible()
    await playground.say("are you there?")
    await playground.hears("We are on holiday.")

    await playground.press("model.open", name=t("model.scripted"))
    await playground.dialog.get_by_role("radio", name=t("model.lexical")).check()
    await playground.press("model.use", playground.dialog)
    await playground.say(VISIT[1])
    await expect(playground.last).to_contain_text("Which day suits you")
