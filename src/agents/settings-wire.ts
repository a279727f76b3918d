import { z } from "@hono/zod-openapi";
import { valueErrorParams } from "../platform/http/validation.ts";

export const ANSWER_DESCRIPTIONS = {
  instructions: "What the model reads before every question, in addition to the knowledge: tone, rules, what not to answer.",
  model: "The language model by its name at the provider; null for the deployment's own.",
};

const isFraction = (value: unknown) => typeof value === "number" && value >= 0 && value <= 1;

/** What an answer depends on, beside knowledge and tools. */
export const answerFields = {
  instructions: z.string().max(20_000).nullable().meta({ description: ANSWER_DESCRIPTIONS.instructions }),
  confidence_threshold: z
    .custom<number>(isFraction, valueErrorParams("use a number from 0 to 1"))
    .meta({ type: "number", description: "0 to 1: answers that are less sure are handed to a human." }),
  model: z.string().min(1).max(200).nullable().meta({ description: ANSWER_DESCRIPTIONS.model }),
};

/** Settings that a question tries out in place of the agent's. */
export const answerSettingsSchema = z.object(answerFields).partial();

export type AnswerSettings = z.output<typeof answerSettingsSchema>;
