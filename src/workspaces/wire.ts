import { z } from "@hono/zod-openapi";
import { type Plan, PLAN_NAMES } from "../platform/db/columns.ts";
import { timestamp, toTimestamp, uuid } from "../platform/http/fields.ts";
import { type Limits, periodBounds } from "./plans.ts";
import { SCOPES } from "./scopes.ts";

export const meSchema = z
  .object({
    workspace: z
      .object({
        id: uuid(),
        name: z.string().openapi({ description: "The name.", example: "Acme" }),
        slug: z.string().openapi({ description: "Its short name, unique in the deployment.", example: "acme" }),
      })
      .openapi({ description: "Whose key it is." }),
    plan: z.enum(PLAN_NAMES).openapi({ description: "What the workspace may use." }),
    api_key: z
      .object({
        id: uuid(),
        name: z.string().openapi({ description: "What it is used for.", example: "Backend" }),
        prefix: z.string().openapi({ description: "The key's first 16 characters.", example: "sk_live_Zk3vQ0pA" }),
        scopes: z.array(z.enum(SCOPES)).openapi({ description: "What the key may do." }),
      })
      .openapi({ description: "The key of this request." }),
    rate_limit: z
      .object({
        requests_per_minute: z
          .int()
          .openapi({ description: "Requests that the workspace may make in any 60 seconds, all its keys together.", example: 300 }),
      })
      .openapi({ description: "The rate limit." }),
  })
  .openapi("KeyIntrospection");

export const limitsSchema = z
  .object({
    requests_per_minute: z.int().openapi({ description: "Requests in any 60 seconds, all keys together." }),
    messages: z.int().openapi({ description: "Questions that agents are asked to answer, a calendar month." }),
    messages_per_conversation: z.int().openapi({ description: "Messages of one conversation, all authors together." }),
    visitor_messages_per_day: z
      .int()
      .openapi({ description: "Messages of visitors on every channel but the API, a UTC day, whether the agent or a human answers." }),
    leads_per_day: z.int().openapi({ description: "Leads of all agents, a UTC day." }),
    team_messages_per_day: z.int().openapi({ description: "Messages that your team writes, a UTC day." }),
    evaluation_cases_per_day: z.int().openapi({ description: "Cases of evaluations, a UTC day." }),
    agents: z.int().openapi({ description: "Agents of the workspace." }),
    api_keys: z.int().openapi({ description: "API keys that are not revoked." }),
    sources: z.int().openapi({ description: "Knowledge sources for each agent." }),
    max_pages: z.int().openapi({ description: "The most pages that one website source may read." }),
    answers_per_agent: z.int().openapi({ description: "Curated answers of one agent." }),
    knowledge_mb_per_agent: z.int().openapi({ description: "Megabytes of text, extracted from the sources of one agent." }),
    webhooks: z.boolean().openapi({ description: "Whether events are sent to webhook endpoints." }),
  })
  .openapi("Limits");

export const usageSchema = z
  .object({
    plan: z.enum(PLAN_NAMES).openapi({ description: "What the workspace may use." }),
    period: z
      .object({
        start: timestamp().openapi({ description: "Its first moment." }),
        end: timestamp().openapi({ description: "The next one's first moment." }),
      })
      .openapi({ description: "The calendar month, UTC; the end is the next one's start." }),
    limits: limitsSchema.openapi({ description: "The plan's limits, with the operator's changes." }),
    usage: z
      .object({
        messages: z.int().openapi({ description: "Questions that agents were asked to answer in the period." }),
        visitor_messages_today: z.int().openapi({ description: "Visitors' messages on this UTC day." }),
        leads_today: z.int().openapi({ description: "Leads on this UTC day." }),
        team_messages_today: z.int().openapi({ description: "Messages that your team wrote on this UTC day." }),
        evaluation_cases_today: z.int().openapi({ description: "Cases of the evaluations that were started on this UTC day." }),
        agents: z.int().openapi({ description: "Agents now." }),
        api_keys: z.int().openapi({ description: "API keys that are not revoked." }),
        sources: z.int().openapi({ description: "Knowledge sources now." }),
        pages: z.int().openapi({ description: "Indexed pages now." }),
        answers: z.int().openapi({ description: "Curated answers now." }),
        knowledge_mb_per_agent: z.number().openapi({
          description: "Megabytes of text of the agent that has the most, as of the last sync of each source.",
          example: 1.25,
        }),
      })
      .openapi({ description: "`sources`, `pages` and `answers` are those of all agents." }),
    remaining: z
      .object({ messages: z.int().openapi({ description: "Questions that are left in the period." }) })
      .openapi({ description: "What is left." }),
  })
  .openapi("Usage");

type Usage = z.infer<typeof usageSchema>;

/** The usage of the period that a time falls into. */
export function toUsage(plan: Plan, limits: Limits, usage: Usage["usage"], atMs: number): Usage {
  const { startMs, endMs } = periodBounds(atMs);
  return {
    plan,
    period: { start: toTimestamp(startMs), end: toTimestamp(endMs) },
    limits,
    usage,
    remaining: { messages: Math.max(0, limits.messages - usage.messages) },
  };
}
