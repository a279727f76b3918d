import type { Route } from "playwright-core";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { openPage, operate, send, service } from "./browser.ts";
import { type ConsoleWorkspace, createWorkspace, findBarriers, signIn } from "./workspace.ts";

test("a conversation that waits is answered and resolved by keyboard, and the visitor has the reply", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Do you deliver to Norway?");
  const { page, errors } = await openPage();
  await signIn(page, workspace.key);
  await page.getByRole("button", { name: /Ada Lovelace.*Do you deliver to Norway\?/s }).waitFor();
  await page.keyboard.press("j");
  await page.getByRole("log").getByText("Do you deliver to Norway?").waitFor();
  await page.keyboard.press("r");
  await page.keyboard.type("Yes, within **five** days.");
  await page.keyboard.press("Control+Enter");
  // The text is formatted once the reply is stored.
  await page.getByRole("log").locator("strong", { hasText: "five" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await page.keyboard.type("Norway is fine.");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("log").getByText("Norway is fine.").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("e");
  await page.getByRole("status").getByText("Resolved", { exact: true }).waitFor();
  await page.getByText("Nobody is waiting").waitFor();
  const { status, messages } = await workspace.call<{
    status: string;
    messages: { role: string; content: string; author: { name: string } }[];
  }>("GET", `/conversations/${id}`);
  expect(status).toBe("resolved");
  expect(messages.find(({ role }) => role === "human")).toMatchObject({
    content: "Yes, within **five** days.",
    author: { name: "Grace Hopper" },
  });
  expect(messages.find(({ role }) => role === "note")).toMatchObject({ content: "Norway is fine." });
  expect(errors.filter((error) => !error.includes("401"))).toEqual([]);
});

test("a lead that comes in while later ones are shown pushes none out of the list", async () => {
  const workspace = await createWorkspace();
  const leave = (number: number) =>
    send("POST", `/widget/v1/agents/${workspace.agentId}/leads`, "none", { name: `Visitor ${number}.`, email: `v${number}@example.com` });
  for (let number = 0; number < 5; number++) await leave(number);
  const { page } = await openPage();
  // Pages of three: an address may leave few leads a minute.
  await page.route("**/api/v1/leads*", (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set("limit", "3");
    return route.continue({ url: url.href });
  });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/leads`);
  for (const number of [4, 2, 0]) await page.getByRole("cell", { name: `Visitor ${number}.` }).waitFor();
  await leave(5);
  await page.getByRole("cell", { name: "Visitor 5." }).waitFor();
  expect(await page.getByRole("row").count()).toBe(1 + 6);
  await page.getByRole("cell", { name: "Visitor 2." }).waitFor();
});

/** Creates a sign-in link for a workspace. */
async function linkTo({ key }: { key: string }): Promise<string> {
  return (await send<{ url: string }>("POST", "/console/links", key)).url;
}

test("a sign-in link asks before it replaces a session, and names both workspaces", async () => {
  const [own, other] = await Promise.all([createWorkspace(), createWorkspace()]);
  const slugOf = async (workspace: ConsoleWorkspace) =>
    (await workspace.call<{ workspace: { slug: string } }>("GET", "/me")).workspace.slug;
  const [ownSlug, otherSlug] = await Promise.all([slugOf(own), slugOf(other)]);
  const { page } = await openPage();
  await signIn(page, own.key);
  const sessionSlug = () =>
    page.evaluate(async () => {
      const response = await fetch("/console/session", { headers: { "X-Support-Agent-Console": "1" } });
      return ((await response.json()) as { workspace: { slug: string } }).workspace.slug;
    });
  const url = `${await linkTo(other)}&name=Grace`;
  const open = async () => {
    // The address differs only in its fragment, with which a page is not loaded again.
    await page.goto("about:blank");
    await page.goto(url);
    await page.getByText(`a link that signs you in to Acme (${otherSlug})`).waitFor();
  };
  await open();
  await page.getByText(`It replaces your session in Acme (${ownSlug})`).waitFor();
  expect(await page.getByRole("navigation", { name: "Console" }).count()).toBe(0);
  expect(await sessionSlug()).toBe(ownSlug);
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Keep my session" }).click();
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  expect(await sessionSlug()).toBe(ownSlug);
  await open();
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  expect(await sessionSlug()).toBe(otherSlug);
  // A link that has been used leaves the session as it is, and says why.
  await page.goto("about:blank");
  await page.goto(url);
  await page.getByText("This link has been used").waitFor();
  expect(await sessionSlug()).toBe(otherSlug);
});

test("a sign-in link asks in a browser without a session too", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await page.goto(`${await linkTo(workspace)}&name=Grace`);
  await page.getByText("a link that signs you in to Acme").waitFor();
  expect(await page.getByLabel("Your name").inputValue()).toBe("Grace");
  await page.getByRole("button", { name: "Use an API key instead" }).click();
  await page.getByLabel("API key or operator token").waitFor();
});

test("a sign-in link without a name asks for it, and signs in once", async () => {
  const workspace = await createWorkspace();
  const [{ page }, { page: late }] = await Promise.all([openPage(), openPage()]);
  const url = await linkTo(workspace);
  for (const opened of [page, late]) {
    await opened.goto(url);
    await opened.getByLabel("Your name").fill("Grace Hopper");
    expect(await opened.getByLabel("API key or operator token").count()).toBe(0);
  }
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Console" }).getByText("Grace Hopper").first().waitFor();
  await late.getByRole("button", { name: "Sign in" }).click();
  await late.getByText("This link has been used").waitFor();
  await late.getByLabel("API key or operator token").waitFor();
});

test("signing out in one window tells the others at once", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  const other = await page.context().newPage();
  const isLive = new Promise((resolve) => other.once("websocket", (socket) => socket.once("framesent", resolve)));
  // Nothing on this page asks by itself.
  await other.goto(`${service.url}/console/#/playground`);
  await isLive;
  await page.getByRole("button", { name: "Sign out" }).click();
  await other.getByRole("dialog", { name: "Your session has ended" }).waitFor();
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
  expect(await dialog.getByLabel("Question").inputValue()).toBe("Do you deliver to Norway?");
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

test("a conversation that comes in appears by itself", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.getByText("Nobody is waiting").waitFor();
  await workspace.ask("Is anybody there?", "Alan Turing");
  await page.getByRole("button", { name: /Alan Turing.*Is anybody there\?/s }).waitFor();
});

test("two people on one conversation see each other, and are asked before both reply", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Who answers?");
  const [{ page: ada }, { page: grace }] = await Promise.all([openPage(), openPage()]);
  await Promise.all([signIn(ada, workspace.key, "Ada"), signIn(grace, workspace.key, "Grace")]);
  for (const page of [ada, grace]) await page.goto(`${service.url}/console/#/inbox/${id}`);
  await ada.getByText("Grace is looking at this too.").waitFor();
  await grace.getByLabel("Reply to the visitor").fill("I do");
  await ada.getByText("Grace is writing a reply.").waitFor();
  await ada.getByLabel("Reply to the visitor").fill("Me");
  await ada.getByRole("button", { name: "Send", exact: true }).click();
  await ada.getByRole("dialog", { name: "Somebody else is replying" }).getByRole("button", { name: "Cancel" }).click();
  expect(await ada.getByLabel("Reply to the visitor").inputValue()).toBe("Me");
});

test("what was written is kept when the session ends, and after a reload", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Are you open on Sunday?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByLabel("Reply to the visitor").fill("From nine on.");
  await operate("DELETE", `/workspaces/${workspace.id}/keys/${workspace.keyId}`);
  // The form is submitted without a click, because the dialog may already cover the button.
  await page.locator("form.composer").evaluate((form: HTMLFormElement) => form.requestSubmit());
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor();
  const { key } = await operate<{ key: string }>("POST", `/workspaces/${workspace.id}/keys`, { name: "New", scopes: ["*"] });
  await dialog.getByLabel("API key or operator token").fill(key);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await dialog.waitFor({ state: "hidden" });
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.reload();
  await page.getByLabel("Reply to the visitor").waitFor();
  expect(await page.getByLabel("Reply to the visitor").inputValue()).toBe("From nine on.");
});

