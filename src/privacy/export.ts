import { toConversation, toHandoff, toMessage, toVisitor } from "../conversations/wire.ts";
import { toLead } from "../leads/wire.ts";
import { type Database, dbFor } from "../platform/db/client.ts";
import type { PrivacyOperation } from "./erase.ts";
import {
  type Identifier,
  listConversations,
  listFirstMessages,
  listHandoffs,
  listLeads,
  listMessagesAfter,
  listVisitors,
} from "./person-store.ts";

/** Records read at once: an export's memory does not grow with the person's history. */
const CONVERSATIONS_A_PAGE = 50;
const MESSAGES_A_PAGE = 500;
const LEADS_A_PAGE = 200;
/** Messages of each conversation that are read with the page: most have fewer, and D1 takes 1,000 queries a request. */
const FIRST_MESSAGES = 40;

/** All data held about a person, in wire form, as the pieces of one JSON document. */
export async function* exportPerson(op: PrivacyOperation, person: Identifier): AsyncGenerator<string> {
  const { env, meter, workspaceId, nowMs } = op;
  const db = dbFor(env, workspaceId, meter);
  const [visitors] = await db.batch([listVisitors(db, workspaceId, person)]);
  const head = { identifier: person, exported_at: new Date(nowMs).toISOString(), visitors: visitors.map(toVisitor) };
  yield `${JSON.stringify(head).slice(0, -1)},"conversations":[`;
  yield* separated(exportConversations(db, workspaceId, person, new Map(visitors.map((visitor) => [visitor.id, visitor]))));
  yield `],"leads":[`;
  yield* separated(exportLeads(db, workspaceId, person));
  yield "]}";
}

type VisitorRow = Parameters<typeof toVisitor>[0];

type MessageRow = Parameters<typeof toMessage>[0];

async function* exportConversations(db: Database, workspaceId: string, person: Identifier, visitors: Map<string, VisitorRow>) {
  const pages = pagesOf(CONVERSATIONS_A_PAGE, (slice) => db.batch([listConversations(db, workspaceId, person, slice)]));
  for await (const rows of pages) {
    const ids = rows.map(({ id }) => id);
    const [handoffs, messages] = await db.batch([
      listHandoffs(db, workspaceId, ids),
      listFirstMessages(db, workspaceId, ids, FIRST_MESSAGES),
    ]);
    const handoffsOf = Map.groupBy(handoffs, ({ conversationId }) => conversationId);
    const messagesOf = Map.groupBy(messages, ({ conversationId }) => conversationId);
    for (const row of rows) {
      const theirs = handoffsOf.get(row.id) ?? [];
      const conversation = toConversation(row, visitors.get(row.visitorId ?? ""), theirs.at(-1));
      const head = JSON.stringify({ ...conversation, handoffs: theirs.map(toHandoff) });
      yield () => exportTranscript(head, transcriptOf(db, workspaceId, row.id, messagesOf.get(row.id) ?? []));
    }
  }
}

async function* exportTranscript(head: string, messages: AsyncIterable<MessageRow>): AsyncGenerator<string> {
  yield `${head.slice(0, -1)},"messages":[`;
  let isFirst = true;
  for await (const row of messages) {
    yield (isFirst ? "" : ",") + JSON.stringify(toMessage(row));
    isFirst = false;
  }
  yield "]}";
}

/** A conversation's messages: the first ones, and what comes after them. */
async function* transcriptOf(db: Database, workspaceId: string, conversationId: string, first: MessageRow[]): AsyncGenerator<MessageRow> {
  yield* first;
  if (first.length < FIRST_MESSAGES) return;
  const read = (slice: Slice) => db.batch([listMessagesAfter(db, workspaceId, conversationId, slice)]);
  for await (const rows of pagesOf(MESSAGES_A_PAGE, read, first.at(-1)!.id)) yield* rows;
}

async function* exportLeads(db: Database, workspaceId: string, person: Identifier) {
  const pages = pagesOf(LEADS_A_PAGE, (slice) => db.batch([listLeads(db, workspaceId, person, slice)]));
  for await (const rows of pages) for (const row of rows) yield () => single(JSON.stringify(toLead(row)));
}

async function* single(piece: string): AsyncGenerator<string> {
  yield piece;
}

interface Slice {
  afterId: string;
  limit: number;
}

/** The pages of a list that is read by identifier. */
async function* pagesOf<Row extends { id: string }>(
  limit: number,
  read: (slice: Slice) => Promise<readonly [Row[]]>,
  afterId = "",
): AsyncGenerator<Row[]> {
  for (let last = afterId; ;) {
    const [rows] = await read({ afterId: last, limit });
    if (rows.length > 0) yield rows;
    if (rows.length < limit) return;
    last = rows.at(-1)!.id;
  }
}

/** The items of a JSON array, each made of pieces, with commas between them. */
async function* separated(items: AsyncIterable<() => AsyncGenerator<string>>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const pieces of items) {
    if (!isFirst) yield ",";
    isFirst = false;
    yield* pieces();
  }
}

/** A generator's text as the stream of a response's body: read as fast as the client takes it. */
export function toStream(pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}
