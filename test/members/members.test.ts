import { expect, test } from "vitest";
import { openBrowser } from "../console/browser.ts";
import { createAgent, createNeighbour, createWorkspace } from "../harness.ts";
import { accept, invite, join } from "./team.ts";

const codeOf = ({ status, body }: { status: number; body: any }) => [status, body.error?.code];

test("an invited member signs in once with the link, and acts with the scopes of the role", async () => {
  const workspace = await createWorkspace();
  const invited = await invite(workspace, "agent", { name: "Ada", email: "Ada@Example.com" });
  expect(invited.status).toBe(201);
  expect(invited.body).toMatchObject({ email: "ada@example.com", role: "agent", status: "invited" });
  expect(invited.body.scopes).toContain("conversations:write");

  const link = new URL(invited.body.invitation.url).hash.slice("#sign-in=".length);
  const read = await openBrowser().call("POST", "/console/links/read", { link });
  expect(read.body).toMatchObject({ workspace: { id: workspace.id }, member: { email: "ada@example.com", name: "Ada" } });

  const ada = await accept(invited.body.invitation, "Ada Lovelace");
  const me = await ada.call("GET", "/me");
  expect(me.body.member).toEqual({ id: invited.body.id, name: "Ada Lovelace", email: "ada@example.com", role: "agent" });
  expect(me.body.api_key.scopes).toEqual(invited.body.scopes);
  expect((await ada.call("GET", "/conversations")).status).toBe(200);
  expect(codeOf(await ada.call("POST", "/agents", { name: "New" }))).toEqual([403, "insufficient_scope"]);
  expect(codeOf(await openBrowser().call("POST", "/console/session", { link, name: "Eve" }))).toEqual([401, "invalid_api_key"]);
  const { body } = await workspace.call("GET", "/members");
  expect(body.data).toMatchObject([{ id: ada.id, name: "Ada Lovelace", status: "active" }]);
});

test("replies, notes, ratings and versions name the member, whatever author the request names", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { name: "Helper" });
  const admin = await join(workspace, "admin");
  const named = { id: "boss", name: "The boss" };
  const started = await admin.call("POST", "/conversations", {
    agent_id: agent.id,
    channel: "api",
    user: { id: "u1" },
    content: "Hello",
    author: named,
  });
  expect(started.body.messages[0].author).toEqual({ type: "member", id: admin.id, name: "Grace Hopper" });
  const path = `/conversations/${started.body.id}`;
  const replied = await admin.call("POST", `${path}/messages`, { content: "And again", author: named });
  expect(replied.body.author).toEqual({ type: "member", id: admin.id, name: "Grace Hopper" });
  const noted = await admin.call("POST", `${path}/notes`, { content: "Called back", author: named });
  expect(noted.body.author).toEqual({ type: "member", id: admin.id, name: "Grace Hopper" });
  await admin.call("PATCH", `/agents/${agent.id}`, { instructions: "Be brief." });
  const versions = await admin.call("GET", `/agents/${agent.id}/versions`);
  expect(versions.body.data[0].author).toEqual({ type: "member", id: admin.id, name: "Grace Hopper" });
});

test("a removed member is refused at once, the page's socket closes, and open conversations lose their assignee", async () => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const [owner, colleague] = [await join(workspace, "owner"), await join(workspace, "agent")];
  const { body: talk } = await owner.call("POST", "/conversations", {
    agent_id: agent.id,
    channel: "api",
    user: { id: "u1" },
    content: "Hello",
  });
  await owner.call("PATCH", `/conversations/${talk.id}`, { assignee: { id: colleague.id, name: "Grace Hopper" } });
  // The page of a member whose role changes opens another socket; that of a removed one asks for a sign-in.
  const before = await colleague.browser.live();
  expect((await owner.call("PATCH", `/members/${colleague.id}`, { role: "viewer" })).status).toBe(200);
  expect([await before.closed, await before.closeReason]).toEqual([1008, "Connect again."]);
  const live = await colleague.browser.live();
  expect((await owner.call("DELETE", `/members/${colleague.id}`)).status).toBe(204);
  expect([await live.closed, await live.closeReason]).toEqual([1008, "The session has ended."]);
  expect(codeOf(await colleague.call("GET", "/conversations"))).toEqual([401, "invalid_api_key"]);
  expect((await colleague.browser.call("GET", "/console/session")).status).toBe(401);
  expect((await owner.call("GET", `/conversations/${talk.id}`)).body.assignee).toBeNull();
  expect((await owner.call("GET", "/members")).body.data.map(({ id }: any) => id)).toEqual([owner.id]);
  expect((await owner.call("GET", `/members/${colleague.id}`)).body.status).toBe("removed");

  const again = await invite(owner, "viewer", { email: colleague.email });
  expect([again.status, again.body.id]).toEqual([201, colleague.id]);
  expect((await accept(again.body.invitation)).id).toBe(colleague.id);
});

