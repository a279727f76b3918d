import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, test } from "vitest";
import { openPage, service, shoot } from "./browser.ts";
import { type ConsoleWorkspace, createWorkspace, findBarriers, signIn } from "./workspace.ts";

interface Agent {
  version: number;
  instructions: string | null;
  confidence_threshold: number;
  rollout: { version: number; share: number } | null;
}

const LONG = `Be brief.\n\n${"Say what the guide says. ".repeat(12)}\nNever promise a date.`;

/** Opens the versions of a workspace's agent. */
async function openVersions(workspace: ConsoleWorkspace, options?: BrowserContextOptions) {
  const { page } = await openPage(options);
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/agents/${workspace.agentId}`);
  await page.getByRole("link", { name: "Versions and draft" }).click();
  const draft = page.getByRole("form", { name: "Draft" });
  await draft.waitFor();
  const agent = () => workspace.call<Agent>("GET", `/agents/${workspace.agentId}`);
  return { page, draft, history: page.getByRole("region", { name: "History" }), agent };
}

/** Returns the entry of a version in the history. */
function entryOf(page: Page, number: number) {
  return page
    .getByRole("region", { name: "History" })
    .getByRole("listitem")
    .filter({ hasText: new RegExp(`^Version ${number}(?!\\d)`) });
}

/** Publishes a version over the API. */
async function publish(workspace: ConsoleWorkspace, settings: object, publication: object): Promise<void> {
  const versions = `/agents/${workspace.agentId}/versions`;
  await workspace.call("PATCH", `${versions}/draft`, settings);
  await workspace.call("POST", `${versions}/publish`, publication);
}

test("a draft changes whether and when the agent hands off", async () => {
  const workspace = await createWorkspace();
  await workspace.call("PATCH", `/agents/${workspace.agentId}`, { handoff_words: ["refund", "lawyer"] });
  const { page, draft } = await openVersions(workspace, { viewport: { width: 375, height: 720 }, colorScheme: "dark" });
  const words = draft.getByLabel("Words that always hand off");
  await expect.poll(() => words.inputValue()).toBe("refund\nlawyer");
  await words.fill("lawyer\n\n  gift card ");
  await draft.getByRole("button", { name: "Save draft" }).click();
  await draft.getByText("What the draft changes: Words that always hand off", { exact: true }).waitFor();
  const read = () => workspace.call("GET", `/agents/${workspace.agentId}/versions/draft`);
  await expect.poll(read).toMatchObject({ settings: { handoff: "on", handoff_words: ["lawyer", "gift card"] } });
  await draft.getByLabel("Hand-off", { exact: true }).selectOption("off");
  await draft.getByLabel("Hand-off", { exact: true }).scrollIntoViewIfNeeded();
  await shoot(page, "draft-handoff-375-dark");
  expect(await findBarriers(page)).toEqual([]);
  await draft.getByRole("button", { name: "Save draft" }).click();
  await expect.poll(read).toMatchObject({ settings: { handoff: "off", handoff_words: ["lawyer", "gift card"] } });
  await words.fill(Array.from({ length: 200 }, (_, at) => `word ${at}`).join("\n"));
  await draft.getByRole("button", { name: "Save draft" }).click();
  await expect.poll(() => words.getAttribute("aria-invalid")).toBe("true");
});

test("a draft is changed, tried, and published with a note, and an earlier version is restored", async () => {
  const workspace = await createWorkspace();
  await workspace.call("PATCH", `/agents/${workspace.agentId}`, { instructions: LONG });
  const { page, draft, agent } = await openVersions(workspace);
  await page.getByText("Version 2 answers all conversations.").waitFor();
  await draft.getByText("No changes yet").waitFor();
  await draft.getByRole("button", { name: "Publish" }).click();
  await draft.getByText("Change it first.").waitFor();
  await expect.poll(() => draft.getByRole("button", { name: "Discard" }).isDisabled()).toBe(true);

  await draft.getByLabel("Confidence threshold").fill("0.75");
  await draft.getByRole("button", { name: "Save draft" }).click();
  await draft.getByText("What the draft changes: Confidence threshold", { exact: true }).click();
  await draft.getByText("From 0.5 to 0.75").waitFor();
  // A colleague's change of another setting is kept.
  await workspace.call("PATCH", `/agents/${workspace.agentId}/versions/draft`, { welcome_message: "Good day." });
  await draft.getByLabel("Instructions").fill(LONG.replace("a date", "a day or a price"));
  await draft.getByRole("button", { name: "Try in the playground" }).click();
  await page.getByText("of the agent as it is, and of its draft").waitFor();
  await page.getByLabel("Question").fill("Do you deliver to Norway?");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByRole("region", { name: "As it is" }).getByText("(threshold 0.5)").waitFor();
  await page.getByRole("region", { name: "Draft" }).getByText("(threshold 0.75)").waitFor();
  await expect.poll(agent).toMatchObject({ version: 2, instructions: LONG, confidence_threshold: 0.5 });

  await page.getByRole("link", { name: "Change or publish the draft" }).click();
  await draft.getByRole("button", { name: "Publish" }).click();
  const dialog = page.getByRole("dialog", { name: "Publish the draft" });
  await dialog.getByRole("region", { name: "After" }).getByText("Good day.").waitFor();
  await expect.poll(() => dialog.locator("del").first().textContent()).toBe("date.");
  await expect.poll(() => dialog.locator("ins").first().textContent()).toBe("day or a price.");
  expect(await findBarriers(page)).toEqual([]);
  await dialog.getByLabel("Note").fill("Promises less");
  await dialog.getByRole("button", { name: "Publish" }).click();
  await page.getByText("Version 3 answers all conversations.").waitFor();
  await draft.getByText("No changes yet").waitFor();
  await expect.poll(agent).toMatchObject({ version: 3, confidence_threshold: 0.75, welcome_message: "Good day.", rollout: null });

  const published = entryOf(page, 3);
  await published.getByText("Promises less").waitFor();
  await published.getByText("Key “Team”").waitFor();
  await published.getByText("Changed since version 2: Instructions, Welcome message, Confidence threshold").click();
  await published.getByText("From 0.5 to 0.75").waitFor();
  expect(await published.getByRole("button", { name: "Restore" }).count()).toBe(0);
  await entryOf(page, 1).getByText("The first version").waitFor();

  await page.getByRole("button", { name: "Restore version 2" }).click();
  await page.getByRole("dialog", { name: "Restore version 2" }).getByRole("button", { name: "Restore" }).click();
  await entryOf(page, 4).getByText("Restores version 2").waitFor();
  await expect.poll(() => draft.getByLabel("Confidence threshold").inputValue()).toBe("0.5");
  await expect.poll(agent).toMatchObject({ version: 4, instructions: LONG, confidence_threshold: 0.5 });
});

test("a draft is discarded, and its fields show the published version again", async () => {
  const workspace = await createWorkspace();
  const { page, draft } = await openVersions(workspace);
  await draft.getByLabel("Instructions").fill("Be brief.");
  await draft.getByLabel("Confidence threshold").fill("2");
  await draft.getByRole("button", { name: "Save draft" }).click();
  await expect.poll(() => draft.getByLabel("Confidence threshold").evaluate((field) => field.matches(":invalid:focus"))).toBe(true);
  await draft.getByLabel("Confidence threshold").fill("0.9");
  await draft.getByRole("button", { name: "Save draft" }).click();
  await draft.getByText("What the draft changes").waitFor();
  await draft.getByRole("button", { name: "Discard" }).click();
  const dialog = page.getByRole("dialog", { name: "Discard the draft" });
  await dialog.getByText("Instructions, Confidence threshold").waitFor();
  await dialog.getByRole("button", { name: "Discard" }).click();
  await draft.getByText("No changes yet").waitFor();
  await expect.poll(() => draft.getByLabel("Instructions").inputValue()).toBe("");
  await expect.poll(() => draft.getByLabel("Confidence threshold").inputValue()).toBe("0.5");
});

test("a version is rolled out to a share of new conversations, compared, and kept or dropped", async () => {
  const workspace = await createWorkspace();
  const { page, draft, agent } = await openVersions(workspace);
  await draft.getByLabel("Hand-off message").fill("A colleague will reply.");
  await draft.getByRole("button", { name: "Publish" }).click();
  const dialog = page.getByRole("dialog", { name: "Publish the draft" });
  await dialog.getByLabel("Conversations that get it").selectOption("A share of new ones");
  await dialog.getByLabel("Percent of new conversations").fill("100");
  await dialog.getByRole("button", { name: "Publish" }).click();
  const rollout = page.getByRole("region", { name: "Rollout" });
  await rollout.getByText("Version 2 answers 100% of new conversations, version 1 the others.").waitFor();
  await workspace.ask("Do you deliver to Norway?");
  await page.reload();
  const conversations = rollout.getByRole("row", { name: /^Conversations/ });
  await conversations.waitFor();
  await expect.poll(() => conversations.getByRole("cell").allTextContents()).toEqual(["–", "1"]);
  await rollout.getByLabel("Percent of new conversations").fill("12.5");
  await rollout.getByRole("button", { name: "Change the share" }).click();
  await rollout.getByText("Version 2 answers 13% of new conversations").waitFor();
  expect((await agent()).rollout).toEqual({ version: 2, share: 0.125 });
  expect(await findBarriers(page)).toEqual([]);

  await page.getByRole("link", { name: "Settings of the agent" }).click();
  await page.getByText("on this page ends the rollout").waitFor();
  await page.getByRole("link", { name: "Versions and draft" }).click();
  await rollout.getByRole("button", { name: "Drop version 2" }).click();
  await page.getByRole("dialog", { name: "Drop version 2" }).getByRole("button", { name: "Drop" }).click();
  await page.getByText("Version 1 answers all conversations.").waitFor();
  await expect.poll(agent).toMatchObject({ version: 1, rollout: null });

  await publish(workspace, { confidence_threshold: 0.9 }, { rollout: 0.2 });
  await page.reload();
  await rollout.getByRole("button", { name: "Keep version 3" }).click();
  await page.getByRole("dialog", { name: "Keep version 3" }).getByRole("button", { name: "Keep" }).click();
  await page.getByText("Version 3 answers all conversations.").waitFor();
  await expect.poll(agent).toMatchObject({ version: 3, confidence_threshold: 0.9, rollout: null });
});

test("changes of tools and languages are told in words", async () => {
  const workspace = await createWorkspace();
  const tool = { name: "order_status", description: "Says where an order is.", method: "GET", url: "https://api.example.com/orders" };
  await publish(workspace, { tools: [{ ...tool, headers: { Authorization: "Bearer one" } }], languages: { en: {} } }, {});
  await publish(workspace, { tools: [{ ...tool, headers: { Authorization: "Bearer two" } }], model: "large" }, {});
  await publish(workspace, { tools: [{ ...tool, name: "orders" }], languages: { en: { send: "Go" }, de: {} } }, {});
  const { page } = await openVersions(workspace);
  await entryOf(page, 2).getByText("Changed since version 1: Tools, Languages of the chat").click();
  await entryOf(page, 2).getByText("Added: order_status.").waitFor();
  await entryOf(page, 3).getByText("Changed since version 2").click();
  await entryOf(page, 3).getByText("The stored values of headers have changed.").waitFor();
  await entryOf(page, 3).getByText("From the deployment’s own to large").waitFor();
  await entryOf(page, 4).getByText("Changed since version 3").click();
  await entryOf(page, 4).getByText("Added: orders. Removed: order_status.").waitFor();
  await entryOf(page, 4).getByText("Added: de. Changed: en.").waitFor();
});

test("a key that may not change agents is told which scope versions need", async () => {
  const workspace = await createWorkspace(["agents:read"]);
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/agents/${workspace.agentId}`);
  await page.getByText("Changing it needs the scope").waitFor();
  expect(await page.getByRole("link", { name: "Versions and draft" }).count()).toBe(0);
  await page.goto(`${service.url}/console/#/settings/agents/${workspace.agentId}/versions`);
  await page.getByText("This page needs the scope agents:write").waitFor();
});

