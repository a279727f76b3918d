import { expect, test } from "vitest";
import { openPage, service } from "./browser.ts";
import { type ConsoleWorkspace, createWorkspace, findBarriers, problemOf, signIn } from "./workspace.ts";

const MEGABYTE = 1024 * 1024;

/** Signs in to a workspace's console, at a page. */
async function openConsole(workspace: ConsoleWorkspace, path: string) {
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/${path}`);
  return page;
}

test("each file that cannot be uploaded is named with the reason, and the others are read", async () => {
  const workspace = await createWorkspace();
  const page = await openConsole(workspace, "knowledge");
  const sources = page.getByRole("region", { name: "Sources" });
  const file = (name: string, content: string | Buffer) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });
  await sources
    .getByLabel("Upload files")
    .setInputFiles([
      file("empty.txt", ""),
      file("prices.txt", "A bag costs 5 euros."),
      file("logo.txt", Buffer.of(0x89, 0x50, 0x4e, 0x47, 0, 0)),
    ]);
  await sources.getByText("empty.txt: The file is empty.").waitFor();
  await sources.getByText("logo.txt: Send a PDF, DOCX, HTML, Markdown, text or CSV file.").waitFor();
  await sources.getByRole("link", { name: "prices" }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  // A file that is dropped may have no name.
  await sources.evaluate(
    (element, bytes) => {
      const dataTransfer = new DataTransfer();
      for (const dropped of [new File([new Uint8Array(bytes)], "film.pdf"), new File(["A bag costs 5 euros."], "")])
        dataTransfer.items.add(dropped);
      element.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    },
    20 * MEGABYTE + 1,
  );
  await sources.getByText("film.pdf: It is larger than 20 MB.").waitFor();
  await sources.getByText("A file without a name: Give it a name.").waitFor();
  expect(await sources.getByText("empty.txt").count()).toBe(0);
});

test("what is wrong with a new source is said at its fields", async () => {
  const workspace = await createWorkspace();
  const page = await openConsole(workspace, "knowledge");
  await page.getByRole("button", { name: "Add source" }).click();
  const form = page.getByRole("dialog", { name: "Add source" });
  await form.getByLabel("Address").fill("https://ada:secret@www.example.com/");
  await form.getByRole("button", { name: "Add source" }).click();
  await expect.poll(() => problemOf(form, "Address")).toMatch(/\w.*\.$/);
  await form.getByLabel("Kind").selectOption("A text");
  await form.getByLabel("Name").fill(" ");
  await form.getByLabel("Text", { exact: true }).fill(" ");
  await form.getByRole("button", { name: "Add source" }).click();
  await expect.poll(() => problemOf(form, "Name")).toBe("Fill this in.");
  await expect.poll(() => problemOf(form, "Text")).toBe("Fill this in.");
});

test("what is wrong with an agent is said at its fields", async () => {
  const workspace = await createWorkspace();
  await workspace.call("POST", "/agents", { name: "Other agent", slug: "taken" });
  const page = await openConsole(workspace, "settings");
  await page.getByRole("button", { name: "Create agent" }).click();
  const dialog = page.getByRole("dialog", { name: "Create agent" });
  await dialog.getByLabel("Name").fill(" ");
  await dialog.getByRole("button", { name: "Create agent" }).click();
  await expect.poll(() => problemOf(dialog, "Name")).toBe("Fill this in.");
  await page.goto(`${service.url}/console/#/settings/agents/${workspace.agentId}`);
  const cardOf = (title: string) => page.locator("form", { has: page.getByRole("heading", { name: title, exact: true }) });
  const form = cardOf("Agent");
  await form.getByLabel("Slug").fill("taken");
  await form.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => problemOf(form, "Slug")).toContain("Another agent of the workspace has this slug.");
  await form.getByLabel("Slug").fill("Not A Slug");
  await form.getByLabel("Language").fill("e");
  await form.getByLabel("Websites that may show it").fill("https://www.example.com\nhttps://*.example.com");
  await form.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => problemOf(form, "Language")).toBe("Write at least 2 characters.");
  await expect.poll(() => problemOf(form, "Websites that may show it")).toContain("Entry 2: Use an origin such as https://www.example.com");
  await expect.poll(() => problemOf(form, "Slug")).toContain("Use small letters, digits and single hyphens between them.");
  expect(await findBarriers(page)).toEqual([]);
  const visitors = cardOf("Visitors");
  await visitors.getByLabel("Name").selectOption("Required");
  await visitors.getByRole("button", { name: "Save" }).click();
  await visitors.getByRole("alert").filter({ hasText: "Ask for email or phone." }).waitFor();
});

