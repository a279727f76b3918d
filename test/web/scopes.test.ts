import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { createWorkspace, signIn } from "./workspace.ts";

test("a key without the scope of a page reads which one it needs, and does not see the page in the menu", async () => {
  const workspace = await createWorkspace(["conversations:read"]);
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await expect.poll(() => page.getByRole("navigation", { name: "Console" }).getByRole("link").allInnerTexts()).toEqual(["Inbox"]);
  await page.goto(`${service.url}/console/#/webhooks`);
  await page.getByText("webhooks:read").waitFor();
});

test("a key without the scope of a part of a page reads which one it needs, and does not see its tab", async () => {
  const workspace = await createWorkspace(["agents:read", "knowledge:read"]);
  const { page } = await openPage();
  await signIn(page, workspace.key);
  const tabs = page.getByRole("navigation", { name: "Knowledge" });
  await tabs.getByRole("link", { name: "Drafts" }).waitFor();
  expect(await tabs.getByRole("link", { name: "Gaps" }).count()).toBe(0);
  await page.goto(`${service.url}/console/#/knowledge/gaps`);
  await page.getByText("analytics:read").waitFor();
});