test.each(["light", "dark"] as const)("versions fit a phone and are used by the keyboard, without a barrier (%s)", async (colorScheme) => {
  const workspace = await createWorkspace();
  await workspace.call("PATCH", `/agents/${workspace.agentId}`, { instructions: LONG });
  await publish(workspace, { instructions: LONG.replace("Be brief", "Be kind") }, { note: "Kinder", rollout: 0.2 });
  const { page, draft } = await openVersions(workspace, { colorScheme, viewport: { width: 375, height: 720 } });
  await page.getByRole("row", { name: /^Conversations/ }).waitFor();
  await entryOf(page, 3).locator("summary").press("Enter");
  await entryOf(page, 3).locator("ins").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  const comparison = page.getByRole("region", { name: "Comparison" });
  expect(await comparison.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  expect(await findBarriers(page)).toEqual([]);
  await draft.getByLabel("Model").fill("large");
  await draft.getByLabel("Model").press("Enter");
  await draft.getByText("What the draft changes: Model", { exact: true }).waitFor();
  await draft.getByRole("button", { name: "Publish" }).press("Enter");
  await page.getByRole("dialog").getByText("This ends the rollout of version 3.").waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect
    .poll(() => draft.getByRole("button", { name: "Publish" }).evaluate((button) => button === document.activeElement))
    .toBe(true);
});
