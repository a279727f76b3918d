import { expect, test } from "vitest";
import { ApiError, type Client, paginate } from "../../client/index.ts";
import { addApproval, createAgent, createWorkspace, deliver, newAddress, query, send, type Workspace } from "../harness.ts";
import { behaveAt, newHost } from "../outbound.ts";
import { listOperations } from "../platform/http/document.ts";
import { clientOf, type Sent } from "./network.ts";

const OPERATIONS = await listOperations();

/** The operation that a request called. */
function operationOf({ method, path }: Sent): string {
  const found = OPERATIONS.filter((operation) => {
    const pattern = new RegExp(
      `^/api/v1${operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => (name.endsWith("_id") ? "[0-9a-f-]{36}" : "[\\w%.]+"))}$`,
    );
    return operation.method === method && pattern.test(path);
  });
  if (found.length !== 1) throw new Error(`${method} ${path} is ${found.length} operations`);
  return found[0]!.operationId;
}

/** A workspace with an agent and a person who left a lead, and its client. */
async function createFixture() {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace, { name: "Desk" });
  await send("POST", `/widget/v1/agents/${agent.id}/leads`, { body: { name: "Ann Lee", email: "ann@example.com" }, headers: newAddress() });
  return { workspace, agent_id: agent.id, ...clientOf(workspace.key) };
}

async function useAccount(client: Client, agent_id: string) {
  expect((await client.getMe()).api_key.name).toBe("All");
  expect((await client.getUsage()).usage.agents).toBe(1);
  expect((await client.listAgents({ limit: 5 })).data.map(({ id }) => id)).toEqual([agent_id]);
  expect((await client.getAgent({ agent_id })).name).toBe("Desk");
}

async function useSettings(client: Client) {
  const { id: agent_id } = await client.createAgent({ body: { name: "Night shift" } });
  expect((await client.updateAgent({ agent_id, body: { instructions: "Be brief." } })).instructions).toBe("Be brief.");
  expect((await client.rotateIdentitySecret({ agent_id })).previous_valid_until).toBeNull();
  const url = "https://api.example.com/hours";
  const parameters = { type: "object", properties: {} } as const;
  await client.updateAgent({
    agent_id,
    body: { tools: [{ name: "hours", description: "Opening hours.", parameters, method: "GET", url }] },
  });
  expect((await client.testTool({ agent_id, tool_name: "hours", body: {} })).duration_ms).toBeGreaterThanOrEqual(0);
  await useVersions(client, agent_id);
  await client.deleteAgent({ agent_id });
  const { id: key_id, key } = await client.createKey({ body: { name: "Reader", scopes: ["agents:read"] } });
  expect((await clientOf(key).client.listAgents()).total).toBe(1);
  await client.revokeKey({ key_id });
  expect((await client.listKeys()).data.map(({ revoked_at }) => revoked_at === null)).toEqual([true, false]);
}

async function useVersions(client: Client, agent_id: string) {
  await client.updateAgentDraft({ agent_id, body: { instructions: "Rhyme." } });
  await client.deleteAgentDraft({ agent_id });
  await client.updateAgentDraft({ agent_id, body: { instructions: "Sing." } });
  const { number } = await client.publishAgentDraft({ agent_id, body: { note: "Songs", rollout: 0.5 } });
  expect((await client.changeAgentRollout({ agent_id, body: { end: "keep" } })).status).toBe("published");
  expect((await client.getAgentVersion({ agent_id, version: `${number}` })).settings.instructions).toBe("Sing.");
  await client.restoreAgentVersion({ agent_id, version: "1" });
  expect((await client.listAgentVersions({ agent_id })).data[0]!.base).toBe(number);
  expect((await client.listVersionAnalytics({ agent_id })).total).toBe(0);
}

