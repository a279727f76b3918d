import type { BrowserContextOptions } from "playwright-core";
import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { createWorkspace, findBarriers, type ConsoleWorkspace, signIn } from "./workspace.ts";

/** A signed-in colleague in the playground. */
async function openPlayground(workspace: ConsoleWorkspace, options?: BrowserContextOptions) {
  const { page } = await openPage(options);
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/playground`);
  const ask = async (question: string) => {
    await page.getByLabel("Question").fill(question);
    await page.getByRole("button", { name: "Ask", exact: true }).click();
  };
  return { page, ask };
}

/** An workspace whose agent knows something, and is never sure enough of it. */
async function createStrictOffice(): Promise<ConsoleWorkspace> {
  const workspace = await createWorkspace();
  const agent = `/agents/${workspace.agentId}`;
  await workspace.call("PATCH", agent, { confidence_threshold: 1 });
  const source = { type: "text", name: "Delivery", text: "We deliver to Norway within five days." };
  const { id } = await workspace.call<{ id: string }>("POST", `${agent}/sources`, source);
  const statusOf = async () => (await workspace.call<{ status: string }>("GET", `${agent}/sources/${id}`)).status;
  await expect.poll(statusOf).toBe("ready");
  return workspace;
}

test("a question of the playground becomes a case of an evaluation, with the questions before it", async () => {
  const workspace = await createWorkspace();
  const { id: answerId } = await workspace.call<{ id: string }>("POST", `/agents/${workspace.agentId}/answers`, {
    question: "Do you deliver to Norway?",
    answer: "Yes, within five days.",
  });
  const { page, ask } = await openPlayground(workspace);
  const saveCase = page.getByRole("button", { name: "Save as a case" });
  await ask("Do you deliver to Norway?");
  await saveCase.click();
  const dialog = page.getByRole("dialog", { name: "Save as a case" });
  await dialog.getByLabel("And contains").fill("FIVE days");
  await dialog.getByLabel("And cites").selectOption("Curated answer: Do you deliver to Norway?");
  await dialog.getByLabel("Name").fill("Delivery");
  await dialog.getByRole("button", { name: "Save and run" }).click();
  await page.getByRole("link", { name: "Saved in “Delivery”" }).waitFor();
  await ask("And to Iceland?");
  await saveCase.click();
  await dialog.getByText("Asked after “Do you deliver to Norway?”.").waitFor();
  await dialog.getByText("This case runs now; the others keep their results.").waitFor();
  await dialog.getByLabel("It is right if").selectOption("It hands over");
  await dialog.getByRole("button", { name: "Save and run" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Saved in “Delivery”" }).last().click();
  await page.getByText("2 of 2 asked: 2 right, 0 wrong, 0 refused").waitFor();
  const { data, total } = await workspace.call<{ data: { id: string }[]; total: number }>(
    "GET",
    `/agents/${workspace.agentId}/evaluations`,
  );
  expect(total).toBe(1);
  await expect
    .poll(() => workspace.call("GET", `/agents/${workspace.agentId}/evaluations/${data[0]!.id}`))
    .toMatchObject({
      name: "Delivery",
      cases: [
        { question: "Do you deliver to Norway?", previous: [], expect: { answer_contains: "FIVE days", source_id: answerId } },
        { question: "And to Iceland?", previous: ["Do you deliver to Norway?"], expect: { refusal: true } },
      ],
    });
});

test("a question that is sent while the agents are being read is asked once they are there", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  const answered = Promise.withResolvers<void>();
  await page.route("**/api/v1/agents?*", async (route) => {
    await answered.promise;
    await route.continue();
  });
  await page.goto(`${service.url}/console/#/playground`);
  await page.getByLabel("Question").fill("Do you deliver to Norway?");
  await page.keyboard.press("Enter");
  await page.getByText("The question is sent as soon as the agent is ready.").waitFor();
  answered.resolve();
  await page.getByText("Would be handed to the team").waitFor();
  await expect.poll(() => page.getByLabel("Question").inputValue()).toBe("");
});

