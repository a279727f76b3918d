import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { mailSignInLink } from "../../src/members/sign-in-by-mail.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { openBrowser } from "../console/browser.ts";
import { createWorkspace, query, type Workspace } from "../harness.ts";
import { linkIn, receiveMails } from "./inbox.ts";
import { invite, join } from "./team.ts";

const codeOf = ({ status, body }: { status: number; body: any }) => [status, body.error?.code];

/** A workspace that lets people sign in by mail, and the mails. */
async function mailWorkspace(settings: object = {}, limits: Record<string, unknown> = {}) {
  const mails = receiveMails();
  const workspace = await createWorkspace({ limits });
  const { status } = await workspace.call("PATCH", "/sign-in", { methods: ["mail", "key"], ...settings });
  expect(status).toBe(200);
  const { slug } = (await workspace.call("GET", "/me")).body.workspace;
  return { mails, workspace, slug };
}

/** Asks for a link, and waits until it is decided whether a mail is sent. */
function ask({ id: workspaceId }: Workspace, email: string, client = crypto.randomUUID()) {
  return mailSignInLink(env, new Meter(), { workspaceId, email, client, requestUrl: "https://service.test/console/sign-in/mail" });
}

test("a member asks for a mail on the sign-in page, and signs in once with its link after a confirmation", async () => {
  const { mails, workspace, slug } = await mailWorkspace();
  const { body: ada } = await invite(workspace, "agent", { email: "ada@example.com", name: "Ada", mail: false });
  const browser = openBrowser();
  expect((await browser.call("GET", `/console/sign-in?workspace=${slug}`)).body).toEqual({ methods: ["mail", "key"] });
  const asked = await browser.call("POST", "/console/sign-in/mail", { workspace: slug, email: "Ada@Example.com" });
  expect([asked.status, asked.body]).toEqual([204, ""]);
  await expect.poll(() => mails.length).toBe(1);
  expect(mails[0]).toMatchObject({ to: "ada@example.com", subject: "Sign in to Test" });
  const link = linkIn(mails[0]);

  // Programs that check mails open the address, and read where it leads.
  for (let opened = 0; opened < 3; opened++) {
    const { body } = await openBrowser().call("POST", "/console/links/read", { link });
    expect(body).toMatchObject({ method: "mail", workspace: { slug }, member: { id: ada.id, email: "ada@example.com", is_new: true } });
  }
  const { status, body } = await browser.call("POST", "/console/session", { link, name: "Ada Lovelace" });
  expect([status, body.member]).toEqual([200, { id: ada.id, name: "Ada Lovelace", email: "ada@example.com", role: "agent" }]);
  expect(codeOf(await openBrowser().call("POST", "/console/session", { link }))).toEqual([401, "invalid_api_key"]);
  const { body: sessions } = await workspace.call("GET", `/members/${ada.id}/sessions`);
  expect(sessions.data.map(({ method }: any) => method)).toEqual(["mail"]);
  const { body: audit } = await workspace.call("GET", "/audit?action=member.signed_in");
  expect(audit.data).toMatchObject([{ target_id: ada.id, detail: { method: "mail" } }]);

  // Who has signed in before keeps the name.
  expect(await ask(workspace, "ada@example.com")).toBe("sent");
  const again = openBrowser();
  const { body: read } = await again.call("POST", "/console/links/read", { link: linkIn(mails[1]) });
  expect(read.member.is_new).toBe(false);
  expect((await again.call("POST", "/console/session", { link: linkIn(mails[1]) })).body.member.name).toBe("Ada Lovelace");
});

test("with the eleventh sign-in the oldest session ends", async () => {
  const { mails, workspace } = await mailWorkspace();
  const ada = await join(workspace, "agent", { mail: false });
  const add = `INSERT INTO member_sessions (id, workspace_id, member_id, hash, method, created_at, expires_at)
    VALUES (?, ?, ?, 'hash', 'mail', ?, ?)`;
  const ids = Array.from({ length: 9 }, () => newId(shardOf(workspace.id), Date.now()));
  for (const id of ids) await query(workspace.id, add, id, workspace.id, ada.id, Date.now(), Date.now() + 60 * 60_000);
  expect((await ada.call("GET", "/me")).status).toBe(200);
  expect(await ask(workspace, ada.email)).toBe("sent");
  const browser = openBrowser();
  expect((await browser.call("POST", "/console/session", { link: linkIn(mails[0]) })).status).toBe(200);
  expect((await ada.call("GET", "/me")).status).toBe(401);
  const { body } = await browser.call("GET", `/api/v1/members/${ada.id}/sessions`);
  expect(body.data.slice(1).map(({ id }: { id: string }) => id)).toEqual(ids.toReversed());
});

