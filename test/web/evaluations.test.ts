import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { type ConsoleWorkspace, createWorkspace, findBarriers, problemOf, signIn } from "./workspace.ts";

interface Run {
  id: string;
  name: string;
  version: number | null;
  completed_at: string | null;
  cases_count: number;
  cases: Record<string, unknown>[];
}

const BASKET = {
  type: "client",
  name: "basket",
  description: "Says what is in the basket.",
  parameters: { type: "object", properties: {} },
};

/** A workspace whose agent has a tool that reads the visitor's basket. */
async function createShop() {
  const workspace = await createWorkspace();
  const agent = `/agents/${workspace.agentId}`;
  await workspace.call("PATCH", agent, { tools: [BASKET] });
  const read = async (id: string) => workspace.call<Run>("GET", `${agent}/evaluations/${id}`);
  const evaluate = async (cases: object[], name = "Shop") => {
    const { id } = await workspace.call<Run>("POST", `${agent}/evaluations`, { name, cases });
    await expect.poll(async () => (await read(id)).completed_at).not.toBeNull();
    return id;
  };
  const know = (question: string, answer: string) => workspace.call("POST", `${agent}/answers`, { question, answer });
  return { workspace, read, evaluate, know };
}

async function openConsole(workspace: ConsoleWorkspace, path: string, options?: BrowserContextOptions) {
  const { page, errors } = await openPage(options);
  await signIn(page, workspace.key);
  // The console has asked for its session before anybody had signed in.
  errors.length = 0;
  await page.goto(`${service.url}/console/#/${path}`);
  return { page, errors };
}

const idOf = (page: Page) => /\/evaluations\/([\w-]+)/.exec(page.url())![1]!;
const widthOf = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth);

