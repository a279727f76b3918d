import { expect, test } from "vitest";
import { createAgent, createWorkspace, listen, newAddress, query, send } from "../harness.ts";

const EMAIL = "ann@example.com";

/** A visitor who left one lead with an address, one with another and one with none; and somebody else's lead. */
async function leave() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  await listen(workspace);
  const widget = `/widget/v1/agents/${agent.id}`;
  const headers = newAddress();
  const written = await send("POST", `${widget}/messages`, { body: { message: "When are refunds paid?" }, headers });
  const theirs = { visitor_token: written.body.visitor_token };
  for (const contact of [{ email: EMAIL }, { email: "ann@work.example" }, { phone: "+45 12 34 56 78" }]) {
    expect((await send("POST", `${widget}/leads`, { body: { name: "Ann", ...contact, ...theirs }, headers })).status).toBe(201);
  }
  await send("POST", `${widget}/leads`, { body: { name: "Ada", email: "ada@example.com" }, headers });
  const [visitor] = await query<{ anon_id: string }>(workspace.id, "SELECT anon_id FROM visitors WHERE workspace_id = ?", workspace.id);
  return { workspace, anonId: visitor!.anon_id };
}

test.for(["anon_id", "external_id"])("an erasure by %s erases all leads of the person's visitors", async (type) => {
  const { workspace, anonId } = await leave();
  await query(workspace.id, "UPDATE visitors SET external_id = 'u-1' WHERE workspace_id = ?", workspace.id);
  const value = { anon_id: anonId, external_id: "u-1" }[type]!;
  const path = `/privacy/visitors?${new URLSearchParams({ [type]: value }).toString()}`;
  expect((await workspace.call("GET", path)).body.counts).toMatchObject({ leads: 3 });
  expect((await workspace.call("DELETE", path)).body.deleted).toMatchObject({ visitors: 1, conversations: 1, leads: 3 });
  expect(await query(workspace.id, "SELECT name FROM leads WHERE workspace_id = ?", workspace.id)).toEqual([{ name: "Ada" }]);
  expect(await query(workspace.id, "SELECT type FROM events WHERE workspace_id = ?", workspace.id)).toEqual([{ type: "lead.created" }]);
  expect(await query(workspace.id, "SELECT event_type FROM deliveries WHERE workspace_id = ?", workspace.id)).toEqual([
    { event_type: "lead.created" },
  ]);
  for (const words of ["Ann", "12345678"]) expect((await workspace.call("GET", `/leads?q=${words}`)).body.total).toBe(0);
});
