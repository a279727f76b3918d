import { listApprovalsOf } from "../conversations/approval-store.ts";
import { toApproval } from "../conversations/approval-wire.ts";
import { sessionOf } from "../chat/session.ts";
import { TRACE_LIFETIME_MS } from "../chat/trace-store.ts";
import type { Trace } from "../chat/trace-wire.ts";
import { listNotesAfter } from "../conversations/note-store.ts";
import type { PersonIdentifier } from "../conversations/persons.ts";
import { type ConversationRecord, toFeedback, toHandoff, toMessage, toNote, toVisitor } from "../conversations/wire.ts";
import { listDraftsOf } from "../knowledge/draft-store.ts";
import { toStoredDraft } from "../knowledge/wire.ts";
import { toLead } from "../leads/wire.ts";
import type { Database, Operation } from "../platform/db/client.ts";
import { type AuditedOperation, recordAccess } from "../workspaces/audit-store.ts";
import {
  listConversations,
  listFeedback,
  listFirstMessages,
  listHandoffs,
  listLeads,
  listMembersWith,
  listMessagesAfter,
  listVisitors,
} from "./person-store.ts";
import { toPersonAsMember } from "./wire.ts";

/** Records are read in pages, so that memory does not grow with the person's history. A message of 8,000 characters takes 80 KB. */
const CONVERSATIONS_PER_PAGE = 20;
const MESSAGES_PER_PAGE = 400;
const LEADS_PER_PAGE = 200;
/** A trace has at most 32 KB. */
const TRACES_PER_PAGE = 100;
/** How many messages of each conversation are read with the page. Most have fewer, and a request may make only 1,000 D1 queries. */
const FIRST_MESSAGES = 20;

/** Yields the wire records of all data about a person, as the pieces of one JSON document, and records the export in the audit log. */
export async function* exportPerson(op: AuditedOperation, person: PersonIdentifier, addAddresses: AddAddresses): AsyncGenerator<string> {
  const { db, workspaceId, nowMs } = op;
  const [visitors, members] = await db.batch([
    listVisitors(db, workspaceId, person),
    listMembersWith(db, workspaceId, person),
    recordAccess(db, op, "privacy.export"),
  ]);
  const exportedAt = new Date(nowMs).toISOString();
  const head = { identifier: person, exported_at: exportedAt, members: members.map(toPersonAsMember), visitors: visitors.map(toVisitor) };
  yield `${JSON.stringify(head).slice(0, -1)},"conversations":[`;
  yield* separated(exportConversations(op, person, new Set(visitors.map(({ id }) => id)), addAddresses));
  yield `],"leads":[`;
  yield* listOf(leadsOf(op, person), toLead);
  yield "]}";
}

type MessageRecord = ReturnType<typeof toMessage>;

/** Adds the signed addresses of the files of messages. */
type AddAddresses = (messages: readonly MessageRecord[]) => Promise<MessageRecord[]>;

async function* withAddressesOf(rows: AsyncIterable<MessageRow>, addAddresses: AddAddresses): AsyncGenerator<MessageRecord> {
  for await (const row of rows) yield* await addAddresses([toMessage(row)]);
}

type ConversationRow = { id: string; record: ConversationRecord };

type MessageRow = Parameters<typeof listMessagesAfter>[1];

type NoteRow = Parameters<typeof toNote>[0];

type LeadRow = Parameters<typeof toLead>[0];

async function* exportConversations(op: Operation, person: PersonIdentifier, visitorIds: ReadonlySet<string>, addAddresses: AddAddresses) {
  const { db, workspaceId } = op;
  const pages = pagesOf<ConversationRow>(CONVERSATIONS_PER_PAGE, (last, limit) =>
    db.batch([listConversations(db, workspaceId, person, { afterId: last?.id ?? "", limit })]),
  );
  for await (const rows of pages) {
    const ids = rows.map(({ id }) => id);
    const [handoffs, feedback, drafts, approvals, messages, notes] = await db.batch([
      listHandoffs(db, workspaceId, ids),
      listFeedback(db, workspaceId, ids),
      listDraftsOf(db, workspaceId, ids),
      listApprovalsOf(db, workspaceId, ids),
      listFirstMessages(db, workspaceId, ids, FIRST_MESSAGES),
      listNotesAfter(db, workspaceId, ids, undefined, MESSAGES_PER_PAGE),
    ]);
    const notesOf = notesByConversation(
      pagesAfter(notes, MESSAGES_PER_PAGE, (last) => db.batch([listNotesAfter(db, workspaceId, ids, last, MESSAGES_PER_PAGE)])),
    );
    const handoffsOf = Map.groupBy(handoffs, ({ conversationId }) => conversationId);
    const feedbackOf = Map.groupBy(feedback, ({ conversationId }) => conversationId);
    const draftsOf = Map.groupBy(drafts, ({ conversationId }) => conversationId);
    const approvalsOf = Map.groupBy(approvals, ({ conversationId }) => conversationId);
    const messagesOf = Map.groupBy(messages, ({ conversationId }) => conversationId);
    for (const { id, record } of rows) {
      const head = JSON.stringify({
        ...record,
        // A visitor that somebody else used too is not counted as the person.
        visitor: visitorIds.has(record.visitor?.id ?? "") ? record.visitor : null,
        handoffs: (handoffsOf.get(id) ?? []).map(toHandoff),
        feedback: (feedbackOf.get(id) ?? []).map(toFeedback),
        drafts: (draftsOf.get(id) ?? []).map(toStoredDraft),
        approvals: (approvalsOf.get(id) ?? []).map(toApproval),
      });
      const transcript = withAddressesOf(transcriptOf(db, messagesOf.get(id) ?? []), addAddresses);
      yield () => exportTranscript(head, transcript, notesOf(id), tracesOf(op, record));
    }
  }
}

