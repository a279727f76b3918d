import { z } from "@hono/zod-openapi";
import { AGENT_STATUSES, type Channel, CHANNELS } from "../platform/db/columns.ts";
import type { agents } from "../platform/db/schema.ts";
import { timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { handoffMessageOf, welcomeMessageOf } from "./messages.ts";

/** An agent without its instructions, tools and secrets, which keys that may only read agents do not see. */
export const agentSchema = z.object({
  id: uuid(),
  name: z.string().meta({ description: "The name of the agent, which your team and visitors see.", example: "Acme support" }),
  slug: z.string().meta({ description: "The short name of the agent, unique in the workspace.", example: "acme-support" }),
  description: z
    .string()
    .nullable()
    .meta({ description: "A note for your team about the purpose of the agent.", example: "Answers questions of the shop's customers." }),
  status: z.enum(AGENT_STATUSES).meta({ description: "A paused agent answers no questions." }),
  language: z.string().meta({ description: "A BCP 47 tag: the language of the texts that you do not set.", example: "en" }),
  welcome_message: z.string().meta({ description: "The message that visitors see before they write.", example: "Hello! How can we help?" }),
  handoff_message: z.string().meta({
    description:
      "The message that the visitor gets when a human is needed. If the operator has set none, it depends on the reason and on the visitor's language; this is the one for a question without an answer.",
    example: "A colleague will take it from here.",
  }),
  confidence_threshold: z.number().meta({ description: "Answers with less confidence are handed to a human.", example: 0.5 }),
  channels: z.array(z.enum(CHANNELS)).meta({ description: "The channels on which visitors can write to it." }),
  sources_count: z.int().meta({ description: "The number of knowledge sources of the agent.", example: 3 }),
  answers_count: z.int().meta({ description: "The number of curated answers of the agent.", example: 12 }),
  created_at: timestamp(),
  updated_at: timestamp(),
});

export type AgentRow = typeof agents.$inferSelect;

/** The channels on which visitors write to an agent. Only the team writes in the playground. */
const SERVED_CHANNELS = CHANNELS.filter((channel) => channel !== "playground");

/** The wire record of an agent. */
export function toAgent(row: AgentRow): z.infer<typeof agentSchema> {
  const isOff: Partial<Record<Channel, boolean>> = { email: row.emailAddress === null, hosted: row.hostedPage.enabled === false };
  const channels = SERVED_CHANNELS.filter((channel) => !isOff[channel]);
  return toRecord(agentSchema, row, { channels, welcome_message: welcomeMessageOf(row), handoff_message: handoffMessageOf(row) });
}
