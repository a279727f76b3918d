import { toConversation, toHandoff, toMessage, toVisitor } from "../conversations/wire.ts";
import { type Database, dbFor } from "../db/client.ts";
import { toLead } from "../leads/wire.ts";
import type { PrivacyOperation } from "./erase.ts";
import { type Identifier, listConversations, listHandoffs, listLeads, listMessagesAfter, listVisitors } from "./person-store.ts";

/** Records read at once: an export's memory does not grow with the person's history. */
const CONVERSATIONS_A_PAGE = 20;
const MESSAGES_A_PAGE = 500;
const LEADS_A_PAGE = 200;

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

async function* exportConversations(db: Database, workspaceId: string, person: Identifier, visitors: Map<string, VisitorRow>) {
  const pages = paged(CONVERSATIONS_A_PAGE, (slice) => db.batch([listConversations(db, workspaceId, person, slice)]));
  for await (const row of pages) {
    const [handoffs] = await db.batch([listHandoffs(db, workspaceId, row.id)]);
    const conversation = toConversation(row, visitors.get(row.visitorId ?? ""), handoffs.at(-1));
    const head = JSON.stringify({ ...conversation, handoffs: handoffs.map(toHandoff) });
    yield () => exportTranscript(db, workspaceId, row.id, head);
  }
}

async function* exportTranscript(db: Database, workspaceId: string, conversationId: string, head: string): AsyncGenerator<string> {
  yield `${head.slice(0, -1)},"messages":[`;
  const pages = paged(MESSAGES_A_PAGE, (slice) => db.batch([listMessagesAfter(db, workspaceId, conversationId, slice)]));
  let isFirst = true;
  for await (const row of pages) {
    yield (isFirst ? "" : ",") + JSON.stringify(toMessage(row));
    isFirst = false;
  }
  yield "]}";
}

async function* exportLeads(db: Database, workspaceId: string, person: Identifier) {
  const pages = paged(LEADS_A_PAGE, (slice) => db.batch([listLeads(db, workspaceId, person, slice)]));
  for await (const row of pages) yield () => single(JSON.stringify(toLead(row)));
}

async function* single(piece: string): AsyncGenerator<string> {
  yield piece;
}

/** Every row of a list that is read page by page, by identifier. */
async function* paged<Row extends { id: string }>(
  limit: number,
  read: (slice: { afterId: string; limit: number }) => Promise<readonly [Row[]]>,
): AsyncGenerator<Row> {
  let afterId = "";
  for (;;) {
    const [rows] = await read({ afterId, limit });
    yield* rows;
    if (rows.length < limit) return;
    afterId = rows.at(-1)!.id;
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
