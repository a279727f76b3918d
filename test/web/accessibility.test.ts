import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { call, openPage, serveSite } from "./browser.ts";
import { chatOn, conversationOn, embedding, question } from "./chat.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

interface Axe {
  run: (context: unknown, options: unknown) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
}

/** Lists the violations of WCAG 2.2 AA that axe finds. */
async function findingsOn(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async (standard) => {
    const { axe } = window as unknown as { axe: Axe };
    const { violations } = await axe.run({ include: ["support-agent"] }, { runOnly: { type: "tag", values: standard } });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }, STANDARD);
}

test.each(["light", "dark"] as const)("axe finds nothing in any state, %s", async (colorScheme) => {
  const { page } = await openPage({ colorScheme });
  await page.goto(await serveSite({ "/": embedding() }));
  const chat = chatOn(page);
  await chat.open();
  expect(await findingsOn(page)).toEqual([]);
  await chat.ask(question("markdown"));
  await chat.answered();
  await chat.button("Not helpful").click();
  expect(await findingsOn(page)).toEqual([]);
  await chat.button("Talk to a person").click();
  await chat.button("Leave contact details").click();
  await chat.button("Submit").click();
  expect(await findingsOn(page)).toEqual([]);
  await chat.button("Back").click();
  await chat.button("Earlier conversations").click();
  const id = await conversationOn(page);
  await page.getByRole("listitem").first().waitFor();
  expect(await findingsOn(page)).toEqual([]);
  await chat.button("Back").click();
  await call("POST", `/conversations/${id}/messages`, { content: "Done.", resolve: true });
  await chat.button("Okay").click();
  expect(await findingsOn(page)).toEqual([]);
});

test("everything is done by the keyboard, and the focus comes back", async () => {
  const { page } = await openPage();
  await page.goto(await serveSite({ "/": embedding({ body: `<a href="#top">Top</a>` }) }));
  const chat = chatOn(page);
  await chat.button("Open chat").waitFor();
  const focused = () => page.evaluate(() => document.querySelector("support-agent")?.shadowRoot?.activeElement?.ariaLabel ?? null);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await expect.poll(focused).toBe("Open chat");
  await page.keyboard.press("Enter");
  await chat.window.waitFor();
  await expect.poll(focused).toBe("Your message");
  await page.keyboard.type(question("markdown"));
  await page.keyboard.press("Enter");
  await chat.answered();
  // The answer is announced once, when it is complete.
  await expect.poll(() => chat.window.getByRole("status").last().textContent()).toMatch(/^Here is how:/);
  // The button that attaches files is before the field, and the offer of a person before that.
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await chat.window.getByText("Waiting for a person").waitFor();
  // Another view gets the focus, and gives it back to what opened it.
  await chat.button("Leave contact details").press("Enter");
  const field = chat.window.getByRole("textbox").first();
  await expect.poll(() => field.evaluate((element) => (element.getRootNode() as ShadowRoot).activeElement === element)).toBe(true);
  await page.keyboard.press("Escape");
  const offer = chat.button("Leave contact details");
  await expect.poll(() => offer.evaluate((element) => (element.getRootNode() as ShadowRoot).activeElement === element)).toBe(true);
  await chat.button("Earlier conversations").press("Enter");
  await expect.poll(focused).toBe("Back");
  await page.keyboard.press("Enter");
  await expect.poll(focused).toBe("Earlier conversations");
  await page.keyboard.press("Escape");
  await chat.window.waitFor({ state: "hidden" });
  await expect.poll(focused).toBe("Open chat");
});
