import { z } from "@hono/zod-openapi";
import { AGENT_STATUSES, type Channel, CHANNELS } from "../platform/db/columns.ts";
import type { agents } from "../platform/db/schema.ts";
import { timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { handoffMessageOf, welcomeMessageOf } from "./messages.ts";

/** An agent as integrators see it, without secrets and prompts. */
export const agentSchema = z
  .object({
    id: uuid(),
    name: z.string().openapi({ example: "Acme support" }),
    slug: z.string().openapi({ example: "acme-support" }),
    description: z.string().nullable().openapi({ example: "Answers questions of the shop's customers." }),
    status: z.enum(AGENT_STATUSES).openapi({ description: "A paused agent answers no questions." }),
    language: z.string().openapi({ example: "en" }),
    welcome_message: z.string().openapi({ example: "Hello! How can we help?" }),
    handoff_message: z.string().openapi({
      description:
        "What the visitor reads when a human is needed. Where the operator has set none, the sentence depends on the reason and on the visitor's language; this is the one for a question without an answer.",
      example: "A colleague will take it from here.",
    }),
    confidence_threshold: z.number().openapi({ description: "Answers below it are handed to a human.", example: 0.5 }),
    channels: z.array(z.enum(CHANNELS)),
    sources_count: z.int().openapi({ example: 3 }),
    answers_count: z.int().openapi({ example: 12 }),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Agent");

export const agentPageSchema = pageOf(agentSchema, "AgentPage");

export type AgentRow = typeof agents.$inferSelect;

/** The wire record of an agent, as integrators see it. */
export function toAgent(row: AgentRow): z.infer<typeof agentSchema> {
  const isOff: Partial<Record<Channel, boolean>> = { email: row.emailAddress === null, hosted: row.hostedPage.enabled === false };
  const channels = CHANNELS.filter((channel) => !isOff[channel]);
  return toRecord(agentSchema, row, { channels, welcome_message: welcomeMessageOf(row), handoff_message: handoffMessageOf(row) });
}
