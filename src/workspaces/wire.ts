import { z } from "@hono/zod-openapi";
import { MEMBER_ROLES, type Plan, PLAN_NAMES } from "../platform/db/columns.ts";
import type { workspaces } from "../platform/db/schema.ts";
import { timestamp, toTimestamp, uuid } from "../platform/http/fields.ts";
import { type Limits, periodBounds, toMegabytes } from "./plans.ts";
import { SCOPES } from "./scopes.ts";

export const meSchema = z
  .object({
    workspace: z
      .object({
        id: uuid(),
        name: z.string().meta({ description: "The name.", example: "Acme" }),
        slug: z.string().meta({ description: "The short name of the workspace, unique in the deployment.", example: "acme" }),
      })
      .meta({ description: "The workspace of the key." }),
    plan: z.enum(PLAN_NAMES).meta({ description: "The plan of the workspace." }),
    api_key: z
      .object({
        id: uuid(),
        name: z.string().meta({ description: "The purpose of the key.", example: "Backend" }),
        prefix: z.string().meta({ description: "The key's first 16 characters.", example: "sk_live_Zk3vQ0pA" }),
        scopes: z.array(z.enum(SCOPES)).meta({ description: "The scopes of the key." }),
      })
      .meta({ description: "The key of this request; for a member, the session." }),
    member: z
      .object({
        id: uuid(),
        name: z.string().meta({ description: "The name.", example: "Grace Hopper" }),
        email: z.string().meta({ description: "The email address.", example: "grace@example.com" }),
        role: z.enum(MEMBER_ROLES).meta({ description: "The role." }),
      })
      .nullable()
      .meta({ description: "The member who is signed in; null for an API key." }),
    rate_limit: z
      .object({
        requests_per_minute: z.int().meta({
          description: "Requests that all keys of the workspace together, and each member in the console, may make in any 60 seconds.",
          example: 300,
        }),
      })
      .meta({ description: "The rate limit." }),
  })
  .openapi("KeyIntrospection");

export const limitsSchema = z
  .object({
    requests_per_minute: z
      .int()
      .meta({ description: "Requests of all keys together, and of each member in the console, in any 60 seconds." }),
    messages: z.int().meta({ description: "Questions that agents are asked to answer in a calendar month." }),
    messages_per_conversation: z.int().meta({ description: "Messages of one conversation, all authors together." }),
    visitor_messages_per_day: z.int().meta({
      description: "Messages of visitors in a UTC day. Over the API, only those count that do not use the quota, such as those to a human.",
    }),
    leads_per_day: z.int().meta({ description: "Leads of all agents in a UTC day." }),
    visitor_attachments_per_day: z.int().meta({ description: "Files that visitors upload in a UTC day." }),
    team_messages_per_day: z.int().meta({ description: "Messages that your team writes in a UTC day." }),
    evaluation_cases_per_day: z.int().meta({ description: "Cases of evaluations in a UTC day." }),
    erasures_per_day: z.int().meta({ description: "Erasures of persons that are started in a UTC day." }),
    syncs_per_day: z.int().meta({
      description:
        "Syncs of sources that are requested in a UTC day: of new sources and new texts, and at request. Scheduled ones do not count.",
    }),
    agents: z.int().meta({ description: "Agents of the workspace." }),
    api_keys: z.int().meta({ description: "API keys that are not revoked." }),
    members: z.int().meta({ description: "Members of the team, invited ones included." }),
    sources: z.int().meta({ description: "Knowledge sources for each agent." }),
    max_pages: z.int().meta({ description: "The most pages that one website source may read." }),
    answers_per_agent: z.int().meta({ description: "Curated answers of one agent." }),
    knowledge_mb_per_agent: z.int().meta({ description: "Megabytes of text, extracted from the sources of one agent." }),
    webhooks: z.boolean().meta({ description: "Whether events are sent to webhook endpoints." }),
    deliveries_per_day: z
      .int()
      .meta({ description: "Deliveries to webhook endpoints in a UTC day, with tests and redeliveries. Retries do not count." }),
    delivery_log_mb: z.int().meta({ description: "Megabytes of the delivery log." }),
    attachments_mb: z.int().meta({
      description: "Megabytes of the files that messages carry, with 512 bytes for each file. Visitors may use four fifths of them.",
    }),
  })
  .openapi("Limits");

