import { z } from "@hono/zod-openapi";
import { CONVERSATION_STATUSES } from "../conversations/status.ts";
import { citationSchema } from "../conversations/wire.ts";
import { uuid } from "../http/fields.ts";
import { valueErrorParams } from "../http/validation.ts";

/** A person as an integrator names them. */
export const endUserSchema = z
  .object({
    id: z.string().min(1).max(128).openapi({ description: "Your stable id for the person; groups that person's conversations." }),
    name: z.string().max(120).nullable().optional(),
    email: z.email().max(320).nullable().optional(),
  })
  .openapi("EndUser");

/** Whether the answer is to be streamed. */
export const streamField = () =>
  z
    .boolean()
    .default(false)
    .refine((stream) => !stream, valueErrorParams("this version does not stream yet: leave stream out, or send false"));

export const chatInSchema = z
  .object({
    message: z.string().min(1).max(2000),
    conversation_id: uuid().nullable().optional().openapi({ description: "Continues an API conversation; omit to start a new one." }),
    user: endUserSchema.nullable().optional(),
    stream: streamField(),
  })
  .openapi("ChatIn");

export const chatAnswerSchema = z
  .object({
    answer: z.string(),
    citations: z.array(citationSchema),
    confidence: z.number().openapi({ description: "0 to 1: how likely the answer is right." }),
    needs_human: z.boolean(),
    conversation_id: uuid(),
    message_id: uuid()
      .nullable()
      .openapi({ description: "The agent's message; null when a human has the conversation and the agent stayed silent." }),
    status: z.enum(CONVERSATION_STATUSES),
  })
  .openapi("ChatAnswer");

export type ChatAnswer = z.infer<typeof chatAnswerSchema>;