test("a response to a request of the former session does not end the next one", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Are you open on Sunday?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  const held = new Promise<Route>((resolve) => void page.route("**/api/v1/conversations/*/messages", resolve, { times: 1 }));
  await page.getByLabel("Reply to the visitor").fill("From nine on.");
  await page.keyboard.press("Control+Enter");
  const route = await held;
  await operate("DELETE", `/workspaces/${workspace.id}/keys/${workspace.keyId}`);
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  const { key } = await operate<{ key: string }>("POST", `/workspaces/${workspace.id}/keys`, { name: "New", scopes: ["*"] });
  await dialog.getByLabel("API key or operator token").fill(key);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await dialog.waitFor({ state: "hidden" });
  await route.fulfill({ status: 401, json: { error: { code: "invalid_api_key", message: "This key is not valid." } } });
  await page.getByText("This key is not valid.").waitFor();
  expect(await dialog.count()).toBe(0);
});

test("what visitors write is text, whatever it looks like", async () => {
  const workspace = await createWorkspace();
  const hostile = "<img src=x onerror=alert(1)><script>alert(2)</script> [click](javascript:alert(3))";
  const id = await workspace.ask(hostile, "<b>Mallory</b>");
  await workspace.call("POST", `/conversations/${id}/messages`, { content: hostile });
  const { page, errors } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("log").getByText("onerror=alert(1)").first().waitFor();
  expect(await page.locator("[href^='javascript:'], .bubble img, .bubble script, strong b").count()).toBe(0);
  expect(errors.filter((error) => !error.includes("401"))).toEqual([]);
});

