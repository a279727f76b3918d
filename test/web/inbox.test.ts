import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openPage, send, service } from "./browser.ts";
import { createWorkspace, findBarriers, signIn } from "./workspace.ts";

const rows = (page: Page) => page.locator(".conversation-list .row");

test("a conversation that waits is answered and resolved by keyboard, and the visitor has the reply", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Do you deliver to Norway?");
  const { page, errors } = await openPage();
  await signIn(page, workspace.key);
  await page.getByRole("button", { name: /Ada Lovelace.*Do you deliver to Norway\?/s }).waitFor();
  await page.keyboard.press("j");
  await page.getByRole("log").getByText("Do you deliver to Norway?").waitFor();
  await page.keyboard.press("r");
  await page.keyboard.type("Yes, within **five** days.");
  await page.keyboard.press("Control+Enter");
  // The text is formatted once the reply is stored.
  await page.getByRole("log").locator("strong", { hasText: "five" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await page.keyboard.type("Norway is fine.");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("log").getByText("Norway is fine.").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("e");
  await page.getByRole("status").getByText("Resolved", { exact: true }).waitFor();
  await page.getByText("Nobody is waiting").waitFor();
  const { status, messages } = await workspace.call<{
    status: string;
    messages: { role: string; content: string; author: { name: string } }[];
  }>("GET", `/conversations/${id}`);
  expect(status).toBe("resolved");
  expect(messages.find(({ role }) => role === "human")).toMatchObject({
    content: "Yes, within **five** days.",
    author: { name: "Grace Hopper" },
  });
  expect(messages.find(({ role }) => role === "note")).toMatchObject({ content: "Norway is fine." });
  expect(errors.filter((error) => !error.includes("401"))).toEqual([]);
});

test("a conversation that comes in appears by itself", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.getByText("Nobody is waiting").waitFor();
  await workspace.ask("Is anybody there?", "Alan Turing");
  await page.getByRole("button", { name: /Alan Turing.*Is anybody there\?/s }).waitFor();
});

test("a socket that does not answer any more is replaced", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  let sockets = 0;
  await page.routeWebSocket("**/console/live", () => void sockets++);
  await page.clock.install();
  await signIn(page, workspace.key);
  await expect.poll(() => sockets).toBe(1);
  await page.clock.runFor(61_000);
  await expect.poll(() => sockets).toBe(2);
});

test("a phone shows the list, then the conversation, and nothing wider than itself", async () => {
  const workspace = await createWorkspace();
  await workspace.ask("Do you deliver to Norway?");
  const { page } = await openPage({ viewport: { width: 375, height: 720 } });
  await signIn(page, workspace.key);
  await page.getByRole("button", { name: /Ada Lovelace/ }).click();
  await page.getByLabel("Reply to the visitor").waitFor();
  expect(await page.getByRole("heading", { name: "Inbox" }).isVisible()).toBe(false);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  await page.getByRole("button", { name: "Back to the list" }).click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
});

test("a preview takes two lines at most, and a row is as high as its place", async () => {
  const workspace = await createWorkspace();
  await workspace.ask("Where is my parcel? ".repeat(20));
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await rows(page).first().waitFor();
  const [lines, overflow] = await rows(page)
    .first()
    .evaluate((row) => {
      const preview = row.querySelector(".preview")!;
      return [preview.clientHeight / parseFloat(getComputedStyle(preview).lineHeight), row.scrollHeight - row.clientHeight];
    });
  expect([Math.round(lines), overflow]).toEqual([2, 0]);
});

