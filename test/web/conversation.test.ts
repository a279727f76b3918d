import type { Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { createWorkspace, signIn } from "./workspace.ts";

/** How far the end of the messages is below the visible part, in pixels. */
const belowTheFold = (page: Page) =>
  page.getByRole("log").evaluate((log) => Math.round(log.scrollHeight - log.scrollTop - log.clientHeight));

test("two people on one conversation see each other, and are asked before both reply", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Who answers?");
  const [{ page: ada }, { page: grace }] = await Promise.all([openPage(), openPage()]);
  await Promise.all([signIn(ada, workspace.key, "Ada"), signIn(grace, workspace.key, "Grace")]);
  for (const page of [ada, grace]) await page.goto(`${service.url}/console/#/inbox/${id}`);
  await ada.getByText("Grace is looking at this too.").waitFor();
  await grace.getByLabel("Reply to the visitor").fill("I do");
  await ada.getByText("Grace is writing a reply.").waitFor();
  await ada.getByLabel("Reply to the visitor").fill("Me");
  await ada.getByRole("button", { name: "Send", exact: true }).click();
  await ada.getByRole("dialog", { name: "Somebody else is replying" }).getByRole("button", { name: "Cancel" }).click();
  await expect.poll(() => ada.getByLabel("Reply to the visitor").inputValue()).toBe("Me");
});

test("a reply that is being sent survives a reload, and is gone from the field once it is stored", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Are you open on Sunday?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  const held = new Promise<void>((resolve) => void page.route("**/api/v1/conversations/*/messages", () => resolve(), { times: 1 }));
  const field = page.getByLabel("Reply to the visitor");
  const send = async (text: string) => {
    await field.fill(text);
    await page.keyboard.press("Control+Enter");
    await expect.poll(() => field.inputValue()).toBe("");
  };
  await send("From nine on.");
  await held;
  await page.reload();
  await expect.poll(() => field.inputValue()).toBe("From nine on.");
  await send("From ten on.");
  await page.getByRole("log").getByText("From ten on.").waitFor();
  await expect.poll(() => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("console.draft/")))).toEqual([]);
  await page.reload();
  await page.getByRole("log").getByText("From ten on.").waitFor();
  await expect.poll(() => field.inputValue()).toBe("");
});

test("a reply that could not be stored comes back before what has been written since then", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Are you open on Sunday?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  const held = new Promise<Route>((resolve) => void page.route("**/api/v1/conversations/*/messages", resolve, { times: 1 }));
  await page.getByLabel("Reply to the visitor").fill("From nine on.");
  await page.keyboard.press("Control+Enter");
  const route = await held;
  await page.getByRole("button", { name: "Note", exact: true }).click();
  await page.getByLabel("Note for the team").fill("Not on holidays?");
  await route.fulfill({ status: 503, json: { error: { code: "overloaded", message: "Try again." } } });
  await expect.poll(() => page.getByLabel("Note for the team").inputValue()).toBe("From nine on.\n\nNot on holidays?");
});

test("a reply that is begun before the last one is stored is sent without a question", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Are you open on Sunday?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  const held = new Promise<Route>((resolve) => void page.route("**/api/v1/conversations/*/messages", resolve, { times: 1 }));
  const field = page.getByLabel("Reply to the visitor");
  await field.fill("From nine on.");
  await page.keyboard.press("Control+Enter");
  const route = await held;
  await field.fill("Until noon.");
  await route.continue();
  await page.getByRole("log").getByText("Grace Hopper").waitFor();
  await page.keyboard.press("Control+Enter");
  await page.getByRole("log").getByText("Until noon.").waitFor();
});

test("what visitors write is text, whatever it looks like", async () => {
  const workspace = await createWorkspace();
  const hostile = "<img src=x onerror=alert(1)><script>alert(2)</script> [click](javascript:alert(3))";
  const id = await workspace.ask(hostile, "<b>Mallory</b>");
  await workspace.call("POST", `/conversations/${id}/messages`, { content: hostile });
  const { page, errors } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("log").getByText("onerror=alert(1)").first().waitFor();
  expect(await page.locator("[href^='javascript:'], .bubble img, .bubble script, strong b").count()).toBe(0);
  expect(errors.filter((error) => !error.includes("401"))).toEqual([]);
});