test("a text that is nested or emphasized without end is shown without formatting, and the conversation stays usable", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Do you deliver to Norway?");
  for (const nested of [">".repeat(7_990), "> ".repeat(31), "1. ".repeat(2_600), "- ".repeat(300), "*a* ".repeat(1_900)]) {
    await workspace.call("POST", `/conversations/${id}/messages`, { content: `${nested} end` });
  }
  await workspace.call("POST", `/conversations/${id}/messages`, { content: `${"> ".repeat(10)}quoted by **people**` });
  const { page, errors } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.locator("blockquote strong", { hasText: "people" }).waitFor();
  expect(await page.locator("blockquote").count()).toBe(10);
  expect(await page.getByRole("log").getByText("end").count()).toBe(5);
  expect(await page.getByRole("log").locator("em").count()).toBe(0);
  expect(errors.filter((error) => !error.includes("401"))).toEqual([]);
});

test("a key without the scope of a page reads which one it needs, and does not see the page in the menu", async () => {
  const workspace = await createWorkspace(["conversations:read"]);
  const { page } = await openPage();
  await signIn(page, workspace.key);
  expect(await page.getByRole("navigation", { name: "Console" }).getByRole("link").allInnerTexts()).toEqual(["Inbox"]);
  await page.goto(`${service.url}/console/#/webhooks`);
  await page.getByText("webhooks:read").waitFor();
});

test("the same holds for a part of a page", async () => {
  const workspace = await createWorkspace(["agents:read", "knowledge:read"]);
  const { page } = await openPage();
  await signIn(page, workspace.key);
  const tabs = page.getByRole("navigation", { name: "Knowledge" });
  await tabs.getByRole("link", { name: "Drafts" }).waitFor();
  expect(await tabs.getByRole("link", { name: "Gaps" }).count()).toBe(0);
  await page.goto(`${service.url}/console/#/knowledge/gaps`);
  await page.getByText("analytics:read").waitFor();
});

