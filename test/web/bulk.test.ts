import { expect, test } from "vitest";
import { openPage, shoot } from "./browser.ts";
import { createWorkspace, findBarriers, signIn } from "./workspace.ts";

type Listed = { data: { id: string; status: string; tags: string[]; snoozed_until: string | null }[] };

test("conversations are selected with the mouse and by keys, tagged, resolved, put back, and snoozed at once", async () => {
  const workspace = await createWorkspace();
  const hostile = '<img src=x onerror="document.title=1">';
  for (const name of ["Ada Lovelace", "Alan Turing", hostile, "Edsger Dijkstra"]) await workspace.ask("Where is my parcel?", name);
  const { page, errors } = await openPage({ viewport: { width: 1440, height: 900 } });
  await signIn(page, workspace.key);
  const list = page.getByRole("region", { name: "Conversations" });
  const rows = list.locator(".row");
  const boxes = list.getByRole("checkbox");
  const bar = page.getByRole("group", { name: "Selected conversations" });
  const countOf = () => bar.getByRole("status").textContent();
  await expect.poll(() => rows.count()).toBe(4);
  expect(await boxes.count()).toBe(0);

  // The range between two boxes, then one less, by mouse.
  await page.getByRole("button", { name: "Select conversations" }).click();
  await bar.waitFor();
  await boxes.nth(0).click();
  await boxes.nth(2).click({ modifiers: ["Shift"] });
  await expect.poll(countOf).toBe("3 selected");
  await boxes.nth(1).click();
  await expect.poll(countOf).toBe("2 selected");
  await shoot(page, "bulk-1440-light");
  expect(await findBarriers(page)).toEqual([]);

  // The rest is done with the keyboard alone.
  await page.keyboard.press("Escape");
  await expect.poll(() => boxes.count()).toBe(0);
  // The row of the box that was clicked has the focus.
  await page.keyboard.press("v");
  await expect.poll(countOf).toBe("1 selected");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("v");
  await expect.poll(countOf).toBe("2 selected");
  await page.keyboard.press("Shift+V");
  await expect.poll(countOf).toBe("4 selected");
  await page.keyboard.press("Shift+T");
  const tagging = page.getByRole("dialog", { name: "Tag 4 conversations" });
  await tagging.getByLabel("Tag", { exact: true }).waitFor();
  await page.keyboard.type("parcel");
  await page.keyboard.press("Enter");
  await tagging.waitFor({ state: "detached" });
  await page.getByText("4 tagged “parcel”").waitFor();
  const read = async () => (await workspace.call<Listed>("GET", "/conversations")).data;
  expect((await read()).map(({ tags }) => tags)).toEqual([["parcel"], ["parcel"], ["parcel"], ["parcel"]]);

  await page.keyboard.press("Shift+V");
  await page.keyboard.press("Shift+E");
  await page.getByText("4 resolved").waitFor();
  await expect.poll(() => rows.count()).toBe(0);
  await page.keyboard.press("z");
  await page.getByText("Reopened").waitFor();
  await expect.poll(() => rows.count()).toBe(4);
  expect((await read()).map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => "needs_human"));

  await page.keyboard.press("Shift+V");
  await page.keyboard.press("Shift+H");
  await page.getByRole("dialog", { name: "Snooze" }).getByRole("button", { name: "Tomorrow morning" }).click();
  await expect.poll(() => rows.count()).toBe(0);
  expect((await read()).every(({ snoozed_until: until }) => until !== null)).toBe(true);
  expect(await page.title()).not.toBe("1");
  // Before the sign-in there is no session.
  expect(errors.filter((error) => !error.includes("401"))).toEqual([]);
});

test("what could not be changed is said, tags are removed, and a phone shows the bar", async () => {
  const workspace = await createWorkspace();
  const first = await workspace.ask("Where is my parcel?", "Ada Lovelace");
  await workspace.ask("Where is my refund?", "Alan Turing");
  await workspace.call("PATCH", `/conversations/${first}`, { tags: Array.from({ length: 20 }, (_, at) => `tag ${at}`) });
  const { page } = await openPage({ viewport: { width: 375, height: 720 }, colorScheme: "dark" });
  await signIn(page, workspace.key);
  await page.getByRole("button", { name: "Select conversations" }).click();
  const bar = page.getByRole("group", { name: "Selected conversations" });
  await bar.getByRole("button", { name: "All 2" }).click();
  await shoot(page, "bulk-375-dark");
  expect(await findBarriers(page)).toEqual([]);
  await bar.getByRole("button", { name: "Tag" }).click();
  const dialog = page.getByRole("dialog", { name: "Tag 2 conversations" });
  await dialog.getByLabel("Tag", { exact: true }).fill("new");
  await shoot(page, "bulk-tag-375-dark");
  expect(await findBarriers(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Add" }).click();
  await page.getByText("1 tagged “new”; 1 with 20 tags already").waitFor();
  await page.getByRole("button", { name: "Select conversations" }).click();
  await bar.getByRole("button", { name: "All 2" }).click();
  await bar.getByRole("button", { name: "Tag" }).click();
  await dialog.getByRole("button", { name: "Remove the tag tag 7" }).click();
  await page.getByText("1 without the tag “tag 7”; 1 unchanged").waitFor();
});

test("without the scope to write, nothing can be selected", async () => {
  const workspace = await createWorkspace(["conversations:read", "chat:write"]);
  await workspace.ask("Where is my parcel?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.locator(".conversation-list .row").waitFor();
  expect(await page.getByRole("button", { name: "Select conversations" }).count()).toBe(0);
  await page.keyboard.press("v");
  expect(await page.getByRole("checkbox").count()).toBe(0);
});
