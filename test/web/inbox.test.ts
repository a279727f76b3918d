import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openPage, operate, send, service } from "./browser.ts";
import { createWorkspace, findBarriers, signIn } from "./workspace.ts";

const rows = (page: Page) => page.locator(".conversation-list .row");

/** How far the end of the messages is below the visible part, in pixels. */
const belowTheFold = (page: Page) =>
  page.getByRole("log").evaluate((log) => Math.round(log.scrollHeight - log.scrollTop - log.clientHeight));

test("a long conversation opens at its latest message, and stays there while the reply is written and sent", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Where is my parcel?");
  for (let number = 0; number < 40; number++) await workspace.reply(id, `Reply ${number}. ${"It is on its way. ".repeat(30)}`);
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("log").getByText("Reply 39.").waitFor();
  expect(await belowTheFold(page)).toBe(0);
  await page.getByLabel("Reply to the visitor").fill("First line\n".repeat(10));
  await expect.poll(() => belowTheFold(page)).toBe(0);
  await page.getByRole("log").evaluate((log) => log.scrollTo(0, 0));
  await page.getByLabel("Reply to the visitor").press("Control+Enter");
  await page.getByRole("log").getByText("First line").waitFor();
  await expect.poll(() => belowTheFold(page)).toBe(0);
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
  expect(await search.inputValue()).toBe("");
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
  expect(await focused()).toContain("Alan Turing");
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

test("a dialog that was filled, or that shows a secret once, asks before it closes", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/keys`);
  const dialog = page.getByRole("dialog", { name: "Create key" });
  const question = page.getByRole("dialog", { name: "Close this dialog" });
  await page.getByRole("button", { name: "Create key" }).click();
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Create key" }).click();
  await dialog.getByLabel("Name").fill("Shop backend");
  for (let time = 0; time < 3; time++) {
    await page.keyboard.press("Escape");
    await question.getByText("What you entered is lost.").waitFor();
    await page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
  }
  expect(await dialog.getByLabel("Name").inputValue()).toBe("Shop backend");
  await dialog.getByLabel("agents:read").check();
  await dialog.getByRole("button", { name: "Create key" }).click();
  const secret = page.getByRole("dialog", { name: "API key" });
  await secret.locator("pre").waitFor();
  await page.keyboard.press("Escape");
  await question.getByText("Have you stored it?").waitFor();
  await question.getByRole("button", { name: "Stay" }).click();
  expect(await secret.locator("pre").innerText()).toMatch(/^sk_/);
  await secret.getByRole("button", { name: "I have stored it" }).click();
  await secret.waitFor({ state: "detached" });
});

test("the latest visitors are listed once each, and one click finds what is stored about one", async () => {
  const workspace = await createWorkspace();
  for (const message of ["Who am I?", "Where am I?"]) {
    const user = { id: "ada", name: "Ada Lovelace" };
    await workspace.call("POST", `/agents/${workspace.agentId}/messages`, { message, user });
  }
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/people`);
  const row = page.getByRole("region", { name: "Latest visitors" }).getByRole("row", { name: /Ada Lovelace/ });
  await row.getByRole("button", { name: "Look up" }).click();
  expect(await row.count()).toBe(1);
  await page.getByRole("region", { name: "Found" }).getByRole("heading", { name: "api:ada" }).waitFor();
});

