import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createAgent, createWorkspace, newAddress, send } from "../../harness.ts";

test("every response carries nosniff, HSTS and a Content-Security-Policy without inline code", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { allowed_origins: ["https://example.com"] });
  const answer = await workspace.call("POST", `/agents/${agent.id}/answers`, { question: "Q", answer: "A" });
  const preflight = { Origin: "https://example.com", "Access-Control-Request-Method": "POST", ...newAddress() };
  const responses = {
    page: await send("GET", "/docs"),
    script: await send("GET", "/docs/viewer.js"),
    document: await send("GET", "/api/v1/openapi.json", { headers: newAddress() }),
    health: await send("GET", "/healthz"),
    record: await workspace.call("GET", `/agents/${agent.id}`),
    nothing: await workspace.call("DELETE", `/agents/${agent.id}/answers/${answer.body.id}`),
    stream: await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Hi", stream: true }),
    preflight: await send("OPTIONS", `/widget/v1/agents/${agent.id}`, { headers: preflight }),
    operator: await send("GET", "/operator/v1/workspaces", { token: env.OPERATOR_TOKEN }),
    unauthorized: await send("GET", "/api/v1/me", { headers: newAddress() }),
    notFound: await send("GET", "/nothing"),
    notAllowed: await send("POST", "/healthz"),
    invalid: await workspace.call("GET", "/agents?limit=0"),
    tooLarge: await workspace.call("POST", `/agents/${agent.id}/search`, "x".repeat(600_000)),
  };
  expect(Object.values(responses).map(({ status }) => status)).toEqual([
    200, 200, 200, 200, 200, 204, 200, 204, 200, 401, 404, 405, 422, 413,
  ]);
  for (const [name, { headers }] of Object.entries(responses)) {
    expect(headers.get("X-Content-Type-Options"), name).toBe("nosniff");
    expect(headers.get("Strict-Transport-Security"), name).toMatch(/^max-age=\d{8,}/);
    expect(headers.get("Content-Security-Policy"), name).toMatch(/^default-src 'none'; .*frame-ancestors 'none'/);
    // The documentation's viewer writes style attributes.
    const policy = headers.get("Content-Security-Policy")!.replace(/style-src 'self' 'unsafe-inline'/, "");
    expect(policy, name).not.toContain("unsafe");
  }
});
