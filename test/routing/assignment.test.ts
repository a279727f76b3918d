import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { dbFor } from "../../src/platform/db/client.ts";
import { WEEKDAYS } from "../../src/platform/db/columns.ts";
import { Meter } from "../../src/platform/telemetry/meter.ts";
import { assignQueued, listSilent, reassignSilent } from "../../src/routing/sweep.ts";
import { sweep } from "../../src/sweep/sweep.ts";
import { createAgent, createWorkspace, d1WithFailingBatches, envWith, newAddress, query, send, type Workspace } from "../harness.ts";
import { join } from "../members/team.ts";

const MINUTE = 60_000;

const member = (workspace: Workspace) => join(workspace, "agent");

/** A workspace with a team of members, and a rule that gives it everything by round robin. */
async function createTeam(size: number, settings: object = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const members = await Promise.all(Array.from({ length: size }, () => member(workspace)));
  const member_ids = members.map(({ id }) => id);
  const { body: team } = await workspace.call("POST", "/teams", { name: "Support", member_ids, ...settings });
  const rule = { name: "All", actions: { team_id: team.id, assign: "round_robin" } };
  expect((await workspace.call("POST", "/routing-rules", rule)).status).toBe(201);
  const handOff = async (message = "Can I talk to a human?", more: object = {}) =>
    (await workspace.call("POST", `/agents/${agent.id}/messages`, { message, ...more })).body.conversation_id as string;
  const read = async (id: string) => (await workspace.call("GET", `/conversations/${id}`)).body;
  const assigneeOf = async (id: string) => (await read(id)).assignee?.id ?? null;
  const change = (id: string, body: object) => workspace.call("PATCH", `/conversations/${id}`, body);
  return { workspace, agent, members, team, handOff, read, assigneeOf, change };
}

/** Reassigns the conversations of a workspace whose assignees are silent at a time. @returns their ids. */
async function reassignAt({ id }: Workspace, nowMs: number): Promise<string[]> {
  const db = dbFor(env, id, new Meter());
  const silent = (await listSilent(db, nowMs, 100)).filter(({ workspaceId }) => workspaceId === id);
  await reassignSilent(env, db, nowMs, silent);
  return silent.map(({ conversationId }) => conversationId);
}

test("members take turns, and one with the limit of conversations gets no more until one is resolved", async () => {
  const { workspace, members, team, handOff, read, assigneeOf, change } = await createTeam(2, { conversations_per_member: 2 });
  const ids = [await handOff(), await handOff(), await handOff(), await handOff()];
  const assigned = await Promise.all(ids.map(assigneeOf));
  expect(assigned.slice(0, 2).toSorted()).toEqual(members.map(({ id }) => id).toSorted());
  expect(assigned.slice(2)).toEqual(assigned.slice(0, 2));
  expect(await read(ids[0]!)).toMatchObject({ team_id: team.id, priority: "normal", status: "needs_human" });

  const [early, late] = [await handOff(), await handOff()];
  expect(await read(early)).toMatchObject({ team_id: team.id, assignee: null });
  const waiting = await workspace.call("GET", `/conversations?unassigned=true&team_id=${team.id}`);
  expect(waiting.body).toMatchObject({ total: 2, data: [{ id: late }, { id: early }] });
  // The more urgent one comes first.
  await change(late, { priority: "urgent" });
  await change(ids[1]!, { status: "resolved" });
  expect([await assigneeOf(early), await assigneeOf(late)]).toEqual([null, assigned[1]]);
  await workspace.call("POST", `/conversations/${ids[0]}/messages`, { content: "Done.", resolve: true });
  expect(await assigneeOf(early)).toBe(assigned[0]);
  expect((await workspace.call("GET", "/conversations?unassigned=true")).body.total).toBe(0);
});

test("a failure to assign is thrown, for the sweep to count", async () => {
  const { workspace, handOff } = await createTeam(1);
  const waiting = { workspaceId: workspace.id, conversationId: await handOff(), hours: {}, sinceMs: 0, minutes: 1 };
  const down = () => dbFor(envWith(d1WithFailingBatches(1, 2)), workspace.id, new Meter());
  await expect(assignQueued(env, down(), Date.now(), [waiting])).rejects.toThrow("it is down");
  await expect(reassignSilent(env, down(), Date.now(), [waiting])).rejects.toThrow("it is down");
});