test("an error is shown above the dialog that caused it, and leaves when the action succeeds", async () => {
  const workspace = await createWorkspace();
  await workspace.ask("Who am I?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/people`);
  await page.getByLabel("Email", { exact: true }).fill("ada@example.com");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByRole("button", { name: "Erase …" }).click();
  const dialog = page.getByRole("dialog", { name: "Erase this person" });
  await dialog.getByLabel("Type ada@example.com").fill("ada@example.com");
  const erase = dialog.getByRole("button", { name: /^Erase \d+ records$/ });
  const promised = await erase.innerText();
  await page.route("**/api/v1/privacy/visitors*", (route) => route.fulfill({ status: 500, json: { error: { message: "It broke." } } }));
  await erase.click();
  await dialog.getByText("It broke.").click({ trial: true });
  await page.unroute("**/api/v1/privacy/visitors*");
  await erase.click();
  await page.getByText(promised.replace("Erase", "Erased"), { exact: true }).waitFor();
  expect(await page.getByText("It broke.").count()).toBe(0);
});

test("the operator is asked before a plan changes, and an event is sent again only where that works", async () => {
  const workspace = await createWorkspace();
  const planOf = async () => (await operate<{ plan: string }>("GET", `/workspaces/${workspace.id}`)).plan;
  const { page } = await openPage();
  await signIn(page, service.operatorToken);
  await page.goto(`${service.url}/console/#/workspaces/${workspace.id}`);
  const question = page.getByRole("dialog", { name: "Change the plan" });
  await page.getByLabel("Plan", { exact: true }).selectOption("free");
  await question.getByText("Acme changes from enterprise to free.").waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  expect([await page.getByLabel("Plan", { exact: true }).inputValue(), await planOf()]).toEqual(["enterprise", "enterprise"]);
  await page.getByLabel("Plan", { exact: true }).selectOption("pro");
  await question.getByRole("button", { name: "Change to pro" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  expect(await planOf()).toBe("pro");
  const { id } = await workspace.call<{ id: string }>("POST", "/webhooks", { url: "https://example.invalid/hook", events: ["*"] });
  await workspace.call("POST", `/webhooks/${id}/test`);
  const { page: team } = await openPage();
  await signIn(team, workspace.key);
  await team.goto(`${service.url}/console/#/webhooks/${id}`);
  await team
    .getByRole("row", { name: /webhook\.test/ })
    .getByRole("button", { name: "Details" })
    .click();
  await team.getByText("Request", { exact: true }).click();
  await team.getByText('"type": "webhook.test"').waitFor();
  await team.getByText("A test is not sent again").waitFor();
  expect(await team.getByRole("button", { name: "Send again" }).count()).toBe(0);
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
  expect(await rows(page).nth(0).innerText()).toMatch(/Where is my parcel\?[^]*Widget/);
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
  await page.reload();
  await expect.poll(() => page.getByLabel("Search conversations").inputValue()).toBe("parcel");
  expect(await page.getByRole("button", { name: "All", exact: true }).getAttribute("aria-pressed")).toBe("true");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  expect(page.url()).not.toContain("view=");
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.waitForURL(/\?view=all&q=parcel#/);
  expect(await page.getByRole("button", { name: "All", exact: true }).getAttribute("aria-pressed")).toBe("true");
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
  await workspace.ask("Hello?");
  await page.waitForFunction(() => document.title.startsWith("(2) Settings"));
  expect(await shown()).toBe(1);
});

test("what is missing or taken is said at its field, and a key that reads no agents is told so", async () => {
  const workspace = await createWorkspace();
  const { slug } = (await workspace.call<{ workspace: { slug: string } }>("GET", "/me")).workspace;
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/keys`);
  await page.getByRole("button", { name: "Create key" }).click();
  const keys = page.getByRole("dialog", { name: "Create key" });
  await keys.getByLabel("Name").fill("Shop backend");
  await keys.getByRole("button", { name: "Create key" }).click();
  await keys.getByRole("group", { name: "Scopes" }).getByText("Choose at least one scope.").waitFor();
  await page.goto(`${service.url}/console/#/webhooks`);
  await page.getByRole("button", { name: "Add endpoint" }).click();
  const endpoint = page.getByRole("dialog", { name: "Add endpoint" });
  await endpoint.getByLabel("URL").fill("https://example.com/hook");
  await endpoint.getByLabel("All events").uncheck();
  await endpoint.getByRole("button", { name: "Add endpoint" }).click();
  await endpoint.getByRole("group", { name: "Events" }).getByText("Choose at least one event.").waitFor();
  const { page: operator } = await openPage();
  await signIn(operator, service.operatorToken);
  await operator.getByRole("button", { name: "Create workspace" }).click();
  const form = operator.getByRole("dialog", { name: "Create workspace" });
  await form.getByLabel("Name").fill("Other");
  await form.getByLabel("Slug").fill(slug);
  await form.getByRole("button", { name: "Create workspace" }).click();
  await form.getByRole("alert").waitFor();
  expect(await form.getByLabel("Slug").getAttribute("aria-invalid")).toBe("true");
  const blind = await createWorkspace(["knowledge:read"]);
  const { page: other } = await openPage();
  await signIn(other, blind.key);
  await other.goto(`${service.url}/console/#/knowledge`);
  await other.getByText("agents:read").waitFor();
});

test("? lists all keys; m assigns the conversation and t adds a tag", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Is there a museum?");
  const { page } = await openPage({ viewport: { width: 1000, height: 800 } });
  await signIn(page, workspace.key);
  await rows(page).first().waitFor();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  expect(await dialog.locator("dt").allInnerTexts()).toEqual([
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
  await page.getByLabel("Add a tag").blur();
  await page.keyboard.press("m");
  await expect.poll(async () => (await stored()).assignee).toBeNull();
});

test("a workspace without conversations shows the first steps, also on a phone", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage({ viewport: { width: 375, height: 700 } });
  await signIn(page, workspace.key);
  await page.getByRole("heading", { name: "First steps" }).waitFor();
  expect(await page.getByRole("listitem").filter({ hasText: "(done)" }).allInnerTexts()).toEqual([
    expect.stringContaining("Create an agent"),
  ]);
  expect(await findBarriers(page)).toEqual([]);
  await workspace.ask("Is there a museum?");
  await page.getByText("Is there a museum?").click();
  await page.getByRole("heading", { level: 1, name: "Conversation" }).waitFor();
});
