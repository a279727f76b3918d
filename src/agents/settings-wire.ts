import { z } from "@hono/zod-openapi";
import { valueErrorParams } from "../platform/http/validation.ts";

export const ANSWER_DESCRIPTIONS = {
  instructions: "Instructions that the model reads before every question, in addition to the knowledge: tone, rules, subjects to avoid.",
  model: "The name of the language model at its provider; null for the model of the deployment.",
};

const isFraction = (value: unknown) => typeof value === "number" && value >= 0 && value <= 1;

/** The settings of an agent that change its answers. */
export const answerFields = {
  instructions: z.string().max(20_000).nullable().meta({ description: ANSWER_DESCRIPTIONS.instructions }),
  confidence_threshold: z
    .custom<number>(isFraction, valueErrorParams("use a number from 0 to 1"))
    .meta({ type: "number", description: "0 to 1: answers with less confidence are handed to a human." }),
  model: z.string().min(1).max(200).nullable().meta({ description: ANSWER_DESCRIPTIONS.model }),
};

/** Settings with which a question in the playground replaces those of the agent. */
export const answerSettingsSchema = z.object(answerFields).partial();

export type AnswerSettings = z.output<typeof answerSettingsSchema>;
