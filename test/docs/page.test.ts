import { expect, test } from "vitest";
import { createAgent, operate, send } from "../harness.ts";

test("the documentation loads only files of the service, and has no inline script", async () => {
  const { status, headers, body } = await send("GET", "/docs");
  expect(status).toBe(200);
  expect(headers.get("Content-Security-Policy")).toMatch(/^default-src 'none'; script-src 'self'; .*connect-src 'self';/);
  expect(body).not.toMatch(/<script(?! type="module" src=)|\son\w+=|https?:/);
});

test("the viewer keeps a key in memory, and sends no request to another host", async () => {
  const { headers, body } = await send("GET", "/docs/viewer.js");
  expect(headers.get("Content-Type")).toBe("text/javascript; charset=utf-8");
  for (const setting of ["persistAuth: false", "withDefaultFonts: false", "telemetry: false", "agent: { disabled: true }"])
    expect(body).toContain(setting);
  expect(body).not.toContain("proxyUrl");
  for (const document of ["/api/v1/openapi.json", "/widget/v1/openapi.json", "/operator/v1/openapi.json"]) expect(body).toContain(document);
});

test("the root is a page for people, and JSON for those who ask for it", async () => {
  const page = await send("GET", "/", { headers: { Accept: "text/html,application/xhtml+xml" } });
  expect(page.headers.get("Content-Type")).toContain("text/html");
  for (const href of ["/docs", "/console", "/healthz"]) expect(page.body).toContain(`href="${href}"`);
  const style = /<style>([^]*)<\/style>/.exec(page.body)![1]!;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
  expect(page.headers.get("Content-Security-Policy")).toContain(`'sha256-${new Uint8Array(digest).toBase64()}'`);
  const { body } = await send("GET", "/", { headers: { Accept: "application/json" } });
  expect(body).toMatchObject({ status: "ok", docs: "/docs", console: "/console", openapi: { "/api/v1": "/api/v1/openapi.json" } });
  expect((await send("GET", "/")).body).toEqual(body);
});

test("both pages name the demo agent on a developer's machine", async () => {
  expect((await send("GET", "/docs/demo.json")).body).toEqual({ agent_id: null });
  const { id } = await operate("POST", "/workspaces", { name: "Demo", slug: "demo", plan: "enterprise" });
  const agent = await createAgent({ id } as never, { name: "Demo agent", slug: "demo-agent" });
  expect((await send("GET", "/docs/demo.json")).body).toEqual({ agent_id: agent.id });
  expect((await send("GET", "/", { headers: { Accept: "text/html" } })).body).toContain(`href="/chat/${agent.id}"`);
});