test("a conversation is added with what is expected and what a tool answers, and its page shows how each turn went", async () => {
  const { workspace, read } = await createShop();
  const { page, errors } = await openConsole(workspace, "knowledge/evaluations");
  await page.getByRole("button", { name: "Add a conversation" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a conversation" });
  const first = dialog.getByRole("group", { name: "Turn 1" });
  await first.getByLabel("Message 1", { exact: true }).fill("What is in my basket? [basket]");
  await first.getByText("What is expected of the answer").click();
  await first.getByLabel("The agent").selectOption("Answers");
  await first.getByLabel("It says", { exact: true }).fill("2 items\n3 items");
  await first.getByLabel("It calls").fill("basket {}");
  await dialog.getByRole("button", { name: "Add message" }).click();
  await dialog.getByRole("group", { name: "Turn 2" }).getByLabel("Message 2", { exact: true }).fill("I want to talk to a person.");
  await dialog.getByRole("button", { name: "Add answer" }).click();
  const tool = dialog.getByRole("group", { name: "Tool basket" });
  await tool.getByLabel("Answer").fill('{"total": "2 items"}');
  const end = dialog.getByRole("group", { name: "At the end" });
  await end.getByLabel("The agent").selectOption("Hands over: Asked for a person");
  await end.getByLabel("What is true of it").fill("It tells what is in the basket.\nIt says sorry.");
  await dialog.getByLabel("Name").fill("Baskets");
  expect(await findBarriers(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Save and run" }).click();
  await page.getByText("1 of 1 asked: 0 right, 1 wrong").waitFor();
  const turn = page.getByRole("article").filter({ hasText: "Called" });
  await turn.getByText("basket {}").first().waitFor();
  await expect
    .poll(() => turn.getByRole("listitem").allTextContents())
    .toEqual(["MetAnswers", "MetSays “2 items”", "Not metSays “3 items”", "MetCalls basket {}"]);
  const atEnd = page.getByRole("region", { name: "At the end" });
  await expect
    .poll(() => atEnd.getByRole("listitem").allTextContents())
    .toEqual([
      "MetHands over: Asked for a person",
      "MetIt tells what is in the basket.The agent does so.",
      "Not metIt says sorry.It does not say so.",
    ]);
  expect(await findBarriers(page)).toEqual([]);
  const id = idOf(page);
  await expect
    .poll(() => read(id))
    .toMatchObject({
      name: "Baskets",
      cases: [
        {
          turns: [
            {
              visitor: "What is in my basket? [basket]",
              expect: { refusal: false, said: ["2 items", "3 items"], tools_called: [{ name: "basket", arguments: {} }] },
            },
            { visitor: "I want to talk to a person." },
          ],
          expect: { handoff_reason: "customer_request", criteria: ["It tells what is in the basket.", "It says sorry."] },
          tools: { basket: { total: "2 items" } },
          verdict: "wrong",
        },
      ],
    });

  // A case that is changed replaces the one before.
  await page.getByRole("button", { name: "Change" }).click();
  const changed = page.getByRole("dialog", { name: "Change the conversation" });
  await expect.poll(() => changed.getByLabel("It says", { exact: true }).first().inputValue()).toBe("2 items\n3 items");
  await expect.poll(() => changed.getByLabel("Answer").inputValue()).toBe('{\n  "total": "2 items"\n}');
  await changed.getByLabel("It says", { exact: true }).first().fill("4 items");
  await changed.getByLabel("Answer").fill('{"total": "4 items"}');
  await changed.getByLabel("What is true of it").last().fill("");
  await changed.getByRole("button", { name: "Remove message 2" }).click();
  await changed.getByRole("group", { name: "At the end" }).getByLabel("The agent").selectOption("Answers or hands over");
  await changed.getByRole("button", { name: "Save and run" }).click();
  await page.getByText("1 right, 0 wrong").waitFor();
  await expect
    .poll(() => read(id))
    .toMatchObject({ cases_count: 1, cases: [{ tools: { basket: { total: "4 items" } }, verdict: "right" }] });
  expect(errors).toEqual([]);
});

test("a visitor that the model plays is added to a run, and its goal is an expectation", async () => {
  const { workspace, read, evaluate } = await createShop();
  const id = await evaluate([{ question: "Who won the world cup?", expect: { refusal: true } }]);
  const { page } = await openConsole(workspace, `knowledge/evaluations/${id}`);
  await page.getByRole("button", { name: "Add a conversation" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a conversation" });
  await dialog.getByLabel("The visitor", { exact: true }).selectOption("Is played by the language model");
  await dialog.getByLabel("Goal", { exact: true }).fill("Know what is in the basket.");
  await dialog.getByLabel("What the visitor knows").fill("Writes briefly.");
  await dialog.getByLabel("Messages at most").fill("4");
  await dialog.getByLabel("The visitor’s goal").selectOption("It must be reached");
  await dialog.getByRole("button", { name: "Add answer" }).click();
  await dialog.getByLabel("Answer").fill('{"total": "2 items"}');
  await dialog.getByRole("button", { name: "Save and run" }).click();
  await page.getByText("The visitor has reached the goal.").waitFor();
  await page.getByText("The visitor reaches the goal").waitFor();
  await page.getByText("2 items").first().waitFor();
  expect((await read(id)).cases[1]).toMatchObject({
    persona: { goal: "Know what is in the basket.", facts: "Writes briefly.", max_turns: 4 },
    expect: { goal_reached: true },
    verdict: "right",
  });
  await page.getByRole("button", { name: "Why: Who won the world cup?" }).click();
  await page.getByRole("dialog").getByText("Hands over").waitFor();
});

test("without a language model, a conversation has fixed messages and no judge, and the form says why", async () => {
  const { workspace } = await createShop();
  const { page } = await openPage();
  await page.route("**/console/session", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), has_language_model: false } });
  });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/knowledge/evaluations`);
  await page.getByRole("button", { name: "Add a conversation" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a conversation" });
  await dialog.getByText("A visitor with a goal is played by a language model, which this deployment does not have.").waitFor();
  await expect.poll(() => dialog.getByLabel("The visitor", { exact: true }).locator("option").count()).toBe(1);
  await expect.poll(() => dialog.getByLabel("What is true of it").last().isDisabled()).toBe(true);
  expect(await findBarriers(page)).toEqual([]);
});

test("what is wrong with a conversation is said at its fields", async () => {
  const { workspace } = await createShop();
  const { page } = await openConsole(workspace, "knowledge/evaluations");
  await page.getByRole("button", { name: "Add a conversation" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a conversation" });
  const save = dialog.getByRole("button", { name: "Save and run" });
  await dialog.getByLabel("Message 1", { exact: true }).fill("Where is my order?");
  await save.click();
  await dialog.getByRole("alert").filter({ hasText: "Say what is expected of a turn, or at the end." }).waitFor();
  const first = dialog.getByRole("group", { name: "Turn 1" });
  await first.getByText("What is expected of the answer").click();
  await first.getByLabel("It says", { exact: true }).fill("b".repeat(501));
  await first.getByText("What is expected of the answer").click();
  await save.click();
  await expect.poll(() => problemOf(first, "It says")).toBe("Entry 1: Write at most 500 characters.");
  await expect.poll(() => first.getByLabel("It says", { exact: true }).evaluate((field) => field === document.activeElement)).toBe(true);
  await first.getByLabel("It says", { exact: true }).fill("");
  await first.getByLabel("It calls").fill("basket {order: 1}");
  await save.click();
  await expect.poll(() => problemOf(first, "It calls")).toBe("This is not JSON.");
  await first.getByLabel("It calls").fill("basket");
  await dialog.getByRole("button", { name: "Add answer" }).click();
  await dialog.getByLabel("Tool", { exact: true }).fill("search_knowledge");
  await dialog.getByLabel("Answer").fill("None");
  await save.click();
  await expect.poll(() => problemOf(dialog, "Answer")).toBe("This tool works as in a conversation: leave it out.");
});

/** Two runs of which the later one has lost a right case, and has won another. */
async function createTwoRuns() {
  const shop = await createShop();
  const { evaluate, know } = shop;
  const norway = { turns: [{ visitor: "Do you deliver to Norway?", expect: { refusal: false } }] };
  const iceland = {
    turns: [{ visitor: "Hello" }, { visitor: "Do you deliver to Iceland?", expect: { refusal: true } }],
    expect: { criteria: ["It is polite."] },
  };
  const cup = { question: "Who won the world cup?", expect: { refusal: true } };
  const before = await evaluate([norway, iceland, cup], "Delivery");
  await know("Do you deliver to Norway?", "Yes, within five days.");
  await know("Do you deliver to Iceland?", "Yes, within nine days.");
  return { ...shop, before };
}

test("a run on the draft is compared with an earlier one: what changed, the figures, and both conversations", async () => {
  const { workspace, before, read } = await createTwoRuns();
  await workspace.call("PATCH", `/agents/${workspace.agentId}/versions/draft`, { confidence_threshold: 0.4 });
  const { page, errors } = await openConsole(workspace, `knowledge/evaluations/${before}`, { viewport: { width: 1440, height: 900 } });
  await page.getByLabel("Version", { exact: true }).selectOption("Draft");
  await page.getByRole("button", { name: "Run again" }).press("Enter");
  const lost = page.getByRole("region", { name: "Passed before, does not pass now" });
  const won = page.getByRole("region", { name: "Passes now, did not pass before" });
  await won.getByText("Yes, within five days.").waitFor();
  await lost.getByText("Yes, within nine days.").waitFor();
  const [first, second, figures] = await Promise.all(
    [lost, won, page.getByRole("region", { name: "Figures" })].map((each) => each.boundingBox()),
  );
  expect(first!.y).toBeLessThan(second!.y);
  expect(second!.y).toBeLessThan(figures!.y);
  const [left, right] = await Promise.all(["Before", "Now"].map((name) => won.getByRole("region", { name }).boundingBox()));
  expect([left!.y, left!.x < right!.x]).toEqual([right!.y, true]);
  const row = page.getByRole("row", { name: /^Share that is right/ });
  await expect.poll(() => row.getByRole("cell").allTextContents()).toEqual(["67%", "67%"]);
  const same = page.getByRole("region", { name: "The same result" });
  await same.locator("summary").press("Enter");
  await same.getByRole("region", { name: "Now" }).getByText("Met").waitFor();
  expect(await findBarriers(page)).toEqual([]);
  const [, later, earlier] = /evaluations\/([\w-]+)\/([\w-]+)$/.exec(page.url())!;
  expect(earlier).toBe(before);
  await expect.poll(() => read(later!)).toMatchObject({ version: 0, name: "Delivery" });
  // The address names the agent, whichever is selected.
  await workspace.call("POST", "/agents", { name: "Another agent" });
  await page.reload();
  await page.getByLabel("Agent", { exact: true }).selectOption("Another agent");
  await page
    .getByText("No sources yet")
    .or(page.getByRole("button", { name: "Add source" }))
    .first()
    .waitFor();
  await page.goBack();
  await won.getByText("Yes, within five days.").waitFor();
  await expect.poll(() => page.getByLabel("Agent", { exact: true }).inputValue()).toBe(workspace.agentId);
  await page.getByRole("region", { name: "Before" }).first().getByRole("link", { name: "Delivery" }).click();
  await page.getByText("Published version").first().waitFor();
  await page.getByLabel("Version", { exact: true }).selectOption("Version 1");
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByRole("region", { name: "Now" }).first().getByText("version 1").waitFor();
  await expect.poll(() => read(idOf(page))).toMatchObject({ version: 1 });
  expect(errors).toEqual([]);
});

test.each(["light", "dark"] as const)(
  "cases and their comparison fit a phone, without a barrier that axe finds (%s)",
  async (colorScheme) => {
    const { workspace, before, evaluate } = await createTwoRuns();
    const norway = { turns: [{ visitor: "Do you deliver to Norway?", expect: { refusal: false } }] };
    const later = await evaluate([norway], "Delivery");
    const { page } = await openConsole(workspace, `knowledge/evaluations/${later}/${before}`, {
      colorScheme,
      viewport: { width: 375, height: 720 },
    });
    const won = page.getByRole("region", { name: "Passes now, did not pass before" });
    await won.getByText("Yes, within five days.").waitFor();
    const [above, below] = await Promise.all(["Before", "Now"].map((name) => won.getByRole("region", { name }).boundingBox()));
    expect(below!.y).toBeGreaterThanOrEqual(above!.y + above!.height);
    await expect.poll(() => widthOf(page)).toBe(375);
    expect(await findBarriers(page)).toEqual([]);
    await page.goto(`${service.url}/console/#/knowledge/evaluations/${before}`);
    const cases = page.getByRole("list", { name: "Conversations" });
    await cases.locator("summary").last().press("Enter");
    await cases.getByText("All messages were written.").last().waitFor();
    await expect.poll(() => widthOf(page)).toBe(375);
    expect(await findBarriers(page)).toEqual([]);
    await cases.getByRole("button", { name: "Change" }).last().press("Enter");
    const dialog = page.getByRole("dialog", { name: "Change the conversation" });
    await dialog.getByRole("button", { name: "Add answer" }).press("Enter");
    await dialog.getByLabel("Tool", { exact: true }).fill("basket");
    await dialog.locator("summary").first().press("Enter");
    expect(await findBarriers(page)).toEqual([]);
    expect(await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  },
);

test("a conversation of the inbox becomes a case with one key, and the message leads to it", async () => {
  const { workspace, read, evaluate } = await createShop();
  const id = await workspace.ask("Do you deliver to Norway?");
  const { page, errors } = await openConsole(workspace, `inbox/${id}`);
  await page.getByRole("log").getByText("Do you deliver to Norway?").waitFor();
  await page.keyboard.press("c");
  await page.getByText("Added to “From the inbox” as a case.").waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("list", { name: "Conversations" }).getByText("Do you deliver to Norway?").first().waitFor();
  await page.getByText("1 right, 0 wrong").waitFor();
  const created = await read(idOf(page));
  expect(created).toMatchObject({
    name: "From the inbox",
    cases: [{ turns: [{ visitor: "Do you deliver to Norway?", expect: { refusal: true } }] }],
  });

  // The next one is added to the latest evaluation.
  const latest = await evaluate([{ question: "Who won the world cup?", expect: { refusal: true } }]);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("button", { name: "Make this a case" }).click();
  await page.getByText("Added to “Shop” as a case.").waitFor();
  await expect.poll(() => read(latest)).toMatchObject({ cases_count: 2 });
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).getByText("Make it a case of an evaluation").waitFor();
  expect(errors).toEqual([]);
});

test("a key that may not change knowledge makes no case and runs nothing, and one that may not change agents runs the published version", async () => {
  const { workspace, evaluate } = await createShop();
  const id = await evaluate([{ turns: [{ visitor: "Hello?", expect: { refusal: true } }] }]);
  const conversation = await workspace.ask("Do you deliver to Norway?");
  const keyOf = async (scopes: string[]) => (await workspace.call<{ key: string }>("POST", "/keys", { name: "Reader", scopes })).key;
  const { page } = await openPage();
  await signIn(page, await keyOf(["agents:read", "knowledge:read", "conversations:read"]));
  await page.goto(`${service.url}/console/#/knowledge/evaluations/${id}`);
  await page.getByText("All messages were written.").waitFor();
  for (const name of ["Add a conversation", "Run again", "Change"]) expect(await page.getByRole("button", { name }).count()).toBe(0);
  await page.goto(`${service.url}/console/#/inbox/${conversation}`);
  await page.getByRole("log").getByText("Do you deliver to Norway?").waitFor();
  expect(await page.getByRole("button", { name: "Make this a case" }).count()).toBe(0);
  const { page: other } = await openPage();
  await signIn(other, await keyOf(["agents:read", "knowledge:read", "knowledge:write"]));
  await other.goto(`${service.url}/console/#/knowledge/evaluations/${id}`);
  await other.getByRole("button", { name: "Run again" }).waitFor();
  expect(await other.getByLabel("Version", { exact: true }).count()).toBe(0);
});