test("hand-offs at once never give a member more than the limit, and each has one assignee", async () => {
  const { workspace, members, handOff } = await createTeam(3, { conversations_per_member: 5 });
  const ids = await Promise.all(Array.from({ length: 20 }, () => handOff()));
  const list = async (filter: string) => (await workspace.call("GET", `/conversations?${filter}`)).body.total;
  expect(new Set(ids).size).toBe(20);
  expect(await Promise.all(members.map(({ id }) => list(`assignee_id=${id}`)))).toEqual([5, 5, 5]);
  expect(await list("unassigned=true")).toBe(5);
  await Promise.all(ids.map((id) => workspace.call("PATCH", `/conversations/${id}`, { status: "resolved" })));
  expect(await list("unassigned=true")).toBe(0);
});

test("somebody who is away gets nothing, and what waits when becoming available, joining the team or by the sweep", async () => {
  const { workspace, members, team, handOff, assigneeOf } = await createTeam(1);
  const [ada] = members as [(typeof members)[0]];
  const be = (availability: string) => ada.call("PATCH", `/members/${ada.id}`, { availability });
  await be("away");
  const first = await handOff();
  expect(await assigneeOf(first)).toBeNull();
  await be("available");
  expect(await assigneeOf(first)).toBe(ada.id);
  await be("away");
  const second = await handOff();
  const grace = await member(workspace);
  const { body: changed } = await workspace.call("PATCH", `/teams/${team.id}`, { member_ids: [ada.id, grace.id] });
  expect(changed.member_ids).toEqual([ada.id, grace.id]);
  expect(await assigneeOf(second)).toBe(grace.id);
  expect((await workspace.call("GET", `/members/${grace.id}`)).body.team_ids).toEqual([team.id]);
  await grace.call("PATCH", `/members/${grace.id}`, { availability: "away" });
  const third = await handOff();
  await query(workspace.id, "UPDATE members SET availability = 'available' WHERE id = ?", grace.id);
  await sweep(env, Date.now());
  expect(await assigneeOf(third)).toBe(grace.id);
});

test("a conversation of a member who is removed goes to another one", async () => {
  const { workspace, members, team, handOff, assigneeOf } = await createTeam(2);
  const id = await handOff();
  const before = await assigneeOf(id);
  const other = members.find((one) => one.id !== before)!.id;
  await workspace.call("DELETE", `/members/${before}`);
  expect(await assigneeOf(id)).toBe(other);
  expect((await workspace.call("GET", `/teams/${team.id}`)).body.member_ids).toEqual([other]);
  await workspace.call("DELETE", `/teams/${team.id}`);
  expect((await workspace.call("GET", `/conversations/${id}`)).body).toMatchObject({ team_id: null, assignee: { id: other } });
});

test("who comes back gets the same member, or another one if that one is away", async () => {
  const { members, handOff, assigneeOf, change } = await createTeam(2);
  const id = await handOff();
  const comeBack = async () => {
    await change(id, { status: "resolved" });
    await handOff("Can I talk to a human?", { conversation_id: id });
    return assigneeOf(id);
  };
  const assigned = await assigneeOf(id);
  expect(await comeBack()).toBe(assigned);
  const ada = members.find((one) => one.id === assigned)!;
  await ada.call("PATCH", `/members/${ada.id}`, { availability: "away" });
  expect(await comeBack()).toBe(members.find((one) => one.id !== ada.id)!.id);
});

test("a rule leaves out a member who was removed from the team", async () => {
  const workspace = await createWorkspace();
  const [agent, ada] = [await createAgent(workspace), await member(workspace)];
  await workspace.call("POST", "/routing-rules", { name: "Ada", actions: { assignee_id: ada.id, tag: "ada" } });
  const handOff = async () => {
    const { body } = await workspace.call("POST", `/agents/${agent.id}/messages`, { message: "Can I talk to a human?" });
    return (await workspace.call("GET", `/conversations/${body.conversation_id}`)).body;
  };
  expect(await handOff()).toMatchObject({ tags: ["ada"], assignee: { id: ada.id } });
  expect((await workspace.call("DELETE", `/members/${ada.id}`)).status).toBe(204);
  expect(await handOff()).toMatchObject({ tags: ["ada"], assignee: null });
});

