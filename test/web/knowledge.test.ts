import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { createWorkspace, signIn } from "./workspace.ts";

test("a curated answer is edited where it is listed", async () => {
  const workspace = await createWorkspace();
  const answers = `/agents/${workspace.agentId}/answers`;
  await workspace.call("POST", answers, { question: "Do you deliver to Norway?", answer: "Yes." });
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/knowledge/answers`);
  await page.getByRole("button", { name: "Edit: Do you deliver to Norway?" }).click();
  await page.getByRole("dialog").getByLabel("Answer", { exact: true }).fill("Yes, within five days.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Yes, within five days.").waitFor();
  const { data } = await workspace.call<{ data: unknown[] }>("GET", answers);
  expect(data).toMatchObject([{ question: "Do you deliver to Norway?", answer: "Yes, within five days." }]);
});

test("a curated answer past the first page is edited where it is listed", async () => {
  const workspace = await createWorkspace();
  for (const number of [1, 2, 3, 4, 5]) {
    await workspace.call("POST", `/agents/${workspace.agentId}/answers`, { question: `Question ${number}?`, answer: `Answer ${number}.` });
  }
  const { page } = await openPage();
  // Pages of two.
  await page.route("**/answers?*", (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set("limit", "2");
    return route.continue({ url: url.href });
  });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/knowledge/answers`);
  const answers = page.getByRole("region", { name: "Curated answers" }).getByRole("listitem");
  await expect.poll(() => answers.count()).toBe(5);
  const last = await answers.last().locator("strong").innerText();
  await page.getByRole("button", { name: `Edit: ${last}` }).click();
  await page.getByRole("dialog").getByLabel("Answer", { exact: true }).fill("Yes, within five days.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Yes, within five days.").waitFor();
  await expect.poll(() => answers.count()).toBe(5);
});

test("sources are filtered by state, several are deleted at once, and a long name makes nothing scroll sideways", async () => {
  const workspace = await createWorkspace();
  const sources = `/agents/${workspace.agentId}/sources`;
  const long = "Terms_and_conditions_of_the_Acme_trading_company_".repeat(4);
  for (const name of ["Delivery", "Prices", "Returns", "Stock", "Size guide", long]) {
    await workspace.call("POST", sources, { type: "text", name, text: `${name}: see the shop.` });
  }
  const { page } = await openPage({ viewport: { width: 375, height: 720 } });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/knowledge`);
  const listed = page.getByRole("region", { name: "Sources" }).getByRole("listitem");
  await expect.poll(() => listed.count()).toBe(6);
  expect(await page.locator("main").evaluate((main) => main.scrollWidth)).toBe(375);
  await page.getByLabel("State").selectOption("Failed");
  await page.getByText("Nothing was found").waitFor();
  await page.getByLabel("State").selectOption("All states");
  await page.getByLabel("Select Delivery").check();
  await page.getByLabel("Select Prices").check();
  await page.getByText("2 sources selected").waitFor();
  // What a search hides is not deleted.
  await page.getByLabel("Search sources").fill("prices");
  await page.getByText("one source selected").waitFor();
  const remove = async () => {
    await page.getByRole("button", { name: "Delete …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  };
  await remove();
  await page.getByText("Nothing was found").waitFor();
  // The field stays while it hides the others, however few they are.
  await page.getByLabel("Search sources").fill("");
  await expect.poll(() => listed.count()).toBe(5);
  await page.getByLabel("Select Delivery").check();
  await page.getByLabel("Select Returns").check();
  await page.getByText("2 sources selected").waitFor();
  await remove();
  await expect.poll(() => listed.count()).toBe(3);
  const { data } = await workspace.call<{ data: { name: string }[] }>("GET", sources);
  expect(data.map(({ name }) => name)).toEqual(["Stock", "Size guide", long]);
});

test("the text of a source is shown in its passages, once it has been read", async () => {
  const workspace = await createWorkspace();
  const text = `# Delivery\n\nWe deliver to Norway.\n\n${"unbroken".repeat(60)}\n\n# Prices\n\nDelivery costs 5 euros.`;
  await workspace.call("POST", `/agents/${workspace.agentId}/sources`, { type: "text", name: "Delivery to Norway", text });
  const { page } = await openPage({ viewport: { width: 375, height: 720 } });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/knowledge`);
  await page.getByRole("link", { name: "Delivery to Norway" }).click();
  const passages = page.getByRole("region", { name: "Text" }).getByRole("listitem");
  await passages.filter({ hasText: "We deliver to Norway." }).waitFor();
  await passages.filter({ hasText: "Delivery costs 5 euros." }).waitFor();
  expect(await page.locator("main").evaluate((main) => main.scrollWidth)).toBe(375);
});

test("the agent that was chosen stays chosen after a reload", async () => {
  const workspace = await createWorkspace();
  await workspace.call("POST", "/agents", { name: "Sales agent" });
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/knowledge`);
  const agent = page.getByLabel("Agent", { exact: true });
  const chosen = () => agent.locator("option:checked").innerText();
  await agent.waitFor();
  const name = (await chosen()) === "Sales agent" ? "Acme agent" : "Sales agent";
  await agent.selectOption(name);
  await page.reload();
  await expect.poll(chosen).toBe(name);
});

