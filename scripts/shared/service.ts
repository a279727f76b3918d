import { setTimeout as sleep } from "node:timers/promises";
import { ROOT, UserError } from "./cli.ts";
import { devVarsPath, readDevVars } from "./dev-vars.ts";

const REQUEST_MS = 30_000;
const POLL_EVERY_MS = 200;
const HEALTH_LIMIT_MS = 120_000;
const PAGE_LIMIT = 100;
/** The parts of an error that are shown. */
const SHOWN_FIELDS = 5;
const SHOWN_CHARACTERS = 200;

/** An answer of the service; JSON is parsed. */
export interface Answer {
  status: number;
  body: unknown;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A client with the credentials of one caller. */
export interface Client {
  send: (method: Method, path: string, body?: unknown) => Promise<Answer>;
}

/**
 * A client of an HTTP API; it throws a UserError where nothing answers.
 * @param credentials the operator's token or an API key, or headers.
 */
export function createClient(url: string, credentials: string | Record<string, string>, timeoutMs = REQUEST_MS): Client {
  const own = typeof credentials === "string" ? { Authorization: `Bearer ${credentials}` } : credentials;
  return {
    send: async (method, path, body) => {
      const isSentAsItIs = typeof body === "string" || body instanceof FormData;
      const headers = { ...(!(body instanceof FormData) && { "Content-Type": "application/json" }), ...own };
      const init = { method, headers, signal: AbortSignal.timeout(timeoutMs) };
      try {
        const response = await fetch(url + path, body === undefined ? init : { ...init, body: isSentAsItIs ? body : JSON.stringify(body) });
        const text = await response.text();
        const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
        return { status: response.status, body: isJson ? JSON.parse(text) : text };
      } catch (error) {
        throw new UserError(`${method} ${url}${path} was not answered: ${networkErrorText(error)}.`);
      }
    },
  };
}

/** The reason why a request was not answered, from the error below `fetch`. */
export function networkErrorText(error: unknown): string {
  const { cause } = error as Error;
  const { message, name } = cause instanceof Error ? cause : (error as Error);
  // A host of several addresses, none of which can be reached, fails without a message.
  return message || name;
}

/**
 * The body of a successful answer.
 * @throws UserError that says what was asked and what was answered.
 */
export async function call<Body>(client: Client, method: Method, path: string, body?: unknown): Promise<Body> {
  const answer = await client.send(method, path, body);
  if (answer.status >= 300) throw new UserError(`${method} ${path} ${describeAnswer(answer)}`);
  return answer.body as Body;
}

/** An answer that is an error, with the reason and the fields that the service names. */
export function describeAnswer({ status, body }: Answer): string {
  const { error, detail = [] } = (body ?? {}) as { error?: { message?: string }; detail?: { loc: string[]; msg: string }[] };
  const fields = detail.slice(0, SHOWN_FIELDS).map(({ loc, msg }) => `\n  ${loc.join(".")}: ${msg}`);
  return `answered ${status}: ${error?.message ?? JSON.stringify(body).slice(0, SHOWN_CHARACTERS)}${fields.join("")}`;
}

/** The first record of a list that fits, page by page. */
export async function findInList<Item>(client: Client, path: string, fits: (item: Item) => boolean): Promise<Item | undefined> {
  for (let offset = 0; ; offset += PAGE_LIMIT) {
    const page = await call<{ data: Item[]; has_more: boolean }>(client, "GET", `${path}?limit=${PAGE_LIMIT}&offset=${offset}`);
    const found = page.data.find(fits);
    if (found || !page.has_more) return found;
  }
}

/** Waits until the service is healthy. */
export async function waitUntilHealthy(url: string): Promise<void> {
  const client = createClient(url, "");
  let last = "nothing";
  const isHealthy = await poll(async () => {
    const answer = await client.send("GET", "/healthz").catch(() => undefined);
    last = String(answer?.status ?? last);
    return answer?.status === 200 || undefined;
  }, HEALTH_LIMIT_MS);
  if (!isHealthy) throw new UserError(`The service was not healthy within ${HEALTH_LIMIT_MS / 1000} s: GET /healthz answers ${last}.`);
}

/** Calls a function until it returns a value. Returns undefined if it does not within the limit. */
export async function poll<Value>(read: () => Promise<Value | undefined>, limitMs: number): Promise<Value | undefined> {
  for (const deadline = Date.now() + limitMs; Date.now() < deadline; await sleep(POLL_EVERY_MS)) {
    const value = await read();
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The reason why the configuration allows no demo: it switches the operator surface off, or a secret is wrong. */
export async function findDemoProblem(operator: Client): Promise<string | undefined> {
  const { status } = await operator.send("GET", "/operator/v1/workspaces?limit=1");
  if (status === 404) return "OPERATOR_TOKEN is empty, and without it there is no operator surface.";
  if (status === 503) return "its configuration is wrong. The log names the variable: correct its value, or delete its line for a new one.";
  return undefined;
}

/** A deployment's operator surface, with the token for it. */
export interface OperatorTarget {
  /** The URL, without a slash at its end. */
  url: string;
  token: string;
}

/** The token must not travel in the clear further than this machine. */
const LOOPBACK_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The characters that a header can carry. */
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * The deployment that a command works on. The token is never an argument: it is OPERATOR_TOKEN in the environment or, for a
 * service on this machine, in .dev.vars.
 * @param localToken reads the token of .dev.vars.
 * @throws UserError that says what is missing.
 */
export function resolveOperatorTarget(
  given: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  localToken: () => string | undefined = readLocalToken,
): OperatorTarget {
  if (given === undefined || !URL.canParse(given)) throw new UserError("Say where the service is: --url https://…");
  const { protocol, hostname, href } = new URL(given);
  const isLocal = LOOPBACK_HOSTS.has(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isLocal)) {
    throw new UserError("--url takes an https URL, or http for this machine: the operator's token is sent there.");
  }
  // While it is rotated the variable may hold several; any of them opens the surface.
  const token = (environment["OPERATOR_TOKEN"] ?? (isLocal ? localToken() : undefined))?.split(",")[0]?.trim();
  if (!token) throw new UserError("Put the deployment's operator token into the environment: OPERATOR_TOKEN=…");
  if (!TOKEN.test(token)) throw new UserError("OPERATOR_TOKEN is not a token: put the deployment's own in place of the example's dots.");
  return { url: href.replace(/\/+$/, ""), token };
}

function readLocalToken(): string | undefined {
  return readDevVars(devVarsPath(ROOT, undefined))["OPERATOR_TOKEN"];
}