test("a conversation of a silent assignee goes to another member, unless the team is closed", async () => {
  const { workspace, members, handOff, assigneeOf, change } = await createTeam(2, { unassign_after_minutes: 10 });
  const [id, answered, snoozed] = [await handOff(), await handOff(), await handOff()];
  const before = await assigneeOf(id);
  const other = members.find((one) => one.id !== before)!.id;
  await workspace.call("POST", `/conversations/${answered}/messages`, { content: "I am on it." });
  const now = Date.now();
  await change(snoozed, { snoozed_until: new Date(now + MINUTE).toISOString() });
  const assigned = await Promise.all([answered, snoozed].map(assigneeOf));

  expect(await reassignAt(workspace, now + 9 * MINUTE)).toEqual([]);
  const closed = { hours: { monday: [{ from: "00:00", to: "00:01" }] }, holidays: [new Date(now).toISOString().slice(0, 10)] };
  await workspace.call("PATCH", "/business-hours", closed);
  expect(await reassignAt(workspace, now + 10.5 * MINUTE)).toEqual([id]);
  expect(await assigneeOf(id)).toBe(before);
  const queued = await handOff();
  expect(await assigneeOf(queued)).toBeNull();
  await change(queued, { status: "resolved" });
  await workspace.call("PATCH", "/business-hours", { hours: null });
  // It was put off, so that conversations whose time is over come first.
  expect(await reassignAt(workspace, now + 10.8 * MINUTE)).toEqual([]);
  await query(workspace.id, "DELETE FROM sweep_backoffs WHERE key = ?", id);
  expect(await reassignAt(workspace, now + 10.8 * MINUTE)).toEqual([id]);
  expect(await assigneeOf(id)).toBe(other);
  expect(await Promise.all([answered, snoozed].map(assigneeOf))).toEqual(assigned);
  expect((await workspace.call("GET", "/conversations?unassigned=true")).body.total).toBe(0);
});

test.each([30, 480, 1440])(
  "an assignee keeps a conversation for %i minutes of business hours, however many days they take",
  async (limit) => {
    const { workspace, handOff, assigneeOf } = await createTeam(2, { unassign_after_minutes: limit });
    const [id, start] = [await handOff(), Date.now()];
    const morning = [{ from: "06:00", to: "12:00" }];
    const hours = Object.fromEntries(WEEKDAYS.map((day) => [day, morning]));
    await workspace.call("PATCH", "/business-hours", { hours });
    const before = await assigneeOf(id);
    const isOpen = (ms: number) => [6, 7, 8, 9, 10, 11].includes(new Date(ms).getUTCHours());
    let openMinutes = 0;
    let atMs = start;
    for (; (await assigneeOf(id)) === before && openMinutes < limit + 60; atMs += 10 * MINUTE) {
      await reassignAt(workspace, atMs);
      for (let minute = 0; minute < 10; minute++) if (isOpen(atMs + minute * MINUTE)) openMinutes++;
    }
    expect(openMinutes).toBeGreaterThanOrEqual(limit);
    expect(openMinutes).toBeLessThanOrEqual(limit + 30);
  },
);

test("a visitor who writes again waits since the first message without a reply, and the end of a snooze begins the wait again", async () => {
  const { workspace, handOff, assigneeOf, change } = await createTeam(2, { unassign_after_minutes: 10 });
  const ids = [await handOff(), await handOff(), await handOff(), await handOff()];
  const [id, over, answered, ended] = ids as [string, string, string, string];
  const assigned = await Promise.all(ids.map(assigneeOf));
  const now = Date.now();
  await query(workspace.id, "UPDATE conversations SET unanswered_since = ? WHERE workspace_id = ?", now - 9 * MINUTE, workspace.id);
  for (const one of [over, answered, ended]) await change(one, { snoozed_until: new Date(now + 60 * MINUTE).toISOString() });
  await query(workspace.id, "UPDATE conversations SET snoozed_until = ? WHERE id = ?", now - MINUTE, over);
  await handOff("Is anybody there?", { conversation_id: id });
  await handOff("Is anybody there?", { conversation_id: answered });
  await change(ended, { snoozed_until: null });
  expect(await reassignAt(workspace, now + 2 * MINUTE)).toEqual([id]);
  expect(await assigneeOf(id)).not.toBe(assigned[0]);
  expect(await Promise.all([over, answered, ended].map(assigneeOf))).toEqual(assigned.slice(1));
});

test("a resolved conversation that is reopened leaves a member who was removed and a team that was deleted", async () => {
  const { workspace, members, team, handOff, read, change } = await createTeam(1);
  const id = await handOff();
  await change(id, { status: "resolved" });
  await workspace.call("DELETE", `/members/${members[0]!.id}`);
  await workspace.call("DELETE", `/teams/${team.id}`);
  expect(await read(id)).toMatchObject({ team_id: team.id, assignee: { id: members[0]!.id } });
  await change(id, { status: "needs_human" });
  expect(await read(id)).toMatchObject({ status: "needs_human", team_id: null, assignee: null });
});

