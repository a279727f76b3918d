import { expect } from "vitest";
import { type Answer, createAgent, createWorkspace, listen, newAddress, send } from "../harness.ts";
import { DAY_MS } from "../../src/platform/time.ts";
import { countBy, faults, sendUntilAnswered, withEachFault } from "./scenario.ts";

const LEAD = { name: "Ann", email: "ann@example.com" };

await withEachFault("a lead", {
  prepare: async () => {
    const workspace = await createWorkspace();
    const agent = await createAgent(workspace, { allowed_origins: ["*"] });
    await listen(workspace, ["lead.created"]);
    const headers = newAddress();
    const leave = () => send("POST", `/widget/v1/agents/${agent.id}/leads`, { body: LEAD, headers });
    // A form that is sent again on the next day is another lead.
    faults.clock.advance(DAY_MS - (Date.now() % DAY_MS));
    return { workspace, leave, answer: undefined as Answer | undefined };
  },
  act: async (fixture) => {
    fixture.answer = await sendUntilAnswered(fixture.leave);
  },
  check: async ({ workspace, answer }) => {
    expect(answer).toMatchObject({ status: 201, body: LEAD });
    for (const search of ["", "?q=ann"]) {
      expect((await workspace.call("GET", `/leads${search}`)).body).toMatchObject({ total: 1, data: [{ id: answer!.body.id }] });
    }
    expect(await countBy("events", "type", workspace.id)).toEqual({ "lead.created": 1 });
    expect(await countBy("deliveries", "event_type", workspace.id)).toEqual({ "lead.created": 1 });
  },
});