test("the answer is the same for every address and workspace, and only pages of this service ask", async () => {
  const { mails, workspace, slug } = await mailWorkspace();
  await invite(workspace, "agent", { email: "ada@example.com", mail: false });
  const browser = openBrowser();
  const answers = [];
  for (const body of [
    { workspace: slug, email: "eve@example.com" },
    { workspace: "no-such-workspace", email: "ada@example.com" },
    { workspace: "../..", email: "ada@example.com" },
    { workspace: slug, email: "ada@example.com" },
  ]) {
    const { status, body: answer } = await browser.call("POST", "/console/sign-in/mail", body);
    answers.push([status, answer]);
  }
  expect(answers).toEqual(answers.map(() => [204, ""]));
  await expect.poll(() => mails.map(({ to }) => to)).toEqual(["ada@example.com"]);
  const body = { workspace: slug, email: "ada@example.com" };
  for (const headers of [{ "Sec-Fetch-Site": "cross-site" }, { Origin: "https://evil.example.com" }] as Record<string, string>[])
    expect(codeOf(await openBrowser().call("POST", "/console/sign-in/mail", body, headers))).toEqual([403, "origin_not_allowed"]);
  for (const email of [
    "ada@example.com\r\nBcc: eve@evil.example",
    "ada@example.com, eve@evil.example",
    "ada",
    `${"a".repeat(320)}@example.com`,
    1,
  ])
    expect((await openBrowser().call("POST", "/console/sign-in/mail", { ...body, email })).status, String(email)).toBe(422);
  expect(mails.length).toBe(1);
});

test("no mail is sent to somebody who was removed, to a stranger, or where mail is off", async () => {
  const { mails, workspace } = await mailWorkspace({ domains: [{ domain: "joins.example", role: "viewer" }] });
  const { body: ada } = await invite(workspace, "agent", { email: "ada@joins.example", mail: false });
  await workspace.call("DELETE", `/members/${ada.id}`);
  const other = await createWorkspace();
  await invite(other, "agent", { email: "bob@example.com", mail: false });
  expect(await ask(workspace, "ada@joins.example")).toBe("unknown");
  for (const email of ["eve@example.com", "eve@sub.joins.example", "eve@joins.example.evil.org", "a@b@joins.example", "@joins.example"])
    expect(await ask(workspace, email), email).toBe("unknown");
  expect(await ask(other, "bob@example.com")).toBe("unknown");
  expect(mails).toEqual([]);
});

test("somebody of a domain that may join becomes a member with the link, not before, and if it still may", async () => {
  const domains = [{ domain: "example.com", role: "viewer" }];
  const { mails, workspace } = await mailWorkspace({ domains }, { members: 1 });
  for (const email of ["ada@example.com", "bob@example.com", "eve@example.com"]) expect(await ask(workspace, email)).toBe("sent");
  const [ada, bob, eve] = mails.map(linkIn);
  expect((await workspace.call("GET", "/members")).body.data).toEqual([]);
  const read = await openBrowser().call("POST", "/console/links/read", { link: ada });
  expect(read.body.member).toEqual({ id: null, name: "ada", email: "ada@example.com", role: "viewer", is_new: true });
  const results = await Promise.all([1, 2].map(() => openBrowser().call("POST", "/console/session", { link: ada, name: "Ada" })));
  expect(results.map(({ status }) => status).toSorted()).toEqual([200, 401]);
  expect((await workspace.call("GET", "/members")).body.data).toMatchObject([{ name: "Ada", role: "viewer", status: "active" }]);
  expect((await workspace.call("GET", "/audit?action=member.joined")).body.data).toHaveLength(1);
  // The plan has no room for another member.
  expect(codeOf(await openBrowser().call("POST", "/console/session", { link: bob }))).toEqual([401, "invalid_api_key"]);
  await workspace.call("PATCH", "/sign-in", { domains: [] });
  expect((await openBrowser().call("POST", "/console/links/read", { link: eve })).status).toBe(401);
  expect((await openBrowser().call("POST", "/console/session", { link: eve })).status).toBe(401);
});

