import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, inject, onTestFinished, vi } from "vitest";
import { findChromium } from "./chromium.ts";

export const service = inject("service");

const MAIL_LIMIT_MS = 30_000;

let browser: Promise<Browser> | undefined;

afterAll(async () => {
  await (await browser)?.close();
  // Files share their modules.
  browser = undefined;
});

/** Opens a page in a browser profile of its own, which is closed after the test. `errors` collects what the page reports as errors. */
export async function openPage(options: BrowserContextOptions = {}): Promise<{ page: Page; errors: string[] }> {
  browser ??= chromium.launch({ executablePath: findChromium()!, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
  const context = await (
    await browser
  ).newContext({ viewport: { width: 1280, height: 800 }, locale: "en", reducedMotion: "reduce", ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  return { page, errors };
}

/** Saves a picture of a page, if the variable SHOTS names a folder for pictures. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (process.env["SHOTS"]) await page.screenshot({ path: `${process.env["SHOTS"]}/${name}.png` });
}

/** Serves pages of a website, on an origin of its own, by their paths. */
export async function serveSite(pages: Record<string, string>, headers: Record<string, string> = {}): Promise<string> {
  const server = createServer(({ url = "/" }, response) => {
    // Browsers request it by themselves.
    const body = url === "/favicon.ico" ? "" : pages[url];
    response.writeHead(body === undefined ? 404 : 200, { "Content-Type": "text/html; charset=utf-8", ...headers });
    response.end(body ?? "");
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Where the local mail service shows what it was given. */
const SENT = "/cdn-cgi/local/explorer/api/local/email/sending";

interface SentMail {
  worker: string;
  messageId: string;
  to: string[];
  text?: string;
}

/** Waits for the latest mail to an address. @returns its text. */
export async function mailTo(address: string): Promise<string> {
  const read = async (query: string) => (await (await fetch(`${service.url}${SENT}?${query}`)).json()) as { result: SentMail[] | SentMail };
  const mail = await vi.waitFor(async () => {
    const { result } = await read("per_page=100");
    const found = (result as SentMail[]).find(({ to }) => to.includes(address));
    if (!found) throw new Error(`There is no mail to ${address}`);
    return found;
  }, MAIL_LIMIT_MS);
  const id = mail.messageId.replaceAll(/^<|>$/g, "");
  const { result } = await read(new URLSearchParams({ worker: mail.worker, email_id: id }).toString());
  return (result as SentMail).text ?? "";
}

/** A request of the operator, which must succeed. */
export async function operate<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  return send<Body>(method, `/operator/v1${path}`, service.operatorToken, body);
}

/** A request of the demo workspace's key, which must succeed. */
export async function call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  return send<Body>(method, `/api/v1${path}`, service.key, body);
}

/** A request with a key or the operator's token, which must succeed. */
export async function send<Body>(method: string, path: string, token: string, body?: unknown): Promise<Body> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const response = await fetch(service.url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as Body;
}