test("a link of a member who was removed meanwhile signs nobody in", async () => {
  const workspace = await createWorkspace();
  const { body } = await invite(workspace, "agent");
  await workspace.call("DELETE", `/members/${body.id}`);
  await expect(accept(body.invitation)).rejects.toThrow("refused");
});

test("a link signs nobody in who got another role or signed in with another link since", async () => {
  const workspace = await createWorkspace();
  const { body } = await invite(workspace, "agent");
  await workspace.call("PATCH", `/members/${body.id}`, { role: "owner" });
  await expect(accept(body.invitation)).rejects.toThrow("refused");
  const links = [];
  for (let made = 0; made < 2; made++) links.push((await workspace.call("POST", `/members/${body.id}/invitation`)).body.invitation);
  const owner = await accept(links[0]);
  await expect(accept(links[1])).rejects.toThrow("refused");
  expect((await workspace.call("GET", `/members/${owner.id}/sessions`)).body.data).toHaveLength(1);
});

test("a change of the role is in effect on the next request", async () => {
  const workspace = await createWorkspace();
  const viewer = await join(workspace, "viewer");
  expect((await viewer.call("GET", "/keys")).status).toBe(403);
  await workspace.call("PATCH", `/members/${viewer.id}`, { role: "custom", scopes: ["keys:write"] });
  expect((await viewer.call("GET", "/keys")).status).toBe(200);
  expect((await viewer.call("GET", "/conversations")).status).toBe(403);
});

test("only owners manage owners, and the last one stays", async () => {
  const workspace = await createWorkspace();
  const owner = await join(workspace, "owner");
  const admin = await join(owner, "admin");
  for (const refused of [
    await invite(admin, "owner"),
    await admin.call("PATCH", `/members/${admin.id}`, { role: "owner" }),
    await admin.call("PATCH", `/members/${owner.id}`, { role: "viewer" }),
    await admin.call("DELETE", `/members/${owner.id}`),
    await admin.call("GET", `/members/${owner.id}/sessions`),
    await admin.call("POST", "/keys", { name: "All", scopes: ["*"] }),
  ]) {
    expect(codeOf(refused)).toEqual([403, "insufficient_scope"]);
  }
  expect(codeOf(await owner.call("PATCH", `/members/${owner.id}`, { role: "admin" }))).toEqual([409, "conflict"]);
  expect(codeOf(await owner.call("DELETE", `/members/${owner.id}`))).toEqual([409, "conflict"]);
  const second = await join(owner, "owner");
  const results = await Promise.all([
    owner.call("PATCH", `/members/${owner.id}`, { role: "admin" }),
    second.call("PATCH", `/members/${second.id}`, { role: "admin" }),
  ]);
  expect(results.map(({ status }) => status).toSorted()).toEqual([200, 409]);
});

test("nobody gives scopes that he lacks, or manages somebody who has them", async () => {
  const workspace = await createWorkspace();
  const admin = await join(workspace, "admin");
  const lead = await join(workspace, "custom", { scopes: ["members:read", "members:write", "conversations:read"] });
  for (const refused of [
    await invite(lead, "admin"),
    await invite(lead, "custom", { scopes: ["privacy:write"] }),
    await lead.call("PATCH", `/members/${lead.id}`, { scopes: ["keys:write"] }),
    await lead.call("PATCH", `/members/${admin.id}`, { name: "Nobody" }),
    await lead.call("DELETE", `/members/${admin.id}`),
    await lead.call("POST", `/members/${admin.id}/invitation`),
  ]) {
    expect(codeOf(refused)).toEqual([403, "insufficient_scope"]);
  }
  expect((await invite(lead, "custom", { scopes: ["conversations:read"] })).status).toBe(201);
});

test.each([
  ["viewer", {}],
  ["custom", { scopes: ["conversations:read"] }],
])("a member with the role %s changes their own name and availability, and ends their own sessions", async (role, more) => {
  const workspace = await createWorkspace();
  const viewer = await join(workspace, role, more);
  const other = await join(workspace, "viewer");
  const changed = await viewer.call("PATCH", `/members/${viewer.id}`, { name: "Grace", availability: "away" });
  expect(changed.body).toMatchObject({ name: "Grace", availability: "away" });
  expect((await viewer.call("GET", `/members/${viewer.id}`)).body.availability).toBe("away");
  expect((await viewer.call("GET", "/me")).body.member.name).toBe("Grace");
  expect((await viewer.call("PATCH", `/members/${other.id}`, { availability: "away" })).status).toBe(403);
  const { body } = await viewer.call("GET", `/members/${viewer.id}/sessions`);
  expect(body.data).toMatchObject([{ method: "invitation", is_current: true }]);
  expect((await viewer.call("GET", `/members/${other.id}/sessions`)).status).toBe(403);
  expect((await viewer.call("DELETE", `/members/${viewer.id}/sessions/${body.data[0].id}`)).status).toBe(204);
  expect((await viewer.call("GET", "/me")).status).toBe(401);
});

