import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { createWorkspace, findBarriers, signIn } from "./workspace.ts";

test("an agent is changed in the settings, and a key is made that is shown once", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/agents/${workspace.agentId}`);
  await page.getByLabel("Instructions").fill("Be brief.");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("Saved", { exact: true }).waitFor();
  await page.getByLabel("Greeting").fill("Hello there");
  await page.getByLabel("Launcher").selectOption("An icon with a text");
  // The preview is the chat itself, which nobody can use there.
  const preview = page.locator(".chat-preview");
  await preview.locator(".launcher", { hasText: "Ask a question" }).waitFor();
  await preview.locator(".hello", { hasText: "Hello there" }).waitFor();
  const canWrite = preview.locator("textarea").evaluate((field) => {
    field.focus();
    return (field.getRootNode() as ShadowRoot).activeElement === field;
  });
  expect(await canWrite).toBe(false);
  const suggestions = page.getByLabel("Suggested questions");
  await suggestions.fill("One?\nTwo?\n\nThree?\nFour?\nFive?");
  await page.getByRole("alert").filter({ hasText: "at most four suggestions: remove one." }).waitFor();
  await page.getByRole("button", { name: "Save" }).nth(2).click();
  await expect.poll(() => suggestions.inputValue()).toContain("Five?");
  await expect.poll(() => workspace.call("GET", `/agents/${workspace.agentId}`)).toMatchObject({ appearance: { suggestions: [] } });
  await suggestions.fill("One?\nTwo?");
  await preview.getByText("Two?").waitFor();
  const { promise: chosen, resolve: choose } = Promise.withResolvers<void>();
  await page.route("**/api/v1/agents/*", async (route) => {
    await chosen;
    await route.continue();
  });
  const saved = page.waitForResponse((response) => response.request().method() === "PATCH");
  await page.getByRole("button", { name: "Save" }).nth(2).click();
  // Values in another form stay while this one is saved.
  await page.getByLabel("Description").fill("Not saved yet");
  await page.getByLabel("Email", { exact: true }).selectOption("Required");
  choose();
  await saved;
  await page.locator("button[aria-busy=true]").waitFor({ state: "detached" });
  await page.getByLabel("Search engines may list the chat page").check();
  const savedForm = page.waitForResponse((response) => response.request().method() === "PATCH");
  await page.getByRole("button", { name: "Save" }).nth(3).click();
  await savedForm;
  await expect.poll(() => page.getByLabel("Description").inputValue()).toBe("Not saved yet");
  page.once("dialog", (dialog) => void dialog.accept());
  await page.goto(`${service.url}/console/#/settings/keys`);
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog", { name: "Create key" });
  await dialog.getByLabel("Name").fill("Shop backend");
  await dialog.getByLabel("agents:read").check();
  await dialog.getByRole("button", { name: "Create key" }).click();
  const key = await page.getByRole("dialog", { name: "API key" }).locator("pre").innerText();
  await page.getByRole("button", { name: "I have stored it" }).click();
  await page.getByRole("cell", { name: "Shop backend" }).waitFor();
  const agents = await fetch(`${service.url}/api/v1/agents/${workspace.agentId}`, { headers: { Authorization: `Bearer ${key}` } });
  expect(agents.status).toBe(200);
  await expect
    .poll(() => workspace.call("GET", `/agents/${workspace.agentId}`))
    .toMatchObject({
      instructions: "Be brief.",
      appearance: { greeting: "Hello there", launcher: "label", suggestions: ["One?", "Two?"] },
      contact_form: { fields: [{ name: "email", required: true }] },
      hosted_page: { enabled: true, indexed: true },
    });
});

test("the languages of the chat are chosen in the settings, with texts in the team's own words, and a visitor reads them", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/agents/${workspace.agentId}`);
  const form = page.locator("form", { has: page.getByRole("heading", { name: "Languages of the chat" }) });
  await form.getByLabel("French").check();
  await form.getByLabel("German").check();
  await form.getByLabel("Language of the text").selectOption("German");
  await form.getByLabel("Text", { exact: true }).selectOption("Message placeholder");
  await form.getByRole("button", { name: "Replace" }).click();
  const text = form.getByLabel("German: Message placeholder", { exact: true });
  await text.waitFor();
  await expect.poll(() => text.inputValue()).toBe("Nachricht schreiben …");
  await text.fill("Was wollen Sie wissen?");
  expect(await findBarriers(page)).toEqual([]);
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  const { languages } = await workspace.call<{ languages: object }>("GET", `/agents/${workspace.agentId}`);
  expect(JSON.stringify(languages)).toBe('{"fr":{},"de":{"message_placeholder":"Was wollen Sie wissen?"}}');
  await page.reload();
  await expect.poll(() => text.inputValue()).toBe("Was wollen Sie wissen?");
  const { page: chat } = await openPage({ locale: "de" });
  await chat.goto(`${service.url}/chat/${workspace.agentId}`);
  await chat.getByPlaceholder("Was wollen Sie wissen?").waitFor();
});
