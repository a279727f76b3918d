import { expect, test } from "vitest";
import { LANGUAGES } from "../../src/text/languages.ts";
import { createAgent, createWorkspace, learn, listen, query } from "../harness.ts";
import { visitorOf } from "../widget/widget.ts";
import { HANDBOOK, UNKNOWN } from "./handbook.ts";

const HUMAN = "I want to talk to a human";
const { handoff_messages: english } = LANGUAGES["en"]!;

/** Hours that begin in two days, in UTC. */
function closedHours() {
  const opens = new Date(Date.now() + 2 * 86_400_000);
  opens.setUTCHours(9, 0, 0, 0);
  const day = new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "UTC" }).format(opens).toLowerCase();
  return { body: { time_zone: "UTC", hours: { [day]: [{ from: "09:00", to: "17:00" }] } }, opensAt: opens.toISOString(), day };
}

async function createFixture(own: Record<string, unknown> = {}) {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, own);
  await learn(workspace, agent.id, HANDBOOK);
  await listen(workspace);
  const ask = async (body: Record<string, unknown>) => (await workspace.call("POST", `/agents/${agent.id}/messages`, body)).body;
  const setHours = (body: Record<string, unknown>) => workspace.call("PATCH", "/business-hours", body);
  const get = async (id: string) => (await workspace.call("GET", `/conversations/${id}`)).body;
  return { workspace, agent, ask, setHours, get };
}

test("outside the hours a hand-off says when the team opens, in the visitor's language, from the next request on", async () => {
  const { workspace, ask, setHours, get } = await createFixture({ handoff_message: "A human comes." });
  expect((await ask({ message: HUMAN })).answer).toBe("A human comes.");
  const { body, opensAt, day } = closedHours();
  await setHours(body);
  const asked = await ask({ message: HUMAN });
  expect(asked).toMatchObject({ needs_human: true, status: "needs_human", handoff_reason: "customer_request" });
  expect(asked.answer.toLowerCase()).toContain(day);
  expect(asked.answer).toContain(english.closed.split("{{")[0]);
  const german = await ask({ message: "Ich möchte bitte mit einem Menschen sprechen" });
  expect(german.answer).toContain(LANGUAGES["de"]!.handoff_messages.closed.split("{{")[0]);
  const read = await get(asked.conversation_id);
  expect(read).toMatchObject({ team_open: false, opens_at: opensAt, handoff: { team_open: false, opens_at: opensAt } });
  const [event] = await query<{ payload: string }>(
    workspace.id,
    "SELECT payload FROM events WHERE conversation_id = ? AND type = 'handoff.created'",
    asked.conversation_id,
  );
  expect(event!.payload).toContain(`"team_open":false,"opens_at":"${opensAt}"`);
  await setHours({ closed_message: "Back: {{opens_at}} ({{opens_at}})." });
  expect((await ask({ message: HUMAN })).answer).toMatch(/^Back: (.*day.*9:00.*) \(\1\)\.$/);
  await setHours({ hours: null });
  const open = await ask({ message: HUMAN });
  expect(open.answer).toBe("A human comes.");
  expect(await get(open.conversation_id)).toMatchObject({ team_open: true, opens_at: null, handoff: { team_open: true, opens_at: null } });
});

test("contact details are asked for outside the hours only if the setting says so and none are known", async () => {
  const { workspace, agent, ask, setHours } = await createFixture();
  await setHours({ ...closedHours().body, closed_message: "Closed." });
  expect((await ask({ message: HUMAN })).answer).toBe("Closed.");
  await setHours({ ask_contact_details: true });
  expect((await ask({ message: HUMAN })).answer).toBe(`Closed.\n\n${english.contact}`);
  expect((await ask({ message: HUMAN, user: { id: "u-1", email: "ann@example.com" } })).answer).toBe("Closed.");
  await workspace.call("PATCH", `/agents/${agent.id}`, { allowed_origins: ["*"] });
  const visitor = visitorOf(agent.id);
  const { body: first } = await visitor.write({ message: HUMAN });
  expect(first.answer).toContain(english.contact);
  const lead = { email: "bob@example.com", visitor_token: first.visitor_token, conversation_id: first.conversation_id };
  expect((await visitor.send("POST", `/agents/${agent.id}/leads`, lead)).status).toBe(201);
  expect((await visitor.write({ message: HUMAN, visitor_token: first.visitor_token })).body.answer).toBe("Closed.");
});

test("visitors learn whether the team is there, and the button for a human says when it opens", async () => {
  const { workspace, agent, setHours } = await createFixture();
  const { body, opensAt } = closedHours();
  await setHours({ ...body, ask_contact_details: true });
  const visitor = visitorOf(agent.id);
  const opening = { team_open: false, opens_at: opensAt };
  expect((await visitor.send("GET", `/agents/${agent.id}`)).body).toMatchObject({ ...opening, handoff: "on" });
  const { body: asked } = await visitor.write({});
  const handedOff = await visitor.on(asked.visitor_token, asked.conversation_id, "POST", "handoff");
  expect(handedOff.body).toMatchObject({ status: "needs_human", handoff: opening });
  expect(handedOff.body.handoff_message).toContain(english.contact);
  const polled = await visitor.on(asked.visitor_token, asked.conversation_id, "GET", "messages");
  expect(polled.body).toMatchObject({ ...opening, data: [{}, {}, { role: "system", content: handedOff.body.handoff_message }] });
  expect((await workspace.call("GET", `/conversations/${asked.conversation_id}`)).body).toMatchObject(opening);
});

const FORM = { fields: [{ name: "email", required: true }] };

