import { z } from "@hono/zod-openapi";
import { env } from "cloudflare:workers";
import { SCHEDULES, SOURCE_STATUSES, SOURCE_TYPES } from "../platform/db/columns.ts";
import type { Passage } from "../models/retrieval.ts";
import { allowsPrivateTargets } from "../platform/config.ts";
import type { answers, sources } from "../platform/db/schema.ts";
import { CRAWLER_POLICY, urlProblem } from "../platform/egress/url-rules.ts";
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
  return urlProblem(url, CRAWLER_POLICY, allowsPrivateTargets(env));
}

export const sourceCreateSchema = z
  .object({
    type: z.enum(SOURCE_TYPES),
    name: z.string().min(1).max(300),
    url: z.string().max(2000).nullable().optional().openapi({ description: "Required when type is website or url." }),
    text: z
      .string()
      .min(1)
      .nullable()
      .optional()
      .openapi({ description: "Required when type is text; at most 5 MB (5,242,880 bytes) in UTF-8." }),
    max_pages: z.int().gte(1).lte(MAX_PAGES).default(DEFAULT_MAX_PAGES).openapi({ description: "For websites; the plan's cap applies." }),
    schedule: z.enum(SCHEDULES).default("weekly"),
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

export const sourceErrorSchema = z.object({ code: z.string(), message: z.string() }).openapi("SourceError");

export const sourceSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    type: z.enum(SOURCE_TYPES),
    name: z.string().openapi({ example: "Help centre" }),
    url: z.string().nullable().openapi({ example: "https://help.example.com" }),
    status: z.enum(SOURCE_STATUSES),
    schedule: z.enum(SCHEDULES),
    max_pages: z.int().openapi({ example: 200 }),
    pages_found: z.int().openapi({ example: 48 }),
    pages_indexed: z.int().openapi({ example: 45 }),
    pages_failed: z.int().openapi({ example: 1 }),
    pages_skipped: z.int().openapi({ example: 2 }),
    chunks_count: z.int().openapi({ example: 312 }),
    error: sourceErrorSchema.nullable(),
    last_synced_at: timestamp().nullable(),
    next_sync_at: timestamp().nullable(),
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

export const sourcePagesQuery = pageQuery.extend({ status: z.enum(PAGE_STATUSES).optional().openapi({ example: "failed" }) });

export const crawledPageSchema = z
  .object({
    url: z.string().openapi({ example: "https://help.example.com/refunds" }),
    title: z.string().nullable().openapi({ example: "Refunds" }),
    status: z.enum(PAGE_STATUSES),
    reason: z.string().nullable().openapi({ description: "Why it failed or was skipped, such as http_404, timeout, robots or noindex." }),
    in_use: z.boolean().openapi({ description: "Whether the agent answers from it: also when it failed now, but was read before." }),
  })
  .openapi("CrawledPage");

export const crawledPagesSchema = pageOf(crawledPageSchema, "CrawledPagePage");

export const answerCreateSchema = z
  .object({ question: z.string().min(1).max(2000), answer: z.string().min(1).max(8000) })
  .openapi("AnswerCreate", { example: { question: "Do you ship to Iceland?", answer: "Yes: six working days, for 12 euros." } });

export const answerSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    question: z.string().openapi({ example: "Do you ship to Iceland?" }),
    answer: z.string().openapi({ example: "Yes: six working days, for 12 euros." }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Answer");

export const answerPageSchema = pageOf(answerSchema, "AnswerPage");

export const searchSchema = z
  .object({ query: z.string().min(1).max(2000), limit: z.int().gte(1).lte(50).default(10) })
  .openapi("SearchIn", { example: { query: "refund deadline", limit: 5 } });

const searchResultItemSchema = z
  .object({
    title: z.string().openapi({ example: "Help centre › Refunds" }),
    url: z.string().nullable().openapi({ example: "https://help.example.com/refunds" }),
    source_id: uuid().openapi({ description: "The source, or the curated answer, that it came from." }),
    type: z.enum(["page", "text", "answer"]),
    content: z.string().openapi({ example: "Refunds are paid within five working days to the card that was charged." }),
    score: z.number().openapi({ example: 0.91 }),
  })
  .openapi("SearchResult");

export const searchResultSchema = z.object({ data: z.array(searchResultItemSchema) }).openapi("SearchResults");

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
