import { expect, test } from "vitest";
import { openPage, service, shoot } from "./browser.ts";
import { createWorkspace, findBarriers, signIn } from "./workspace.ts";

test("a conversation is snoozed by a key, leaves the waiting ones, and comes back when the visitor writes", async () => {
  const workspace = await createWorkspace();
  const user = { id: "ada", name: "Ada Lovelace" };
  const ask = (message: string, conversation_id?: string) =>
    workspace.call<{ conversation_id: string }>("POST", `/agents/${workspace.agentId}/messages`, { message, user, conversation_id });
  const { conversation_id: id } = await ask("Where is my parcel?");
  await workspace.ask("Where is my refund?", "Alan Turing");
  const { page } = await openPage({ viewport: { width: 1440, height: 900 } });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("heading", { name: "Ada Lovelace" }).waitFor();
  const rows = page.locator(".conversation-list .row");
  await expect.poll(() => rows.count()).toBe(2);
  await page.keyboard.press("h");
  const dialog = page.getByRole("dialog", { name: "Snooze" });
  await dialog.waitFor();
  await shoot(page, "snooze-dialog");
  expect(await findBarriers(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Tomorrow morning" }).click();
  await dialog.waitFor({ state: "detached" });
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByRole("button", { name: "Snoozed" }).first().click();
  await expect.poll(() => rows.first().textContent()).toContain("Ada Lovelace");
  await shoot(page, "snooze-list");
  await page.setViewportSize({ width: 375, height: 720 });
  await shoot(page, "snooze-375");
  await page.setViewportSize({ width: 1440, height: 900 });
  await ask("Is anybody there?", id);
  await expect.poll(() => rows.count()).toBe(0);
  await page.getByRole("button", { name: "Waiting" }).first().click();
  await expect.poll(() => rows.count()).toBe(2);
});
