import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { openPage, send, service } from "./browser.ts";
import { BUSY, type BusyWorkspace, restoreBusyWorkspace } from "./busy-workspace.ts";
import { signIn } from "./workspace.ts";

let busy: BusyWorkspace;

beforeAll(async () => {
  busy = await restoreBusyWorkspace(service.url, service.operatorToken);
}, 120_000);

const MIDDLE = BUSY.conversations / 2;
const rowOf = (page: Page, order: number) => page.getByRole("button", { name: `Order ${order}:` });
const scroller = (page: Page) => page.locator(".conversation-list .scroll");
const scrollTo = (page: Page, share: number) =>
  scroller(page).evaluate((list, part) => list.scrollTo(0, (list.scrollHeight - list.clientHeight) * part), share);
/** The order of the first row in sight. */
const firstInSight = (page: Page) =>
  scroller(page).evaluate((list) => {
    const { left, top } = list.getBoundingClientRect();
    return /Order \d+/.exec(document.elementFromPoint(left + 20, top + 10)?.closest("li")?.textContent ?? "")?.[0];
  });

async function openInbox(options?: Parameters<typeof openPage>[0]): Promise<Page> {
  const { page } = await openPage(options);
  await signIn(page, busy.key);
  await page.getByRole("button", { name: "All", exact: true }).click();
  await rowOf(page, 0).waitFor();
  return page;
}

test("of ten thousand conversations those in sight are in the page, and are read as they come into sight", async () => {
  const page = await openInbox();
  const lists: string[] = [];
  page.on("request", (request) => /\/(?:conversations|agents)\?/.test(request.url()) && lists.push(request.url()));
  await scrollTo(page, 1);
  await rowOf(page, BUSY.conversations - 1).waitFor();
  await expect
    .poll(() =>
      page
        .getByRole("listitem")
        .filter({ has: page.locator(".row") })
        .count(),
    )
    .toBeLessThan(40);
  expect(lists.length).toBeLessThan(5);
  await scrollTo(page, 0.5);
  await rowOf(page, MIDDLE).waitFor();
  const item = page.getByRole("listitem").filter({ has: rowOf(page, MIDDLE) });
  expect([await item.getAttribute("aria-posinset"), await item.getAttribute("aria-setsize")]).toEqual([
    `${MIDDLE + 1}`,
    `${BUSY.conversations}`,
  ]);
});

test("keys go from one conversation to the next, past what was read, and the list follows", async () => {
  const page = await openInbox();
  await rowOf(page, 0).click();
  await page.getByRole("log").getByText("Order 0:").waitFor();
  for (let step = 0; step < 105; step++) await page.keyboard.press("j");
  await page.getByRole("log").getByText("Order 105:").waitFor();
  await expect.poll(() => rowOf(page, 105).getAttribute("aria-current")).toBe("true");
  await scrollTo(page, 1);
  await rowOf(page, BUSY.conversations - 1).waitFor();
  await page.keyboard.press("k");
  await page.getByRole("log").getByText("Order 104:").waitFor();
  await rowOf(page, 104).waitFor();
});

test("the list stays where it is when a conversation is opened, when others come in, and on the way back", async () => {
  const page = await openInbox({ viewport: { width: 375, height: 720 } });
  await scrollTo(page, 0.5);
  await rowOf(page, MIDDLE).waitFor();
  const before = await firstInSight(page);
  await rowOf(page, MIDDLE).click();
  await page.getByRole("log").getByText(`Order ${MIDDLE}:`).waitFor();
  const isRead = page.waitForResponse((response) => response.url().includes("/conversations?") && response.url().includes("offset=4"));
  await send("POST", `/api/v1/agents/${busy.agentId}/messages`, busy.key, { message: "Is anybody there?" });
  await isRead;
  await page.getByRole("button", { name: "Back to the list" }).click();
  await rowOf(page, MIDDLE).waitFor();
  await expect.poll(() => firstInSight(page)).toBe(before);
});

test("the focus stays on a row that moves up, and in the list when its row scrolls away", async () => {
  const page = await openInbox();
  const ask = async () => {
    const path = `/api/v1/agents/${busy.agentId}/messages`;
    return (await send<{ conversation_id: string }>("POST", path, busy.key, { message: "Is anybody there?" })).conversation_id;
  };
  const [id, other] = [await ask(), await ask()];
  const button = `li[data-id="${id}"] button`;
  const hasFocus = (selector: string) => page.evaluate((wanted) => document.activeElement?.matches(wanted), selector);
  await page.locator(`li[data-id="${other}"][aria-posinset="1"]`).waitFor();
  await page.locator(button).focus();
  await send("POST", `/api/v1/conversations/${id}/notes`, busy.key, { content: "A note." });
  await page.locator(`li[data-id="${id}"][aria-posinset="1"]`).waitFor();
  await expect.poll(() => hasFocus(button)).toBe(true);
  await scrollTo(page, 1);
  await page.locator(button).waitFor({ state: "detached" });
  await expect.poll(() => hasFocus(".conversation-list .scroll")).toBe(true);
});

test("a search finds what a hundred conversations have, and shows why", async () => {
  const page = await openInbox();
  await page.getByLabel("Search conversations").fill("urgent");
  await page.locator(".row mark").first().waitFor();
  await expect.poll(() => page.locator(".row").first().locator("xpath=..").getAttribute("aria-setsize")).toBe("100");
  await scrollTo(page, 1);
  await rowOf(page, BUSY.conversations - 100).waitFor();
});

test("two hundred sources are searched by name, and by state", async () => {
  const { page } = await openPage();
  await signIn(page, busy.key);
  await page.goto(`${service.url}/console/#/knowledge`);
  const sources = page.getByRole("region", { name: "Sources" }).getByRole("listitem");
  await expect.poll(() => sources.count()).toBe(BUSY.sources);
  await page.getByLabel("Search sources").fill("guide 77");
  await expect.poll(() => sources.allInnerTexts()).toEqual([expect.stringContaining("Guide 77")]);
  await page.getByLabel("Search sources").fill("failed");
  await page.getByText("Nothing was found").waitFor();
});
