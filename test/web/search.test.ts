import { expect, test } from "vitest";
import { openPage, send, service, shoot } from "./browser.ts";
import { type ConsoleWorkspace, createWorkspace, findBarriers, signIn } from "./workspace.ts";

const HOSTILE = '<img src=x onerror="document.title=1">';

/** Adds what a search for "refund" finds: a conversation, a lead with and one without a conversation, and a text. */
async function fill(workspace: ConsoleWorkspace): Promise<string> {
  const { agentId } = workspace;
  const id = await workspace.ask(`Where is my refund ${HOSTILE}?`, "Ada Lovelace");
  await workspace.call("POST", `/agents/${agentId}/sources`, {
    type: "text",
    name: "Refund rules",
    text: "Refunds are paid within five working days.",
  });
  await expect
    .poll(async () => (await workspace.call<{ data: { status: string }[] }>("GET", `/agents/${agentId}/sources`)).data[0]?.status, {
      timeout: 30_000,
    })
    .toBe("ready");
  const lead = { name: "Refunda Smith", email: "smith@example.com", message: HOSTILE };
  await send("POST", `/widget/v1/agents/${agentId}/leads`, "", lead);
  return id;
}

test("Ctrl K finds conversations, people, knowledge and pages at once, by keys, with hostile text as text", async () => {
  const workspace = await createWorkspace();
  const id = await fill(workspace);
  const { page, errors } = await openPage({ viewport: { width: 1440, height: 900 } });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings`);
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  await page.keyboard.press("Control+k");
  const dialog = page.getByRole("dialog", { name: "Search" });
  const field = dialog.getByRole("combobox");
  const options = dialog.getByRole("option");
  await field.waitFor();
  // All pages, before anything is written.
  await expect.poll(() => options.first().textContent()).toBe("Inbox");
  await page.keyboard.type("refund");
  for (const group of ["Conversations", "People", "Knowledge"]) {
    await dialog.getByRole("group", { name: group }).getByRole("option").first().waitFor();
  }
  const first = dialog.getByRole("group", { name: "Conversations" }).getByRole("option").first();
  await expect.poll(() => first.textContent()).toContain(HOSTILE);
  await expect.poll(() => first.getAttribute("aria-selected")).toBe("true");
  await expect.poll(() => field.getAttribute("aria-activedescendant")).toBe(await first.getAttribute("id"));
  await shoot(page, "search-1440-light");
  expect(await findBarriers(page)).toEqual([]);
  await page.keyboard.press("ArrowDown");
  await expect
    .poll(() => dialog.getByRole("group", { name: "People" }).getByRole("option").first().getAttribute("aria-selected"))
    .toBe("true");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/#/inbox/${id}`);
  await dialog.waitFor({ state: "detached" });

  // A lead without a conversation opens the list of leads, also while the user types in a field.
  await page.getByRole("textbox", { name: "Reply" }).click();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("smith");
  await dialog.getByRole("group", { name: "People" }).getByRole("option", { name: "Refunda Smith" }).click();
  await page.waitForURL("**/#/leads");
  await expect.poll(() => page.getByRole("searchbox", { name: "Search leads" }).inputValue()).toBe("Refunda Smith");

  await page.keyboard.press("Control+k");
  await page.keyboard.type("working days");
  await dialog.getByRole("group", { name: "Knowledge" }).getByRole("option").first().click();
  await page.waitForURL("**/#/knowledge/agents/*/sources/*");

  await page.keyboard.press("Control+k");
  await page.keyboard.type("business h");
  await dialog.getByRole("option", { name: "Settings › Business hours" }).click();
  await page.waitForURL("**/#/settings/hours");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("zzzz qqqq");
  await dialog.getByText("Nothing was found").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await page.title()).not.toBe("1");
  // Before the sign-in there is no session.
  expect(errors.filter((error) => !error.includes("401"))).toEqual([]);
});

test("what is typed before the dialog is there is searched for, and is no key of the page", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Where is my parcel?", "Eve");
  const { page } = await openPage();
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\/search-dialog-\w+\.js$/, async (route) => {
    await released;
    await route.continue();
  });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("heading", { name: "Eve" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("eve");
  release();
  await expect.poll(() => page.getByRole("dialog", { name: "Search" }).getByRole("combobox").inputValue()).toBe("eve");
  await page.getByRole("group", { name: "People" }).getByRole("option", { name: "Eve" }).waitFor();
  await expect.poll(() => workspace.call("GET", `/conversations/${id}`)).toMatchObject({ status: "needs_human" });
});

test("keys work as before if the code of the search does not arrive", async () => {
  const workspace = await createWorkspace();
  await workspace.ask("Where is my parcel?", "Eve");
  const { page } = await openPage();
  await page.route(/\/search-dialog-\w+\.js$/, (route) => route.abort());
  await signIn(page, workspace.key);
  await page.getByRole("button", { name: /Eve/ }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("status").getByText("Reload the page.").waitFor();
  await page.keyboard.press("j");
  await page.getByRole("heading", { name: "Eve" }).waitFor();
});

test("on a phone the menu opens the search, and groups that a key may not read are absent", async () => {
  const workspace = await createWorkspace(["conversations:read", "agents:read", "chat:write"]);
  await workspace.ask("Where is my refund?", "Ada Lovelace");
  const { page } = await openPage({ viewport: { width: 375, height: 720 }, colorScheme: "dark" });
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await signIn(page, workspace.key);
  await page.getByRole("button", { name: "More" }).click();
  await page.locator("#more").getByRole("button", { name: "Search" }).click();
  const dialog = page.getByRole("dialog", { name: "Search" });
  await dialog.getByRole("combobox").fill("lovelace");
  await dialog.getByRole("group", { name: "Conversations" }).getByRole("option").waitFor();
  // The visitor was found by the name.
  await dialog.getByRole("group", { name: "People" }).getByRole("option", { name: "Ada Lovelace" }).waitFor();
  expect(await dialog.getByRole("group", { name: "Knowledge" }).count()).toBe(0);
  await shoot(page, "search-375-dark");
  expect(await findBarriers(page)).toEqual([]);
  expect(asked.filter((path) => path.endsWith("/leads") || path.endsWith("/search"))).toEqual([]);
});
