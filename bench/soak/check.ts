import type { Receiver } from "../stand-ins/receiver.ts";
import { type Kind, type SoakRequest, SOURCE_KINDS, type Target } from "./load.ts";

/** A difference between what was acknowledged and what is stored. */
export interface Finding {
  kind: Kind | "events" | "counters" | "retention" | "export of the workspace";
  problem: "lost" | "doubled" | "half";
  text: string;
}

/** The type of the event that each kind of record causes; it is also the path of the event's endpoint. */
export const RECORD_EVENTS = {
  conversation: "conversation.created",
  answer: "message.ai_replied",
  reply: "message.human_replied",
  lead: "lead.created",
  source: "source.synced",
} as const;

interface Message {
  id: string;
  role: "user" | "assistant" | "human" | "system";
  content: string;
}

/** What the check knows from earlier ones. */
export interface Known {
  /** Conversations and leads that were checked before. They are not read again. */
  ids: ReadonlySet<string>;
  /** How many answers the service has counted since. */
  usedMessages: number;
}

/** The records of the service. */
export interface Stored {
  /** The conversations, those that are known included, by the time of their last activity. */
  conversations: { id: string; updated_at: string }[];
  /** The messages of those that are not known. */
  transcripts: Map<string, Message[]>;
  leads: { id: string; name: string; created_at: string }[];
  sources: { id: string; name: string; status: string; chunks_count: number }[];
  answers: { id: string; question: string }[];
  evaluations: { id: string; name: string | null; status: string }[];
  /** The counts that the service keeps itself. */
  kept: { conversations: number; leads: number; messages: number };
}

/** Compares the responses with what is stored and with what the endpoints received. */
export async function check(
  target: Target,
  requests: readonly SoakRequest[],
  receiver: Receiver,
  known?: Known,
): Promise<{ findings: Finding[]; stored: Stored }> {
  const stored = await readAll(target, known);
  const ended = new Set(requests.filter((request) => isEnded(request, requests)));
  const kept = requests.filter((request) => request.outcome === "acknowledged" && !ended.has(request));
  const findings = [
    ...requests.flatMap((request) => checkRequest(request, stored, ended.has(request))),
    ...(await findUnsearchable(target, kept)),
    ...checkTranscripts(stored),
    ...checkEvents(kept, receiver),
    ...checkCounters(stored, [...ended].filter(({ response }) => response.message_id).length),
  ];
  return { findings, stored };
}

async function readAll({ client, agentId, scratchAgentId }: Target, known?: Known): Promise<Stored> {
  const conversations = await client.list<Stored["conversations"][0]>("/api/v1/conversations");
  const transcripts = new Map<string, Message[]>();
  for (const { id } of conversations.data) {
    if (!known?.ids.has(id)) transcripts.set(id, (await client.list<Message>(`/api/v1/conversations/${id}/messages`)).data);
  }
  const leads = await client.list<Stored["leads"][0]>(`/api/v1/leads?agent_id=${agentId}`);
  const sources = await client.list<Stored["sources"][0]>(`/api/v1/agents/${scratchAgentId}/sources`);
  const answers = await client.list<Stored["answers"][0]>(`/api/v1/agents/${scratchAgentId}/answers`);
  const evaluations = await client.list<Stored["evaluations"][0]>(`/api/v1/agents/${scratchAgentId}/evaluations`);
  const usedMessages = known?.usedMessages ?? (await client.call<{ usage: { messages: number } }>("GET", "/api/v1/usage")).usage.messages;
  return {
    conversations: conversations.data,
    transcripts,
    leads: leads.data,
    sources: sources.data,
    answers: answers.data,
    evaluations: evaluations.data,
    kept: { conversations: conversations.total, leads: leads.total, messages: usedMessages },
  };
}

/** Whether another request erased or removed the record; such requests are repeated until they are acknowledged. */
function isEnded({ kind, prepared, response }: SoakRequest, requests: readonly SoakRequest[]): boolean {
  const { user } = (prepared.body ?? {}) as { user?: { id: string } };
  const path = kind === "stream" ? `external_id=${user?.id}` : kind === "answer" || kind === "source" ? `/${response.id}` : undefined;
  return path !== undefined && requests.some(({ prepared }) => prepared.method === "DELETE" && prepared.path.endsWith(path));
}

/** An acknowledged request has left one whole record, an ended or refused one none, and any other one at most one. */
function checkRequest(request: SoakRequest, stored: Stored, ended: boolean): Finding[] {
  const { kind, marker, outcome, attempts } = request;
  if (request.fault !== undefined) return [{ kind, problem: "half", text: `${marker}: ${request.fault}` }];
  if (kind === "erasure" || kind === "removal" || kind === "export") return [];
  const copies = countCopies(kind, marker, stored);
  const found = (problem: Finding["problem"]) => [
    { kind, problem, text: `${marker}, ${outcome}, sent ${attempts} times, found ${copies} times: ${JSON.stringify(request.response)}` },
  ];
  if (copies > 1) return found("doubled");
  if (copies > 0 && (ended || outcome === "refused")) return found("half");
  if (outcome !== "acknowledged" || ended) return [];
  if (copies === 0) return found("lost");
  return isWhole(request, stored) ? [] : found("half");
}

