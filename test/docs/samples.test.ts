import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { callId } from "../../src/chat/suspended-turns.ts";
import { newId, shardOf } from "../../src/platform/db/ids.ts";
import { addSamples } from "../../src/docs/samples.ts";
import { addApproval, createAgent, createKey, createWorkspace, fileForm, learn, listen, query } from "../harness.ts";
import { fetchDocument, listOperations, type Operation } from "../platform/http/document.ts";
import { parseCurl } from "./shell.ts";

const OPERATIONS = await listOperations();
const HOST = "http://service.test";

interface Sample {
  lang: string;
  label: string;
  source: string;
}

const samplesOf = ({ definition }: Operation): Sample[] => definition["x-codeSamples"];

/** The operations that answer as JSON or as a stream. */
const STREAMED = new Set(["askAgent", "sendToolResults", "createChatCompletion", "suggestReply"]);

/** The id of a source in the examples of bodies. */
const EXAMPLE_ID = "019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00";

/** The id of a tool call in the examples of bodies. */
const EXAMPLE_CALL_ID = "call_AZqfDjwbfUKKVW8dLjxLAAGanw48G31CilVvHS48SwE_1_1";

/** Deletions come last, the deepest first, so that the records exist until then. */
const depthOfDeletion = ({ method, path }: Operation) => (method === "DELETE" ? -path.split("/").length : -Infinity);
const DELETIONS_LAST = OPERATIONS.toSorted((a, b) => (depthOfDeletion(a) < depthOfDeletion(b) ? -1 : 1));

/** The environment variables of the samples, for a workspace with a record of every kind. */
async function createVariables(): Promise<Record<string, string>> {
  const workspace = await createWorkspace();
  const parameters = { type: "object", properties: { order: { type: "string" } }, required: ["order"] };
  const url = "https://api.example.com/orders/{order}";
  const tool = { name: "order_status", description: "Says where an order is.", parameters, method: "GET", url };
  const { id: agentId } = await createAgent(workspace, { tools: [tool] });
  const source = await learn(workspace, agentId, "# Refunds\n\nRefunds are paid within five working days.");
  const webhook = await listen(workspace, ["conversation.created"]);
  const answer = await workspace.call("POST", `/agents/${agentId}/answers`, { question: "Who?", answer: "Us." });
  const cases = [{ question: "Who?", expect: { refusal: true } }];
  const evaluation = await workspace.call("POST", `/agents/${agentId}/evaluations`, { cases });
  const asked = await workspace.call("POST", `/agents/${agentId}/messages`, { message: "When are refunds paid?" });
  const unanswered = await workspace.call("POST", `/agents/${agentId}/messages`, { message: "How is bread baked?" });
  await workspace.call("POST", `/conversations/${unanswered.body.conversation_id}/messages`, { content: "In an oven." });
  const [draft] = (await workspace.call("GET", `/agents/${agentId}/drafts`)).body.data;
  const [delivery] = await query<{ id: string }>(
    workspace.id,
    "UPDATE deliveries SET status = 'failed' WHERE workspace_id = ? RETURNING id",
    workspace.id,
  );
  const team = await workspace.call("POST", "/teams", { name: "Billing" });
  const rule = await workspace.call("POST", "/routing-rules", { name: "Refunds", actions: { team_id: team.body.id } });
  const saved = await workspace.call("POST", "/saved-replies", { name: "Sent", content: "It is sent." });
  const member = await workspace.call("POST", "/members", { email: "ann@example.org", role: "agent" });
  const sessionId = newId(shardOf(workspace.id), Date.now());
  const session =
    "INSERT INTO member_sessions (id, workspace_id, member_id, hash, method, created_at, expires_at) VALUES (?, ?, ?, '', 'oidc', 0, 4e12)";
  await query(workspace.id, session, sessionId, workspace.id, member.body.id);
  const applicationId = newId(shardOf(workspace.id), Date.now());
  const application =
    "INSERT INTO applications (id, workspace_id, member_id, grant_id, grant_record, name, host, tokens, created_at, expires_at) VALUES (?, ?, ?, 'g', '{}', 'Claude', 'claude.ai', '[{}]', 0, 4e12)";
  await query(workspace.id, application, applicationId, workspace.id, member.body.id);
  const of = { agentId, conversationId: asked.body.conversation_id, messageId: asked.body.message_id };
  return {
    APPROVAL_ID: await addApproval(workspace, "approved", of),
    DECLINED_ID: await addApproval(workspace, "declined", of),
    SAVED_REPLY_ID: saved.body.id,
    TEAM_ID: team.body.id,
    ROUTING_RULE_ID: rule.body.id,
    MEMBER_ID: member.body.id,
    SESSION_ID: sessionId,
    APPLICATION_ID: applicationId,
    SUPPORT_URL: HOST,
    SUPPORT_KEY: workspace.key,
    SUPPORT_AGENT: agentId,
    SOURCE_ID: source.id,
    SOURCE_KEY: "refunds",
    ATTACHMENT_ID: (await workspace.call("POST", "/attachments", fileForm("A text"))).body.id,
    ANSWER_ID: answer.body.id,
    EVALUATION_ID: evaluation.body.id,
    COMPARE_TO: evaluation.body.id,
    CONVERSATION_ID: asked.body.conversation_id,
    MESSAGE_ID: asked.body.message_id,
    DRAFT_ID: draft.id,
    WEBHOOK_ID: webhook.id,
    DELIVERY_ID: delivery!.id,
    KEY_ID: (await createKey(workspace, ["agents:read"])).id,
    TOOL_NAME: tool.name,
    VERSION: "1",
  };
}