async function useKnowledge(client: Client, agent_id: string, read: (sourceId: string) => Promise<unknown>) {
  const text = "# Refunds\n\nRefunds are paid within five working days.";
  const { id: source_id } = await client.createSource({ agent_id, body: { type: "text", name: "Handbook", text } });
  await read(source_id);
  expect((await client.listSources({ agent_id })).data[0]).toMatchObject({ id: source_id, status: "ready" });
  expect((await client.updateSource({ agent_id, source_id, body: { name: "Guide" } })).name).toBe("Guide");
  expect((await client.getSource({ agent_id, source_id })).name).toBe("Guide");
  const file = new File(["Parcels leave on Mondays."], "parcels.txt", { type: "text/plain" });
  expect((await client.uploadSourceFile({ agent_id, body: { file, metadata: { team: "store" } } })).metadata).toEqual({ team: "store" });
  await expect(client.uploadSourceFile({ agent_id, body: { file: new Blob(["Parcels."]) } })).rejects.toThrow(
    "The file is a Blob without a name.",
  );
  expect((await client.uploadSourceFile({ agent_id, body: { file: new Blob(["Parcels."]), name: "Notes" } })).name).toBe("Notes");
  const source_key = "docs/parcels.md";
  expect((await client.putSource({ agent_id, source_key, body: { text: "Parcels leave on Mondays." } })).key).toBe(source_key);
  expect((await client.putSource({ agent_id, source_key: "parcels", body: { file } })).type).toBe("file");
  expect((await client.listSourcePages({ agent_id, source_id, limit: 1 })).data).toEqual([]);
  expect((await client.listSourcePassages({ agent_id, source_id, limit: 1 })).data).toEqual(expect.any(Array));
  expect((await client.searchKnowledge({ agent_id, body: { query: "refunds" } })).data[0]!.source_id).toBe(source_id);
  const curated = await client.createAnswer({ agent_id, body: { question: "Do you ship to Iceland?", answer: "Yes." } });
  expect((await client.listAnswers({ agent_id })).data).toEqual([curated]);
  expect((await client.updateAnswer({ agent_id, answer_id: curated.id, body: { answer: "No." } })).answer).toBe("No.");
  expect(await client.deleteAnswer({ agent_id, answer_id: curated.id })).toBeUndefined();
  return source_id;
}

async function useLearning(client: Client, agent_id: string) {
  const unknown = await client.askAgent({ agent_id, body: { message: "How is bread baked?" } });
  await client.replyToConversation({ conversation_id: unknown.conversation_id, body: { content: "In an oven.", resolve: true } });
  expect((await client.listGaps({ agent_id, days: 7 })).data).toMatchObject([{ question: "How is bread baked?" }, { rated_down: 1 }]);
  const [draft] = (await client.listDrafts({ agent_id })).data;
  const taught = await client.acceptDraft({ agent_id, draft_id: draft!.id, body: { question: "How do you bake bread?" } });
  expect(await client.deleteAnswer({ agent_id, answer_id: taught.id })).toBeUndefined();
  await expect(client.dismissDraft({ agent_id, draft_id: draft!.id })).rejects.toThrow(ApiError);
}

async function useEvaluations(client: Client, agent_id: string) {
  const cases = [{ question: "When are refunds paid?", expect: { refusal: false } }];
  const { id: evaluation_id } = await client.createEvaluation({ agent_id, body: { name: "Weekly", cases } });
  expect((await client.listEvaluations({ agent_id })).data).toMatchObject([{ id: evaluation_id, status: "pending" }]);
  const added = { question: "Who pays for the way back?", expect: { refusal: true } };
  expect((await client.addEvaluationCase({ agent_id, evaluation_id, body: added })).verdict).toBeNull();
  expect((await client.getEvaluation({ agent_id, evaluation_id, compare_to: evaluation_id })).comparison).toMatchObject({ new: 0 });
  expect(await client.deleteEvaluation({ agent_id, evaluation_id })).toBeUndefined();
}

/** Decides once more about calls that are decided. */
async function useApprovals(client: Client, workspace: Workspace, agent_id: string) {
  const { conversation_id, message_id } = await client.askAgent({ agent_id, body: { message: "When are refunds paid?" } });
  const of = { agentId: agent_id, conversationId: conversation_id, messageId: message_id! };
  const [approved, declined] = [await addApproval(workspace, "approved", of), await addApproval(workspace, "declined", of)];
  expect((await client.listApprovals({ conversation_id })).data.map(({ id }) => id)).toEqual([declined, approved]);
  expect((await client.approveToolCall({ approval_id: approved, body: {} })).status).toBe("approved");
  expect((await client.declineToolCall({ approval_id: declined, body: { reason: "Too old." } })).reason).toBe("Too old.");
}

