import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openPage, serveSite, service } from "./browser.ts";
import { embedding } from "./chat.ts";
import { createWorkspace, findBarriers, signIn } from "./workspace.ts";

const focusedName = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: focused } = document;
    return (focused as HTMLInputElement).labels?.[0]?.textContent || focused?.ariaLabel || focused?.textContent;
  });

test("a dialog begins at its first field, and closing it returns to the button that opened it", async () => {
  const { key } = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, key);
  await page.goto(`${service.url}/console/#/settings/keys`);
  await page.getByRole("button", { name: "Create key" }).press("Enter");
  await page.getByRole("dialog").waitFor();
  await expect.poll(() => focusedName(page)).toBe("Name");
  await page.keyboard.press("Escape");
  await expect.poll(() => focusedName(page)).toBe("Create key");
  // A question begins at the button that changes nothing.
  await page.getByRole("button", { name: "Revoke" }).press("Enter");
  await page.getByRole("dialog").waitFor();
  await expect.poll(() => focusedName(page)).toBe("Cancel");
  await page.keyboard.press("Enter");
  await expect.poll(() => focusedName(page)).toBe("Revoke");
});

test("the key / goes to the search of each page that has one, and ? lists it", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  for (const [path, name] of [
    ["inbox", "Search conversations"],
    ["leads", "Search leads"],
    ["people", "Email"],
  ] as const) {
    await page.goto(`${service.url}/console/#/${path}`);
    await page.locator("[data-search]").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).getByText("/", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await expect.poll(() => focusedName(page)).toBe(name);
  }
});

test("on a phone each page is reached from the bar or its menu, and nothing is wider than the screen", async () => {
  const workspace = await createWorkspace();
  await workspace.call("PATCH", `/agents/${workspace.agentId}`, { name: "Customer service of the Acme trading company ".repeat(2).trim() });
  const { page } = await openPage({ viewport: { width: 320, height: 640 } });
  await signIn(page, workspace.key);
  const bar = page.getByRole("navigation", { name: "Console" });
  for (const name of ["Inbox", "Playground", "Knowledge", "Analytics", "Leads", "People", "Webhooks", "Settings"]) {
    const link = bar.getByRole("link", { name });
    if (!(await link.isVisible())) await bar.getByRole("button", { name: "More" }).click();
    await link.click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
    const widest = () => page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector("main")!.scrollWidth));
    await expect.poll(widest, { message: name }).toBe(320);
  }
  await bar.getByRole("button", { name: "More" }).click();
  await bar.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key or operator token").waitFor();
});

test("a zoom of 200 percent leaves room for messages", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Do you deliver to Norway?");
  // A window of 1280 by 800 pixels, zoomed.
  const { page } = await openPage({ viewport: { width: 640, height: 400 } });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("button", { name: "Send", exact: true }).waitFor();
  await page.getByRole("button", { name: "Summarise the conversation" }).waitFor();
  const { height } = (await page.locator(".transcript").boundingBox())!;
  expect(height).toBeGreaterThan(180);
});

test("the theme is chosen, and kept in this browser", async () => {
  const { key } = await createWorkspace();
  const { page } = await openPage({ colorScheme: "light" });
  await signIn(page, key);
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole("combobox", { name: "Theme" }).selectOption("Dark theme");
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.reload();
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  await expect.poll(background).toBe(dark);
  await page.getByRole("combobox", { name: "Theme" }).selectOption("System theme");
  await expect.poll(background).toBe(light);
});

test("colours that the system forces show what is selected, and the launcher of the chat", async () => {
  const { key } = await createWorkspace();
  const { page } = await openPage({ forcedColors: "active" });
  await signIn(page, key);
  const outline = (name: string) =>
    page
      .getByRole("navigation", { name: "Console" })
      .getByRole("link", { name })
      .evaluate((link) => getComputedStyle(link).outlineStyle);
  await expect.poll(() => outline("Inbox")).toBe("solid");
  await expect.poll(() => outline("Leads")).toBe("none");
  const { page: visitor } = await openPage({ forcedColors: "active" });
  await visitor.goto(await serveSite({ "/": embedding() }));
  const launcher = visitor.getByRole("button", { name: "Open chat" });
  await launcher.waitFor();
  const [behind, icon] = await launcher.evaluate((button) =>
    [button, button.querySelector("i")!].map((element) => getComputedStyle(element).backgroundColor),
  );
  expect(icon).not.toBe(behind);
});

