import { z } from "@hono/zod-openapi";
import { env } from "cloudflare:workers";
import { DRAFT_STATUSES, SCHEDULES, SOURCE_STATUSES, SOURCE_TYPES } from "../platform/db/columns.ts";
import type { answers, sources } from "../platform/db/schema.ts";
import { targetProblem } from "../platform/egress/target.ts";
import { CRAWLER_POLICY } from "../platform/egress/url-rules.ts";
import { parseJson } from "../platform/http/body.ts";
import { filledText, timestamp, toRecord, toTimestamp, uuid } from "../platform/http/fields.ts";
import { FormFile } from "../platform/http/multipart.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { REDACTED } from "../redaction/fields.ts";
import { joinedBytes } from "../platform/read-stream.ts";
import { pageOf, pageQuery } from "../platform/http/page.ts";
import { isReadable } from "./extract/response.ts";
import type { ListedPage, PageState } from "./crawl/page-store.ts";
import type { Draft } from "./merge-drafts.ts";
import { filterSchema, metadata, passageFields } from "./search-wire.ts";

const MAX_PAGES = 10_000;
const DEFAULT_MAX_PAGES = 100;

/** The body of a source before it is validated: the rules below run even if other checks fail. */
interface UncheckedSource {
  type?: unknown;
  text?: unknown;
  url?: unknown;
}

const isObject = ({ value }: { value: unknown }) => typeof value === "object" && value !== null;

/** A rule that reports a field as missing if the type of the source requires it. */
const requiredWhen = (field: "text" | "url", types: readonly unknown[]) => {
  const isGiven = (source: UncheckedSource) => !types.includes(source.type) || (source[field] ?? null) !== null;
  return [isGiven, { path: [field] as PropertyKey[], params: { type: "missing" }, when: isObject }] as const;
};

function urlProblemOf({ type, url }: UncheckedSource): string | undefined {
  if (type === "text" || typeof url !== "string") return undefined;
  return targetProblem(env, url, CRAWLER_POLICY);
}

export const sourceCreateSchema = z
  .object({
    type: z.enum(SOURCE_TYPES).exclude(["file"]).meta({ description: "A whole website, one page, or a text." }),
    name: filledText(300).meta({ description: "The name of the source, for your team." }),
    url: z.string().max(2000).nullable().optional().meta({ description: "Required when type is website or url." }),
    text: z
      .string()
      .min(1)
      .nullable()
      .optional()
      .meta({ description: "Required when type is text; at most 5 MB (5,242,880 bytes) in UTF-8." }),
    max_pages: z
      .int()
      .gte(1)
      .lte(MAX_PAGES)
      .default(DEFAULT_MAX_PAGES)
      .meta({ description: "The largest number of pages of a website. The plan limits it." }),
    schedule: z.enum(SCHEDULES).default("weekly").meta({ description: "How often the source is read again. A text is never read again." }),
    metadata: metadata().default({}),
  })
  .refine(...requiredWhen("text", ["text"]))
  .refine(...requiredWhen("url", ["website", "url"]))
  .refine((source) => urlProblemOf(source) === undefined, {
    path: ["url"],
    when: isObject,
    error: (issue) => `this url cannot be read: ${urlProblemOf(issue.input as UncheckedSource)}`,
  })
  .openapi("SourceCreate", {
    example: { type: "website", name: "Help centre", url: "https://help.example.com", max_pages: 200, schedule: "daily" },
  });

const isFile = (value: unknown) => value instanceof FormFile;

export const sourceFileSchema = z
  .object({
    file: z
      .custom<FormFile>(isFile, { params: { type: "missing" } })
      .refine((file) => !isFile(file) || file.size > 0, valueErrorParams("the file is empty"))
      .refine(
        (file) => !isFile(file) || isReadable(headOf(file.pieces)),
        valueErrorParams("send a PDF, DOCX, HTML, Markdown, text or CSV file"),
      )
      .meta({
        type: "string",
        format: "binary",
        description: "A PDF, DOCX, HTML, Markdown, text or CSV file of at most 20 MB (20,971,520 bytes).",
      }),
    name: filledText(300).optional().meta({ description: "The title of its passages; by default the file's name." }),
    metadata: z
      .string()
      .transform(parsedField)
      .pipe(metadata())
      .optional()
      .meta({
        type: "object",
        additionalProperties: { type: "string" },
        description: "Your labels as JSON, which a `filter` can name.",
      }),
  })
  .openapi("SourceFile", { example: { file: "handbook.pdf", name: "Handbook", metadata: { product: "billing" } } });

