import { expect, test } from "vitest";
import { createAgent, createNeighbour, createWorkspace } from "../harness.ts";
import { invite } from "../members/team.ts";

test("rules keep their order when one is added, moved or deleted", async () => {
  const workspace = await createWorkspace();
  const call = (method: string, path: string, body?: object) => workspace.call(method, path, body);
  const add = async (name: string, more: object = {}) =>
    (await call("POST", "/routing-rules", { name, actions: { tag: name }, ...more })).body;
  const names = async () => (await call("GET", "/routing-rules")).body.data.map((rule: any) => `${rule.position} ${rule.name}`);
  const [a, b] = [await add("a"), await add("b")];
  const c = await add("c", { position: 1 });
  expect(await names()).toEqual(["1 c", "2 a", "3 b"]);
  expect(c).toMatchObject({ position: 1, conditions: {}, actions: { tag: "c" } });
  await call("PATCH", `/routing-rules/${b.id}`, { position: 1 });
  expect(await names()).toEqual(["1 b", "2 c", "3 a"]);
  await call("PATCH", `/routing-rules/${b.id}`, { position: 50, conditions: { contains: ["Refund"] } });
  expect(await names()).toEqual(["1 c", "2 a", "3 b"]);
  expect((await call("GET", `/routing-rules/${b.id}`)).body).toMatchObject({ name: "b", conditions: { contains: ["Refund"] } });
  expect((await call("DELETE", `/routing-rules/${c.id}`)).status).toBe(204);
  expect((await call("DELETE", `/routing-rules/${c.id}`)).status).toBe(404);
  expect(await names()).toEqual(["1 a", "2 b"]);
  expect((await call("PATCH", `/routing-rules/${a.id}`, { name: "A" })).body).toMatchObject({ name: "A", position: 1 });
  const audit = await call("GET", "/audit?action=routing_rule.updated");
  expect(audit.body.data[0]).toMatchObject({ target_name: "A", detail: { fields: ["name"] } });
});

test("teams and rules name only records of their workspace, and are bounded", async () => {
  const workspace = await createWorkspace();
  const call = (method: string, path: string, body?: object) => workspace.call(method, path, body);
  const agent = await createAgent(workspace);
  const ada = (await invite(workspace, "agent")).body;
  const neighbour = await createNeighbour(workspace);
  const { body: elsewhere } = await neighbour.call("POST", "/teams", { name: "Theirs" });
  const locs = async (method: string, path: string, body: object) => {
    const answer = await call(method, path, body);
    return [answer.status, ...(answer.body.detail ?? []).map(({ loc }: any) => loc.join("."))];
  };
  const { body: team } = await call("POST", "/teams", { name: " A\nteam ", member_ids: [ada.id, ada.id] });
  expect(team).toMatchObject({ name: "A team", member_ids: [ada.id], conversations_per_member: 10, unassign_after_minutes: null });
  expect(await locs("POST", "/teams", { name: "B", member_ids: [ada.id, agent.id] })).toEqual([422, "body.member_ids.1"]);
  expect(await locs("PATCH", `/teams/${team.id}`, { member_ids: [agent.id] })).toEqual([422, "body.member_ids.0"]);
  expect(await locs("PATCH", `/teams/${team.id}`, { conversations_per_member: 0 })).toEqual([422, "body.conversations_per_member"]);
  expect((await call("GET", `/teams/${elsewhere.id}`)).status).toBe(404);

  const rule = (actions: object, conditions: object = {}) => locs("POST", "/routing-rules", { name: "Rule", actions, conditions });
  expect(await rule({ team_id: elsewhere.id })).toEqual([422, "body.actions.team_id"]);
  expect(await rule({ assignee_id: agent.id }, { agent_id: ada.id })).toEqual([
    422,
    "body.conditions.agent_id",
    "body.actions.assignee_id",
  ]);
  expect(await rule({ assign: "round_robin" })).toEqual([422, "body.actions.assign"]);
  expect(await rule({ team_id: team.id, assign: "round_robin", assignee_id: ada.id })).toEqual([422, "body.actions.assign"]);
  expect(await rule({})).toEqual([422, "body.actions"]);
  expect(await rule({ tag: "x" }, { contains: ["!"] })).toEqual([422, "body.conditions.contains.0"]);
  expect((await rule({ tag: "x" }, { colour: "red" }))[0]).toBe(422);
  const added = await Promise.all(
    Array.from({ length: 51 }, () => call("POST", "/routing-rules", { name: "Rule", actions: { tag: "x" } })),
  );
  expect(added.map(({ status }) => status).toSorted()).toEqual([...Array.from({ length: 50 }, () => 201), 409]);
  const teams = await Promise.all(Array.from({ length: 50 }, () => call("POST", "/teams", { name: "Team" })));
  expect(teams.map(({ status }) => status).toSorted()).toEqual([...Array.from({ length: 49 }, () => 201), 409]);
  expect((await call("GET", "/teams")).body.data).toHaveLength(50);
});
