import { z } from "@hono/zod-openapi";
import { passageFields } from "../knowledge/passage-wire.ts";
import { filledText } from "../platform/http/fields.ts";

/** A source that an answer rests on. */
export const citationSchema = z
  .object({
    ...passageFields,
    snippet: z.string().meta({
      description: "The beginning of the passage.",
      example: "Refunds are paid within five working days to the card that was charged.",
    }),
    score: z.number().meta({ description: "0 to 1: how well the passage fits the question.", example: 0.91 }),
  })
  .openapi("Citation");

export type Citation = z.infer<typeof citationSchema>;

/** Someone on the team, by an id of the caller's. */
export const memberSchema = z
  .object({
    id: z.string().min(1).max(128).meta({ description: "Your stable id for the member of the team.", example: "grace" }),
    name: filledText(120).meta({ description: "Their name.", example: "Grace Hopper" }),
  })
  .openapi("TeamMember");
