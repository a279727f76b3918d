import { expect, test } from "vitest";
import { call, openPage, service } from "./browser.ts";
import { chatOn, question } from "./chat.ts";

test("the hosted page is the chat under a strict policy, on the channel hosted", async () => {
  const { page, errors } = await openPage();
  await page.goto(`${service.url}/chat/${service.agentId}`);
  expect(await page.title()).toBe("Demo agent");
  const chat = chatOn(page);
  await chat.ask(question("markdown"));
  await chat.answered();
  const box = await page.getByRole("region", { name: "Chat with Demo agent" }).boundingBox();
  expect(box).toEqual({ x: 0, y: 0, width: 1280, height: 800 });
  const { data } = await call<{ data: { channel: string }[] }>("GET", "/conversations?limit=1");
  expect(data[0]!.channel).toBe("hosted");
  expect(errors).toEqual([]);
});
