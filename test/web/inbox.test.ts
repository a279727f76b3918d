import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { createWorkspace, signIn } from "./workspace.ts";

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
  expect([Math.round(lines!), overflow]).toEqual([2, 0]);
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