test("a text that is nested or emphasized without end is shown without formatting, and the conversation stays usable", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Do you deliver to Norway?");
  for (const nested of [">".repeat(7_990), "> ".repeat(31), "1. ".repeat(2_600), "- ".repeat(300), "*a* ".repeat(1_900)]) {
    await workspace.call("POST", `/conversations/${id}/messages`, { content: `${nested} end` });
  }
  await workspace.call("POST", `/conversations/${id}/messages`, { content: `${"> ".repeat(10)}quoted by **people**` });
  const { page, errors } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.locator("blockquote strong", { hasText: "people" }).waitFor();
  await expect.poll(() => page.locator("blockquote").count()).toBe(10);
  await expect.poll(() => page.getByRole("log").getByText("end").count()).toBe(5);
  expect(await page.getByRole("log").locator("em").count()).toBe(0);
  expect(errors.filter((error) => !error.includes("401"))).toEqual([]);
});

test("a long conversation opens at its latest message, and stays there while the reply is written and sent", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Where is my parcel?");
  for (let number = 0; number < 40; number++) await workspace.reply(id, `Reply ${number}. ${"It is on its way. ".repeat(30)}`);
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("log").getByText("Reply 39.").waitFor();
  await expect.poll(() => belowTheFold(page)).toBe(0);
  await page.getByLabel("Reply to the visitor").fill("First line\n".repeat(10));
  await expect.poll(() => belowTheFold(page)).toBe(0);
  await page.getByRole("log").evaluate((log) => log.scrollTo(0, 0));
  await page.getByLabel("Reply to the visitor").press("Control+Enter");
  await page.getByRole("log").getByText("First line").waitFor();
  await expect.poll(() => belowTheFold(page)).toBe(0);
});

test("a conversation that grows while it is open offers its earlier messages", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Where is my parcel?");
  for (let number = 0; number < 97; number++) await workspace.reply(id, `Reply ${number}.`);
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  const log = page.getByRole("log");
  await log.getByText("Where is my parcel?").waitFor();
  for (let number = 97; number < 100; number++) await workspace.reply(id, `Reply ${number}.`);
  await log.getByText("Reply 99.").waitFor();
  await log.getByRole("button", { name: "Show earlier messages" }).click();
  await log.getByText("Where is my parcel?").waitFor();
});

test("an engineer sees why an answer was given, teaches another one, and runs the questions again", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Do you deliver to Norway?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("button", { name: "Why this answer" }).click();
  const why = page.getByRole("dialog", { name: "Why this answer" });
  await why.getByText("Nothing that was found supports what the model wrote.").waitFor();
  await why.getByText("Found for “Do you deliver to Norway?”").waitFor();
  await page.keyboard.press("Escape");
  await page.goto(`${service.url}/console/#/knowledge/evaluations`);
  await page.getByRole("button", { name: "New evaluation" }).click();
  const dialog = page.getByRole("dialog", { name: "New evaluation" });
  await dialog.getByLabel("Name").fill("Delivery");
  await dialog.getByLabel("Questions").fill("=> five days");
  await dialog.getByRole("button", { name: "Run" }).click();
  await dialog.getByText("Line 1 has no question.").waitFor();
  const csv = 'Question,Expected\nDo you deliver to Norway?,five days\n"Who won, then?",refuse\n';
  await dialog.getByLabel("Read a CSV file").setInputFiles({ name: "cases.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
  await expect
    .poll(() => dialog.getByLabel("Questions").inputValue())
    .toBe("Do you deliver to Norway? => five days\nWho won, then? => refuse");
  await dialog.getByRole("button", { name: "Run" }).click();
  await page.getByText("2 of 2 asked: 1 right, 0 wrong, 1 refused").waitFor();
  await workspace.call("POST", `/agents/${workspace.agentId}/answers`, {
    question: "Do you deliver to Norway?",
    answer: "Yes, within five days.",
  });
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByText("2 of 2 asked: 2 right, 0 wrong, 0 refused").waitFor();
  await page.getByRole("region", { name: "Passes now, did not pass before" }).getByText("Yes, within five days.").waitFor();
  await page.getByRole("region", { name: "Now" }).first().getByRole("link", { name: "Delivery" }).click();
  await page.getByRole("button", { name: "Why: Do you deliver to Norway?" }).click();
  await page.getByRole("dialog").getByText("The question is that of a curated answer: the similarity of 1 reaches").waitFor();
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 375, height: 720 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
});
