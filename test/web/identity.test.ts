import { SignJWT } from "jose";
import type { Route } from "playwright-core";
import { expect, test } from "vitest";
import { call, openPage, serveSite } from "./browser.ts";
import { chatOn, embedding } from "./chat.ts";

interface Conversation {
  visitor: { external_id: string; name: string; verified: boolean };
}

/** A page that embeds an agent of its own, and the tokens that its server signs. The page notes each rejected identity. */
async function openShop() {
  // A visitor who writes to an agent without knowledge waits for a person.
  const settings = { name: "Demo agent", allowed_origins: ["*"], contact_form: { fields: [{ name: "name" }, { name: "email" }] } };
  const { id: agentId } = await call<{ id: string }>("POST", "/agents", settings);
  const { secret } = await call<{ secret: string }>("POST", `/agents/${agentId}/rotate-identity-secret`, {});
  const sign = (expires: string) =>
    new SignJWT({ name: "Zoë Lovelace", email: "zoe@example.com" })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject("u-1")
      .setExpirationTime(expires)
      .sign(new TextEncoder().encode(secret));
  const { page } = await openPage();
  const rejections: { reason: string }[] = [];
  await page.exposeFunction("noteRejection", (rejection: { reason: string }) => rejections.push(rejection));
  await page.exposeFunction("sign", sign);
  const open = async (identify: string) => {
    const head = `<script>window.SupportAgent = (...call) => (SupportAgent.q ??= []).push(call);
      SupportAgent("on", "identity_rejected", noteRejection);
      ${identify}</script>`;
    await page.goto(await serveSite({ "/": embedding({ head, agentId }) }));
    await chatOn(page).open();
  };
  const conversations = async () => (await call<{ data: Conversation[] }>("GET", `/conversations?agent_id=${agentId}`)).data;
  return { page, chat: chatOn(page), open, conversations, rejections };
}

const verified = [{ visitor: { external_id: "u-1", name: "Zoë Lovelace", verified: true } }];

test("a page that identifies with a function is asked for a new token when one has expired", async () => {
  const { page, chat, open, conversations, rejections } = await openShop();
  await open(`let calls = 0; SupportAgent("identify", () => sign(calls++ === 0 ? "-5m" : "5m"));`);
  await chat.ask("Is somebody there?");
  await chat.window.getByText("Waiting for a person").waitFor();
  await expect.poll(conversations).toMatchObject(verified);
  expect(rejections).toEqual([]);
  await chat.button("Leave contact details").click();
  await expect.poll(() => page.getByLabel("Name").inputValue()).toBe("Zoë Lovelace");
  await expect.poll(() => page.getByLabel("Email").inputValue()).toBe("zoe@example.com");
});

test("a visitor whose token is refused is told why, and can go on once the page has a new one", async () => {
  const { page, chat, open, conversations, rejections } = await openShop();
  await open(`sign("-5m").then((token) => SupportAgent("identify", token));`);
  await chat.ask("Is somebody there?");
  await chat.window.getByText("We could not confirm that you are signed in.").waitFor();
  await expect.poll(() => rejections).toMatchObject([{ reason: "The identity_token has expired. Have your server sign a new one." }]);
  expect(await conversations()).toEqual([]);
  await page.evaluate(`sign("5m").then((token) => SupportAgent("identify", token))`);
  await chat.button("Try again").click();
  await chat.window.getByText("Waiting for a person").waitFor();
  await expect.poll(conversations).toMatchObject(verified);
});

test("a visitor whose page cannot get a token does not become an anonymous one", async () => {
  const { chat, open, conversations, rejections } = await openShop();
  await open(`SupportAgent("identify", async () => { throw new Error("The shop is down."); });`);
  await chat.ask("Is somebody there?");
  await chat.window.getByText("We could not confirm that you are signed in.").waitFor();
  await expect.poll(() => rejections).toMatchObject([{ reason: "The function of identify failed. Error: The shop is down." }]);
  expect(await conversations()).toEqual([]);
});

test("nothing of a visitor who signs out stays on the screen", async () => {
  const { page, chat, open } = await openShop();
  await open(`sign("5m").then((token) => SupportAgent("identify", token));`);
  await chat.ask("Is somebody there?");
  await chat.button("Leave contact details").click();
  await expect.poll(() => page.getByLabel("Name").inputValue()).toBe("Zoë Lovelace");
  await page.evaluate('SupportAgent("reset")');
  await page.getByLabel("Name").waitFor({ state: "detached" });
  await chat.ask("Is somebody here?");
  await chat.window.getByText("Waiting for a person").waitFor();
  await chat.field.fill("My number is 4711.");
  await chat.button("Earlier conversations").click();
  await page.getByRole("listitem").waitFor();
  await page.evaluate('SupportAgent("reset")');
  await page.getByRole("listitem").waitFor({ state: "detached" });
  await expect.poll(() => chat.field.inputValue()).toBe("");
  expect(await page.locator(".unseen").textContent()).toBe("");
});

test("a question that fails after the visitor has signed out brings nobody back", async () => {
  const { page, chat, open } = await openShop();
  await open("");
  const held = Promise.withResolvers<Route>();
  await page.route("**/widget/v1/agents/*/messages", held.resolve);
  await chat.ask("Is somebody there?");
  const route = await held.promise;
  await page.evaluate('SupportAgent("reset")');
  const ids = { conversation_id: crypto.randomUUID(), message_id: crypto.randomUUID() };
  const error = { code: "unavailable", message: "Try again.", ...ids, visitor_token: "earlier" };
  const ended = page.waitForResponse("**/widget/v1/agents/*/messages");
  await route.fulfill({ status: 503, json: { error }, headers: { "Access-Control-Allow-Origin": "*" } });
  await (await ended).finished();
  await chat.window.getByText("How can I help you?").waitFor();
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain("earlier");
});

test("a chat that is put into the page again keeps the visitor, and is forgotten by a sign-out in between", async () => {
  const { page, chat, open } = await openShop();
  await open("");
  await page.evaluate('SupportAgent("reset")');
  await chat.ask("Is somebody there?");
  await chat.window.getByText("Waiting for a person").waitFor();
  const addAgain = async (before = "") => {
    await page.evaluate(`{
      const old = document.querySelector("support-agent");
      SupportAgent("destroy");
      ${before};
      const element = document.createElement("support-agent");
      for (const name of ["agent", "launcher"]) element.setAttribute(name, old.getAttribute(name));
      document.body.append(element);
    }`);
    await chat.open();
  };
  await addAgain();
  await chat.log.getByText("Is somebody there?").waitFor();
  await addAgain('SupportAgent("reset")');
  await chat.window.getByText("How can I help you?").waitFor();
});

test("a text that was not sent disappears from all tabs when the visitor signs out in one", async () => {
  const { page: first } = await openPage();
  const second = await first.context().newPage();
  const site = await serveSite({ "/": embedding() });
  const { open, field } = chatOn(first);
  await first.goto(site);
  await open();
  await second.goto(site);
  await chatOn(second).button("Open chat").waitFor();
  // The second tab has not loaded the chat, and nothing was stored.
  for (const text of ["My number is 4711.", "My number is 4712."]) {
    await field.fill(text);
    await second.evaluate('SupportAgent("reset")');
    await expect.poll(() => field.inputValue()).toBe("");
  }
});