test("two settings are compared by their answers, and the better ones are saved to the agent", async () => {
  const workspace = await createStrictOffice();
  const { page, ask } = await openPlayground(workspace);
  await ask("Do you deliver to Norway?");
  await page.getByText("Would be handed to the team").waitFor();
  await page.getByRole("button", { name: "Compare settings" }).click();
  await expect.poll(() => page.getByLabel("Question").inputValue()).toBe("Do you deliver to Norway?");
  await page.getByLabel("Confidence threshold").fill("0");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  const own = page.getByRole("region", { name: "As it is" });
  const other = page.getByRole("region", { name: "With the settings to try" });
  await own.getByText("Would be handed to the team").waitFor();
  await other.getByText("Here is how").waitFor();
  await other.getByText("(threshold 0)").waitFor();
  await other.getByRole("button", { name: "Why this answer" }).click();
  await page.getByRole("dialog").getByText("Tried with other settings: confidence threshold").waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(() => workspace.call("GET", `/agents/${workspace.agentId}`)).toMatchObject({ confidence_threshold: 1 });
  await page.getByRole("button", { name: "Save to the agent" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  await expect.poll(() => workspace.call("GET", `/agents/${workspace.agentId}`)).toMatchObject({ confidence_threshold: 0 });
  await ask("Do you deliver to Norway?");
  await own.last().getByText("Here is how").waitFor();
});

test("where one of two answers fails the other one stands, and it is asked again alone", async () => {
  const workspace = await createStrictOffice();
  const { page, ask } = await openPlayground(workspace);
  await page.getByRole("button", { name: "Compare settings" }).click();
  await page.getByLabel("Confidence threshold").fill("0");
  await page.route("**/messages", (route) => (route.request().postDataJSON().settings ? route.abort() : route.continue()));
  await ask("Do you deliver to Norway?");
  const other = page.getByRole("region", { name: "With the settings to try" });
  await other.getByRole("alert").waitFor();
  await page.getByRole("region", { name: "As it is" }).getByText("Would be handed to the team").waitFor();
  await page.unroute("**/messages");
  await other.getByRole("button", { name: "Ask again" }).click();
  await other.getByText("Here is how").waitFor();
  expect(await other.getByRole("alert").count()).toBe(0);
  const { total } = await workspace.call<{ total: number }>("GET", "/conversations");
  expect(total).toBe(2);
});

test("a key that may not change agents compares nothing, and the inbox says what would have become of its question", async () => {
  const workspace = await createWorkspace(["agents:read", "chat:write", "conversations:read"]);
  const { page, ask } = await openPlayground(workspace);
  await ask("Do you deliver to Norway?");
  await page.getByText("Would be handed to the team").waitFor();
  expect(await page.getByRole("button", { name: "Compare settings" }).count()).toBe(0);
  const { data } = await workspace.call<{ data: { id: string }[] }>("GET", "/conversations");
  await page.goto(`${service.url}/console/#/inbox/${data[0]!.id}`);
  await page.getByRole("log").getByText("Would be handed to the team").waitFor();
});

test.each(["light", "dark"] as const)(
  "two answers on a phone stand one below the other, without a barrier that axe finds (%s)",
  async (colorScheme) => {
    const workspace = await createStrictOffice();
    const { page, ask } = await openPlayground(workspace, { colorScheme, viewport: { width: 375, height: 720 } });
    await page.getByRole("button", { name: "Compare settings" }).click();
    await page.getByLabel("Confidence threshold").fill("0");
    await ask("Do you deliver to Norway?");
    const own = page.getByRole("region", { name: "As it is" });
    const other = page.getByRole("region", { name: "With the settings to try" });
    await own.getByText("Would be handed to the team").waitFor();
    await other.getByText("Here is how").waitFor();
    const [first, second] = await Promise.all([own.boundingBox(), other.boundingBox()]);
    expect(second!.y).toBeGreaterThanOrEqual(first!.y + first!.height);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
    expect(await findBarriers(page)).toEqual([]);
    await own.getByRole("button", { name: "Save as a case" }).click();
    await page.getByRole("dialog").getByLabel("And contains").waitFor();
    expect(await findBarriers(page)).toEqual([]);
  },
);
