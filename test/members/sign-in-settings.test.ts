import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { changeSignIn } from "../../src/members/sign-in-settings.ts";
import { newOperation } from "../../src/platform/db/client.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { openBrowser } from "../console/browser.ts";
import { createKey, createWorkspace, query } from "../harness.ts";
import { join } from "./team.ts";

const PROVIDER = { issuer: "https://id.example.com", client_id: "console", client_secret: "s3cret-of-the-client" };
const codeOf = ({ status, body }: { status: number; body: any }) => [status, body.error?.code];

test("a workspace without settings lets keys sign in", async () => {
  const workspace = await createWorkspace();
  const { status, body } = await workspace.call("GET", "/sign-in");
  expect(status).toBe(200);
  expect(body).toEqual({
    methods: ["key"],
    oidc: null,
    domains: [],
    redirect_url: `http://service.test/console/sign-in/oidc/callback/${workspace.id}`,
    available_methods: ["oidc", "key"],
    updated_at: null,
  });
});

test("the settings are changed one by one, and the secret is stored encrypted and never shown", async () => {
  const workspace = await createWorkspace();
  const changed = await workspace.call("PATCH", "/sign-in", { oidc: PROVIDER, methods: ["oidc", "key"] });
  expect(changed.body).toMatchObject({
    methods: ["oidc", "key"],
    oidc: { issuer: PROVIDER.issuer, client_id: "console", has_client_secret: true },
  });
  const withDomain = await workspace.call("PATCH", "/sign-in", { domains: [{ domain: "Example.com", role: "agent" }] });
  expect(withDomain.body).toMatchObject({ methods: ["oidc", "key"], domains: [{ domain: "example.com", role: "agent" }] });
  const read = await workspace.call("GET", "/sign-in");
  expect(read.body).toEqual(withDomain.body);
  const [row] = await query<any>(workspace.id, "SELECT * FROM sign_in_settings WHERE workspace_id = ?", workspace.id);
  expect(row.oidc_client_secret).toMatch(/^v1\./);
  const { body: audit } = await workspace.call("GET", "/audit?action=sign_in.updated");
  expect(audit.data.map(({ detail }: any) => detail.fields)).toEqual([["domains"], ["methods", "oidc"]]);
  for (const shown of [changed.body, read.body, audit, row]) expect(JSON.stringify(shown)).not.toContain(PROVIDER.client_secret);
});

test("a secret stays with the client that it was given for", async () => {
  const workspace = await createWorkspace();
  await workspace.call("PATCH", "/sign-in", { oidc: PROVIDER });
  const { client_secret: _, ...same } = PROVIDER;
  const kept = await workspace.call("PATCH", "/sign-in", { oidc: same });
  expect(kept.body.oidc.has_client_secret).toBe(true);
  const moved = await workspace.call("PATCH", "/sign-in", { oidc: { ...same, issuer: "https://evil.example.com" } });
  expect(moved.body.oidc).toEqual({ issuer: "https://evil.example.com", client_id: "console", has_client_secret: false });
  expect((await workspace.call("PATCH", "/sign-in", { oidc: null })).body.oidc).toBeNull();
});

test("only owners change the provider, and a domain gives no scopes that the caller lacks", async () => {
  const workspace = await createWorkspace();
  const [owner, admin] = [await join(workspace, "owner"), await join(workspace, "admin")];
  const lead = await join(workspace, "custom", { scopes: ["members:write", "members:read"] });
  expect(codeOf(await admin.call("PATCH", "/sign-in", { oidc: PROVIDER }))).toEqual([403, "insufficient_scope"]);
  expect(codeOf(await admin.call("PATCH", "/sign-in", { oidc: null }))).toEqual([403, "insufficient_scope"]);
  expect((await owner.call("PATCH", "/sign-in", { oidc: PROVIDER })).status).toBe(200);
  expect((await admin.call("PATCH", "/sign-in", { domains: [{ domain: "example.com", role: "admin" }] })).status).toBe(200);
  const given = await lead.call("PATCH", "/sign-in", { domains: [{ domain: "example.com", role: "agent" }] });
  expect(codeOf(given)).toEqual([403, "insufficient_scope"]);
});

