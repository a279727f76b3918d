import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, inject } from "vitest";
import { findChromium } from "./chromium.ts";

export const service = inject("service");

let browser: Promise<Browser> | undefined;
const contexts: BrowserContext[] = [];
const servers: Server[] = [];

afterAll(async () => {
  await Promise.all(contexts.splice(0).map((context) => context.close()));
  for (const server of servers.splice(0)) server.close();
  await (await browser)?.close();
  // Files share their modules.
  browser = undefined;
});

/** A new page in a browser profile of its own. A test fails on what a page reports as an error, unless it reads `errors`. */
export async function openPage(options: BrowserContextOptions = {}): Promise<{ page: Page; errors: string[] }> {
  browser ??= chromium.launch({ executablePath: findChromium()!, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  const context = await (
    await browser
  ).newContext({ viewport: { width: 1280, height: 800 }, locale: "en", reducedMotion: "reduce", ...options });
  contexts.push(context);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  return { page, errors };
}

/** Serves pages of a website, on an origin of its own, by their paths. */
export async function serveSite(pages: Record<string, string>, headers: Record<string, string> = {}): Promise<string> {
  const server = createServer(({ url = "/" }, response) => {
    // Browsers ask for it by themselves.
    const body = url === "/favicon.ico" ? "" : pages[url];
    response.writeHead(body === undefined ? 404 : 200, { "Content-Type": "text/html; charset=utf-8", ...headers });
    response.end(body ?? "");
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
