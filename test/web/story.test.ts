import type { Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { call, openPage, serveSite, service } from "./browser.ts";
import { chatOn, conversationOn, embedding, question } from "./chat.ts";

interface Conversation {
  id: string;
  channel: string;
  message_count: number;
  csat: { score: number; comment: string | null } | null;
  messages: { role: string; content: string }[];
}

const read = (id: string) => call<Conversation>("GET", `/conversations/${id}`);

test("a visitor asks, loses the network in the middle, reads on, talks to a person and rates", async () => {
  const { page } = await openPage();
  const events: string[] = [];
  await page.exposeFunction("note", (event: string) => events.push(event));
  const listen = `<script>window.SupportAgent = (...call) => (SupportAgent.q ??= []).push(call);
    for (const event of ["opened", "message_sent", "answered", "handed_off", "message_received", "rated", "contact_sent", "resolved"])
      SupportAgent("on", event, () => note(event));</script>`;
  await page.goto(await serveSite({ "/": embedding({ head: listen }) }));
  const chat = chatOn(page);
  await chat.open();

  await chat.ask(question("slow"));
  await chat.log.getByText("Word5.").waitFor();
  await page.context().setOffline(true);
  await chat.window.getByText("You are offline.").waitFor();
  await page.context().setOffline(false);
  await chat.answered();
  await chat.log.getByText(/^Word0\. Word1\. .* Word58\. Word59\.$/).waitFor();
  const id = await conversationOn(page);
  expect((await read(id)).messages.map(({ role }) => role)).toEqual(["user", "assistant"]);

  await chat.button("Not helpful").click();
  await page.getByLabel("What was missing or wrong?").fill("An example");
  await chat.button("Submit").click();
  await chat.window.getByText("Thank you for your feedback.").waitFor();
  await expect.poll(() => events).toContain("rated");

  await chat.button("Talk to a person").click();
  await chat.window.getByText("Waiting for a person").waitFor();
  await chat.button("Leave contact details").click();
  await chat.button("Submit").click();
  await chat.window.getByText("Please fill in this field.").waitFor();
  await page.getByLabel("Email").fill("ada@example.com");
  await chat.button("Submit").click();
  await chat.window.getByText("We have received your details").waitFor();

  await chat.ask("Is somebody there?");
  await call("POST", `/conversations/${id}/messages`, { content: "This is **Grace**. I will look into it." });
  await chat.log.getByText("I will look into it.").waitFor();
  await expect.poll(() => chat.log.locator("strong").last().textContent()).toBe("Grace");

  await page.keyboard.press("Escape");
  await chat.window.waitFor({ state: "hidden" });
  await call("POST", `/conversations/${id}/messages`, { content: "It is done.", resolve: true });
  await page.getByRole("button", { name: "Open chat. Unread messages: 1" }).click();
  await chat.button("Good").click();
  await expect.poll(async () => (await read(id)).csat).toEqual({ score: 4, comment: null });
  await page.getByLabel("Would you like to add something?").fill("Quick.");
  await chat.button("Submit").click();
  await chat.window.getByText("Thank you for your rating.").waitFor();
  await expect.poll(() => read(id)).toMatchObject({ channel: "widget", csat: { score: 4, comment: "Quick." } });
  const sent = ["opened", "message_sent", "answered", "rated", "handed_off", "contact_sent", "message_received", "resolved"];
  await expect.poll(() => [...new Set(events)]).toEqual(sent);
});

/** A page whose visitor has a conversation that waits for a person since the page was loaded, and how often it is read. */
async function openWaiting(headers: Record<string, string> = {}) {
  const { page, errors } = await openPage();
  await page.goto(await serveSite({ "/": embedding() }, headers));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  await chat.answered();
  const id = await conversationOn(page);
  await call("PATCH", `/conversations/${id}`, { status: "needs_human" });
  const reads: string[] = [];
  page.on("response", (response) => response.url().includes(`/conversations/${id}/messages`) && reads.push(response.url()));
  await page.clock.install();
  return { page, errors, chat, id, reads };
}

test("while a visitor waits for a person, a reply is there at once, and the page asks for nothing until then", async () => {
  const { page, errors, chat, id, reads } = await openWaiting();
  await page.reload();
  const [socket] = await Promise.all([page.waitForEvent("websocket"), chat.open()]);
  expect(socket.url()).toBe(`${service.url.replace("http", "ws")}/widget/v1/conversations/${id}/live`);
  const frame = (isPong: boolean) =>
    socket.waitForEvent("framereceived", { predicate: ({ payload }) => (payload === "pong") === isPong, timeout: 100_000 });
  // It reads the earlier messages, and those from before the socket was open. Then half a minute passes without a read.
  await expect.poll(() => reads.length).toBeGreaterThan(1);
  for (let before = -1; before !== reads.length;) {
    before = reads.length;
    const pong = frame(true);
    await page.clock.runFor(30_000);
    await pong;
  }
  const before = reads.length;
  const news = frame(false);
  await call("POST", `/conversations/${id}/messages`, { content: "Hello, this is Grace." });
  expect(JSON.parse(String((await news).payload))).toEqual({ kind: "conversation", id });
  await chat.log.getByText("Hello, this is Grace.").waitFor();
  expect(reads).toHaveLength(before + 1);
  await Promise.all([socket.waitForEvent("close"), call("PATCH", `/conversations/${id}`, { status: "resolved" })]);
  await chat.button("Good").waitFor();
  expect(errors).toEqual([]);
});

/** Has a page think that it is hidden, or visible again: a browser without windows hides none. */
const setVisible = (page: Page, state: "hidden" | "visible") =>
  page.evaluate((value) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);

/** Counts the requests of the page's scripts and its open sockets since it was loaded. */
async function countInPage(page: Page) {
  await page.addInitScript(() => {
    const counts = { asked: 0, opened: 0 };
    const { WebSocket: Native } = window;
    const send = window.fetch.bind(window);
    window.fetch = (...request) => {
      counts.asked++;
      return send(...request);
    };
    window.WebSocket = class extends Native {
      constructor(...socket: ConstructorParameters<typeof Native>) {
        super(...socket);
        this.addEventListener("open", () => counts.opened++);
      }
    };
    Object.assign(window, { counts });
  });
  return () => page.evaluate(() => (window as unknown as { counts: { asked: number; opened: number } }).counts);
}

test("a visitor who looks away again and again has a socket each time that they look, and a hidden page asks for nothing", async () => {
  const { page, chat } = await openWaiting();
  const counts = await countInPage(page);
  const hasOpened = (times: number) => expect.poll(async () => (await counts()).opened).toBe(times);
  await page.reload();
  await chat.open();
  await hasOpened(1);
  const held: Route[] = [];
  await page.route("**/messages?*", (route) => void held.push(route));
  for (let times = 2; times <= 7; times++) {
    await setVisible(page, "hidden");
    await page.clock.runFor(10_000);
    await setVisible(page, "visible");
    await hasOpened(times);
  }
  await setVisible(page, "hidden");
  const { asked } = await counts();
  // A poll that ends now is not repeated, though messages may have been announced meanwhile.
  await expect.poll(() => held.length).toBeGreaterThan(0);
  const ended = page.waitForResponse("**/messages?*");
  for (const route of held) await route.continue();
  await (await ended).finished();
  await page.clock.runFor(300_000);
  expect(await counts()).toEqual({ asked, opened: 7 });
});

test("a chat that is removed while it reads the earlier messages asks for nothing afterwards", async () => {
  const { page, chat, id } = await openWaiting();
  await page.reload();
  const held = Promise.withResolvers<Route>();
  await page.route(`**/conversations/${id}/messages`, held.resolve);
  await chat.open();
  const route = await held.promise;
  await page.evaluate('SupportAgent("destroy")');
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("websocket", (socket) => asked.push(socket.url()));
  const ended = page.waitForResponse(`**/conversations/${id}/messages`);
  await route.continue();
  await (await ended).finished();
  await page.clock.runFor(300_000);
  expect(asked).toEqual([]);
});

test("a socket that answers no ping is replaced, and what it did not tell is read", async () => {
  const { page, chat, id, reads } = await openWaiting();
  const dead = new Set<unknown>();
  const sockets: unknown[] = [];
  await page.routeWebSocket(/\/live$/, (socket) => {
    sockets.push(socket);
    const server = socket.connectToServer();
    socket.onMessage((data) => void (dead.has(socket) || server.send(data)));
    server.onMessage((data) => void (dead.has(socket) || socket.send(data)));
  });
  await page.reload();
  await chat.open();
  // It reads the earlier messages, and those from before the socket was open.
  await expect.poll(() => reads.length).toBeGreaterThan(1);
  await expect.poll(() => sockets.length).toBe(1);
  dead.add(sockets[0]);
  await call("POST", `/conversations/${id}/messages`, { content: "Hello, this is Grace." });
  await page.clock.runFor(60_000);
  await chat.log.getByText("Hello, this is Grace.").waitFor();
  await expect.poll(() => sockets.length).toBe(2);
});

test("on a page whose policy allows no socket, a reply is looked for", async () => {
  const policy = `default-src 'none'; script-src ${service.url}; connect-src ${service.url}`;
  const { page, errors, chat, id } = await openWaiting({ "Content-Security-Policy": policy });
  await page.reload();
  await chat.open();
  await chat.window.getByText("Waiting for a person").waitFor();
  await call("POST", `/conversations/${id}/messages`, { content: "Hello, this is Grace." });
  await page.clock.runFor(20_000);
  await chat.log.getByText("Hello, this is Grace.").waitFor();
  await expect.poll(() => errors.join()).toContain("/live");
});

test("a conversation is there again after a reload, and earlier ones are in the history", async () => {
  const { page, errors } = await openPage();
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  await chat.answered();
  await chat.button("New conversation").click();
  await chat.ask(`And ${question("markdown")}`);
  await chat.answered();
  await page.reload();
  await chat.open();
  await chat.log.getByText(`And ${question("markdown")}`).waitFor();
  await chat.button("Earlier conversations").click();
  const past = page.getByRole("listitem").getByRole("button");
  await past.nth(1).click();
  await chat.log.getByText(question("markdown"), { exact: true }).waitFor();
  expect(await chat.log.getByText(`And ${question("markdown")}`).count()).toBe(0);
  expect(errors).toEqual([]);
});

test("a question is sent once the earlier messages are there, though they arrive late and after a failure", async () => {
  const { page } = await openPage();
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  await chat.answered();
  await page.reload();
  const held = Promise.withResolvers<Route>();
  await page.route("**/conversations/*/messages", held.resolve, { times: 1 });
  await chat.open();
  const route = await held.promise;
  await chat.ask("Is somebody there?");
  await route.abort();
  await chat.answered();
  expect(await chat.field.inputValue()).toBe("Is somebody there?");
  await chat.field.press("Enter");
  await chat.log.getByText("Is somebody there?").waitFor();
  expect(await chat.log.getByText(question("markdown")).count()).toBe(1);
});

test("a message that waits for an answer before it is back in the field when a new conversation begins", async () => {
  const { page } = await openPage();
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  await chat.answered();
  await page.route("**/widget/v1/agents/*/messages", () => undefined, { times: 1 });
  await chat.ask("Is somebody there?");
  await chat.ask("And tomorrow?");
  await chat.button("New conversation").click();
  await expect.poll(() => chat.field.inputValue()).toBe("And tomorrow?");
});

test("a message that could not be sent is back in the field when a new conversation begins, and is not sent there", async () => {
  const { page } = await openPage();
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  await chat.answered();
  await page.context().setOffline(true);
  await chat.ask("Is somebody there?");
  await chat.log.getByText("Reconnecting").waitFor();
  await chat.button("New conversation").click();
  await expect.poll(() => chat.field.inputValue()).toBe("Is somebody there?");
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") sent.push((request.postDataJSON() as { message: string }).message);
  });
  await page.context().setOffline(false);
  await chat.ask(question("markdown"));
  await chat.answered();
  expect(sent).toEqual([question("markdown")]);
});

