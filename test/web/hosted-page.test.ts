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
  const box = await page.getByRole("main", { name: "Chat with Demo agent" }).boundingBox();
  expect(box).toEqual({ x: 0, y: 0, width: 1280, height: 800 });
  const { channel } = await call<{ channel: string }>("GET", `/conversations/${await conversationOn(page)}`);
  expect(channel).toBe("hosted");
  expect(errors).toEqual([]);
});

test("the newest message stays in sight while answers and notices come in, until the visitor scrolls up", async () => {
  const { page } = await openPage({ viewport: { width: 390, height: 600 } });
  await page.goto(`${service.url}/chat/${service.agentId}`);
  const chat = chatOn(page);
  const isAtEnd = () => chat.log.evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 2);
  await chat.ask(question("markdown"));
  await chat.answered();
  await expect.poll(isAtEnd).toBe(true);
  await chat.button("Talk to a person").click();
  await page.getByText("Waiting for a person").waitFor();
  await expect.poll(isAtEnd).toBe(true);
  // A message comes between a scroll and the event that reports it.
  for (const distance of [20, 0]) {
    await chat.log.evaluate((log, fromEnd) => {
      log.scrollTo(0, log.scrollHeight - log.clientHeight - fromEnd);
      const message = document.createElement("p");
      message.style.height = "500px";
      log.firstElementChild!.append(message);
    }, distance);
    await expect.poll(isAtEnd).toBe(true);
  }
  expect(await chat.button("New messages").count()).toBe(0);
  await chat.log.evaluate((log) => log.scrollTo(0, 0));
  await chat.button("New messages").click();
  await chat.button("New messages").waitFor({ state: "detached" });
  await expect.poll(isAtEnd).toBe(true);
});

test("a new conversation has no new messages below", async () => {
  const { page } = await openPage({ viewport: { width: 390, height: 600 } });
  await page.goto(`${service.url}/chat/${service.agentId}`);
  const chat = chatOn(page);
  for (const count of [1, 2]) {
    await chat.ask(question("markdown"));
    await chat.answered(count);
  }
  await chat.log.evaluate((log) => log.scrollTo(0, 0));
  await chat.button("New messages").waitFor();
  await chat.button("New conversation").click();
  await chat.button("New messages").waitFor({ state: "detached" });
});

test("the hosted page speaks the browser's language, or that of its address", async () => {
  const { page } = await openPage({ locale: "de-CH" });
  await page.goto(`${service.url}/chat/${service.agentId}`);
  await page.getByRole("textbox", { name: "Ihre Nachricht" }).waitFor();
  await expect.poll(() => page.locator("html").getAttribute("lang")).toBe("de");
  await page.goto(`${service.url}/chat/${service.agentId}?lang=ar`);
  await page.locator("[lang=ar][dir=rtl] textarea").waitFor();
  await expect.poll(() => page.locator("html").getAttribute("dir")).toBe("rtl");
});

test("a welcome of the agent's own stays, and the default one is in the language of the chat", async () => {
  const languages = { en: {}, de: {}, fr: { welcome: "Bienvenue chez Acme" } };
  const welcomes = async (settings: object) => {
    const { id } = await call<{ id: string }>("POST", "/agents", { name: "Welcoming", languages, ...settings });
    const { page } = await openPage();
    const shown: string[] = [];
    for (const language of ["de", "fr"]) {
      await page.goto(`${service.url}/chat/${id}?lang=${language}`);
      await page.locator(`[lang=${language}] textarea`).waitFor();
      shown.push(await page.locator(".hello").innerText());
    }
    return shown;
  };
  expect(await welcomes({})).toEqual(["Hallo! Wie kann ich helfen?", "Bienvenue chez Acme"]);
  expect(await welcomes({ welcome_message: "Welcome to Acme" })).toEqual(["Welcome to Acme", "Bienvenue chez Acme"]);
});
