import { z } from "@hono/zod-openapi";
import { MAX_TOOL_NAME_LENGTH } from "../agents/mcp-pins.ts";
import { type Expectation, HANDOFF_REASONS } from "../platform/db/columns.ts";
import type { messages } from "../platform/db/schema.ts";
import { filledText, uuid } from "../platform/http/fields.ts";
import { addProblem } from "../platform/http/validation.ts";
import { isShallow } from "../platform/json.ts";
import { truncate } from "../platform/text.ts";
import { CHECKS } from "./expectations.ts";
import { MAX_MESSAGE_LENGTH } from "./simulated-visitor.ts";
import type { EvaluationCase } from "./store.ts";

/** The most turns of a case. */
export const MAX_TURNS = 20;
const DEFAULT_TURNS = 8;
const MAX_TEXTS = 10;
const MAX_TEXT_LENGTH = 500;
const MAX_CRITERIA = 5;
/** The most expectations of a case in all its turns. Each has a check in its result. */
const MAX_EXPECTATIONS = 40;
const MAX_PERSONA_LENGTH = 2_000;
const MAX_TOOLS = 40;
/** The characters of a tool's answer as JSON, which are those that a model reads of a real one. */
const MAX_TOOL_ANSWER_LENGTH = 8_000;
const MAX_JSON_DEPTH = 32;

/** The hand-off reasons that a case may expect. The other reasons do not depend on the answer: the service failed, or a time limit passed. */
const EXPECTED_REASONS = HANDOFF_REASONS.filter((one) => one !== "model_failure" && one !== "approval_expired");

const texts = () => z.array(filledText(MAX_TEXT_LENGTH)).max(MAX_TEXTS).optional();

const callSchema = z.object({
  name: z
    .string()
    .min(1)
    .max(MAX_TOOL_NAME_LENGTH)
    .meta({ description: "The name of the tool, as the model knows it.", example: "cancel_order" }),
  arguments: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: "Arguments that the call has, with others or without.", example: { order: "A1" } }),
});

const expectFields = z.object({
  source_id: uuid().optional().meta({ description: "The source or the curated answer that the answer must cite." }),
  answer_contains: z.string().min(1).max(MAX_TEXT_LENGTH).optional().meta({
    description: "A text that the answer must contain. Case and white space do not matter.",
    example: "five working days",
  }),
  refusal: z
    .boolean()
    .optional()
    .meta({ description: "True if the agent must hand over to a human, because it cannot or must not answer. False if it must answer." }),
  handoff_reason: z.enum(EXPECTED_REASONS).optional().meta({ description: "The reason for which it must hand over." }),
  said: texts().meta({ description: "Texts that the answer must contain, also that of a hand-off." }),
  not_said: texts().meta({ description: "Texts that it must not contain." }),
  tools_called: z.array(callSchema).max(MAX_TEXTS).optional().meta({ description: "The calls of tools that the agent must make." }),
  criteria: z
    .array(filledText(MAX_TEXT_LENGTH))
    .max(MAX_CRITERIA)
    .optional()
    .meta({
      description: "What must be true of the answer, in words. The agent's language model judges it.",
      example: ["It says sorry for the delay."],
    }),
  goal_reached: z
    .boolean()
    .optional()
    .meta({ description: "Whether the persona must reach its goal. Only at the end of its conversation." }),
});

const expectSchema = () =>
  expectFields
    .superRefine((given, ctx) => {
      const { source_id: sourceId, answer_contains: contained, refusal, handoff_reason: reason } = given;
      const isAnswer = sourceId !== undefined || contained !== undefined;
      if (sizeOf(given) === 0) addProblem(ctx, "give source_id, answer_contains, refusal or another expectation");
      if (isAnswer && refusal) addProblem(ctx, "a refusal has neither source_id nor answer_contains");
      if ((isAnswer || refusal === false) && reason !== undefined) addProblem(ctx, "an answer has no handoff_reason");
    })
    .openapi("EvaluationExpectation", {
      description:
        "What is expected of an answer or, at the end of a conversation, of all its answers together. All given fields must match; `refusal: false` alone accepts any answer.",
    });

/** How many checks an expectation has. */
function sizeOf(expect: Expectation | undefined): number {
  return Object.values(expect ?? {}).reduce<number>(
    (sum, value) => sum + (Array.isArray(value) ? value.length : Number(value !== undefined)),
    0,
  );
}

const questionSchema = () =>
  z.string().min(1).max(MAX_MESSAGE_LENGTH).meta({ description: "The question.", example: "How long do refunds take?" });

const previousSchema = () =>
  z.array(z.string().min(1).max(MAX_MESSAGE_LENGTH)).meta({ description: "The visitor's previous messages, oldest first.", example: [] });