test("text from right to left begins at the right, in messages and in fields", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("هل يمكنني التحدث مع شخص؟");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  const bubble = page.locator(".message.user .bubble");
  /** The distances of a text from the edges of its element. */
  const gaps = () =>
    bubble.evaluate((element) => {
      element.style.width = "500px";
      const range = document.createRange();
      range.selectNodeContents(element);
      const [text, box] = [range.getClientRects()[range.getClientRects().length - 1]!, element.getBoundingClientRect()];
      return { left: text.left - box.left, right: box.right - text.right };
    });
  await bubble.waitFor();
  const { left, right } = await gaps();
  expect(right).toBeLessThan(left);
  const field = page.locator(".composer textarea");
  await expect.poll(() => field.evaluate((element) => getComputedStyle(element).unicodeBidi)).toBe("plaintext");
});

test.each(["light", "dark"] as const)(
  "axe finds nothing on the hosted page and in the dialogs of the console, by all its rules (%s)",
  async (colorScheme) => {
    const workspace = await createWorkspace();
    const { page } = await openPage({ colorScheme });
    await page.goto(`${service.url}/chat/${workspace.agentId}`);
    await page.getByRole("textbox", { name: "Your message" }).waitFor();
    const barriers: Record<string, string[]> = { "hosted page": await findBarriers(page, []) };
    await signIn(page, workspace.key);
    for (const [path, button] of [
      ["knowledge", "Add source"],
      ["knowledge/answers", "Add answer"],
      ["webhooks", "Add endpoint"],
      ["settings", "Create agent"],
      ["settings/keys", "Create key"],
    ] as const) {
      await page.goto(`${service.url}/console/#/${path}`);
      await page.getByRole("button", { name: button }).first().click();
      await page.getByRole("dialog").waitFor();
      barriers[button] = await findBarriers(page, []);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      barriers[path] = await findBarriers(page, []);
    }
    expect(Object.entries(barriers).filter(([, found]) => found.length > 0)).toEqual([]);
  },
);

test.each(["light", "dark"] as const)("no page of the console has a barrier that axe finds (%s)", async (colorScheme) => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Do you deliver to Norway?");
  await workspace.reply(await workspace.ask("Is there a student discount?"), "Yes, 15 percent.");
  await workspace.call("POST", `/agents/${workspace.agentId}/sources`, {
    type: "text",
    name: "Delivery",
    text: "We deliver to Norway within five days.",
  });
  const cases = [{ question: "Do you deliver to Norway?", expect: { refusal: true } }];
  const { id: evaluationId } = await workspace.call<{ id: string }>("POST", `/agents/${workspace.agentId}/evaluations`, { cases });
  const { page } = await openPage({ colorScheme });
  await page.goto(`${service.url}/console/`);
  await page.getByLabel("API key or operator token").waitFor();
  const barriers: Record<string, string[]> = { "sign in": await findBarriers(page) };
  await signIn(page, workspace.key);
  const pages = [
    `inbox/${id}`,
    "playground",
    "knowledge",
    "knowledge/answers",
    "knowledge/gaps",
    "knowledge/drafts",
    "knowledge/evaluations",
    `knowledge/evaluations/${evaluationId}`,
    "analytics",
    "leads",
    "people",
    "webhooks",
    "settings",
    `settings/agents/${workspace.agentId}`,
    "settings/keys",
    "settings/usage",
  ];
  for (const path of pages) {
    await page.goto(`${service.url}/console/#/${path}`);
    await page.locator(path.startsWith("inbox") ? ".composer" : ".page-header").waitFor();
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
    barriers[path] = await findBarriers(page);
  }
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("button", { name: "Why this answer" }).first().click();
  await page.getByRole("dialog").getByText("Nothing that was found supports what the model wrote.").waitFor();
  barriers["why an answer was given"] = await findBarriers(page);
  expect(Object.entries(barriers).filter(([, found]) => found.length > 0)).toEqual([]);
});