test("what is wrong with the questions of an evaluation is said with their lines", async () => {
  const workspace = await createWorkspace();
  const page = await openConsole(workspace, "knowledge/evaluations");
  await page.getByRole("button", { name: "New evaluation" }).click();
  const form = page.getByRole("dialog", { name: "New evaluation" });
  const run = form.getByRole("button", { name: "Run" });
  // Nobody loses the form who chooses no file.
  await form.getByLabel("Read a CSV file").evaluate((input) => input.dispatchEvent(new Event("cancel", { bubbles: true })));
  await form.getByLabel("Questions").fill("Do you deliver?\n\nAnd where? => source: Nowhere");
  await run.click();
  await expect.poll(() => problemOf(form, "Questions")).toBe("Line 3: the agent has no source “Nowhere”.");
  await form.getByLabel("Questions").fill(`Do you deliver?\n\n${"a".repeat(2001)}\nAnd where? => ${"b".repeat(501)}`);
  await run.click();
  await expect
    .poll(() => problemOf(form, "Questions"))
    .toBe("Line 3: Write at most 2,000 characters. Line 4: Write at most 500 characters.");
  await form.getByLabel("Questions").fill("a\n".repeat(501));
  await run.click();
  await expect.poll(() => problemOf(form, "Questions")).toBe("Give at most 500 entries.");
});

test("what is wrong with a case of the playground is said at its fields", async () => {
  const workspace = await createWorkspace();
  const page = await openConsole(workspace, "playground");
  await page.getByLabel("Question").fill("Do you deliver?");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("button", { name: "Save as a case" }).click();
  const form = page.getByRole("dialog", { name: "Save as a case" });
  await form.getByLabel("Question").fill(" ");
  await form.getByRole("button", { name: "Save and run" }).click();
  await expect.poll(() => problemOf(form, "Question")).toBe("Fill this in.");
  await form.getByLabel("Question").fill("Do you deliver?");
  await form.getByRole("button", { name: "Save and run" }).click();
  await form.waitFor({ state: "detached" });
});

test("an agent's page asks before a link leaves it with changes that are not saved, and the list of sources fits its window", async () => {
  const workspace = await createWorkspace();
  const page = await openConsole(workspace, `settings/agents/${workspace.agentId}`);
  const questions: string[] = [];
  const answers = [false, false, false, false, true];
  page.on("dialog", (dialog) => {
    questions.push(dialog.message());
    void (answers.shift() ? dialog.accept() : dialog.dismiss());
  });
  const instructions = page.getByLabel("Instructions");
  await instructions.fill("Be kind.");
  await page.getByRole("link", { name: "Knowledge" }).click();
  await page.evaluate(() => history.back());
  await expect.poll(() => questions.length).toBe(2);
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Inbox" }).click();
  await page.keyboard.press("Escape");
  // What could not be saved is still not saved.
  await page.getByLabel("Slug").fill("Not A Slug");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("Use small letters, digits and single hyphens between them.").waitFor();
  await page.getByRole("link", { name: "Knowledge" }).click();
  await expect.poll(() => instructions.inputValue()).toBe("Be kind.");
  await page.getByRole("link", { name: "Knowledge" }).click();
  await page.getByRole("region", { name: "Sources" }).waitFor();
  expect(questions).toEqual(Array(5).fill("Leave without saving? What you changed is lost."));
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(page.viewportSize()!.width);
});

test("the privacy settings ask before a link leaves them with changes that are not saved", async () => {
  const workspace = await createWorkspace();
  const page = await openConsole(workspace, "settings/privacy");
  const questions: string[] = [];
  page.on("dialog", (dialog) => {
    questions.push(dialog.message());
    void dialog.dismiss();
  });
  const cards = page.getByLabel("Numbers of payment cards");
  await cards.check();
  await page.getByRole("link", { name: "Usage" }).click();
  expect(questions).toEqual(["Leave without saving? What you changed is lost."]);
  await expect.poll(() => cards.isChecked()).toBe(true);
});

test("an endpoint's address that is refused is said at its field", async () => {
  const workspace = await createWorkspace();
  const { id } = await workspace.call<{ id: string }>("POST", "/webhooks", { url: "https://example.com/hook", events: ["*"] });
  const page = await openConsole(workspace, `webhooks/${id}`);
  await page.getByRole("button", { name: "Edit" }).click();
  const form = page.getByRole("dialog", { name: "Edit endpoint" });
  await form.getByLabel("URL").fill("https://user:pass@example.com/hook");
  await form.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => problemOf(form, "URL")).toMatch(/\w.*\.$/);
  await form.getByLabel("URL").fill("https://example.com/other");
  await form.getByRole("button", { name: "Save" }).click();
  await form.waitFor({ state: "detached" });
  await page.getByText("https://example.com/other").waitFor();
});