test("a search is left with Esc, says what other views have, and Enter and ↓ go to its hits", async () => {
  const workspace = await createWorkspace();
  const resolved = await workspace.ask("The parcel is wet", "Alan Turing");
  await workspace.call("PATCH", `/conversations/${resolved}`, { status: "resolved" });
  await workspace.ask("The parcel is late", "Ada Lovelace");
  await workspace.ask("Do you deliver to Norway?", "Emmy Noether");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await expect.poll(() => rows(page).count()).toBe(2);
  const search = page.getByLabel("Search conversations");
  await search.fill("parcel");
  await page.getByText("1 more matches in other views").waitFor();
  await expect.poll(() => rows(page).count()).toBe(1);
  await page.getByRole("button", { name: "Show all 2" }).click();
  await expect.poll(() => rows(page).count()).toBe(2);
  await search.press("Escape");
  await expect.poll(() => search.inputValue()).toBe("");
  await expect.poll(() => rows(page).count()).toBe(3);
  await search.press("Escape");
  expect(await search.evaluate((field) => field === document.activeElement)).toBe(false);
  await page.keyboard.press("/");
  await page.keyboard.type("parcel");
  await page.keyboard.press("Enter");
  await expect.poll(() => rows(page).count()).toBe(2);
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  await expect.poll(focused).toContain("Ada Lovelace");
  await page.keyboard.press("ArrowDown");
  await expect.poll(focused).toContain("Alan Turing");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Alan Turing" }).waitFor();
});

test("a resolution is undone, by the message or by a key, and a held key resolves one conversation", async () => {
  const workspace = await createWorkspace();
  const first = await workspace.ask("Where is my parcel?", "Ada Lovelace");
  const second = await workspace.ask("Where is my refund?", "Alan Turing");
  const statusOf = async (id: string) => (await workspace.call<{ status: string }>("GET", `/conversations/${id}`)).status;
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${first}`);
  await page.getByRole("heading", { name: "Ada Lovelace" }).waitFor();
  await expect.poll(() => rows(page).count()).toBe(2);
  // A key that is held is repeated by the system.
  await page.keyboard.down("e");
  await page.getByRole("heading", { name: "Alan Turing" }).waitFor();
  await page.keyboard.down("e");
  await page.keyboard.down("e");
  await page.keyboard.up("e");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("heading", { name: "Ada Lovelace" }).waitFor();
  expect([await statusOf(first), await statusOf(second)]).toEqual(["needs_human", "needs_human"]);
  await page.getByRole("button", { name: "Resolve", exact: true }).click();
  await page.getByRole("heading", { name: "Alan Turing" }).waitFor();
  await page.keyboard.press("z");
  await page.getByRole("heading", { name: "Ada Lovelace" }).waitFor();
  await expect.poll(() => statusOf(first)).toBe("needs_human");
  await workspace.call("PATCH", `/conversations/${first}`, { status: "resolved" });
  await page.getByRole("button", { name: "Reopen" }).click();
  await expect.poll(() => statusOf(first)).toBe("human_active");
});

test("the next conversation is opened after a resolution, even if the list changes while it is stored", async () => {
  const workspace = await createWorkspace();
  const first = await workspace.ask("Where is my parcel?", "Ada Lovelace");
  await workspace.ask("Where is my refund?", "Alan Turing");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${first}`);
  await expect.poll(() => rows(page).count()).toBe(2);
  await page.getByRole("button", { name: "Resolve", exact: true }).click();
  await page.getByRole("heading", { name: "Alan Turing" }).waitFor();
  await expect.poll(() => rows(page).count()).toBe(1);
  // The list misses the conversation when it is resolved again, and has it before that is stored.
  const lists = Promise.withResolvers<void>();
  const resolutions = Promise.withResolvers<void>();
  const resolution = new Promise<void>((sent) => {
    void page.route("**/api/v1/conversations?*", (route) => lists.promise.then(() => route.fallback()));
    void page.route(`**/api/v1/conversations/${first}`, (route) => {
      if (route.request().postDataJSON()?.status !== "resolved") return route.fallback();
      sent();
      return resolutions.promise.then(() => route.fallback());
    });
  });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("heading", { name: "Ada Lovelace" }).waitFor();
  await page.getByRole("button", { name: "Resolve", exact: true }).click();
  await resolution;
  lists.resolve();
  await expect.poll(() => rows(page).count()).toBe(2);
  resolutions.resolve();
  await page.getByRole("heading", { name: "Alan Turing" }).waitFor();
});

