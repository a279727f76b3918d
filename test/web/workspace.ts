import axe from "axe-core";
import type { Locator, Page } from "playwright-core";
import { operate, send, service } from "./browser.ts";

/** A workspace whose team works in the console. */
export interface ConsoleWorkspace {
  id: string;
  key: string;
  keyId: string;
  agentId: string;
  call<Body>(method: string, path: string, body?: unknown): Promise<Body>;
  /** Asks a visitor's question, and returns the conversation's id. */
  ask(message: string, name?: string): Promise<string>;
  /** Replies as a colleague. */
  reply(conversationId: string, content: string): Promise<unknown>;
}

/** Creates a workspace with an agent without knowledge, so that each question waits for a human. */
export async function createWorkspace(scopes: string[] = ["*"]): Promise<ConsoleWorkspace> {
  const slug = `console-${crypto.randomUUID().slice(0, 8)}`;
  const { id } = await operate<{ id: string }>("POST", "/workspaces", { name: "Acme", slug, plan: "enterprise" });
  const { id: keyId, key } = await operate<{ id: string; key: string }>("POST", `/workspaces/${id}/keys`, {
    name: "Team",
    scopes,
  });
  const { id: agentId } = await operate<{ id: string }>("POST", `/workspaces/${id}/agents`, { name: "Acme agent" });
  const call = <Body>(method: string, path: string, body?: unknown) => send<Body>(method, `/api/v1${path}`, key, body);
  const ask = async (message: string, name = "Ada Lovelace") => {
    const user = { id: crypto.randomUUID(), name, email: "ada@example.com" };
    return (await call<{ conversation_id: string }>("POST", `/agents/${agentId}/messages`, { message, user })).conversation_id;
  };
  const reply = (conversationId: string, content: string) => call("POST", `/conversations/${conversationId}/messages`, { content });
  return { id, key, keyId, agentId, call, ask, reply };
}

/** Signs in to the console. */
export async function signIn(page: Page, key: string, name = "Grace Hopper"): Promise<void> {
  // Each page has an address of its own, since the service limits the requests without a valid key from one address.
  await page.setExtraHTTPHeaders({ "CF-Connecting-IP": ["10", ...crypto.getRandomValues(new Uint8Array(3))].join(".") });
  await page.goto(`${service.url}/console/`);
  await page.getByLabel("API key or operator token").fill(key);
  await page.getByLabel("Your name").fill(name);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Console" }).waitFor();
}

const STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Lists the accessibility problems that axe finds. @param tags of the rules; none for all rules. */
export async function findBarriers(page: Page, tags = STANDARD): Promise<string[]> {
  // The policy of the page blocks other scripts, but not those that the debugger evaluates.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe.source });
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run(${JSON.stringify(tags.length > 0 ? { runOnly: tags } : {})}).then(({ violations }) => JSON.stringify(violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" "))))`,
    awaitPromise: true,
  });
  return JSON.parse(String(result.value)) as string[];
}

/** Returns what a form says is wrong with a field; null unless the field is marked as invalid. */
export async function problemOf(form: Locator, label: string): Promise<string | null> {
  const field = form.getByLabel(label, { exact: true });
  if ((await field.getAttribute("aria-invalid")) !== "true") return null;
  return form
    .page()
    .locator(`[id="${await field.getAttribute("aria-describedby")}"]`)
    .textContent();
}