async function useTeam(client: Client) {
  const invited = await client.inviteMember({ body: { email: "ann@example.com", role: "agent" } });
  const { id: member_id } = invited;
  expect((await client.renewInvitation({ member_id })).invitation.url).toContain("#sign-in=");
  expect((await client.listMembers()).data.map(({ id }) => id)).toEqual([member_id]);
  expect((await client.updateMember({ member_id, body: { name: "Ann" } })).name).toBe("Ann");
  expect((await client.getMember({ member_id })).status).toBe("invited");
  expect((await client.listMemberSessions({ member_id })).data).toEqual([]);
  await expect(client.endMemberSession({ member_id, session_id: member_id })).rejects.toThrow(ApiError);
  expect((await client.listMemberApplications({ member_id })).data).toEqual([]);
  await expect(client.disconnectMemberApplication({ member_id, application_id: member_id })).rejects.toThrow(ApiError);
  expect(await client.removeMember({ member_id })).toBeUndefined();
  expect((await client.listAuditLog({ action: "member.removed" })).data[0]!.target_id).toBe(member_id);
  expect((await client.updateSignInSettings({ body: { domains: [] } })).methods).toEqual((await client.getSignInSettings()).methods);
  expect((await client.updateBusinessHours({ body: { time_zone: "Europe/Vienna" } })).time_zone).toBe("Europe/Vienna");
  expect((await client.getBusinessHours()).hours).toBeNull();
  expect((await client.updateRedaction({ body: { iban: true } })).iban).toBe(true);
  expect((await client.getRedaction()).iban).toBe(true);
  expect((await client.previewRedaction({ body: { text: "Hello" } })).text).toBe("Hello");
}

async function useSavedReplies(client: Client) {
  const saved = await client.createSavedReply({ body: { name: "Sent", content: "Hello {{visitor.name}}, it is sent." } });
  const saved_reply_id = saved.id;
  expect((await client.listSavedReplies()).data).toEqual([saved]);
  expect((await client.updateSavedReply({ saved_reply_id, body: { name: "Is sent" } })).content).toBe(saved.content);
  expect((await client.getSavedReply({ saved_reply_id })).name).toBe("Is sent");
  expect(await client.deleteSavedReply({ saved_reply_id })).toBeUndefined();
  const team = await client.createTeam({ body: { name: "Billing" } });
  const team_id = team.id;
  expect((await client.listTeams()).data).toEqual([team]);
  expect((await client.updateTeam({ team_id, body: { unassign_after_minutes: 15 } })).name).toBe("Billing");
  expect((await client.getTeam({ team_id })).unassign_after_minutes).toBe(15);
  const rule = await client.createRoutingRule({ body: { name: "Refunds", actions: { team_id } } });
  const routing_rule_id = rule.id;
  expect((await client.listRoutingRules()).data).toEqual([rule]);
  expect((await client.updateRoutingRule({ routing_rule_id, body: { position: 1 } })).position).toBe(1);
  expect((await client.getRoutingRule({ routing_rule_id })).actions).toEqual({ team_id });
  expect(await client.deleteRoutingRule({ routing_rule_id })).toBeUndefined();
  expect(await client.deleteTeam({ team_id })).toBeUndefined();
}