test("who opens another conversation while a resolution is stored stays there", async () => {
  const workspace = await createWorkspace();
  const first = await workspace.ask("Where is my parcel?", "Ada Lovelace");
  for (const name of ["Alan Turing", "Emmy Noether"]) await workspace.ask("Where is my refund?", name);
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${first}`);
  await expect.poll(() => rows(page).count()).toBe(3);
  const stored = Promise.withResolvers<void>();
  await page.route(`**/api/v1/conversations/${first}`, async (route) => {
    if (route.request().method() === "PATCH") await stored.promise;
    await route.fallback();
  });
  await page.getByRole("button", { name: "Resolve", exact: true }).click();
  await rows(page).filter({ hasText: "Emmy Noether" }).click();
  await page.getByRole("heading", { name: "Emmy Noether" }).waitFor();
  stored.resolve();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  await expect.poll(() => rows(page).count()).toBe(2);
  await page.getByRole("heading", { name: "Emmy Noether" }).waitFor();
});

test("those who wait longest come first, and an unnamed visitor's contact details and other conversations are shown", async () => {
  const workspace = await createWorkspace();
  const widget = (path: string, body: object) =>
    send<{ visitor_token: string; conversation_id: string }>("POST", `/widget/v1/agents/${workspace.agentId}/${path}`, "none", body);
  const { visitor_token, conversation_id } = await widget("messages", { message: "Where is my parcel?" });
  const { conversation_id: other } = await widget("messages", { message: "And my refund?", visitor_token });
  await workspace.call("PATCH", `/conversations/${other}`, { status: "resolved" });
  const late = await workspace.ask("Do you deliver to Norway?", "Emmy Noether");
  // Asking again does not cost a visitor the place.
  await widget("messages", { message: "Hello?", visitor_token, conversation_id });
  await widget("leads", { name: "Ada", email: "ada@lovelace.example", phone: "0123", visitor_token, conversation_id });
  const { page } = await openPage({ viewport: { width: 1440, height: 900 } });
  await signIn(page, workspace.key);
  await expect.poll(() => rows(page).count()).toBe(2);
  await expect.poll(() => rows(page).nth(0).innerText()).toMatch(/Where is my parcel\?[^]*Widget/);
  await rows(page).nth(0).click();
  const details = page.getByRole("complementary", { name: "Details" });
  await details.getByText("Waiting since").waitFor();
  await details.getByRole("link", { name: "ada@lovelace.example" }).waitFor();
  await details.getByText("0123").waitFor();
  await details.getByRole("link", { name: "And my refund?" }).click();
  await page.getByRole("log").getByText("And my refund?").waitFor();
  expect(await details.getByText("Waiting since").count()).toBe(0);
  await page.goto(`${service.url}/console/#/inbox/${late}`);
  await page.getByRole("heading", { name: "Emmy Noether" }).waitFor();
});