test("an agent with handoff off asks no human, and says so in the visitor's language", async () => {
  const { workspace, agent, ask, get } = await createFixture({
    handoff: "off",
    handoff_off_messages: { de: "Hier antwortet nur die KI." },
  });
  const questions = [HUMAN, UNKNOWN];
  for (const message of questions) {
    const answer = await ask({ message });
    expect(answer).toMatchObject({ answer: english.off, needs_human: false, handoff_reason: null, status: "ai_handled", citations: [] });
    expect(await get(answer.conversation_id)).toMatchObject({ status: "ai_handled", handoff: null, unread_count: 0 });
    const trace = await workspace.call("GET", `/conversations/${answer.conversation_id}/messages/${answer.message_id}/trace`);
    expect(trace.body.decision.explanation).toContain("hands nothing off");
  }
  expect((await ask({ message: "Ich möchte bitte mit einem Menschen sprechen" })).answer).toBe("Hier antwortet nur die KI.");
  expect((await query(workspace.id, "SELECT 1 FROM handoffs WHERE workspace_id = ?", workspace.id)).length).toBe(0);
  await workspace.call("PATCH", `/agents/${agent.id}`, { contact_form: FORM });
  expect((await ask({ message: HUMAN })).answer).toBe(`${english.off}\n\n${english.contact}`);
  await workspace.call("PATCH", `/agents/${agent.id}`, { handoff: "on" });
  expect(await ask({ message: HUMAN })).toMatchObject({ needs_human: true, status: "needs_human" });
});

test("the button for a human is answered with the same text, and the conversation stays the agent's", async () => {
  const { agent, workspace } = await createFixture({ handoff: "off" });
  const visitor = visitorOf(agent.id);
  expect((await visitor.send("GET", `/agents/${agent.id}`)).body).toMatchObject({ handoff: "off" });
  const { body: asked } = await visitor.write({});
  const { body } = await visitor.on(asked.visitor_token, asked.conversation_id, "POST", "handoff");
  expect(body).toEqual({ handoff: null, status: "ai_handled", handoff_message: english.off });
  const polled = await visitor.on(asked.visitor_token, asked.conversation_id, "GET", "messages");
  expect(polled.body.data.at(-1)).toMatchObject({ role: "system", content: english.off, needs_human: false });
  await workspace.call("POST", `/conversations/${asked.conversation_id}/messages`, { content: "I am here." });
  const again = await visitor.on(asked.visitor_token, asked.conversation_id, "POST", "handoff");
  expect(again.body).toMatchObject({ handoff: null, status: "human_active" });
  const after = await visitor.on(asked.visitor_token, asked.conversation_id, "GET", "messages");
  expect(after.body.data.at(-1)).toMatchObject({ role: "human", content: "I am here." });
});

test("words of an agent hand off as whole words, whatever their case, accents and punctuation", async () => {
  const { workspace, agent, ask } = await createFixture({ handoff_words: ["Kündigung", "cancel my contract", "解約", "C++"] });
  const said = ["Meine KUNDIGUNG, bitte", "Can I cancel, my contract?", "解約したいです", "What is c++"];
  for (const message of said)
    expect(await ask({ message }), message).toMatchObject({ needs_human: true, handoff_reason: "customer_request" });
  const others = ["When are refunds paid, without Kündigungsfrist?", "When are refunds paid if I cancel my contracts?"];
  for (const message of others) expect(await ask({ message }), message).not.toMatchObject({ handoff_reason: "customer_request" });
  await workspace.call("PATCH", `/agents/${agent.id}`, { handoff: "off" });
  expect(await ask({ message: said[0]! })).toMatchObject({ needs_human: false, answer: LANGUAGES["de"]!.handoff_messages.off });
});

test("hand-off settings are versioned and bounded; a version that is older than them leaves them as they are", async () => {
  const { workspace, agent } = await createFixture();
  const path = `/agents/${agent.id}`;
  await query(
    agent.id,
    "UPDATE agent_versions SET settings = json_remove(settings, '$.handoff', '$.handoffWords', '$.handoffOffMessages') WHERE agent_id = ?",
    agent.id,
  );
  const settings = { handoff: "off", handoff_words: ["refund"], handoff_off_messages: { en: "No." } };
  expect((await workspace.call("PATCH", path, settings)).body).toMatchObject({ ...settings, version: 2 });
  const { body: version } = await workspace.call("GET", `${path}/versions/2`);
  expect(version).toMatchObject({ settings, changed_fields: expect.arrayContaining(["handoff", "handoff_words", "handoff_off_messages"]) });
  expect((await workspace.call("GET", `${path}/versions/1`)).status).toBe(200);
  const restored = await workspace.call("POST", `${path}/versions/1/restore`, {});
  expect(restored.status).toBe(200);
  expect((await workspace.call("GET", path)).body).toMatchObject(settings);
  const refused: [Record<string, unknown>, string][] = [
    [{ handoff: "never" }, "handoff"],
    [{ handoff_words: ["!?"] }, "handoff_words.0"],
    [{ handoff_words: ["x".repeat(101)] }, "handoff_words.0"],
    [{ handoff_words: Array.from({ length: 101 }, (_, at) => `w${at}`) }, "handoff_words"],
    [{ handoff_off_messages: { xx: "No." } }, "handoff_off_messages.xx"],
    [{ handoff_off_messages: { en: "" } }, "handoff_off_messages.en"],
  ];
  for (const [body, field] of refused) {
    const { status, body: problem } = await workspace.call("PATCH", path, body);
    expect([status, JSON.stringify(problem)], field).toMatchObject([422, expect.stringContaining(field.split(".").at(-1)!)]);
  }
});