test("a comment on an answer stays in its field until it is stored", async () => {
  const { page } = await openPage();
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  await chat.answered();
  await page.route("**/feedback", (route) => route.abort(), { times: 2 });
  await chat.button("Not helpful").click();
  await chat.window.getByText("Something went wrong on our side.").waitFor();
  const field = page.getByLabel("What was missing or wrong?");
  await field.fill("An example");
  const [failed] = await Promise.all([page.waitForEvent("requestfailed"), chat.button("Submit").click()]);
  expect(failed.postDataJSON()).toEqual({ rating: "down", comment: "An example" });
  expect(await field.inputValue()).toBe("An example");
  await chat.button("Submit").click();
  await chat.window.getByText("Thank you for your feedback.").waitFor();
});

test("each tab keeps its conversation, and a visitor who is forgotten in one tab is forgotten in all", async () => {
  const { page: first } = await openPage();
  const second = await first.context().newPage();
  const site = await serveSite({ "/": embedding() });
  const [one, other] = [chatOn(first), chatOn(second)];
  await first.goto(site);
  await one.open();
  await one.ask(question("markdown"));
  await one.answered();
  const id = await conversationOn(first);
  await second.goto(site);
  await other.open();
  await other.answered();
  await other.button("New conversation").click();
  await other.ask(`And ${question("markdown")}`);
  await other.answered();
  expect(await conversationOn(second)).not.toBe(id);
  await one.button("Helpful").click();
  await one.window.getByText("Thank you for your feedback.").waitFor();
  await one.ask(question("markdown"));
  await one.answered(2);
  expect((await read(id)).message_count).toBe(4);
  // The visitor signs out on a page that has not loaded the chat.
  const third = await first.context().newPage();
  await third.goto(site);
  await chatOn(third).button("Open chat").waitFor();
  await third.evaluate('SupportAgent("reset")');
  for (const { button } of [one, other]) await expect.poll(() => button("Helpful").count()).toBe(0);
  await one.ask(question("markdown"));
  await one.answered();
  expect(await conversationOn(first)).not.toBe(id);
  expect((await read(id)).message_count).toBe(4);
});

