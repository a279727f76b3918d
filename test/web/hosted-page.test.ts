import { expect, test } from "vitest";
import { call, openPage, service } from "./browser.ts";
import { chatOn, conversationOn, question } from "./chat.ts";

test("the hosted page is the chat under a strict policy, on the channel hosted", async () => {
  const { page, errors } = await openPage();
  await page.goto(`${service.url}/chat/${service.agentId}`);
  expect(await page.title()).toBe("Demo agent");
  const chat = chatOn(page);
  await chat.ask(question("markdown"));
  await chat.answered();
  const box = await page.getByRole("region", { name: "Chat with Demo agent" }).boundingBox();
  expect(box).toEqual({ x: 0, y: 0, width: 1280, height: 800 });
  const { channel } = await call<{ channel: string }>("GET", `/conversations/${await conversationOn(page)}`);
  expect(channel).toBe("hosted");
  expect(errors).toEqual([]);
});
