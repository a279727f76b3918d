import { z } from "@hono/zod-openapi";
import { env } from "cloudflare:workers";
import { SCHEDULES, SOURCE_STATUSES, SOURCE_TYPES } from "../platform/db/columns.ts";
import type { Passage } from "../models/retrieval.ts";
import type { answers, sources } from "../platform/db/schema.ts";
import { targetProblem } from "../platform/egress/target.ts";
import { CRAWLER_POLICY } from "../platform/egress/url-rules.ts";
import { timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf, pageQuery } from "../platform/http/page.ts";
import type { ListedPage, PageState } from "./crawl/page-store.ts";

const MAX_PAGES = 10_000;
const DEFAULT_MAX_PAGES = 100;

/** A source's body before it is validated, since the rules below run beside the other checks. */
interface UncheckedSource {
  type?: unknown;
  text?: unknown;
  url?: unknown;
}

const isObject = ({ value }: { value: unknown }) => typeof value === "object" && value !== null;

/** Reports a field that some types need as missing. */
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
    type: z.enum(SOURCE_TYPES).openapi({ description: "A whole website, one page, or a text." }),
    name: z.string().min(1).max(300).openapi({ description: "What your team calls it." }),
    url: z.string().max(2000).nullable().optional().openapi({ description: "Required when type is website or url." }),
    text: z
      .string()
      .min(1)
      .nullable()
      .optional()
      .openapi({ description: "Required when type is text; at most 5 MB (5,242,880 bytes) in UTF-8." }),
    max_pages: z.int().gte(1).lte(MAX_PAGES).default(DEFAULT_MAX_PAGES).openapi({ description: "For websites; the plan's cap applies." }),
    schedule: z.enum(SCHEDULES).default("weekly").openapi({ description: "How often it is read again; a text never is." }),
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

export const sourceErrorSchema = z
  .object({
    code: z.string().openapi({ description: "What went wrong, for programs." }),
    message: z.string().openapi({ description: "What went wrong, and what to do." }),
  })
  .openapi("SourceError");

export const sourceSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    type: z.enum(SOURCE_TYPES).openapi({ description: "A whole website, one page, or a text." }),
    name: z.string().openapi({ description: "What your team calls it.", example: "Help centre" }),
    url: z.string().nullable().openapi({ description: "Where it is read; null for a text.", example: "https://help.example.com" }),
    status: z.enum(SOURCE_STATUSES).openapi({ description: "Whether it waits, is being read, is in use or failed." }),
    schedule: z.enum(SCHEDULES).openapi({ description: "How often it is read again." }),
    max_pages: z.int().openapi({ description: "The most pages that are read of a website, within the plan.", example: 200 }),
    pages_found: z.int().openapi({ description: "Pages that were found.", example: 48 }),
    pages_indexed: z.int().openapi({ description: "Pages that the agent answers from.", example: 45 }),
    pages_failed: z.int().openapi({ description: "Pages that could not be read.", example: 1 }),
    pages_skipped: z.int().openapi({ description: "Pages that were left out, such as copies.", example: 2 }),
    chunks_count: z.int().openapi({ description: "Passages that its texts were cut into.", example: 312 }),
    error: sourceErrorSchema.nullable().openapi({ description: "Why it failed; null unless it did." }),
    last_synced_at: timestamp().nullable().openapi({ description: "When it was last read completely." }),
    next_sync_at: timestamp().nullable().openapi({ description: "When it will be read again." }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Source");

export const sourcePageSchema = pageOf(sourceSchema, "SourcePage");

const PAGE_STATUSES = ["indexed", "failed", "skipped", "waiting"] as const;
type PageStatus = (typeof PAGE_STATUSES)[number];

/** The states of pages that callers see as one status. */
export const STATES_OF_STATUS: Record<PageStatus, readonly PageState[]> = {
  indexed: ["indexed", "unchanged"],
  failed: ["failed", "kept"],
  skipped: ["skipped"],
  waiting: ["waiting", "fetched"],
};

export const sourcePagesQuery = pageQuery.extend({
  status: z.enum(PAGE_STATUSES).optional().openapi({ description: "Only pages of which this became.", example: "failed" }),
});

export const crawledPageSchema = z
  .object({
    url: z.string().openapi({ description: "Its address.", example: "https://help.example.com/refunds" }),
    title: z.string().nullable().openapi({ description: "Its title; null until it is read.", example: "Refunds" }),
    status: z.enum(PAGE_STATUSES).openapi({ description: "What became of it." }),
    reason: z.string().nullable().openapi({ description: "Why it failed or was skipped, such as http_404, timeout, robots or noindex." }),
    in_use: z.boolean().openapi({ description: "Whether the agent answers from it: also when it failed now, but was read before." }),
  })
  .openapi("CrawledPage");

export const crawledPagesSchema = pageOf(crawledPageSchema, "CrawledPagePage");

export const answerCreateSchema = z
  .object({
    question: z.string().min(1).max(2000).openapi({ description: "The question, as a visitor would ask it." }),
    answer: z.string().min(1).max(8000).openapi({ description: "What the agent answers, word for word." }),
  })
  .openapi("AnswerCreate", { example: { question: "Do you ship to Iceland?", answer: "Yes: six working days, for 12 euros." } });

export const answerSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    question: z.string().openapi({ description: "The question.", example: "Do you ship to Iceland?" }),
    answer: z.string().openapi({ description: "What the agent answers, word for word.", example: "Yes: six working days, for 12 euros." }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Answer");

export const answerPageSchema = pageOf(answerSchema, "AnswerPage");

export const searchSchema = z
  .object({
    query: z.string().min(1).max(2000).openapi({ description: "What to look for, in words or as a question." }),
    limit: z.int().gte(1).lte(50).default(10).openapi({ description: "How many passages to return at most." }),
  })
  .openapi("SearchIn", { example: { query: "refund deadline", limit: 5 } });

const searchResultItemSchema = z
  .object({
    title: z
      .string()
      .openapi({ description: "The title of the page or text, with the heading above the passage.", example: "Help centre › Refunds" }),
    url: z
      .string()
      .nullable()
      .openapi({ description: "The page; null for a text or a curated answer.", example: "https://help.example.com/refunds" }),
    source_id: uuid().openapi({ description: "The source, or the curated answer, that it came from." }),
    type: z.enum(["page", "text", "answer"]).openapi({ description: "What kind of source it is." }),
    content: z
      .string()
      .openapi({ description: "The passage.", example: "Refunds are paid within five working days to the card that was charged." }),
    score: z.number().openapi({ description: "0 to 1: how well it fits.", example: 0.91 }),
  })
  .openapi("SearchResult");

export const searchResultSchema = z
  .object({ data: z.array(searchResultItemSchema).openapi({ description: "Passages, best first." }) })
  .openapi("SearchResults");

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

/** The wire record of a passage; its heading is part of its title. */
export function toSearchResult(passage: Passage): z.infer<typeof searchResultItemSchema> {
  const { url, type, content, score } = passage;
  return { title: titleOf(passage), url, source_id: passage.sourceId, type, content, score };
}

/** A passage's title with the heading it stands under. */
export function titleOf({ title, heading }: Pick<Passage, "title" | "heading">): string {
  return heading === null || heading === title ? title : `${title} › ${heading}`;
}
