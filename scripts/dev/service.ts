import { setTimeout as sleep } from "node:timers/promises";
import { PlainError } from "./flags.ts";

const REQUEST_MS = 30_000;
const HEALTH_EVERY_MS = 250;
const HEALTH_LIMIT_MS = 120_000;
const PAGE_LIMIT = 100;

/** What the service answered. */
interface Answer {
  status: number;
  body: unknown;
}

type Method = "GET" | "POST" | "DELETE";

/** The service as one caller sees it. */
export interface Client {
  send: (method: Method, path: string, body?: unknown) => Promise<Answer>;
}

/** A client of the running service, with the operator's token or an API key; it throws a PlainError where nothing answers. */
export function clientOf(url: string, token: string): Client {
  return {
    send: async (method, path, body) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      const init = { method, headers, signal: AbortSignal.timeout(REQUEST_MS) };
      try {
        const response = await fetch(url + path, body === undefined ? init : { ...init, body: JSON.stringify(body) });
        const text = await response.text();
        return { status: response.status, body: response.headers.get("Content-Type")?.includes("json") ? JSON.parse(text) : text };
      } catch (error) {
        throw new PlainError(`${method} ${url}${path} was not answered: ${reasonOf(error)}.`);
      }
    },
  };
}

/** Why a request was not answered, in the words of whatever failed below `fetch`. */
export function reasonOf(error: unknown): string {
  const { cause } = error as Error;
  const { message, name } = cause instanceof Error ? cause : (error as Error);
  // A host of several addresses, none of which can be reached, fails without a message.
  return message || name;
}

/**
 * The body of a successful answer.
 * @throws PlainError that says what was asked and what was answered.
 */
export async function ask<Body>(client: Client, method: Method, path: string, body?: unknown): Promise<Body> {
  const answer = await client.send(method, path, body);
  if (answer.status >= 300) throw new PlainError(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body as Body;
}

/** The first record of a list that fits, page by page. */
export async function findInList<Item>(client: Client, path: string, fits: (item: Item) => boolean): Promise<Item | undefined> {
  for (let offset = 0; ; offset += PAGE_LIMIT) {
    const page = await ask<{ data: Item[]; has_more: boolean }>(client, "GET", `${path}?limit=${PAGE_LIMIT}&offset=${offset}`);
    const found = page.data.find(fits);
    if (found || !page.has_more) return found;
  }
}

/** Waits until the service is well. */
export async function waitUntilHealthy(url: string): Promise<void> {
  const deadline = Date.now() + HEALTH_LIMIT_MS;
  let last = "nothing";
  while (Date.now() < deadline) {
    const answer = await clientOf(url, "")
      .send("GET", "/healthz")
      .catch(() => undefined);
    if (answer?.status === 200) return;
    if (answer) last = String(answer.status);
    await sleep(HEALTH_EVERY_MS);
  }
  throw new PlainError(`The service did not get well within ${HEALTH_LIMIT_MS / 1000} s: GET /healthz answers ${last}.`);
}

/** Why the configuration that was asked for allows no demo: it switches the operator surface off, or lacks a secret. */
export async function operatorRefusal(operator: Client): Promise<string | undefined> {
  const { status } = await operator.send("GET", "/operator/v1/workspaces?limit=1");
  if (status === 404) return "OPERATOR_TOKEN is empty, and without it there is no operator surface.";
  if (status === 503) return "its configuration is wrong. The log names the variable: mend its value, or delete its line for a new one.";
  return undefined;
}