test("a request that fails before the question is taken is sent again, and the question is stored once", async () => {
  const { page } = await openPage();
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  const keys: (string | undefined)[] = [];
  let left = 2;
  await page.route("**/widget/v1/agents/*/messages", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    keys.push((await route.request().headerValue("Idempotency-Key")) ?? undefined);
    if (left-- === 0) return route.continue();
    // The first request is lost on its way, the second one's response on the way back.
    if (left === 0) await route.fetch();
    return route.abort();
  });
  await chat.ask(question("markdown"));
  await chat.answered();
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
  expect((await read(await conversationOn(page))).message_count).toBe(2);
});

test("a question to an agent that was deleted is not asked without end", async () => {
  const { page } = await openPage();
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask(question("markdown"));
  await chat.answered();
  let asked = 0;
  await page.route("**/widget/v1/agents/*/messages", (route) => {
    if (route.request().method() !== "POST") return route.continue();
    asked++;
    return route.fulfill({ status: 404, json: { error: { code: "not_found", message: "No agent with this id. Check the id." } } });
  });
  await chat.ask(question("markdown"));
  await chat.button("Try again").waitFor();
  // It was asked in the conversation, and in a new one.
  expect(asked).toBe(2);
});

test("on a phone the window covers the page, and the page is as it was afterwards", async () => {
  const { page, errors } = await openPage({ viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true });
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  await expect.poll(() => chat.window.boundingBox()).toEqual({ x: 0, y: 0, width: 375, height: 667 });
  await chat.button("How are webhooks signed?").tap();
  await chat.answered();
  await chat.button("Close chat").tap();
  await expect.poll(() => page.evaluate(() => document.documentElement.style.overflow)).toBe("");
  expect(errors).toEqual([]);
});

test("a page scrolls again after an open chat was removed on a phone", async () => {
  const { page } = await openPage({ viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true });
  await page.goto(await serveSite({ "/": embedding() }));
  await chatOn(page).open();
  const overflow = () => page.evaluate(() => document.documentElement.style.overflow);
  await expect.poll(overflow).toBe("hidden");
  await page.evaluate('SupportAgent("destroy")');
  await expect.poll(overflow).toBe("");
});