test("the first rule that fits routes a hand-off of each channel, by channel, agent, language, tag and words", async () => {
  const workspace = await createWorkspace();
  const [agent, other] = [await createAgent(workspace), await createAgent(workspace)];
  const [team, ada] = [(await workspace.call("POST", "/teams", { name: "Billing" })).body, await member(workspace)];
  const rules = [
    { conditions: { contains: ["money back", "Rückerstattung"] }, actions: { team_id: team.id, priority: "high" } },
    { conditions: { language: "de" }, actions: { tag: "german" } },
    { conditions: { channel: "widget" }, actions: { tag: "website", assignee_id: ada.id } },
    { conditions: { agent_id: other.id, tag: "vip" }, actions: { priority: "urgent" } },
  ];
  for (const rule of rules) await workspace.call("POST", "/routing-rules", { name: "Rule", ...rule });
  const handOff = async (message: string, more: object = {}, agentId = agent.id) => {
    const { body } = await workspace.call("POST", `/agents/${agentId}/messages`, { message, ...more });
    return (await workspace.call("GET", `/conversations/${body.conversation_id}`)).body;
  };
  const none = { team_id: null, priority: "normal", tags: [], assignee: null, status: "needs_human" };
  expect(await handOff("Can I talk to a human?")).toMatchObject(none);
  const refund = await handOff("I want MONEY, back! Can I talk to a human?");
  expect(refund).toMatchObject({ ...none, team_id: team.id, priority: "high" });
  expect(await handOff("Ich will mit einem Menschen sprechen")).toMatchObject({ ...none, tags: ["german"] });

  const widget = { headers: newAddress() };
  const asked = await send("POST", `/widget/v1/agents/${agent.id}/messages`, { ...widget, body: { message: "How are refunds paid?" } });
  const { visitor_token, conversation_id } = asked.body;
  await workspace.call("PATCH", `/conversations/${conversation_id}`, { status: "open" });
  const headers = { ...widget.headers, Authorization: `Bearer ${visitor_token}` };
  await send("POST", `/widget/v1/conversations/${conversation_id}/handoff`, { headers });
  const visited = (await workspace.call("GET", `/conversations/${conversation_id}`)).body;
  expect(visited).toMatchObject({ tags: ["website"], assignee: { id: ada.id, name: "Grace Hopper" } });

  // A conversation that comes back keeps its assignee, and the rule applies to the rest.
  const started = { agent_id: other.id, channel: "api", user: { id: "u1" }, content: "Hello" };
  const { body: talk } = await workspace.call("POST", "/conversations", started);
  const vip = { tags: ["vip"], status: "resolved", assignee: { id: "external", name: "Eve" } };
  await workspace.call("PATCH", `/conversations/${talk.id}`, vip);
  const again = await handOff("Can I talk to a human?", { conversation_id: talk.id, user: { id: "u1" } }, other.id);
  expect(again).toMatchObject({ priority: "urgent", assignee: { id: "external" } });

  // What a rule names and does not exist any more is left out.
  await workspace.call("DELETE", `/teams/${team.id}`);
  expect(await handOff("My money back! Can I talk to a human?")).toMatchObject({ ...none, priority: "high" });
  const { body: listed } = await workspace.call("GET", "/conversations?priority=high");
  expect(listed.total).toBe(2);
  expect((await workspace.call("GET", "/conversations?priority=normal")).body.total).toBe(3);
  const audited = await workspace.call("GET", "/audit?action=team.deleted");
  expect(audited.body.data[0].target_id).toBe(team.id);
});

test("a conversation is moved to another team and given on by hand", async () => {
  const { workspace, agent, members, team, handOff, read, assigneeOf, change } = await createTeam(2);
  const id = await handOff();
  const before = await assigneeOf(id);
  expect((await change(id, { assign: "round_robin" })).body.assignee.id).toBe(members.find((one) => one.id !== before)!.id);
  expect((await change(id, { team_id: null, priority: "low" })).body).toMatchObject({ team_id: null, priority: "low" });
  const code = async (body: object, of = id) => {
    const { status, body: answer } = await change(of, body);
    return [status, answer.error.code, answer.detail?.[0].loc.join(".")];
  };
  expect(await code({ assign: "round_robin" })).toEqual([409, "conflict", undefined]);
  expect(await code({ team_id: agent.id })).toEqual([422, "validation_error", "body.team_id"]);
  expect(await code({ assign: "round_robin", assignee: null })).toEqual([422, "validation_error", "body.assign"]);
  await change(id, { status: "resolved" });
  expect(await code({ team_id: team.id, assign: "round_robin" })).toEqual([409, "conflict", undefined]);
  const taken = await change(id, { team_id: team.id, assign: "round_robin", status: "needs_human" });
  expect(members.map((one) => one.id)).toContain(taken.body.assignee.id);
  expect(await read(id)).toMatchObject({ team_id: team.id });
  expect((await workspace.call("GET", `/conversations?team_id=${team.id}&q=x`)).status).toBe(422);
});
