import { expect, test } from "vitest";
import { openPage, serveSite, service } from "./browser.ts";
import { chatOn, embedding } from "./chat.ts";
import { createWorkspace, findBarriers, signIn } from "./workspace.ts";

test.each([
  ["wide, light", { viewport: { width: 1440, height: 900 }, colorScheme: "light" as const }],
  ["narrow, dark", { viewport: { width: 375, height: 740 }, colorScheme: "dark" as const }],
])("what is masked is tried out, switched on and counted, by the keyboard: %s", async (name, options) => {
  const workspace = await createWorkspace();
  const { page, errors } = await openPage(options);
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings`);
  await page.getByRole("navigation", { name: "Settings" }).getByRole("link", { name: "Privacy" }).press("Enter");
  const stored = page.getByRole("status", { name: "What is stored" });
  await stored.getByText("My card is 4111 1111 1111 1111").waitFor();
  await page.getByLabel("Numbers of payment cards").press("Space");
  await stored.getByText("My card is [redacted: card], my IBAN DE89").waitFor();

  await page.getByRole("button", { name: "Add pattern" }).press("Enter");
  await page.getByLabel("Name of pattern 1").fill("customer number");
  await page.getByLabel("Pattern 1", { exact: true }).fill("KD-(?=1)");
  await page.getByRole("button", { name: "Save" }).press("Enter");
  const pattern = page.getByLabel("Pattern 1", { exact: true });
  await page.getByText("RE2 cannot match it").first().waitFor();
  await expect.poll(() => pattern.evaluate((field) => field === document.activeElement)).toBe(true);
  await pattern.fill("KD-[0-9]+");
  await page.getByLabel("Text to try").fill("KD-17 or 4111111111111111");
  await stored.getByText("[redacted: customer number] or [redacted: card]").waitFor();
  await page.getByRole("button", { name: "Save" }).press("Enter");
  await page.getByText("Saved", { exact: true }).waitFor();
  await expect
    .poll(() => workspace.call("GET", "/privacy/redaction"))
    .toMatchObject({ card: true, iban: false, patterns: [{ name: "customer number", pattern: "KD-[0-9]+" }] });
  await workspace.ask("My number is KD-17, my card 4111111111111111");
  await expect.poll(() => workspace.call("GET", "/privacy/redaction")).toMatchObject({ counts: { card: 1 } });
  await page.reload();
  await page.getByText("customer number: 1").waitFor();
  expect(await findBarriers(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  const folder = process.env["SCREENSHOTS"];
  if (folder) await page.screenshot({ path: `${folder}/redaction-${name.replaceAll(/\W+/g, "-")}.png`, fullPage: true });
  expect(errors.filter((error) => !error.startsWith("Failed to load resource"))).toEqual([]);
});

test("a message to a person that is masked is shown once, as it is stored", async () => {
  const workspace = await createWorkspace();
  await workspace.call("PATCH", `/agents/${workspace.agentId}`, { name: "Demo agent", allowed_origins: ["*"] });
  await workspace.call("PATCH", "/privacy/redaction", { card: true });
  const { page } = await openPage();
  await page.goto(await serveSite({ "/": embedding({ agentId: workspace.agentId }) }));
  const chat = chatOn(page);
  await chat.open();
  await chat.ask("Is somebody there?");
  await chat.window.getByText("Waiting for a person").waitFor();
  const { data } = await workspace.call<{ data: { id: string }[] }>("GET", "/conversations");
  await workspace.reply(data[0]!.id, "How can I help?");
  await chat.log.getByText("How can I help?").waitFor();
  await chat.ask("My card is 4111111111111111");
  await chat.log.getByText("My card is [redacted: card]").waitFor();
  expect(await chat.log.locator("article.user").count()).toBe(2);
});
