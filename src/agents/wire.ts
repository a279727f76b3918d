import { z } from "@hono/zod-openapi";
import { AGENT_STATUSES, type Channel, CHANNELS } from "../platform/db/columns.ts";
import type { agents } from "../platform/db/schema.ts";
import { timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { handoffMessageOf, welcomeMessageOf } from "./messages.ts";

/** What any key that reads agents may know of one: neither secrets nor prompts. */
export const agentSchema = z.object({
  id: uuid(),
  name: z.string().meta({ description: "What your team and visitors call it.", example: "Acme support" }),
  slug: z.string().meta({ description: "Its short name, unique in the workspace.", example: "acme-support" }),
  description: z
    .string()
    .nullable()
    .meta({ description: "What it is for, for your team.", example: "Answers questions of the shop's customers." }),
  status: z.enum(AGENT_STATUSES).meta({ description: "A paused agent answers no questions." }),
  language: z.string().meta({ description: "A BCP 47 tag: the language of the texts that you do not set.", example: "en" }),
  welcome_message: z.string().meta({ description: "What visitors read before they write.", example: "Hello! How can we help?" }),
  handoff_message: z.string().meta({
    description:
      "What the visitor reads when a human is needed. Where the operator has set none, the sentence depends on the reason and on the visitor's language; this is the one for a question without an answer.",
    example: "A colleague will take it from here.",
  }),
  confidence_threshold: z.number().meta({ description: "Answers below it are handed to a human.", example: 0.5 }),
  channels: z.array(z.enum(CHANNELS)).meta({ description: "Where visitors can write to it." }),
  sources_count: z.int().meta({ description: "Its knowledge sources.", example: 3 }),
  answers_count: z.int().meta({ description: "Its curated answers.", example: 12 }),
  created_at: timestamp(),
  updated_at: timestamp(),
});

export type AgentRow = typeof agents.$inferSelect;

/** The channels that an agent serves: in the playground, only the team writes to it. */
const SERVED_CHANNELS = CHANNELS.filter((channel) => channel !== "playground");

/** What any key that reads agents sees of one. */
export function toAgent(row: AgentRow): z.infer<typeof agentSchema> {
  const isOff: Partial<Record<Channel, boolean>> = { email: row.emailAddress === null, hosted: row.hostedPage.enabled === false };
  const channels = SERVED_CHANNELS.filter((channel) => !isOff[channel]);
  return toRecord(agentSchema, row, { channels, welcome_message: welcomeMessageOf(row), handoff_message: handoffMessageOf(row) });
}