test.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))(
  "%s has curl, TypeScript and Python samples",
  (operationId, operation) => {
    const labels = ["curl", "TypeScript", "Python"];
    const streamed = labels.map((label) => `${label}, streamed`);
    const samples = samplesOf(operation);
    expect(samples.map(({ label }) => label)).toEqual(STREAMED.has(operationId) ? [...labels, ...streamed] : labels);
    expect(samples[1]!.source).toContain(`client.${operationId}`);
    for (const { source } of samples) expect(source).toContain("SUPPORT_KEY");
  },
);

test("every curl sample is answered with the documented status", async () => {
  const variables = await createVariables();
  const call = callId({ conversationId: variables["CONVERSATION_ID"]!, answerId: variables["MESSAGE_ID"]! }, 1, 0);
  for (const operation of DELETIONS_LAST) {
    for (const { label, source } of samplesOf(operation).filter(({ lang }) => lang === "Shell")) {
      const approval = operation.operationId === "declineToolCall" ? { APPROVAL_ID: variables["DECLINED_ID"]! } : {};
      const command = source.replaceAll(EXAMPLE_ID, variables["SOURCE_ID"]!).replaceAll(EXAMPLE_CALL_ID, call);
      const { url, ...init } = parseCurl(command, { ...variables, ...approval });
      const response = await exports.default.fetch(new Request(url, init as RequestInit));
      const text = await response.text();
      const expected = Object.keys(operation.definition["responses"]).find((status) => status.startsWith("2"));
      expect(response.status, `${operation.operationId}, ${label}: ${text}`).toBe(Number(expected));
      if (label === "curl, streamed")
        expect(text).toMatch(operation.operationId === "createChatCompletion" ? /data: \[DONE\]/ : /event: done/);
    }
  }
});

test("the example of a body has only fields of its schema", async () => {
  const { components } = await fetchDocument();
  for (const { operationId, definition } of OPERATIONS) {
    const ref: string | undefined = definition["requestBody"]?.content["application/json"]?.schema.$ref;
    if (ref === undefined) continue;
    const { example, properties } = components.schemas[ref.split("/").at(-1)!];
    // Samples that do not stream leave `stream` out.
    expect(Object.keys({ ...example, ...(properties.stream && { stream: false }) }).length, operationId).toBeGreaterThan(0);
    for (const name of Object.keys(example)) expect(Object.keys(properties), operationId).toContain(name);
  }
});

test("special characters are escaped for a shell, TypeScript and Python", () => {
  const note = { text: `It's "5" \\ $HOME`, none: null, yes: true, list: ["a", 1], deep: { no: false } };
  const document = {
    servers: [{ url: "/api/v1" }],
    paths: {
      "/notes": {
        post: {
          operationId: "createNote",
          requestBody: { content: { "application/json": { schema: { $ref: "#/Note" } } } },
          responses: {},
        },
      },
    },
    components: { schemas: { Note: { example: note } } },
  };
  addSamples(document, { variable: "SUPPORT_KEY" });
  const [curl, typescript, python] = (document.paths["/notes"].post as unknown as { "x-codeSamples": Sample[] })["x-codeSamples"];
  expect(JSON.parse(parseCurl(curl!.source, { SUPPORT_URL: HOST, SUPPORT_KEY: "k" }).body as string)).toEqual(note);
  expect(typescript!.source).toContain(String.raw`text: "It's \"5\" \\ $HOME"`);
  for (const literal of [`"none": None,`, `"yes": True,`, `"list": ["a", 1],`, `"no": False,`]) expect(python!.source).toContain(literal);
});

test("a body without an example is an error", () => {
  const schema = { $ref: "#/components/schemas/Note" };
  const post = { operationId: "createNote", requestBody: { content: { "application/json": { schema } } }, responses: {} };
  expect(() => addSamples({ paths: { "/notes": { post } } }, { variable: "SUPPORT_KEY" })).toThrow(
    "#/components/schemas/Note has no example",
  );
});