test("an engineer sees why an answer was given, teaches another one, and runs the questions again", async () => {
  const workspace = await createWorkspace();
  const id = await workspace.ask("Do you deliver to Norway?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.getByRole("button", { name: "Why this answer" }).click();
  const why = page.getByRole("dialog", { name: "Why this answer" });
  await why.getByText("Nothing that was found supports what the model wrote.").waitFor();
  await why.getByText("Found for “Do you deliver to Norway?”").waitFor();
  await page.keyboard.press("Escape");
  await page.goto(`${service.url}/console/#/knowledge/evaluations`);
  await page.getByRole("button", { name: "New evaluation" }).click();
  const dialog = page.getByRole("dialog", { name: "New evaluation" });
  await dialog.getByLabel("Name").fill("Delivery");
  await dialog.getByLabel("Questions").fill("=> five days");
  await dialog.getByRole("button", { name: "Run" }).click();
  await dialog.getByText("Line 1 has no question.").waitFor();
  const csv = 'Question,Expected\nDo you deliver to Norway?,five days\n"Who won, then?",refuse\n';
  await dialog.getByLabel("Read a CSV file").setInputFiles({ name: "cases.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
  await expect
    .poll(() => dialog.getByLabel("Questions").inputValue())
    .toBe("Do you deliver to Norway? => five days\nWho won, then? => refuse");
  await dialog.getByRole("button", { name: "Run" }).click();
  await page.getByText("2 of 2 asked: 1 right, 0 wrong, 1 refused").waitFor();
  await workspace.call("POST", `/agents/${workspace.agentId}/answers`, {
    question: "Do you deliver to Norway?",
    answer: "Yes, within five days.",
  });
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByText("2 of 2 asked: 2 right, 0 wrong, 0 refused").waitFor();
  await page.getByRole("region", { name: "Passes now, did not pass before" }).getByText("Yes, within five days.").waitFor();
  await page.getByRole("region", { name: "Now" }).first().getByRole("link", { name: "Delivery" }).click();
  await page.getByRole("button", { name: "Why: Do you deliver to Norway?" }).click();
  await page.getByRole("dialog").getByText("The question is that of a curated answer: the similarity of 1 reaches").waitFor();
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 375, height: 720 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
});

test("an operator sees workspaces, their keys, health and the audit log", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, service.operatorToken);
  await page.goto(`${service.url}/console/#/workspaces/${workspace.id}`);
  await page.getByRole("region", { name: "API keys" }).getByText("Team").waitFor();
  await page.getByRole("link", { name: "Health" }).click();
  await page.getByRole("heading", { name: "Databases" }).waitFor();
  await page.getByRole("link", { name: "Audit log" }).click();
  await page.getByText("createWorkspace").first().waitFor();
});

test.each(["light", "dark"] as const)("no page has a barrier that axe finds (%s)", async (colorScheme) => {
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
  expect(await suggestions.inputValue()).toContain("Five?");
  expect(await workspace.call("GET", `/agents/${workspace.agentId}`)).toMatchObject({ appearance: { suggestions: [] } });
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
  expect(await page.getByLabel("Description").inputValue()).toBe("Not saved yet");
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
  expect(await workspace.call("GET", `/agents/${workspace.agentId}`)).toMatchObject({
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
  expect(await text.inputValue()).toBe("Nachricht schreiben …");
  await text.fill("Was wollen Sie wissen?");
  expect(await findBarriers(page)).toEqual([]);
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  const { languages } = await workspace.call<{ languages: object }>("GET", `/agents/${workspace.agentId}`);
  expect(JSON.stringify(languages)).toBe('{"fr":{},"de":{"message_placeholder":"Was wollen Sie wissen?"}}');
  await page.reload();
  expect(await text.inputValue()).toBe("Was wollen Sie wissen?");
  const { page: chat } = await openPage({ locale: "de" });
  await chat.goto(`${service.url}/chat/${workspace.agentId}`);
  await chat.getByPlaceholder("Was wollen Sie wissen?").waitFor();
});

test("a phone shows the list, then the conversation, and nothing wider than itself", async () => {
  const workspace = await createWorkspace();
  await workspace.ask("Do you deliver to Norway?");
  const { page } = await openPage({ viewport: { width: 375, height: 720 } });
  await signIn(page, workspace.key);
  await page.getByRole("button", { name: /Ada Lovelace/ }).click();
  await page.getByLabel("Reply to the visitor").waitFor();
  expect(await page.getByRole("heading", { name: "Inbox" }).isVisible()).toBe(false);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  await page.getByRole("button", { name: "Back to the list" }).click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
});

test("leads are exported as one file, whose parts are read one after the other", async () => {
  const workspace = await createWorkspace();
  const body = { name: "Ada", email: "ada@example.com" };
  await fetch(`${service.url}/widget/v1/agents/${workspace.agentId}/leads`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const { page } = await openPage();
  // A stand-in for a list of several parts, where the rate limit refuses the second one at first.
  const asked: (string | null)[] = [];
  await page.route("**/api/v1/leads?*", async (route) => {
    if (route.request().headers()["accept"] !== "text/csv") return route.continue();
    const cursor = new URL(route.request().url()).searchParams.get("cursor");
    asked.push(cursor);
    if (asked.length === 2)
      return route.fulfill({ status: 429, headers: { "Retry-After": "1" }, json: { error: { code: "rate_limited" } } });
    const headers = { "Content-Type": "text/csv", ...(cursor === null && { "X-Next-Cursor": "second" }) };
    return route.fulfill({ headers, body: cursor === null ? "name\r\nAda\r\n" : "Grace\r\n" });
  });
  await signIn(page, workspace.key);
  await page.goto(`${service.url}/console/#/leads`);
  await page.getByRole("cell", { name: "Ada", exact: true }).waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
  expect(await readFile(await file.path(), "utf8")).toBe("name\r\nAda\r\nGrace\r\n");
  expect(asked).toEqual([null, "second", "second"]);
});