test("the address of a source opens it, whichever agent it is of", async () => {
  const workspace = await createWorkspace();
  const { id } = await workspace.call<{ id: string }>("POST", "/agents", { name: "Sales agent" });
  for (const agentId of [id, workspace.agentId]) {
    await workspace.call("POST", `/agents/${agentId}/sources`, {
      type: "text",
      name: `Prices of ${agentId}`,
      text: "A bag costs 5 euros.",
    });
  }
  const { page } = await openPage();
  await signIn(page, workspace.key);
  for (const agentId of [id, workspace.agentId]) {
    await page.goto(`${service.url}/console/#/knowledge`);
    await page.getByLabel("Agent", { exact: true }).selectOption(agentId);
    await page.getByRole("link", { name: `Prices of ${agentId}` }).click();
    await page.getByRole("region", { name: "Text" }).waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByRole("heading", { name: `Prices of ${agentId}` }).waitFor();
  }
});

test("the questions that the agent could not answer lead to their conversations", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Do you deliver to Norway?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/analytics`);
  expect(await page.locator(".u-legend").innerText()).not.toContain("--");
  await page.getByRole("link", { name: "Read the conversations in which they were asked" }).click();
  await page.getByRole("link", { name: "Open the conversation" }).click();
  await expect.poll(() => page.url()).toContain(`/inbox/${id}`);
});

test("the team sees what was asked in vain, and teaches the agent a colleague's reply", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Is there a student discount?");
  await workspace.ask("Do students get a discount?");
  await workspace.ask("Do you deliver to Norway?");
  await workspace.reply(id, "Hello Ada, students pay 15 percent less.");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/knowledge`);
  await page.getByRole("link", { name: "Gaps" }).click();
  const gaps = page.getByRole("region", { name: "Gaps" });
  await gaps.getByText("2 times without an answer").waitFor();
  await gaps.getByRole("listitem").filter({ hasText: "Norway" }).getByRole("button", { name: "Add an answer" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Curated answer" });
  await expect.poll(() => dialog.getByLabel("Question").inputValue()).toBe("Do you deliver to Norway?");
  await dialog.getByLabel("Answer").fill("Yes, within five days.");
  await dialog.getByRole("button", { name: "Save" }).click();
  await gaps.getByText("Norway").first().waitFor({ state: "detached" });
  await gaps.getByRole("link", { name: "Is there a student discount?" }).click();
  await page.getByRole("log").getByText("students pay 15 percent less").waitFor();
  await page.goto(`${service.url}/console/#/knowledge/drafts`);
  const drafts = page.getByRole("region", { name: "Drafts" });
  await drafts.getByText("Students pay 15 percent less.", { exact: true }).waitFor();
  await drafts.getByRole("button", { name: "Accept" }).click();
  await drafts.getByText("No drafts").waitFor();
  const asked = await workspace.call<{ answer: string }>("POST", `/agents/${workspace.agentId}/messages`, {
    message: "Any student discount?",
  });
  expect(asked.answer).toBe("Students pay 15 percent less.");
});