const turnSchema = z
  .object({
    visitor: filledText(MAX_MESSAGE_LENGTH).meta({ description: "The visitor's message.", example: "Where is my order A1?" }),
    expect: expectSchema().nullish().meta({ description: "What is expected of the answer to it." }),
  })
  .openapi("EvaluationTurn");

const personaSchema = z
  .object({
    goal: filledText(MAX_PERSONA_LENGTH).meta({ description: "What the visitor wants.", example: "Cancel the order A1." }),
    facts: z
      .string()
      .max(MAX_PERSONA_LENGTH)
      .default("")
      .meta({ description: "What the visitor knows, and how they write.", example: "The order was placed on Monday. Writes briefly." }),
    max_turns: z.int().gte(1).lte(MAX_TURNS).default(DEFAULT_TURNS).meta({ description: "How many messages the visitor writes at most." }),
  })
  .openapi("EvaluationPersona", { description: "A visitor that the agent's language model plays." });

const toolsSchema = () =>
  z.record(z.string().min(1).max(MAX_TOOL_NAME_LENGTH), z.unknown()).meta({
    description:
      "What the agent's tools answer, by their names: a text or any JSON. No tool is called. One that is called without an answer here makes the case wrong; one that needs an approval hands over.",
    example: { order_status: { order: "A1", state: "shipped" } },
  });

const caseFields = z.object({
  question: questionSchema().optional().meta({ description: "The question of a case with one turn." }),
  previous: previousSchema().max(10).default([]),
  turns: z
    .array(turnSchema)
    .min(1)
    .max(MAX_TURNS)
    .optional()
    .meta({ description: "The visitor's messages of a case with several turns, instead of a question." }),
  persona: personaSchema.optional().meta({ description: "A visitor that the language model plays, instead of a question or turns." }),
  expect: expectSchema()
    .optional()
    .meta({ description: "What is expected of the answer, or at the end of several turns. A question needs it." }),
  tools: toolsSchema().optional(),
});

type Given = z.output<typeof caseFields>;

export const caseInSchema = caseFields
  .superRefine((given, ctx) => {
    const { question, previous, turns, persona, expect, tools } = given;
    const kinds = [question, turns, persona].filter((one) => one !== undefined);
    if (kinds.length === 0) addProblem(ctx, "give a question, turns or a persona", "question");
    if (kinds.length > 1) addProblem(ctx, "give only one of question, turns and persona");
    if (question === undefined && previous.length > 0)
      addProblem(ctx, "only a question has previous messages: make them turns", "previous");
    if (question !== undefined && !expect) addProblem(ctx, "say what is expected of the answer", "expect");
    if (question !== undefined && tools) addProblem(ctx, "only turns and a persona have them: give turns with one message", "tools");
    if (persona && !expect) addProblem(ctx, "say what is expected at the end", "expect");
    const expected = [expect, ...(turns ?? []).map((turn) => turn.expect ?? undefined)];
    const size = expected.reduce((sum, one) => sum + sizeOf(one), 0);
    if (turns && size === 0) addProblem(ctx, "say what is expected of a turn, or at the end", "expect");
    if (size > MAX_EXPECTATIONS) addProblem(ctx, `expect at most ${MAX_EXPECTATIONS} things of a case`, "expect");
    const hasGoal = ({ goal_reached: isReached }: Expectation = {}) => isReached !== undefined;
    if (expected.some((one, at) => hasGoal(one) && (at > 0 || !persona)))
      addProblem(ctx, "only the end of a persona's case has a goal_reached");
    for (const [name, answer] of Object.entries(tools ?? {})) addProblem(ctx, toolProblem(name, answer), "tools", name);
    if (Object.keys(tools ?? {}).length > MAX_TOOLS) addProblem(ctx, `answer for at most ${MAX_TOOLS} tools`, "tools");
  })
  .transform(toStored)
  .openapi("EvaluationCaseIn", {
    description: "A question, fixed turns, or a persona, with what is expected.",
    example: { question: "How long do refunds take?", expect: { answer_contains: "five working days" } },
  });

/** The tools that a case of several turns calls, since they only read. */
const REAL_TOOLS = new Set(["search_knowledge", "request_human"]);

function toolProblem(name: string, answer: unknown): string | undefined {
  if (REAL_TOOLS.has(name)) return "this tool works as in a conversation: leave it out";
  if (!isShallow(answer, MAX_JSON_DEPTH)) return `nest at most ${MAX_JSON_DEPTH} levels`;
  return JSON.stringify(answer).length > MAX_TOOL_ANSWER_LENGTH ? `write at most ${MAX_TOOL_ANSWER_LENGTH} characters of JSON` : undefined;
}