async function useConversations(client: Client, agent_id: string) {
  const question = { agent_id, body: { message: "When are refunds paid?", user: { id: "ann" } } };
  const { conversation_id, message_id, citations } = await client.askAgent(question);
  expect(citations[0]!.title).toContain("Refunds");
  const events = await Array.fromAsync(client.streamAnswer(question));
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(["start", "delta", "done"]));
  expect((await client.getTrace({ conversation_id, message_id: message_id! })).message_id).toBe(message_id);
  const again = await Array.fromAsync(client.resumeAnswer({ conversation_id, message_id: message_id! }));
  expect(again.at(-1)).toMatchObject({ type: "done", answer: { message_id } });
  const ids = Buffer.from(`${conversation_id}${message_id}`.replaceAll("-", ""), "hex").toString("base64url");
  const results = [{ tool_call_id: `call_${ids}_1_1`, content: "It is done." }];
  expect(await client.sendToolResults({ conversation_id, message_id: message_id!, body: { results } })).toMatchObject({ message_id });
  expect((await client.getConversationCase({ conversation_id })).case.turns).toHaveLength(1);
  const suggested = await client.suggestReply({ conversation_id });
  expect(suggested.citations[0]!.title).toContain("Refunds");
  const parts = await Array.fromAsync(client.streamSuggestedReply({ conversation_id }));
  expect(parts.at(-1)).toMatchObject({ type: "done", answer: suggested });
  expect((await client.summarizeConversation({ conversation_id })).content).toContain("Asked: When are refunds paid?");
  const file = await client.uploadAttachment({ body: { file: new File(["It says 404."], "error.txt") } });
  expect((await client.getAttachment({ attachment_id: file.id })).url).toBe(file.url);
  const rating = await client.rateAnswer({ conversation_id, message_id: message_id!, body: { rating: "down" } });
  expect((await client.listFeedback({ agent_id, rating: "down" })).data).toEqual([rating]);
  const open = await Array.fromAsync(paginate(client.listConversations, { agent_id, channel: "api", limit: 1 }));
  expect(open.map(({ id }) => id)).toContain(conversation_id);
  expect(open).toHaveLength(2);
  expect((await client.updateConversation({ conversation_id, body: { tags: ["refund"] } })).tags).toEqual(["refund"]);
  const bulk = await client.updateConversations({ body: { ids: [conversation_id], remove_tags: ["none"], add_tags: ["vip"] } });
  expect(bulk.data).toMatchObject([{ id: conversation_id, outcome: "changed", tags: ["refund", "vip"] }]);
  expect((await client.addNote({ conversation_id, body: { content: "She called." } })).role).toBe("note");
  const started = await client.startConversation({ body: { agent_id, channel: "api", content: "How do you like it?" } });
  expect(started.status).toBe("human_active");
  const reply = await client.replyToConversation({ conversation_id, body: { content: "On its way.", resolve: true } });
  expect(reply.conversation_status).toBe("resolved");
  expect((await client.getConversation({ conversation_id })).messages.at(-1)!.content).toBe("On its way.");
  expect((await client.getConversationCase({ conversation_id })).case.turns).not.toEqual([]);
  const messages = await Array.fromAsync(paginate(client.listMessages, { conversation_id, limit: 1 }));
  expect(messages.map(({ role }) => role)).toEqual(["human", "note", "assistant", "user"]);
  const leads = await Array.fromAsync(paginate(client.listLeads, { q: "ann@" }));
  expect(leads.map(({ name }) => name)).toEqual(["Ann Lee"]);
  expect((await client.getAnalyticsOverview({ days: 7, agent_id })).totals.conversations).toBe(3);
}

async function useWebhooks(client: Client, agent_id: string, settle: () => Promise<unknown>) {
  const host = newHost();
  await behaveAt(host, {});
  const { id: webhook_id, secret } = await client.createWebhook({ body: { url: `https://${host}/hook`, events: ["lead.created"] } });
  expect((await client.listWebhooks()).event_types.length).toBeGreaterThan(5);
  expect((await client.getWebhook({ webhook_id })).events).toEqual(["lead.created"]);
  expect((await client.updateWebhook({ webhook_id, body: { events: ["*"] } })).events).toEqual(["*"]);
  expect((await client.rotateWebhookSecret({ webhook_id })).secret).not.toBe(secret);
  expect((await client.listEvents({ cursor: "latest" })).data).toEqual([]);
  expect((await client.testWebhook({ webhook_id })).status).toBe("succeeded");
  await client.askAgent({ agent_id, body: { message: "Is there a real person?" } });
  await settle();
  const deliveries = await Array.fromAsync(paginate(client.listDeliveries, { webhook_id, limit: 1 }));
  const failed = deliveries.find(({ event_type }) => event_type === "handoff.created")!;
  expect((await client.getDeliveryRequest({ delivery_id: failed.id })).body).toContain(failed.event_id);
  expect((await client.redeliverEvent({ delivery_id: failed.id })).event_id).toBe(failed.event_id);
  expect((await client.listDeliveries({ webhook_id, status: "pending" })).total).toBe(1);
  await client.deleteWebhook({ webhook_id });
  await expect(client.getWebhook({ webhook_id })).rejects.toMatchObject({ code: "not_found", status: 404 });
}