test("a link that was mailed before signs nobody in once the member was removed or mail is switched off", async () => {
  const { mails, workspace } = await mailWorkspace();
  const [ada, bob] = [await join(workspace, "agent", { mail: false }), await join(workspace, "agent", { mail: false })];
  for (const { email } of [ada, bob]) expect(await ask(workspace, email)).toBe("sent");
  await workspace.call("DELETE", `/members/${ada.id}`);
  expect((await openBrowser().call("POST", "/console/session", { link: linkIn(mails[0]) })).status).toBe(401);
  await workspace.call("PATCH", "/sign-in", { methods: ["key"] });
  expect((await openBrowser().call("POST", "/console/links/read", { link: linkIn(mails[1]) })).status).toBe(401);
  expect((await openBrowser().call("POST", "/console/session", { link: linkIn(mails[1]) })).status).toBe(401);
});

test("mails are bounded per address, per network address, and for those who are no members", async () => {
  const { mails, workspace } = await mailWorkspace({ domains: [{ domain: "example.com", role: "viewer" }] });
  const [ada, bob] = [await join(workspace, "agent", { mail: false }), await join(workspace, "agent", { mail: false })];
  for (let sent = 0; sent < 5; sent++) expect(await ask(workspace, ada.email)).toBe("sent");
  expect(await ask(workspace, ada.email)).toBe("not_sent");
  expect(await ask(workspace, bob.email)).toBe("sent");
  const joiners = await Promise.all(Array.from({ length: 35 }, (_, at) => ask(workspace, `joiner-${at}@example.com`)));
  expect(joiners.filter((outcome) => outcome === "sent").length).toBe(30);
  expect(await ask(workspace, bob.email)).toBe("sent");
  expect(mails.length).toBe(37);
  const { workspace: busy } = await mailWorkspace();
  const members = await Promise.all(Array.from({ length: 13 }, () => invite(busy, "viewer", { mail: false })));
  const outcomes = await Promise.all(members.flatMap(({ body }) => Array.from({ length: 5 }, () => ask(busy, body.email, "203.0.113.1"))));
  expect(outcomes.filter((outcome) => outcome === "sent").length).toBe(60);
  expect(await ask(busy, members[0]!.body.email, "203.0.113.2")).toBe("not_sent");
});

test("a method is refused that the deployment does not have, and no longer offered", async () => {
  const { workspace, slug } = await mailWorkspace();
  expect((await workspace.call("GET", "/sign-in")).body.available_methods).toEqual(["oidc", "mail", "key"]);
  const access = await workspace.call("PATCH", "/sign-in", { methods: ["key", "access"] });
  expect([access.status, access.body.detail[0].loc]).toEqual([422, ["body", "methods", 1]]);
  expect(JSON.stringify(access.body)).toContain("ACCESS_TEAM_DOMAIN and ACCESS_AUD");
  Object.assign(env, { MAIL_FROM: "" });
  const mail = await workspace.call("PATCH", "/sign-in", { methods: ["mail"] });
  expect([mail.status, mail.body.detail[0].loc]).toEqual([422, ["body", "methods", 0]]);
  expect((await openBrowser().call("GET", `/console/sign-in?workspace=${slug}`)).body).toEqual({ methods: ["key"] });
  const { body } = await invite(workspace, "agent");
  expect(await ask(workspace, body.email)).toBe("not_sent");
  // Other settings are changed as before, and keys are switched off only once an owner has signed in.
  expect((await workspace.call("PATCH", "/sign-in", { domains: [] })).status).toBe(200);
  receiveMails();
  expect(codeOf(await workspace.call("PATCH", "/sign-in", { methods: ["mail"] }))).toEqual([409, "conflict"]);
  await join(workspace, "owner", { mail: false });
  expect((await workspace.call("PATCH", "/sign-in", { methods: ["mail"] })).body.methods).toEqual(["mail"]);
});

test("the counts of mails are kept for an hour, without the addresses", async () => {
  const { workspace } = await mailWorkspace();
  const ada = await join(workspace, "agent", { mail: false });
  expect(await ask(workspace, ada.email, "203.0.113.9")).toBe("sent");
  await runInDurableObject(env.SIGN_IN.getByName(`${workspace.id}/mails`), async (_, { storage }) => {
    const kept = JSON.stringify([...storage.kv.list()]);
    expect(kept).toContain("sign-ins");
    expect(kept).not.toMatch(/@|203\.0/);
    expect(await storage.getAlarm()).toBeGreaterThan(Date.now());
  });
});