/** Returns a case as it is stored. The question of fixed turns is the last message; that of a persona is its goal. */
function toStored({ question = "", previous, turns, persona, expect = {}, tools = {} }: Given): EvaluationCase {
  if (turns) {
    const messages = turns.map(({ visitor }) => visitor);
    const multiTurn = { setting: { persona: null, tools }, turns: turns.map((turn) => turn.expect ?? null) };
    return { question: messages.at(-1)!, previous: messages.slice(0, -1), expect: { ...expect, rehearsal: multiTurn } };
  }
  if (!persona) return { question, previous, expect };
  const { goal, facts, max_turns } = persona;
  return {
    question: goal,
    previous,
    expect: { ...expect, rehearsal: { setting: { persona: { goal, facts, max_turns }, tools }, turns: [] } },
  };
}

/** Whether a case cannot run without a language model, which plays a persona and judges criteria. */
export function needsLanguageModel({ expect: { rehearsal: multiTurn, ...end } }: EvaluationCase): boolean {
  const expected = [end, ...(multiTurn?.turns ?? [])];
  return Boolean(multiTurn?.setting.persona) || expected.some((one) => (one?.criteria ?? []).length > 0);
}

/** A case of several turns as input: with a conversation, its messages. */
export const conversationCaseSchema = z
  .object({
    agent_id: uuid(),
    case: z
      .object({ turns: z.array(turnSchema).meta({ description: `The visitor's first ${MAX_TURNS} messages, and what the agent did.` }) })
      .meta({ description: "The case, as an evaluation takes it." }),
  })
  .openapi("ConversationCase");

/** Returns the turns of a conversation from its messages, oldest first. They expect of the agent what it did. */
export function turnsOfConversation(transcript: readonly Pick<typeof messages.$inferSelect, "role" | "content" | "needsHuman">[]) {
  const turns: z.output<typeof turnSchema>[] = [];
  for (const { role, content, needsHuman } of transcript) {
    const last = turns.at(-1);
    if (role === "assistant" && last) last.expect ??= { refusal: needsHuman };
    if (role === "user" && turns.length === MAX_TURNS) break;
    if (role === "user") turns.push({ visitor: truncate(content, MAX_MESSAGE_LENGTH), expect: null });
  }
  return turns;
}

const checkSchema = z
  .object({
    turn: z.int().nullable().meta({ description: "The turn that is checked, from 0; null for the end or the only answer.", example: null }),
    kind: z
      .enum(CHECKS)
      .meta({ description: "What is checked: a field of the expectation, or a tool that was called without an answer in the case." }),
    expected: z.string().meta({ description: "What is expected, in at most 200 characters.", example: "It says sorry for the delay." }),
    holds: z.boolean().nullable().meta({ description: "Whether it is so; null if the model that judges it failed.", example: true }),
    reason: z.string().nullable().meta({ description: "Why the model judges so; null for other checks.", example: null }),
  })
  .openapi("EvaluationCheck");

const caseTurnSchema = z
  .object({
    visitor: z.string().meta({ description: "The visitor's message.", example: "Where is my order A1?" }),
    answer: z.string().meta({ description: "The agent's answer; empty if a human had the conversation.", example: "It has been shipped." }),
    confidence: z.number().meta({ description: "0 to 1: how likely the agent thinks it is right.", example: 0.86 }),
    handoff_reason: z
      .enum(HANDOFF_REASONS)
      .nullable()
      .meta({ description: "Why the agent handed over; null if it did not.", example: null }),
    tool_calls: z
      .array(z.string())
      .meta({ description: "The tools that it called, with their arguments as JSON.", example: ['order_status {"order":"A1"}'] }),
  })
  .openapi("EvaluationCaseTurn");

/** The fields of a case of several turns in a response. */
export const multiTurnFields = {
  turns: z.array(turnSchema).nullable().meta({ description: "The fixed turns; null without them." }),
  persona: personaSchema.nullable().meta({ description: "The visitor that the model plays; null without one." }),
  tools: toolsSchema().nullable().meta({ description: "What the tools answer; null for a question.", example: null }),
  end: z
    .enum(["all_turns", "goal_reached", "gave_up", "max_turns", "handed_off", "failed"])
    .nullable()
    .meta({ description: "How a case of several turns ended; null for a question, or until it has run.", example: null }),
  transcript: z.array(caseTurnSchema).meta({ description: "The conversation of such a case, its texts cut to about 8 KB in total." }),
  checks: z.array(checkSchema).meta({ description: "Each expectation, and whether it is met. Empty until the case has run." }),
};

export const caseAsGiven = {
  question: questionSchema().meta({ description: "The question; with turns their last message, with a persona its goal." }),
  previous: previousSchema(),
  expect: expectSchema(),
};

export type EvaluationCheck = z.output<typeof checkSchema>;

/** The result of a case of several turns. */
export interface MultiTurnResult {
  end: NonNullable<z.output<typeof multiTurnFields.end>>;
  transcript: z.output<typeof caseTurnSchema>[];
}
