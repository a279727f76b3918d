import { expect, test } from "vitest";
import type { Page } from "playwright-core";
import { call, openPage, operate, serveSite, service, shoot } from "./browser.ts";
import { chatOn, embedding, question } from "./chat.ts";

/** An agent in a workspace of its own, whose plan and settings are these. */
async function createAgent({ limits = {}, settings = {} }: { limits?: object; settings?: object }): Promise<string> {
  const slug = `limits-${crypto.randomUUID().slice(0, 8)}`;
  const workspace = { name: "Acme", slug, plan: "enterprise", limits };
  const { id: workspaceId } = await operate<{ id: string }>("POST", "/workspaces", workspace);
  const contact_form = { fields: [{ name: "email", required: true }] };
  const agent = { name: "Demo agent", allowed_origins: ["*"], contact_form, ...settings };
  return (await operate<{ id: string }>("POST", `/workspaces/${workspaceId}/agents`, agent)).id;
}

async function openChat(agentId: string) {
  const { page } = await openPage();
  await page.goto(await serveSite({ "/": embedding({ agentId }) }));
  const chat = chatOn(page);
  return { page, chat };
}

test("a visitor reads that the chat is closed, and can leave an address", async () => {
  const { page, chat } = await openChat(await createAgent({ settings: { status: "paused" } }));
  await chat.open();
  await page.getByText("The chat is closed at the moment.").waitFor();
  await chat.button("Leave contact details").click();
  await page.getByLabel("Email").fill("ada@example.com");
  await chat.button("Submit").click();
  await page.getByText("Thank you").waitFor();
});

test("a pause of the agent closes no conversation that a person has", async () => {
  const { id: agentId } = await call<{ id: string }>("POST", "/agents", { name: "Demo agent", allowed_origins: ["*"] });
  const { page, chat } = await openChat(agentId);
  await chat.open();
  await chat.ask("Are you open on Sunday?");
  await chat.window.getByText("Waiting for a person").waitFor();
  await call("PATCH", `/agents/${agentId}`, { status: "paused" });
  await page.reload();
  await chat.open();
  await chat.window.getByText("Waiting for a person").waitFor();
  await chat.ask("Is somebody there?");
  const asked = async () => (await call<{ data: object[] }>("GET", `/conversations?agent_id=${agentId}`)).data;
  await expect.poll(asked).toMatchObject([{ status: "needs_human", last_message_preview: "Is somebody there?" }]);
  await chat.button("New conversation").click();
  await page.getByText("The chat is closed at the moment.").waitFor();
  expect(await chat.field.isDisabled()).toBe(true);
});

test("a visitor of an agent that never hands off can leave an address, and reads that it was received", async () => {
  const { page, chat } = await openChat(await createAgent({ settings: { handoff: "off" } }));
  await chat.open();
  await chat.ask("Are you open on Sunday?");
  await chat.button("Leave contact details").click();
  await page.getByLabel("Email").fill("ada@example.com");
  await chat.button("Submit").click();
  await page.getByRole("status").filter({ hasText: "We have received your details" }).waitFor();
});

test("past the month's quota a visitor reads that nobody answers now, and what was written is kept", async () => {
  const { page, chat } = await openChat(await createAgent({ limits: { messages: 0 } }));
  await chat.open();
  await chat.ask("Are you open on Sunday?");
  await page.getByText("The assistant cannot answer at the moment.").waitFor();
  await chat.button("Leave contact details").waitFor();
  await chat.log.getByText("Are you open on Sunday?").waitFor();
});

test("a visitor who writes too much reads when to go on", async () => {
  const { page, chat } = await openChat(await createAgent({ limits: { visitor_messages_per_day: 1 } }));
  await chat.open();
  await chat.ask("hello");
  await chat.log.locator("article.assistant:not(.draft)").waitFor();
  await chat.ask("hello again");
  await page.getByText(/^That was a lot of messages\. Please try again in \d+ (?:minutes?|hours?)\.$/).waitFor();
});

/** A stand-in for https://challenges.cloudflare.com/turnstile/v0/api.js, whose challenge ends at once. */
const challengeThat = (outcome: "succeeds" | "fails") => `window.turnstile = {
  render(element, options) {
    setTimeout(() => ${outcome === "succeeds" ? 'options.callback("solved-token")' : "options['error-callback']()"});
    return "challenge-1";
  },
  remove() {},
};`;

/** Has an agent ask its visitors to solve a challenge of this script. */
async function addChallenge(page: Page, agentId: string, body: string): Promise<void> {
  await page.route("https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit", (route) =>
    route.fulfill({ contentType: "text/javascript", body }),
  );
  // The key is added here: the real siteverify could not check the token.
  await page.route(`${service.url}/widget/v1/agents/${agentId}`, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...((await response.json()) as object), turnstile_site_key: "0x4AAA" } });
  });
}

test.each(["succeeds", "fails"] as const)("the first message carries the token of the challenge, if that %s", async (outcome) => {
  const { page } = await openPage();
  await addChallenge(page, service.agentId, challengeThat(outcome));
  const tokens: unknown[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith("/messages"))
      tokens.push((request.postDataJSON() as { turnstile_token?: string }).turnstile_token);
  });
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  if (outcome === "fails") {
    await page.getByText("The check did not work. Please try again.").waitFor();
    expect(tokens).toEqual([]);
    return;
  }
  await chat.answered();
  await chat.ask(question("markdown"));
  await chat.answered(2);
  expect(tokens).toEqual(["solved-token", undefined]);
});

/** A challenge that waits for a click. */
const CLICKED_CHALLENGE = `window.turnstile = {
  render(element, options) {
    options["before-interactive-callback"]();
    element.innerHTML = "<button>I am human</button>";
    element.firstChild.onclick = () => options.callback("solved-token");
    return "challenge-1";
  },
  remove() {},
};`;

test("a message whose challenge is solved after the visitor has signed out is not sent", async () => {
  const { page } = await openPage();
  await addChallenge(page, service.agentId, CLICKED_CHALLENGE);
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") sent.push((request.postDataJSON() as { message: string }).message);
  });
  await chat.ask("My number is 4711.");
  await chat.button("I am human").waitFor();
  await page.evaluate('SupportAgent("reset")');
  await chat.button("I am human").click();
  await chat.ask(question("markdown"));
  await chat.button("I am human").click();
  await chat.answered();
  expect(sent).toEqual([question("markdown")]);
});

test("a visitor who leaves an address first can solve the challenge", async () => {
  const agentId = await createAgent({ settings: { status: "paused" } });
  const { page } = await openPage();
  await addChallenge(page, agentId, CLICKED_CHALLENGE);
  await page.goto(await serveSite({ "/": embedding({ agentId }) }));
  const chat = chatOn(page);
  await chat.open();
  await chat.button("Leave contact details").click();
  await page.getByLabel("Email").fill("ada@example.com");
  await chat.button("Submit").click();
  await page.getByText("Please confirm that you are human.").waitFor();
  await shoot(page, "challenge-of-the-form");
  await chat.button("I am human").click();
  await page.getByText("Thank you").waitFor();
});
