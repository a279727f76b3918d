import type { Receiver } from "../stand-ins/receiver.ts";
import type { Deed, Kind, Target } from "./load.ts";

/** A difference between what was acknowledged and what is stored. */
export interface Finding {
  kind: Kind | "events" | "counters";
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

/** The records of the service. */
interface Stored {
  transcripts: Map<string, Message[]>;
  leads: { id: string; name: string }[];
  sources: { id: string; name: string; status: string; chunks_count: number }[];
  answers: { id: string; question: string }[];
  /** The counts that the service keeps itself. */
  kept: { conversations: number; leads: number; messages: number };
}

/** Compares the responses with what is stored and with what the endpoints received. */
export async function check(target: Target, deeds: readonly Deed[], receiver: Receiver): Promise<Finding[]> {
  const stored = await readAll(target);
  const ended = new Set(deeds.filter((deed) => isEnded(deed, deeds)));
  const kept = deeds.filter((deed) => deed.outcome === "acknowledged" && !ended.has(deed));
  return [
    ...deeds.flatMap((deed) => checkDeed(deed, stored, ended.has(deed))),
    ...(await findUnsearchable(target, kept)),
    ...checkTranscripts(stored),
    ...checkEvents(kept, receiver),
    ...checkCounters(stored, [...ended].filter(({ response }) => response.message_id).length),
  ];
}

async function readAll({ client, agentId, scratchAgentId }: Target): Promise<Stored> {
  const conversations = await client.list<{ id: string }>("/api/v1/conversations");
  const transcripts = new Map<string, Message[]>();
  for (const { id } of conversations.data) {
    transcripts.set(id, (await client.list<Message>(`/api/v1/conversations/${id}/messages`)).data);
  }
  const leads = await client.list<Stored["leads"][0]>(`/api/v1/leads?agent_id=${agentId}`);
  const sources = await client.list<Stored["sources"][0]>(`/api/v1/agents/${scratchAgentId}/sources`);
  const answers = await client.list<Stored["answers"][0]>(`/api/v1/agents/${scratchAgentId}/answers`);
  const { usage } = await client.call<{ usage: { messages: number } }>("GET", "/api/v1/usage");
  const kept = { conversations: conversations.total, leads: leads.total, messages: usage.messages };
  return { transcripts, leads: leads.data, sources: sources.data, answers: answers.data, kept };
}

/** Whether another request erased or removed the record; such requests are repeated until they are acknowledged. */
function isEnded({ kind, request, response }: Deed, deeds: readonly Deed[]): boolean {
  const { user } = (request.body ?? {}) as { user?: { id: string } };
  const path = kind === "stream" ? `external_id=${user?.id}` : kind === "answer" ? `/${response.id}` : undefined;
  return path !== undefined && deeds.some(({ request }) => request.method === "DELETE" && request.path.endsWith(path));
}

/** An acknowledged request has left one whole record, an ended or refused one none, and any other one at most one. */
function checkDeed(deed: Deed, stored: Stored, ended: boolean): Finding[] {
  const { kind, marker, outcome, attempts } = deed;
  if (kind === "erasure" || kind === "removal") return [];
  const copies = countCopies(kind, marker, stored);
  const found = (problem: Finding["problem"]) => [
    { kind, problem, text: `${marker}, ${outcome}, sent ${attempts} times, found ${copies} times: ${JSON.stringify(deed.response)}` },
  ];
  if (copies > 1) return found("doubled");
  if (copies > 0 && (ended || outcome === "refused")) return found("half");
  if (outcome !== "acknowledged" || ended) return [];
  if (copies === 0) return found("lost");
  return isWhole(deed, stored) ? [] : found("half");
}

function countCopies(kind: Kind, marker: string, { transcripts, leads, sources, answers }: Stored): number {
  if (kind === "lead") return leads.filter(({ name }) => name === marker).length;
  if (kind === "source") return sources.filter(({ name }) => name === marker).length;
  if (kind === "answer") return answers.filter(({ question }) => question.includes(marker)).length;
  const role = kind === "reply" ? "human" : "user";
  return [...transcripts.values()].flat().filter((message) => message.role === role && message.content.includes(marker)).length;
}

/** Whether a source is ready, and a question has the answer that was returned. */
function isWhole({ kind, marker, response }: Deed, { sources, transcripts }: Stored): boolean {
  if (kind === "source") return sources.some((source) => source.name === marker && source.status === "ready" && source.chunks_count > 0);
  const { conversation_id: conversationId, message_id: messageId, answer } = response;
  if (!conversationId || !messageId) return true;
  const stored = transcripts.get(conversationId)?.find(({ id }) => id === messageId);
  return stored !== undefined && (answer === undefined || stored.content === answer);
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
async function findUnsearchable({ client, scratchAgentId }: Target, kept: readonly Deed[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { kind, marker } of kept) {
    let isFound = true;
    if (kind === "lead") isFound = (await client.call<{ total: number }>("GET", `/api/v1/leads?q=${marker}`)).total === 1;
    if (kind === "source" || kind === "answer") {
      const path = `/api/v1/agents/${scratchAgentId}/search`;
      isFound = JSON.stringify(await client.call("POST", path, { query: marker, limit: 3 })).includes(marker);
    }
    if (!isFound) findings.push({ kind, problem: "half", text: `${marker} is not found by search` });
  }
  return findings;
}

/** Returns the events that an acknowledged request causes, as `type of record`. */
function eventsOf({ kind, response: { id, conversation_id: conversationId, message_id: messageId } }: Deed): string[] {
  const event = (record: keyof typeof RECORD_EVENTS, recordId?: string | null) =>
    recordId ? [`${RECORD_EVENTS[record]} of ${recordId}`] : [];
  if (kind === "ask" || kind === "stream") return [...event("conversation", conversationId), ...event("answer", messageId)];
  return kind === "reply" || kind === "lead" || kind === "source" ? event(kind, id) : [];
}

/** Checks that each record has one event, which may have been delivered several times. */
function checkEvents(kept: readonly Deed[], receiver: Receiver): Finding[] {
  const received = Map.groupBy(receiver.deliveries, ({ path, recordId }) => `${path.slice(1)} of ${recordId}`);
  const doubled = [...received].filter(([, deliveries]) => new Set(deliveries.map(({ eventId }) => eventId)).size > 1);
  const lost = [...new Set(kept.flatMap(eventsOf))].filter((event) => !received.has(event));
  return [
    ...doubled.map(([text]): Finding => ({ kind: "events", problem: "doubled", text })),
    ...lost.map((text): Finding => ({ kind: "events", problem: "lost", text })),
  ];
}

function checkCounters({ transcripts, leads, kept }: Stored, erasedAnswers: number): Finding[] {
  const answers = [...transcripts.values()].flat().filter(({ role }) => role === "assistant").length;
  const counted = { conversations: transcripts.size, leads: leads.length, messages: answers + erasedAnswers };
  const names = Object.keys(counted) as (keyof typeof kept)[];
  const wrong = names.filter((name) => kept[name] !== counted[name]);
  return wrong.map((name) => {
    const text = `${name}: ${counted[name]} records, counted as ${kept[name]}`;
    return { kind: "counters", problem: kept[name] > counted[name] ? "doubled" : "lost", text };
  });
}
