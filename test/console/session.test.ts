import { env, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { app } from "../../src/app.ts";
import { createKey, createWorkspace, envWith, newAddress, operate, send } from "../harness.ts";
import { openBrowser } from "./browser.ts";

async function signedIn() {
  const workspace = await createWorkspace();
  const browser = openBrowser();
  const answer = await browser.call("POST", "/console/session", { secret: workspace.key, name: "Grace" });
  expect(answer.status).toBe(200);
  return { workspace, browser, answer };
}

test("a key signs in, and the cookie reads and writes with its scopes", async () => {
  const workspace = await createWorkspace();
  const { key } = await createKey(workspace, ["agents:read"]);
  const browser = openBrowser();
  const { body, headers } = await browser.call("POST", "/console/session", { secret: key, name: "Grace" });
  expect(body).toMatchObject({ kind: "workspace", name: "Grace", workspace: { id: workspace.id }, key: { scopes: ["agents:read"] } });
  expect(Date.parse(body.expires_at) - Date.now()).toBeGreaterThan(11.9 * 3_600_000);
  expect(headers.getSetCookie()[0]).toMatch(/^__Host-console=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  expect((await browser.call("GET", "/api/v1/agents")).status).toBe(200);
  expect((await browser.call("GET", "/api/v1/leads")).body.error.code).toBe("insufficient_scope");
  expect((await browser.call("GET", "/console/session")).body).toMatchObject({ name: "Grace", key: { name: "Extra" } });
});

test("the name of a person is one line", async () => {
  const workspace = await createWorkspace();
  const { body } = await openBrowser().call("POST", "/console/session", { secret: workspace.key, name: " Grace\r\nThe team\u0000 " });
  expect(body.name).toBe("Grace The team");
});

test("the operator's token signs in to the operator API alone", async () => {
  const browser = openBrowser();
  const { body } = await browser.call("POST", "/console/session", { secret: env.OPERATOR_TOKEN });
  expect(body).toMatchObject({ kind: "operator" });
  expect((await browser.call("GET", "/operator/v1/workspaces")).status).toBe(200);
  expect((await browser.call("GET", "/api/v1/me")).status).toBe(401);
  expect((await browser.live()).status).toBe(401);
});

test("on a laptop, over http, the cookie is not marked as secure", async () => {
  const workspace = await createWorkspace();
  const browser = openBrowser("http://localhost:8787");
  const { headers } = await browser.call("POST", "/console/session", { secret: workspace.key });
  expect(headers.getSetCookie()[0]).toMatch(/^console=.*; Path=\/; HttpOnly; SameSite=Strict$/);
  expect((await browser.call("GET", "/api/v1/me")).status).toBe(200);
});

test("an invalid key is refused and gets no cookie", async () => {
  const browser = openBrowser();
  for (const secret of ["sk_live_wrong", "nothing", env.OPERATOR_TOKEN.slice(1)]) {
    const answer = await browser.call("POST", "/console/session", { secret });
    expect(answer).toMatchObject({ status: 401, body: { error: { code: "invalid_api_key" } } });
    expect(answer.headers.getSetCookie()).toEqual([]);
  }
  expect((await browser.call("POST", "/console/session", {})).status).toBe(422);
  expect((await browser.call("POST", "/console/session", { secret: "a", link: "b" })).status).toBe(422);
});

test("a signed-out session is refused, even with a copied cookie", async () => {
  const { browser } = await signedIn();
  const thief = openBrowser("https://service.test", browser.cookie);
  expect((await thief.call("GET", "/api/v1/me")).status).toBe(200);
  expect((await browser.call("DELETE", "/console/session")).status).toBe(204);
  expect(browser.cookie).toBeUndefined();
  expect((await thief.call("GET", "/api/v1/me")).status).toBe(401);
  expect((await thief.live()).status).toBe(401);
});

test("signing in again creates a new session, so that no session can be fixed in advance", async () => {
  const { browser, workspace } = await signedIn();
  const before = browser.cookie;
  await browser.call("POST", "/console/session", { secret: workspace.key });
  expect(browser.cookie).not.toBe(before);
});

test("a request from another site has no session", async () => {
  const { browser } = await signedIn();
  const post = (headers: Record<string, string>) => browser.call("POST", "/api/v1/leads", { email: "a@example.com" }, headers);
  const foreign = [
    { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.test" },
    { "Sec-Fetch-Site": "same-site", Origin: "https://other.service.test" },
    { "Sec-Fetch-Site": "same-origin", Origin: "https://evil.test" },
    { "Sec-Fetch-Site": "none", Origin: "null" },
  ];
  for (const headers of foreign) {
    expect((await post(headers)).status).toBe(401);
    expect((await browser.call("GET", "/api/v1/me", undefined, headers)).status).toBe(401);
    expect((await browser.call("DELETE", "/console/session", undefined, headers)).status).toBe(403);
    expect((await browser.call("POST", "/console/session", { secret: "x" }, headers)).status).toBe(403);
    expect((await browser.live({ Origin: headers.Origin })).status).toBe(401);
  }
  // A form can send neither header.
  const plain = await send("POST", "/api/v1/leads", { headers: { Cookie: browser.cookie!, Origin: "https://service.test" }, body: {} });
  expect(plain.status).toBe(401);
  expect((await browser.call("GET", "/api/v1/me")).status).toBe(200);
});

test("a key that is revoked while it is signed in is refused on the next request", async () => {
  const { browser, workspace } = await signedIn();
  await operate("DELETE", `/workspaces/${workspace.id}/keys/${workspace.keyId}`);
  expect(await browser.call("GET", "/api/v1/me")).toMatchObject({ status: 401, body: { error: { code: "revoked_api_key" } } });
  expect((await browser.call("GET", "/console/session")).status).toBe(401);
});

test("a session ends after twelve hours, and leaves nothing", async () => {
  const { browser } = await signedIn();
  const cookie = decodeURIComponent(browser.cookie!.split("=")[1]!);
  const { decryptSecret } = await import("../../src/platform/crypto/secrets.ts");
  const { id, expiresAtMs } = JSON.parse(await decryptSecret(env, cookie, "console/session"));
  await runInDurableObject(env.SIGN_IN.getByName(`session/${id}`), async (object, { storage }) => {
    expect(await storage.getAlarm()).toBe(expiresAtMs);
    await object.alarm();
    expect([...(await storage.list())]).toEqual([]);
  });
  expect((await browser.call("GET", "/api/v1/me")).status).toBe(401);
});

test("a cookie stays valid under a rotated ENCRYPTION_KEY until the old value is removed", async () => {
  const { browser } = await signedIn();
  const me = (key: string) => {
    const headers = { Cookie: browser.cookie!, "X-Support-Agent-Console": "1", "Sec-Fetch-Site": "same-origin" };
    const context = { waitUntil: () => undefined, passThroughOnException: () => undefined } as unknown as ExecutionContext;
    return app.fetch(new Request("https://service.test/api/v1/me", { headers }), envWith({ ENCRYPTION_KEY: key }), context);
  };
  const fresh = "f".repeat(40);
  expect((await me(`${fresh},${env.ENCRYPTION_KEY}`)).status).toBe(200);
  expect((await me(fresh)).status).toBe(401);
});

test("a tampered cookie is refused", async () => {
  const { browser } = await signedIn();
  const changed = openBrowser("https://service.test", browser.cookie!.slice(0, -6) + "AAAAAA");
  expect((await changed.call("GET", "/api/v1/me")).status).toBe(401);
});

test("a sign-in link signs in once", async () => {
  const workspace = await createWorkspace();
  const { status, body } = await send("POST", "/console/links", { token: workspace.key });
  expect(status).toBe(201);
  const link = new URL(body.url).hash.replace("#sign-in=", "");
  const browsers = [openBrowser(), openBrowser()];
  const answers = await Promise.all(browsers.map((browser) => browser.call("POST", "/console/session", { link, name: "Ada" })));
  expect(answers.map((answer) => answer.status).toSorted()).toEqual([200, 401]);
  expect(answers.find((answer) => answer.status === 401)!.body.error.message).toMatch(/used or has expired/);
  expect((await openBrowser().call("POST", "/console/session", { link: "made-up" })).status).toBe(401);
  expect((await send("POST", "/console/links", { token: "sk_live_wrong" })).status).toBe(401);
});

test("a sign-in link that was refused for the rate limit can be used afterwards", async () => {
  const workspace = await createWorkspace();
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { requests_per_minute: 1 } });
  const { body } = await send("POST", "/console/links", { token: workspace.key });
  const link = new URL(body.url).hash.replace("#sign-in=", "");
  expect((await openBrowser().call("POST", "/console/session", { link, name: "Ada" })).status).toBe(429);
  await operate("PATCH", `/workspaces/${workspace.id}`, { limits: { requests_per_minute: null } });
  expect((await openBrowser().call("POST", "/console/session", { link, name: "Ada" })).status).toBe(200);
});

test("a sign-in link says where it signs in, as often as it is asked, and only to a page of the console", async () => {
  const workspace = await createWorkspace();
  const { body } = await send("POST", "/console/links", { token: workspace.key });
  const link = new URL(body.url).hash.replace("#sign-in=", "");
  const browser = openBrowser();
  for (let at = 0; at < 2; at++) {
    const read = await browser.call("POST", "/console/links/read", { link });
    expect(read).toMatchObject({ status: 200, body: { kind: "workspace", workspace: { id: workspace.id, name: "Test" } } });
    expect(read.headers.getSetCookie()).toEqual([]);
    expect(JSON.stringify(read.body)).not.toContain(workspace.key);
  }
  const foreign = await browser.call(
    "POST",
    "/console/links/read",
    { link },
    { Origin: "https://evil.test", "Sec-Fetch-Site": "cross-site" },
  );
  expect([foreign.status, foreign.body.error.code]).toEqual([403, "origin_not_allowed"]);
  expect((await browser.call("POST", "/console/links/read", { link: "made-up" })).status).toBe(401);
  expect((await browser.call("POST", "/console/session", { link, name: "Ada" })).status).toBe(200);
  expect((await browser.call("POST", "/console/links/read", { link })).status).toBe(401);
  const { body: operators } = await send("POST", "/console/links", { token: env.OPERATOR_TOKEN });
  const read = await browser.call("POST", "/console/links/read", { link: new URL(operators.url).hash.replace("#sign-in=", "") });
  expect(read.body).toEqual({ kind: "operator" });
});

test("sign-in links are rate limited by address before any object is called", async () => {
  const headers = { ...newAddress(), "X-Support-Agent-Console": "1", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json" };
  let asked = 0;
  const links = { getByName: () => ({ end: async () => void asked++, held: async () => void asked++ }) };
  const context = { waitUntil: () => undefined, passThroughOnException: () => undefined } as unknown as ExecutionContext;
  const signIn = async (at: number) => {
    const init = { method: "POST", headers, body: JSON.stringify({ link: `made-up-${at}` }) };
    const path = at % 2 === 0 ? "session" : "links/read";
    return (await app.fetch(new Request(`https://service.test/console/${path}`, init), envWith({ SIGN_IN: links }), context)).status;
  };
  const statuses: number[] = [];
  for (let at = 0; at < 65; at++) statuses.push(await signIn(at));
  expect(statuses).toEqual([...Array(60).fill(401), ...Array(5).fill(429)]);
  expect(asked).toBe(60);
});