function countCopies(kind: Kind, marker: string, { transcripts, leads, sources, answers, evaluations }: Stored): number {
  if (kind === "lead") return leads.filter(({ name }) => name === marker).length;
  if (kind === "evaluation") return evaluations.filter(({ name }) => name === marker).length;
  if (SOURCE_KINDS.has(kind)) return sources.filter(({ name }) => name === marker).length;
  if (kind === "answer") return answers.filter(({ question }) => question.includes(marker)).length;
  const role = kind === "reply" ? "human" : "user";
  return [...transcripts.values()].flat().filter((message) => message.role === role && message.content.includes(marker)).length;
}

/** Whether a source is ready, an evaluation is completed, and a question has the answer that was returned. */
function isWhole({ kind, marker, response }: SoakRequest, { sources, transcripts, evaluations }: Stored): boolean {
  if (kind === "evaluation") return evaluations.some(({ name, status }) => name === marker && status === "completed");
  if (kind === "mail") return [...transcripts.values()].some((messages) => isAnswered(messages, marker));
  if (SOURCE_KINDS.has(kind))
    return sources.some((source) => source.name === marker && source.status === "ready" && source.chunks_count > 0);
  const { conversation_id: conversationId, message_id: messageId, answer } = response;
  if (!conversationId || !messageId) return true;
  const stored = transcripts.get(conversationId)?.find(({ id }) => id === messageId);
  return stored !== undefined && (answer === undefined || stored.content === answer);
}

/** Whether the mail with this text has its answer. */
function isAnswered(messages: readonly Message[], marker: string): boolean {
  const at = messages.findIndex(({ role, content }) => role === "user" && content.includes(marker));
  return at >= 0 && messages.slice(at).some(({ role }) => role !== "user");
}

/** Checks that no question is answered twice. */
function checkTranscripts({ transcripts }: Stored): Finding[] {
  return [...transcripts].flatMap(([id, messages]) => {
    const count = (role: Message["role"]) => messages.filter((message) => message.role === role).length;
    const [questions, answers] = [count("user"), count("assistant")];
    return answers > questions ? [{ kind: "ask", problem: "doubled", text: `${id}: ${answers} answers to ${questions} questions` }] : [];
  });
}

/** Checks that search finds what was acknowledged. */
async function findUnsearchable({ client, scratchAgentId }: Target, kept: readonly SoakRequest[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { kind, marker } of kept) {
    let isFound = true;
    if (kind === "lead") isFound = (await client.call<{ total: number }>("GET", `/api/v1/leads?q=${marker}`)).total === 1;
    if (kind === "source" || kind === "file" || kind === "answer") {
      const path = `/api/v1/agents/${scratchAgentId}/search`;
      isFound = JSON.stringify(await client.call("POST", path, { query: marker, limit: 3 })).includes(marker);
    }
    if (!isFound) findings.push({ kind, problem: "half", text: `${marker} is not found by search` });
  }
  return findings;
}

/** Returns the events that an acknowledged request causes, as `type of record`. */
function eventsOf({ kind, response: { id, conversation_id: conversationId, message_id: messageId } }: SoakRequest): string[] {
  const event = (record: keyof typeof RECORD_EVENTS, recordId?: string | null) =>
    recordId ? [`${RECORD_EVENTS[record]} of ${recordId}`] : [];
  if (kind === "ask" || kind === "stream" || kind === "cut" || kind === "visit")
    return [...event("conversation", conversationId), ...event("answer", messageId)];
  if (SOURCE_KINDS.has(kind)) return event("source", id);
  return kind === "reply" || kind === "lead" ? event(kind, id) : [];
}

/** Checks that each record has one event, which may have been delivered several times. */
function checkEvents(kept: readonly SoakRequest[], receiver: Receiver): Finding[] {
  const received = Map.groupBy(receiver.deliveries, ({ path, recordId }) => `${path.slice(1)} of ${recordId}`);
  const doubled = [...received].filter(([, deliveries]) => new Set(deliveries.map(({ eventId }) => eventId)).size > 1);
  const lost = [...new Set(kept.flatMap(eventsOf))].filter((event) => !received.has(event));
  return [
    ...doubled.map(([text]): Finding => ({ kind: "events", problem: "doubled", text })),
    ...lost.map((text): Finding => ({ kind: "events", problem: "lost", text })),
  ];
}

function checkCounters({ conversations, transcripts, leads, kept }: Stored, erasedAnswers: number): Finding[] {
  const answers = [...transcripts.values()].flat().filter(({ role }) => role === "assistant").length;
  const counted = { conversations: conversations.length, leads: leads.length, messages: answers + erasedAnswers };
  const names = Object.keys(counted) as (keyof typeof kept)[];
  const wrong = names.filter((name) => kept[name] !== counted[name]);
  return wrong.map((name) => {
    const text = `${name}: ${counted[name]} records, counted as ${kept[name]}`;
    return { kind: "counters", problem: kept[name] > counted[name] ? "doubled" : "lost", text };
  });
}
