import { z } from "@hono/zod-openapi";
import { CHANNELS, MAX_TAG_LENGTH, PRIORITIES, type RuleActions, type RuleConditions } from "../platform/db/columns.ts";
import { filledText, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { addProblem, valueErrorParams } from "../platform/http/validation.ts";
import { LANGUAGES } from "../text/languages.ts";
import { phraseWords } from "../text/phrases.ts";
import type { RuleRow } from "./rule-store.ts";
import { shortName } from "./team-wire.ts";

/** Bounds the list, which has no pages, and the rules that a hand-off reads. */
export const MAX_RULES = 50;
const MAX_PHRASES = 20;
const MAX_PHRASE_LENGTH = 100;

const phrase = () =>
  z
    .string()
    .max(MAX_PHRASE_LENGTH)
    .refine((text) => phraseWords(text).length > 0, valueErrorParams("write a word or a phrase"));

const conditionsSchema = z
  .strictObject({
    channel: z.enum(CHANNELS).exclude(["playground"]).meta({ description: "The channel of the conversation.", example: "email" }),
    agent_id: uuid().meta({ description: "The agent of the conversation." }),
    language: z
      .enum(Object.keys(LANGUAGES))
      .meta({ description: "The language in which the visitor writes; where it cannot be told, that of the agent.", example: "de" }),
    tag: filledText(MAX_TAG_LENGTH).meta({ description: "A tag that the conversation has.", example: "vip" }),
    contains: z
      .array(phrase())
      .min(1)
      .max(MAX_PHRASES)
      .meta({
        description:
          "Words and phrases. The visitor's last two messages, or the subject of the mail, have one of them as whole words. Case, accents and punctuation do not matter.",
        example: ["refund", "money back"],
      }),
  })
  .partial()
  .openapi("RoutingConditions", { description: "All that are given must hold. Without any, the rule applies to every hand-off." });

const actionsSchema = z
  .strictObject({
    team_id: uuid().meta({ description: "The team that gets the conversation." }),
    assignee_id: uuid().meta({ description: "The member that gets it, also one who is away or has many conversations." }),
    assign: z.literal("round_robin").meta({
      description:
        "Gives it to the member of `team_id` who is available, has room and was assigned a conversation longest ago. While there is nobody, it waits in the team.",
    }),
    tag: filledText(MAX_TAG_LENGTH).meta({ description: "A tag that is added.", example: "refund" }),
    priority: z.enum(PRIORITIES).meta({ description: "The priority that it gets.", example: "high" }),
  })
  .partial()
  .superRefine(({ team_id: teamId, assignee_id: assigneeId, assign, ...others }, ctx) => {
    if (assign && teamId === undefined) addProblem(ctx, "send the team_id whose members take turns", "assign");
    if (assign && assigneeId !== undefined) addProblem(ctx, "send either assign or assignee_id", "assign");
    if ([teamId, assigneeId, assign, ...Object.values(others)].every((value) => value === undefined))
      addProblem(ctx, "give one action at least");
  })
  .openapi("RoutingActions", { description: "What is done with the conversation. Fields that are left out leave it as it is." });

const NAME = { description: "The name, as the console shows it.", example: "Refunds first" };
const position = () => z.int().min(1).max(MAX_RULES);
const POSITION = { description: "The place in the order, from 1.", example: 1 };

export const ruleSchema = z
  .object({
    id: uuid(),
    name: z.string().meta(NAME),
    position: z.int().meta(POSITION),
    conditions: conditionsSchema,
    actions: actionsSchema,
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("RoutingRule");

export const ruleListSchema = pageOf(ruleSchema, "RoutingRuleList");

const EXAMPLE = {
  name: "Refunds first",
  conditions: { contains: ["refund"] },
  actions: { tag: "refund", priority: "high" as const },
};

export const ruleInSchema = z
  .object({
    name: shortName().meta(NAME),
    position: position()
      .optional()
      .meta({ ...POSITION, description: "The place in the order, from 1; the last one by default." }),
    conditions: conditionsSchema.default({}),
    actions: actionsSchema,
  })
  .openapi("RoutingRuleIn", { example: EXAMPLE });

export const ruleUpdateSchema = z
  .object({ name: shortName().meta(NAME), position: position().meta(POSITION), conditions: conditionsSchema, actions: actionsSchema })
  .partial()
  .openapi("RoutingRuleUpdate", {
    description: "Fields that are left out stay unchanged; `conditions` and `actions` are replaced as a whole.",
    example: { position: 1 },
  });

/** Returns the wire record of a rule. */
export function toRule(row: RuleRow): z.infer<typeof ruleSchema> {
  const { phrases: _, ...conditions } = row.conditions as RuleConditions & { phrases?: string[] };
  return toRecord(ruleSchema, row, { conditions, actions: row.actions });
}

export type RuleIn = { conditions?: RuleConditions | undefined; actions?: RuleActions | undefined };