test("a dialog that was filled, or that shows a secret once, asks before it closes", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/keys`);
  const dialog = page.getByRole("dialog", { name: "Create key" });
  const question = page.getByRole("dialog", { name: "Close this dialog" });
  await page.getByRole("button", { name: "Create key" }).click();
  await dialog.waitFor();
  // Who selects text stays, and who clicks beside the dialog leaves it.
  await dialog.getByLabel("Name").hover();
  await page.mouse.down();
  await page.mouse.move(5, 5);
  await page.mouse.up();
  expect(await dialog.count()).toBe(1);
  await page.mouse.click(5, 5);
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Create key" }).click();
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Create key" }).click();
  await dialog.getByLabel("Name").fill("Shop backend");
  for (let time = 0; time < 3; time++) {
    await page.keyboard.press("Escape");
    await question.getByText("What you entered is lost.").waitFor();
    await page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
  }
  await expect.poll(() => dialog.getByLabel("Name").inputValue()).toBe("Shop backend");
  await dialog.getByLabel("agents:read").check();
  await dialog.getByRole("button", { name: "Create key" }).click();
  const secret = page.getByRole("dialog", { name: "API key" });
  await secret.locator("pre").waitFor();
  await page.keyboard.press("Escape");
  await question.getByText("Have you stored it?").waitFor();
  await question.getByRole("button", { name: "Stay" }).click();
  await expect.poll(() => secret.locator("pre").innerText()).toMatch(/^sk_/);
  await secret.getByRole("button", { name: "I have stored it" }).click();
  await secret.waitFor({ state: "detached" });
});

test("a double click confirms once", async () => {
  const workspace = await createWorkspace();
  const page = await openConsole(workspace, `settings/agents/${workspace.agentId}`);
  const clicked = Promise.withResolvers<void>();
  let requests = 0;
  await page.route("**/rotate-identity-secret", async (route) => {
    requests++;
    await clicked.promise;
    await route.continue();
  });
  await page.getByRole("button", { name: "Create an identity secret" }).click();
  const dialog = page.getByRole("dialog", { name: "Create an identity secret" });
  await dialog.getByRole("button", { name: "Create", exact: true }).dblclick();
  clicked.resolve();
  await page.getByText("It is shown only once").waitFor();
  expect(requests).toBe(1);
});

test("an error is shown above the dialog that caused it, and leaves when the action succeeds", async () => {
  const workspace = await createWorkspace();
  await workspace.ask("Who am I?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/people`);
  await page.getByLabel("Email", { exact: true }).fill("ada@example.com");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByRole("button", { name: "Erase …" }).click();
  const dialog = page.getByRole("dialog", { name: "Erase this person" });
  await dialog.getByLabel("Type ada@example.com").fill("ada@example.com");
  const erase = dialog.getByRole("button", { name: /^Erase \d+ records$/ });
  const promised = await erase.innerText();
  await page.route("**/api/v1/privacy/visitors*", (route) => route.fulfill({ status: 500, json: { error: { message: "It broke." } } }));
  await erase.click();
  await dialog.getByText("It broke.").click({ trial: true });
  await page.unroute("**/api/v1/privacy/visitors*");
  await erase.click();
  await page.getByText(promised.replace("Erase", "Erased"), { exact: true }).waitFor();
  expect(await page.getByText("It broke.").count()).toBe(0);
});

test("what is missing or taken is said at its field, and a key that reads no agents is told so", async () => {
  const workspace = await createWorkspace();
  const { slug } = (await workspace.call<{ workspace: { slug: string } }>("GET", "/me")).workspace;
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/settings/keys`);
  await page.getByRole("button", { name: "Create key" }).click();
  const keys = page.getByRole("dialog", { name: "Create key" });
  await keys.getByLabel("Name").fill("Shop backend");
  await keys.getByRole("button", { name: "Create key" }).click();
  await keys.getByRole("group", { name: "Scopes" }).getByText("Choose at least one scope.").waitFor();
  await page.goto(`${service.url}/console/#/webhooks`);
  await page.getByRole("button", { name: "Add endpoint" }).click();
  const endpoint = page.getByRole("dialog", { name: "Add endpoint" });
  await endpoint.getByLabel("URL").fill("https://example.com/hook");
  await endpoint.getByLabel("All events").uncheck();
  await endpoint.getByRole("button", { name: "Add endpoint" }).click();
  await endpoint.getByRole("group", { name: "Events" }).getByText("Choose at least one event.").waitFor();
  const { page: operator } = await openPage();
  await signIn(operator, service.operatorToken);
  await operator.getByRole("button", { name: "Create workspace" }).click();
  const form = operator.getByRole("dialog", { name: "Create workspace" });
  await form.getByLabel("Name").fill("Other");
  await form.getByLabel("Slug").fill(slug);
  await form.getByRole("button", { name: "Create workspace" }).click();
  await form.getByRole("alert").waitFor();
  await expect.poll(() => form.getByLabel("Slug").getAttribute("aria-invalid")).toBe("true");
  const blind = await createWorkspace(["knowledge:read"]);
  const { page: other } = await openPage();
  await signIn(other, blind.key);
  await other.goto(`${service.url}/console/#/knowledge`);
  await other.getByText("agents:read").waitFor();
});