test("signing out ends the session for copies of its cookie too", async () => {
  const workspace = await createWorkspace();
  const member = await join(workspace, "agent");
  const copy = openBrowser(undefined, member.browser.cookie);
  expect((await member.browser.call("DELETE", "/console/session")).status).toBe(204);
  expect((await copy.call("GET", "/api/v1/me")).status).toBe(401);
  expect((await workspace.call("GET", `/members/${member.id}/sessions`)).body.total).toBe(0);
});

test("an address is a member once, and the plan bounds their number", async () => {
  const workspace = await createWorkspace({ limits: { members: 2 } });
  const first = await invite(workspace, "agent", { email: "ann@example.com" });
  expect(codeOf(await invite(workspace, "agent", { email: "ANN@example.com" }))).toEqual([409, "conflict"]);
  expect((await invite(workspace, "agent")).status).toBe(201);
  expect(codeOf(await invite(workspace, "agent"))).toEqual([403, "plan_required"]);
  await workspace.call("DELETE", `/members/${first.body.id}`);
  expect((await invite(workspace, "agent")).status).toBe(201);
  expect((await workspace.call("GET", "/usage")).body.usage.members).toBe(2);
});

test("another workspace's members are not found", async () => {
  const workspace = await createWorkspace();
  const member = await join(workspace, "agent");
  const neighbour = await createNeighbour(workspace);
  for (const [method, path, body] of [
    ["GET", `/members/${member.id}`],
    ["PATCH", `/members/${member.id}`, { name: "Mine" }],
    ["DELETE", `/members/${member.id}`],
    ["POST", `/members/${member.id}/invitation`],
    ["GET", `/members/${member.id}/sessions`],
  ] as const) {
    expect((await neighbour.call(method, path, body)).status).toBe(404);
  }
});

test("wrong members are refused with the field that is wrong", async () => {
  const workspace = await createWorkspace();
  for (const [body, loc] of [
    [{ role: "agent" }, ["body", "email"]],
    [{ email: "ann", role: "agent" }, ["body", "email"]],
    [{ email: "ann@example.com", role: "boss" }, ["body", "role"]],
    [{ email: "ann@example.com", role: "custom" }, ["body", "scopes"]],
    [{ email: "ann@example.com", role: "agent", scopes: ["keys:write"] }, ["body", "scopes"]],
    [{ email: "ann@example.com", role: "agent", name: "\u0007" }, ["body", "name"]],
  ] as const) {
    const refused = await workspace.call("POST", "/members", body);
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, loc]);
  }
});

test("the audit log says who did what, without secrets, as JSON and CSV", async () => {
  const workspace = await createWorkspace();
  const admin = await join(workspace, "admin");
  const { body: agent } = await admin.call("POST", "/agents", { name: "Helper", instructions: "A secret plan" });
  await admin.call("PATCH", `/agents/${agent.id}`, { confidence_threshold: 0.7 });
  const { body: key } = await admin.call("POST", "/keys", { name: "Backend", scopes: ["agents:read"] });
  await admin.call("DELETE", `/keys/${key.id}`);
  await admin.call("GET", "/privacy/export?email=ann@example.com");
  const { body } = await workspace.call("GET", "/audit");
  expect(body.data.map(({ action }: any) => action)).toEqual([
    "privacy.export",
    "key.revoked",
    "key.created",
    "agent.updated",
    "agent.created",
    "member.signed_in",
    "member.invited",
    "key.created",
  ]);
  expect(body.total).toBe(8);
  expect(body.data[3]).toMatchObject({
    actor: { type: "member", id: admin.id, name: "Grace Hopper" },
    target_id: agent.id,
    target_name: "Helper",
    detail: { fields: ["confidence_threshold"] },
  });
  expect(body.data[6].actor).toEqual({ type: "key", id: workspace.keyId, name: "All" });
  expect(body.data[7].actor).toEqual({ type: "operator", id: null, name: null });
  expect(JSON.stringify(body)).not.toContain("secret plan");
  const filtered = await workspace.call("GET", `/audit?actor=${admin.id}&action=key.created`);
  expect([filtered.body.total, filtered.body.data[0].target_id]).toEqual([1, key.id]);
  const csv = await workspace.call("GET", "/audit", undefined, { Accept: "text/csv" });
  expect(csv.body.split("\r\n")[4]).toContain(`member,${admin.id},Grace Hopper,agent.updated,${agent.id},Helper`);
  expect((await admin.call("GET", "/audit")).status).toBe(200);
  expect((await (await join(workspace, "agent")).call("GET", "/audit")).status).toBe(403);
});