export const usageSchema = z
  .object({
    plan: z.enum(PLAN_NAMES).meta({ description: "The plan of the workspace." }),
    period: z
      .object({
        start: timestamp().meta({ description: "The start of the period." }),
        end: timestamp().meta({ description: "The start of the next period." }),
      })
      .meta({ description: "The calendar month, UTC." }),
    limits: limitsSchema.meta({ description: "The plan's limits, with the operator's changes." }),
    usage: z
      .object({
        messages: z.int().meta({ description: "Questions that agents were asked to answer in the period." }),
        redactions: z.int().meta({ description: "How often text was masked in the period." }),
        visitor_messages_today: z.int().meta({ description: "Visitors' messages on this UTC day." }),
        leads_today: z.int().meta({ description: "Leads on this UTC day." }),
        visitor_attachments_today: z.int().meta({ description: "Files that visitors uploaded on this UTC day." }),
        team_messages_today: z.int().meta({ description: "Messages that your team wrote on this UTC day." }),
        evaluation_cases_today: z.int().meta({ description: "Cases of the evaluations that were started on this UTC day." }),
        erasures_today: z.int().meta({ description: "Erasures of persons that were started on this UTC day." }),
        syncs_today: z.int().meta({ description: "Syncs of sources that were requested on this UTC day." }),
        agents: z.int().meta({ description: "Agents now." }),
        api_keys: z.int().meta({ description: "API keys that are not revoked." }),
        members: z.int().meta({ description: "Members of the team now, invited ones included." }),
        sources: z.int().meta({ description: "Knowledge sources now." }),
        pages: z.int().meta({ description: "Indexed pages now." }),
        answers: z.int().meta({ description: "Curated answers now." }),
        knowledge_mb_per_agent: z.number().meta({
          description: "Megabytes of text of the agent that has the most, as of the last sync of each source.",
          example: 1.25,
        }),
        deliveries_today: z.int().meta({ description: "Deliveries of events to webhook endpoints on this UTC day." }),
        delivery_log_mb: z.number().meta({ description: "Megabytes of the delivery log now.", example: 0.75 }),
        attachments_mb: z.number().meta({ description: "Megabytes of attachments now.", example: 12.5 }),
      })
      .meta({ description: "`sources`, `pages` and `answers` are those of all agents." }),
    remaining: z
      .object({ messages: z.int().meta({ description: "Questions that are left in the period." }) })
      .meta({ description: "What the workspace may still use." }),
  })
  .openapi("Usage");

type Usage = z.infer<typeof usageSchema>;

/** Rows of several workspaces. */
type Rows<Columns> = readonly ({ workspaceId: string } & Columns)[];

/** What `listUsage` finds. */
type FoundUsage = readonly [
  questions: Rows<{ messages: number; redactions: number }>,
  agents: Rows<{ answers: number; mostTextBytes: number }>,
  keys: Rows<{ keys: number }>,
  today: Rows<{ flow: string; count: number }>,
  members: Rows<{ members: number }>,
];

/** Returns the usage of a workspace. */
export function usageOf(workspace: typeof workspaces.$inferSelect, [questions, agents, keys, counts, members]: FoundUsage): Usage["usage"] {
  const isOwn = ({ workspaceId }: { workspaceId: string }) => workspaceId === workspace.id;
  const [asked, ofAgents] = [questions.find(isOwn), agents.find(isOwn)];
  const today = (flow: string) => counts.find((row) => isOwn(row) && row.flow === flow)?.count ?? 0;
  return {
    messages: asked?.messages ?? 0,
    redactions: asked?.redactions ?? 0,
    visitor_messages_today: today("messages"),
    leads_today: today("leads"),
    visitor_attachments_today: today("attachments"),
    team_messages_today: today("team_messages"),
    evaluation_cases_today: today("evaluation_cases"),
    erasures_today: today("erasures"),
    syncs_today: today("syncs"),
    agents: workspace.agentsCount,
    api_keys: keys.find(isOwn)?.keys ?? 0,
    members: members.find(isOwn)?.members ?? 0,
    sources: workspace.sourcesCount,
    pages: workspace.pagesCount,
    answers: ofAgents?.answers ?? 0,
    knowledge_mb_per_agent: toMegabytes(ofAgents?.mostTextBytes ?? 0),
    deliveries_today: today("deliveries"),
    delivery_log_mb: toMegabytes(workspace.deliveryLogBytes),
    attachments_mb: toMegabytes(workspace.attachmentBytes),
  };
}

/** Returns the usage of the period that a time falls into. */
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
