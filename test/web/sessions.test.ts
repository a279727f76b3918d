import type { Route } from "playwright-core";
import { expect, test } from "vitest";
import { openPage, operate, send, service } from "./browser.ts";
import { type ConsoleWorkspace, createWorkspace, findBarriers, signIn } from "./workspace.ts";

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
  await expect.poll(sessionSlug).toBe(ownSlug);
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Keep my session" }).click();
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  await expect.poll(sessionSlug).toBe(ownSlug);
  await open();
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  await expect.poll(sessionSlug).toBe(otherSlug);
  // Changes are those of the new workspace.
  await page.getByText("Nobody is waiting").waitFor();
  await other.ask("Are you open on Sunday?");
  await page.getByRole("button", { name: "Are you open on Sunday?" }).waitFor();
  // A link that has been used leaves the session as it is, and says why.
  await page.goto("about:blank");
  await page.goto(url);
  await page.getByText("This link has been used").waitFor();
  await expect.poll(sessionSlug).toBe(otherSlug);
});

test("a sign-in link asks in a browser without a session too", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await page.goto(`${await linkTo(workspace)}&name=Grace`);
  await page.getByText("a link that signs you in to Acme").waitFor();
  await expect.poll(() => page.getByLabel("Your name").inputValue()).toBe("Grace");
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

test("signing out in one window tells the others at once, and they go on after the next sign-in", async () => {
  const workspace = await createWorkspace();
  const { page } = await openPage();
  await signIn(page, workspace.key);
  const other = await page.context().newPage();
  const isLive = new Promise((resolve) => other.once("websocket", (socket) => socket.once("framesent", resolve)));
  // Nothing on this page asks by itself.
  await other.goto(`${service.url}/console/#/playground`);
  await isLive;
  await other.getByLabel("Question").fill("Do you deliver to Norway?");
  await page.getByRole("button", { name: "Sign out" }).click();
  const dialog = other.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor();
  await signIn(page, workspace.key);
  await dialog.getByRole("button", { name: "I have signed in" }).click();
  await dialog.waitFor({ state: "detached" });
  await expect.poll(() => other.getByLabel("Question").inputValue()).toBe("Do you deliver to Norway?");
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
  // Another key begins at the inbox.
  await page.waitForURL("**/#/inbox");
  await page.goto(`${service.url}/console/#/inbox/${id}`);
  await page.reload();
  await expect.poll(() => page.getByLabel("Reply to the visitor").inputValue()).toBe("From nine on.");
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

test("the inbox of the next session has no search of the former one", async () => {
  const workspace = await createWorkspace();
  const next = await createWorkspace();
  await next.ask("Are you open on Sunday?");
  const { page } = await openPage();
  await signIn(page, workspace.key);
  await page.getByLabel("Search conversations").fill("parcel");
  await page.waitForURL(/\?q=parcel#/);
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key or operator token").fill(next.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Are you open on Sunday?").waitFor();
  expect(await page.getByLabel("Search conversations").inputValue()).toBe("");
});