test("keys are switched off once an owner has signed in, and then work in the API alone", async () => {
  const workspace = await createWorkspace();
  await workspace.call("PATCH", "/sign-in", { oidc: PROVIDER });
  expect(codeOf(await workspace.call("PATCH", "/sign-in", { methods: ["oidc"] }))).toEqual([409, "conflict"]);
  const browser = openBrowser();
  expect((await browser.call("POST", "/console/session", { secret: workspace.key })).status).toBe(200);
  const { key } = await createKey(workspace, ["agents:read"]);
  const owner = await join(workspace, "owner");
  expect((await owner.call("PATCH", "/sign-in", { methods: ["oidc"] })).status).toBe(200);

  expect(codeOf(await openBrowser().call("POST", "/console/session", { secret: key }))).toEqual([401, "invalid_api_key"]);
  expect((await openBrowser().call("POST", "/console/links", undefined, { Authorization: `Bearer ${key}` })).status).toBe(401);
  expect((await browser.call("GET", "/console/session")).status).toBe(401);
  expect((await browser.call("GET", "/api/v1/agents")).status).toBe(401);
  expect((await browser.live()).status).toBe(401);
  expect((await workspace.call("GET", "/agents")).status).toBe(200);
  expect((await owner.call("GET", "/agents")).status).toBe(200);
  expect((await join(owner, "agent")).id).toBeTruthy();
});

test("of two changes at the same time, one is refused", async () => {
  const workspace = await createWorkspace();
  const changes = [1, 2].map((number) =>
    workspace.call("PATCH", "/sign-in", { domains: [{ domain: `d${number}.example.com`, role: "agent" }] }),
  );
  const statuses = (await Promise.all(changes)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
  expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
});

test("a change made of settings that have changed meanwhile is refused, and changes nothing", async () => {
  const workspace = await createWorkspace();
  const op = { ...newOperation(env, new Meter(), workspace.id), actor: "operator" };
  const domains = (domain: string) => ({ domains: [{ domain, role: "agent" as const }] });
  const first = await changeSignIn(op, undefined, domains("one.example.com"));
  if (first.outcome !== "done") throw new Error(`The first change was not made: ${first.outcome}`);
  expect(await changeSignIn(op, undefined, domains("two.example.com"))).toEqual({ outcome: "changed_meanwhile" });
  const second = await changeSignIn(op, first.settings, domains("three.example.com"));
  expect(second.outcome).toBe("done");
  expect(await changeSignIn(op, first.settings, domains("four.example.com"))).toEqual({ outcome: "changed_meanwhile" });
  expect((await workspace.call("GET", "/sign-in")).body.domains).toEqual([{ domain: "three.example.com", role: "agent" }]);
  expect((await workspace.call("GET", "/audit?action=sign_in.updated")).body.total).toBe(2);
});

test("wrong settings are refused with the field that is wrong, and without the secret", async () => {
  const workspace = await createWorkspace();
  const many = Array.from({ length: 21 }, (_, at) => ({ domain: `d${at}.example.com`, role: "agent" }));
  const oidc = (changes: object) => ({ oidc: { ...PROVIDER, ...changes } });
  for (const [body, loc] of [
    [{ methods: [] }, ["body", "methods"]],
    [{ methods: ["key", "key"] }, ["body", "methods"]],
    [{ methods: ["password"] }, ["body", "methods", 0]],
    [oidc({ issuer: "http://id.example.com" }), ["body", "oidc", "issuer"]],
    [oidc({ issuer: "https://127.0.0.1" }), ["body", "oidc", "issuer"]],
    [oidc({ issuer: "https://id.internal" }), ["body", "oidc", "issuer"]],
    [oidc({ issuer: "https://id.example.com/?a=b" }), ["body", "oidc", "issuer"]],
    [oidc({ issuer: "https://login.microsoftonline.com/common/v2.0" }), ["body", "oidc", "issuer"]],
    [oidc({ client_id: "a b" }), ["body", "oidc", "client_id"]],
    [oidc({ client_secret: "line\nbreak" }), ["body", "oidc", "client_secret"]],
    [{ domains: many }, ["body", "domains"]],
    [{ domains: [{ domain: "example.com", role: "owner" }] }, ["body", "domains", 0, "role"]],
    [{ domains: [{ domain: "@example.com", role: "agent" }] }, ["body", "domains", 0, "domain"]],
    [{ domains: [many[0], many[0]] }, ["body", "domains"]],
  ] as const) {
    const refused = await workspace.call("PATCH", "/sign-in", body);
    expect([refused.status, refused.body.detail?.[0].loc], JSON.stringify(body)).toEqual([422, loc]);
    expect(JSON.stringify(refused.body)).not.toMatch(/s3cret|line\\n/);
  }
  expect(codeOf(await workspace.call("PATCH", "/sign-in", { methods: ["oidc", "key"] }))).toEqual([409, "conflict"]);
});