test("the filter is in the address: a reload and a visit of another page keep it, and no other page has it", async () => {
  const workspace = await createWorkspace();
  await workspace.ask("Where is my parcel?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByLabel("Search conversations").fill("parcel");
  await page.waitForURL(/\?view=all&q=parcel#/);
  await rows(page).first().click();
  await page.getByLabel("Reply to the visitor").waitFor();
  await page.getByLabel("Search conversations").fill("");
  await page.waitForURL(/\?view=all#/);
  await page.goBack();
  await expect.poll(() => page.getByLabel("Search conversations").inputValue()).toBe("parcel");
  await page.reload();
  await expect.poll(() => page.getByLabel("Search conversations").inputValue()).toBe("parcel");
  await expect.poll(() => page.getByRole("button", { name: "All", exact: true }).getAttribute("aria-pressed")).toBe("true");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  expect(page.url()).not.toContain("view=");
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.waitForURL(/\?view=all&q=parcel#/);
  await expect.poll(() => page.getByRole("button", { name: "All", exact: true }).getAttribute("aria-pressed")).toBe("true");
});

test("the title counts who waits, and another window is told only if that was asked for", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage({ permissions: ["notifications"] });
  // A page in the background of a browser without windows has the focus all the same.
  await page.addInitScript(() => {
    document.hasFocus = () => false;
    const shown: string[] = [];
    Object.assign(window, { shown });
    window.Notification = class extends EventTarget {
      static readonly permission = "granted";
      static requestPermission = async () => "granted";
      constructor(title: string) {
        super();
        shown.push(title);
      }
    } as unknown as typeof Notification;
  });
  const shown = () => page.evaluate(() => (window as unknown as { shown: string[] }).shown.length);
  await signIn(page, workspace.key);
  await page.getByText("Nobody is waiting").waitFor();
  await workspace.ask("Is anybody there?");
  await page.waitForFunction(() => document.title.startsWith("(1) Inbox"));
  expect(await shown()).toBe(0);
  await page.getByRole("button", { name: "Alerts" }).click();
  const notification = page.getByRole("dialog", { name: "Alerts" }).getByLabel("Show a notification");
  expect([await notification.isChecked(), await page.getByLabel("Play a sound").isChecked()]).toEqual([false, false]);
  await notification.click();
  await expect.poll(() => notification.isChecked()).toBe(true);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Settings" }).click();
  await workspace.ask("Where is my order?");
  await page.waitForFunction(() => document.title.startsWith("(2) Settings"));
  await expect.poll(shown).toBe(1);
});

test("? lists all keys; m assigns the conversation and t adds a tag", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Is there a museum?");
  const { page } = await openPage({ viewport: { width: 1000, height: 800 } });
  await signIn(page, workspace.key);
  await rows(page).first().waitFor();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect
    .poll(() => dialog.locator("dt").allInnerTexts())
    .toEqual([
      "/",
      "?",
      "Ctrl K",
      "j",
      "k",
      "Esc",
      "z",
      "v",
      "V",
      "E",
      "O",
      "T",
      "H",
      "r",
      "n",
      "g",
      "s",
      "e",
      "h",
      "b",
      "m",
      "t",
      "c",
      "i",
      "a",
      "x",
    ]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.getByRole("heading", { level: 2, name: "Ada Lovelace" }).waitFor();
  const stored = () => workspace.call<{ assignee: { name: string } | null; tags: string[] }>("GET", `/conversations/${id}`);
  await page.keyboard.press("m");
  await page.getByText("Assigned to you").waitFor();
  expect((await stored()).assignee?.name).toBe("Grace Hopper");
  await page.keyboard.press("t");
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Add a tag");
  await page.keyboard.type("museum");
  await page.keyboard.press("Enter");
  await expect.poll(async () => (await stored()).tags).toEqual(["museum"]);
  await page.keyboard.type("mus");
  await page.keyboard.press("Escape");
  await expect.poll(() => page.getByLabel("Add a tag").inputValue()).toBe("");
  await page.keyboard.press("Escape");
  await page.keyboard.press("m");
  await expect.poll(async () => (await stored()).assignee).toBeNull();
  expect((await stored()).tags).toEqual(["museum"]);
});

test("a workspace without conversations shows the first steps, also on a phone", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage({ viewport: { width: 375, height: 700 } });
  await signIn(page, workspace.key);
  await page.getByRole("heading", { name: "First steps" }).waitFor();
  await expect
    .poll(() => page.getByRole("listitem").filter({ hasText: "(done)" }).allInnerTexts())
    .toEqual([expect.stringContaining("Create an agent")]);
  expect(await findBarriers(page)).toEqual([]);
  await workspace.ask("Is there a museum?");
  await page.getByText("Is there a museum?").click();
  await page.getByRole("heading", { level: 1, name: "Conversation" }).waitFor();
});