export const sourceKey = () =>
  z
    .string()
    .min(1)
    .max(200)
    .meta({ description: "Your key for the source, unique in its agent, such as the path of a file.", example: "docs/refunds.md" });

export const sourcePutSchema = z
  .object({
    name: filledText(300).optional().meta({ description: "The title of its passages; by default the key." }),
    text: z.string().min(1).meta({ description: "The text, at most 5 MB (5,242,880 bytes) in UTF-8." }),
    metadata: metadata().default({}),
  })
  .openapi("SourcePut", { example: { name: "Refunds", text: "Refunds are paid within five working days." } });

export const sourcePatchSchema = z
  .object({
    name: filledText(300)
      .nullable()
      .meta({ description: "The name of the source. It is the title of a text's passages, so a text is indexed again with it." }),
    schedule: z.enum(SCHEDULES).nullable().meta({ description: "How often the source is read again. A text or file is never read again." }),
    max_pages: z
      .int()
      .gte(1)
      .lte(MAX_PAGES)
      .nullable()
      .meta({ description: "The largest number of pages of a website, from the next sync on. The plan limits it." }),
    text: z.string().min(1).nullable().meta({
      description: "Replaces the text of a source of type text. The agent answers from the previous text until the new one is read.",
    }),
    metadata: metadata().nullable().meta({ description: "Replaces all metadata immediately. `{}` clears them." }),
  })
  .partial()
  .openapi("SourcePatch", {
    description: "A field that is left out or null stays as it is.",
    example: { name: "Help centre", schedule: "daily", metadata: { product: "billing" } },
  });

export const sourceErrorSchema = z
  .object({
    code: z.string().meta({ description: "The code of the error, for programs." }),
    message: z.string().meta({ description: "What went wrong and how to fix it." }),
  })
  .openapi("SourceError");