async function* exportTranscript(
  head: string,
  messages: AsyncIterable<object>,
  notes: AsyncIterable<NoteRow>,
  traces: AsyncIterable<Trace>,
): AsyncGenerator<string> {
  yield `${head.slice(0, -1)},"messages":[`;
  yield* listOf(messages, (message) => message);
  yield `],"notes":[`;
  yield* listOf(notes, toNote);
  yield `],"traces":[`;
  yield* listOf(traces, (trace) => trace);
  yield "]}";
}

async function* listOf<Row>(rows: AsyncIterable<Row>, toRecord: (row: Row) => object): AsyncGenerator<string> {
  let isFirst = true;
  for await (const row of rows) {
    yield (isFirst ? "" : ",") + JSON.stringify(toRecord(row));
    isFirst = false;
  }
}

/** Splits notes, which are sorted by conversation. The returned function must be called for the conversations in the same order. */
function notesByConversation(notes: AsyncGenerator<NoteRow>) {
  let next: IteratorResult<NoteRow, void> | undefined;
  return async function* (conversationId: string): AsyncGenerator<NoteRow> {
    for (next ??= await notes.next(); !next.done && next.value.conversationId === conversationId; next = await notes.next()) {
      yield next.value;
    }
  };
}

/** Yields a conversation's messages: the first ones, which are already read, and the others. */
function transcriptOf(db: Database, first: MessageRow[]): AsyncGenerator<MessageRow> {
  return pagesAfter(first, FIRST_MESSAGES, (last) => db.batch([listMessagesAfter(db, last, MESSAGES_PER_PAGE)]));
}

/** Yields the traces of a conversation's answers, from its object. A conversation without recent activity has none. */
async function* tracesOf(op: Operation, { id, updated_at: updatedAt }: ConversationRecord): AsyncGenerator<Trace> {
  if (Date.parse(updatedAt) < op.nowMs - TRACE_LIFETIME_MS) return;
  const session = sessionOf(op, id);
  const pages = pagesOf<Trace>(TRACES_PER_PAGE, async (last, limit) => [await session.listTraces(last?.message_id ?? "", limit)]);
  for await (const traces of pages) yield* traces;
}

/** Yields the first rows, which are already read, and the rows after them. @param count the limit with which the first were read. */
async function* pagesAfter<Row>(first: Row[], count: number, read: (last: Row) => Promise<readonly [Row[]]>): AsyncGenerator<Row, void> {
  yield* first;
  if (first.length < count) return;
  for await (const rows of pagesOf<Row>(MESSAGES_PER_PAGE, (last) => read(last ?? first.at(-1)!))) yield* rows;
}

async function* leadsOf({ db, workspaceId }: Operation, person: PersonIdentifier): AsyncGenerator<LeadRow> {
  const pages = pagesOf<LeadRow>(LEADS_PER_PAGE, (last, limit) =>
    db.batch([listLeads(db, workspaceId, person, { afterId: last?.id ?? "", limit })]),
  );
  for await (const rows of pages) yield* rows;
}

/** Yields pages of records. @param read reads the records after the last one of the previous page. */
async function* pagesOf<Row>(
  limit: number,
  read: (last: Row | undefined, limit: number) => Promise<readonly [Row[]]>,
): AsyncGenerator<Row[]> {
  for (let last: Row | undefined; ;) {
    const [rows] = await read(last, limit);
    if (rows.length > 0) yield rows;
    if (rows.length < limit) return;
    last = rows.at(-1);
  }
}

/** Yields the pieces of a JSON array's items, with commas between the items. */
async function* separated(items: AsyncIterable<() => AsyncGenerator<string>>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const pieces of items) {
    if (!isFirst) yield ",";
    isFirst = false;
    yield* pieces();
  }
}
