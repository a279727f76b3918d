import { describe, expect, test } from "vitest";
import { operate } from "../harness.ts";
import { createWidget, visitorOf } from "./widget.ts";

const SITE = "https://www.example.com";
const OTHER = "https://evil.example";
const SELF = "http://service.test";

const MATRIX: { allowed: string[]; origin: string | undefined; isLetIn: boolean }[] = [
  { allowed: [], origin: undefined, isLetIn: true },
  { allowed: [], origin: SELF, isLetIn: true },
  { allowed: [], origin: SITE, isLetIn: false },
  { allowed: [], origin: "null", isLetIn: false },
  { allowed: [SITE], origin: undefined, isLetIn: true },
  { allowed: [SITE], origin: SELF, isLetIn: true },
  { allowed: [SITE], origin: SITE, isLetIn: true },
  { allowed: [SITE], origin: OTHER, isLetIn: false },
  { allowed: [SITE], origin: "http://www.example.com", isLetIn: false },
  { allowed: [SITE], origin: "https://www.example.com:8443", isLetIn: false },
  { allowed: [SITE], origin: "https://www.example.com.evil.example", isLetIn: false },
  { allowed: ["*"], origin: OTHER, isLetIn: true },
  { allowed: ["*"], origin: "null", isLetIn: true },
];

describe.each(MATRIX)("an agent of $allowed, asked from $origin", ({ allowed, origin, isLetIn }) => {
  const headers: Record<string, string> = origin === undefined ? {} : { Origin: origin };

  test("is answered or refused on every path", async () => {
    const { agent, visitor } = await createWidget({ agent: { allowed_origins: allowed } });
    const ada = visitor();
    const { body } = await ada.write({});
    const { conversation_id: id, visitor_token: token } = body;
    const withToken = { ...headers, Authorization: `Bearer ${token}` };
    const answers = [
      await ada.send("GET", `/agents/${agent.id}`, undefined, headers),
      await ada.send("POST", `/agents/${agent.id}/messages`, { message: "When are refunds paid?" }, headers),
      await ada.send("POST", `/agents/${agent.id}/leads`, { email: "a@example.com" }, headers),
      await ada.send("GET", `/conversations/${id}/messages`, undefined, withToken),
      await ada.send("POST", `/conversations/${id}/handoff`, undefined, withToken),
      await ada.send("POST", `/conversations/${id}/csat`, { score: 5 }, withToken),
    ];
    expect(answers.map(({ status }) => status)).toEqual(isLetIn ? [200, 200, 201, 200, 200, 200] : Array(6).fill(403));
    for (const answer of answers) {
      expect(answer.headers.get("Vary")).toContain("Origin");
      expect(answer.headers.get("Access-Control-Allow-Origin")).toBe(origin ?? null);
      expect(answer.headers.get("Access-Control-Allow-Credentials")).toBeNull();
      if (isLetIn) expect(answer.headers.get("Access-Control-Expose-Headers")).toContain("X-Request-Id");
      else expect(answer.body.error.code).toBe("origin_not_allowed");
    }
    const after = await ada.on(token, id, "GET", "messages");
    // A refused request has done nothing.
    expect(after.body.status).toBe(isLetIn ? "needs_human" : "ai_handled");
  });

  test("gets its preflights answered or refused", async () => {
    const { agent, visitor } = await createWidget({ agent: { allowed_origins: allowed } });
    const ada = visitor();
    const { body } = await ada.write({});
    const asking = { ...headers, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type" };
    for (const path of [
      `/agents/${agent.id}`,
      `/agents/${agent.id}/messages`,
      `/agents/${agent.id}/leads`,
      `/conversations/${body.conversation_id}/messages`,
      `/conversations/${body.conversation_id}/handoff`,
      `/conversations/${body.conversation_id}/csat`,
    ]) {
      const answer = await ada.send("OPTIONS", path, undefined, asking);
      expect(answer.status).toBe(isLetIn ? 204 : 403);
      expect(answer.headers.get("Access-Control-Allow-Origin")).toBe(origin ?? null);
      expect(answer.headers.get("Vary")).toContain("Origin");
      if (!isLetIn) continue;
      expect(answer.headers.get("Access-Control-Allow-Methods")).toBe("GET, POST, OPTIONS");
      expect(answer.headers.get("Access-Control-Allow-Headers")).toBe("Authorization, Content-Type, Idempotency-Key, Last-Event-ID");
      expect(answer.headers.get("Access-Control-Max-Age")).toBe("600");
    }
  });
});

test("a changed list of origins applies to the next request", async () => {
  const { workspace, agent, visitor } = await createWidget({ agent: { allowed_origins: [SITE] } });
  const path = `/agents/${agent.id}`;
  expect((await visitor().send("GET", path, undefined, { Origin: SITE })).status).toBe(200);
  await operate("PATCH", `/workspaces/${workspace.id}/agents/${agent.id}`, { allowed_origins: [OTHER] });
  expect((await visitor().send("GET", path, undefined, { Origin: SITE })).status).toBe(403);
  expect((await visitor().send("GET", path, undefined, { Origin: OTHER })).status).toBe(200);
});

test("any page may read responses that say nothing about an agent, and their preflights", async () => {
  const nobody = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";
  const visitor = visitorOf(nobody);
  for (const path of [`/agents/${nobody}`, "/agents/x", "/nothing", `/conversations/${nobody}/messages`]) {
    expect((await visitor.send("OPTIONS", path, undefined, { Origin: OTHER })).status).toBe(204);
    const answer = await visitor.send("GET", path, undefined, { Origin: OTHER });
    expect([404, 422, 401]).toContain(answer.status);
    expect(answer.headers.get("Access-Control-Allow-Origin")).toBe(OTHER);
  }
});