async function usePrivacy(client: Client) {
  const person = { external_id: "ann" };
  expect((await client.findPerson(person)).counts.conversations).toBe(2);
  expect((await client.exportPerson(person)).conversations).toHaveLength(2);
  expect((await client.erasePerson(person)).deleted["conversations"]).toBe(2);
}

test("every operation is called by its method, and answers what the types say", async () => {
  const { workspace, agent_id, client, sent } = await createFixture();
  await useAccount(client, agent_id);
  await useSettings(client);
  const read = (sourceId: string) => deliver("support-agent-ingestion", { workspaceId: workspace.id, agentId: agent_id, sourceId });
  const source_id = await useKnowledge(client, agent_id, read);
  await useConversations(client, agent_id);
  await useApprovals(client, workspace, agent_id);
  await useSavedReplies(client);
  await useTeam(client);
  await useLearning(client, agent_id);
  await useEvaluations(client, agent_id);
  await useWebhooks(client, agent_id, () =>
    query(workspace.id, "UPDATE deliveries SET status = 'failed' WHERE workspace_id = ? AND status = 'pending'", workspace.id),
  );
  await usePrivacy(client);
  const messages = [{ role: "user" as const, content: "When are refunds paid?" }];
  const { data: models } = await client.listModels();
  expect((await client.createChatCompletion({ body: { model: models[0]!.id, messages } })).choices[0]!.finish_reason).toBe("stop");
  expect((await client.syncSource({ agent_id, source_id })).status).toBe("pending");
  await client.deleteSource({ agent_id, source_id });
  expect([...new Set(sent.map(operationOf))].sort()).toEqual(OPERATIONS.map(({ operationId }) => operationId).sort());
});

test("an error is thrown with its code, its checks and the request's identifier", async () => {
  const { client, agent_id } = await createFixture();
  const error = await client.askAgent({ agent_id, body: { message: "" } }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ code: "validation_error", status: 422, detail: [{ loc: ["body", "message"], type: "string_too_short" }] });
  expect((error as ApiError).requestId).toMatch(/^[0-9a-f-]{36}$/);
  await expect(clientOf("sk_live_no").client.getMe()).rejects.toMatchObject({ code: "invalid_api_key", status: 401 });
});

/** Never run: what must not compile, `tsc` refuses here. */
export async function misuse(client: Client) {
  // @ts-expect-error -- the body lacks its message
  await client.askAgent({ agent_id: "a", body: {} });
  // @ts-expect-error -- the path's parameter is missing
  await client.getAgent({});
  // @ts-expect-error -- a status that only the service sets
  await client.updateConversation({ conversation_id: "c", body: { status: "ai_handled" } });
  // @ts-expect-error -- a filter that is not there
  await client.listLeads({ status: "open" });
  // @ts-expect-error -- an event type that is not there
  await client.createWebhook({ body: { url: "https://hooks.example.com", events: ["lead.deleted"] } });
  // @ts-expect-error -- whether to stream is the method's to say
  await client.askAgent({ agent_id: "a", body: { message: "Hello", stream: true } });
  // @ts-expect-error -- no such field in the answer
  (await client.getMe()).email.trim();
  // @ts-expect-error -- the visitor may be missing
  (await client.getConversation({ conversation_id: "c" })).visitor.email?.trim();
  // @ts-expect-error -- a single record is no list
  paginate(client.getUsage);
}