export const sourceSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    type: z.enum(SOURCE_TYPES).meta({ description: "A whole website, one page, a text, or a file." }),
    name: z.string().meta({ description: "The name of the source, for your team.", example: "Help centre" }),
    url: z
      .string()
      .nullable()
      .meta({ description: "The address that is read; null for a text or file.", example: "https://help.example.com" }),
    key: z.string().nullable().meta({ description: "Your key for the source, by which it is replaced; null without one." }),
    metadata: metadata(),
    status: z.enum(SOURCE_STATUSES).meta({ description: "Whether the source waits, is being read, is in use or has failed." }),
    schedule: z.enum(SCHEDULES).meta({ description: "How often the source is read again." }),
    max_pages: z.int().meta({ description: "The most pages that are read of a website, within the plan.", example: 200 }),
    pages_found: z.int().meta({ description: "Pages that were found.", example: 48 }),
    pages_indexed: z.int().meta({ description: "Pages that the agent answers from.", example: 45 }),
    pages_failed: z.int().meta({ description: "Pages that could not be read.", example: 1 }),
    pages_skipped: z.int().meta({ description: "Pages that were left out, such as copies.", example: 2 }),
    chunks_count: z.int().meta({ description: "The number of passages of its texts.", example: 312 }),
    error: sourceErrorSchema.nullable().meta({ description: "Why the last sync failed; null if it succeeded." }),
    last_synced_at: timestamp().nullable().meta({ description: "When the source was last read completely." }),
    next_sync_at: timestamp().nullable().meta({ description: "When the source will be read again." }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Source");

export const sourcePageSchema = pageOf(sourceSchema, "SourcePage");

const PAGE_STATUSES = ["indexed", "failed", "skipped", "waiting"] as const;
type PageStatus = (typeof PAGE_STATUSES)[number];

/** The states of pages for each status that callers see. */
export const STATES_OF_STATUS: Record<PageStatus, readonly PageState[]> = {
  indexed: ["indexed", "unchanged"],
  failed: ["failed", "kept"],
  skipped: ["skipped"],
  waiting: ["waiting", "fetched"],
};

export const sourcePagesQuery = pageQuery.extend({
  status: z.enum(PAGE_STATUSES).optional().meta({ description: "Only pages with this status.", example: "failed" }),
});

const crawledPageSchema = z
  .object({
    url: z.string().meta({ description: "The URL of the page.", example: "https://help.example.com/refunds" }),
    title: z.string().nullable().meta({ description: "The title of the page; null until it is read.", example: "Refunds" }),
    status: z.enum(PAGE_STATUSES).meta({ description: "The status of the page." }),
    reason: z
      .string()
      .nullable()
      .meta({ description: "Why the page failed or was skipped, such as http_404, timeout, robots or noindex." }),
    in_use: z.boolean().meta({ description: "Whether the agent answers from the page, even if it failed now but was read before." }),
  })
  .openapi("CrawledPage");

export const crawledPagesSchema = pageOf(crawledPageSchema, "CrawledPagePage");

export const sourcePassagesQuery = pageQuery.extend({
  url: z
    .string()
    .max(2000)
    .optional()
    .meta({ description: "Only the passages of the page with this URL.", example: "https://help.example.com/refunds" }),
});

const sourcePassageSchema = z
  .object({
    type: z.enum(["page", "text"]).meta({ description: "Whether it is from a page, or from a text or file." }),
    title: z.string().meta({ description: "The title of the page, text or file.", example: "Help centre" }),
    url: z.string().nullable().meta({ description: "The page; null for a text or file.", example: "https://help.example.com/refunds" }),
    heading: z
      .string()
      .nullable()
      .meta({ description: "The headings above the passage, outermost first; null without one.", example: "Payments > Refunds" }),
    content: z.string().meta({
      description: "The passage, at most 8 KiB.",
      example: "Refunds are paid within five working days to the card that was charged.",
    }),
  })
  .openapi("SourcePassage");

export const sourcePassagesSchema = pageOf(sourcePassageSchema, "SourcePassagePage");

export const answerCreateSchema = z
  .object({
    question: filledText(2000).meta({ description: "The question, as a visitor would ask it." }),
    answer: filledText(8000).meta({ description: "The answer that the agent gives, word for word." }),
    metadata: metadata().default({}),
  })
  .openapi("AnswerCreate", { example: { question: "Do you ship to Iceland?", answer: "Yes: six working days, for 12 euros." } });

export const answerPatchSchema = z
  .object({
    question: filledText(2000).nullable().meta({ description: "The question, as a visitor would ask it." }),
    answer: filledText(8000).nullable().meta({ description: "The answer that the agent gives, word for word." }),
    metadata: metadata().nullable().meta({ description: "Replaces all metadata. `{}` clears them." }),
  })
  .partial()
  .openapi("AnswerPatch", {
    description: "A field that is left out or null stays as it is.",
    example: { answer: "Yes: four working days, for 9 euros." },
  });

export const answerSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    question: z.string().meta({ description: "The question.", example: "Do you ship to Iceland?" }),
    answer: z
      .string()
      .meta({ description: "The answer that the agent gives, word for word.", example: "Yes: six working days, for 12 euros." }),
    metadata: metadata(),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Answer");

export const answerPageSchema = pageOf(answerSchema, "AnswerPage");

/** The most conversations of a draft that are listed. */
const MAX_DRAFT_CONVERSATIONS = 10;

const draftSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    question: z.string().meta({ description: "The question that the agent could not answer.", example: "Do you ship to Iceland?" }),
    answer: z
      .string()
      .meta({ description: "What a colleague replied, without the salutation.", example: "Yes: six working days, for 12 euros." }),
    count: z.int().meta({ description: "The number of equivalent replies to the same question." }),
    conversations: z
      .array(
        z
          .object({
            conversation_id: uuid(),
            message_id: uuid().meta({ description: "The reply." }),
            question: z.string().meta({ description: "What the visitor asked.", example: "is shipping to iceland possible?" }),
          })
          .openapi("DraftConversation"),
      )
      .meta({ description: `The latest ${MAX_DRAFT_CONVERSATIONS} conversations that it comes from, latest first.` }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Draft");

export const storedDraftSchema = draftSchema
  .omit({ count: true, conversations: true })
  .extend({
    message_id: uuid().meta({ description: "The reply." }),
    status: z.enum(DRAFT_STATUSES).meta({ description: "The status of the draft." }),
  })
  .openapi("StoredDraft");

export const draftPageSchema = pageOf(draftSchema, "DraftPage");

export const draftAcceptSchema = z
  .object({
    question: filledText(2000).nullable().meta({ description: "The question, in place of the draft's." }),
    answer: filledText(8000).nullable().meta({ description: "What the agent answers, in place of the draft's." }),
    metadata: metadata().nullable(),
  })
  .partial()
  .openapi("DraftAccept", {
    description: "A field that is left out or null is taken from the draft.",
    example: { answer: "Yes, we ship to Iceland: six working days, for 12 euros." },
  });

export const searchSchema = z
  .object({
    query: z
      .string()
      .min(1)
      .max(2000)
      .meta({ ...REDACTED, description: "What to look for, in words or as a question." }),
    limit: z.int().gte(1).lte(50).default(10).meta({ description: "How many passages to return at most." }),
    filter: filterSchema,
  })
  .openapi("SearchIn", { example: { query: "refund deadline", limit: 5 } });

const searchResultItemSchema = z
  .object({
    ...passageFields,
    content: z
      .string()
      .meta({ description: "The passage.", example: "Refunds are paid within five working days to the card that was charged." }),
    score: z.number().meta({ description: "How well the passage fits the question, from 0 to 1.", example: 0.91 }),
  })
  .openapi("SearchResult");

export type SearchResult = z.infer<typeof searchResultItemSchema>;

export const searchResultSchema = z
  .object({ data: z.array(searchResultItemSchema).meta({ description: "Passages, best first." }) })
  .openapi("SearchResults");

/** The number of bytes that are needed to detect a file's type. */
const HEAD_BYTES = 1_024;

function headOf(pieces: readonly Uint8Array[]): Uint8Array {
  const head: Uint8Array[] = [];
  for (let at = 0, length = 0; at < pieces.length && length < HEAD_BYTES; at++) {
    head.push(pieces[at]!.subarray(0, HEAD_BYTES - length));
    length += head.at(-1)!.length;
  }
  return joinedBytes(head);
}

/** Parses the JSON in a field of a form. Other text is returned unchanged, and the schema refuses it. */
function parsedField(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

type SourceRow = typeof sources.$inferSelect;
type AnswerRow = typeof answers.$inferSelect;

/** The wire record of a source. */
export function toSource(row: SourceRow): z.infer<typeof sourceSchema> {
  const error = row.errorCode === null ? null : { code: row.errorCode, message: row.errorMessage ?? "" };
  return toRecord(sourceSchema, row, { error });
}

/** The wire record of a page that a crawl found. */
export function toCrawledPage({ url, title, state, reason, inUse }: ListedPage): z.infer<typeof crawledPageSchema> {
  const status = PAGE_STATUSES.find((each) => STATES_OF_STATUS[each].includes(state)) ?? "skipped";
  return { url, title, status, reason, in_use: inUse };
}

/** The wire record of a curated answer. */
export function toAnswer(row: AnswerRow): z.infer<typeof answerSchema> {
  return toRecord(answerSchema, row, {});
}

/** The wire record of a stored draft, for the export of a person. */
export function toStoredDraft(row: Draft[0]): z.infer<typeof storedDraftSchema> {
  return toRecord(storedDraftSchema, row, {});
}

/** The wire record of equivalent drafts, as one answer. */
export function toDraft(rows: Draft, answer: string): z.infer<typeof draftSchema> {
  const latest = rows.toReversed().slice(0, MAX_DRAFT_CONVERSATIONS);
  return toRecord(draftSchema, rows[0], {
    answer,
    count: rows.length,
    conversations: latest.map((row) => ({ conversation_id: row.conversationId, message_id: row.messageId, question: row.question })),
    updated_at: toTimestamp(Math.max(...rows.map(({ updatedAt }) => updatedAt))),
  });
}
