import { type Quote, quotations } from "../grounded/quotations.ts";
import type { Model } from "../models/model.ts";
import type { HandoffReason, Persona } from "../platform/db/columns.ts";
import { truncate, truncateBytes } from "../platform/text.ts";
import type { Check, ToolUse } from "./expectations.ts";

/*
 * What a language model writes in a rehearsal besides the agent's answers: the messages of a visitor, and judgements. It reads nothing
 * of the agent but its answers and the calls of its tools, so it can give away none of the agent's instructions and secrets.
 */

/** The characters of a visitor's message. */
export const MAX_MESSAGE_LENGTH = 2_000;
/** The bytes of a conversation as the model reads it: about 10,000 tokens. */
const MAX_CONVERSATION_BYTES = 30_000;

/** One turn of a rehearsal. The answer is empty if humans have the conversation. */
export interface RehearsedTurn {
  visitor: string;
  answer: string;
  confidence: number;
  handoffReason: HandoffReason | null;
  calls: ToolUse[];
}

/** Has the agent's model write. */
export type Write = (rules: string, material: string) => Promise<string>;

/** Returns the function with which an agent's model writes. It throws if there is no language model. */
export function writerOf(model: Model, { model: modelName }: { model: string | null }): Write {
  return async (rules, material) => {
    if (!model.write) throw new Error("There is no language model");
    return model.write({ rules, material, modelName });
  };
}

const PERSONA_RULES = `You play a visitor who writes to a company's support chat, so that the company can try out its support agent.
Write the visitor's next message and nothing else: plain natural words, one thing at a time, at most three sentences.

- Want what the goal says. Tell only the facts below, when they are needed. If the agent asks for anything else, say that you do not know it.
- When the visitor has what the goal asks for, write only @done.
- When the visitor cannot get it, since the agent refuses for good or a person of the team takes over, write only @stuck.
- Never play the agent, and never write about these rules.`;

const PERSONA_END = /^@(done|stuck)\b/m;

/**
 * Returns the next message of a visitor that the model plays, or whether the visitor has reached the goal.
 * @throws Error if the model fails, or ends the conversation before it has begun.
 */
export async function nextMessage(
  write: Write,
  { goal, facts }: Persona,
  turns: readonly RehearsedTurn[],
): Promise<{ message: string } | { isReached: boolean }> {
  const { quote, rule } = quotations();
  const conversation = turns.length === 0 ? "The conversation has not begun. Write the first message." : textOf(turns, quote);
  const material = [quote("goal", goal), quote("facts", facts || "none"), conversation].join("\n\n");
  const written = await write([PERSONA_RULES, rule].join("\n\n"), material);
  const [, end] = PERSONA_END.exec(written) ?? [];
  if (written === "" || (end !== undefined && turns.length === 0)) throw new Error("The visitor that the model plays says nothing");
  return end === undefined ? { message: truncate(written, MAX_MESSAGE_LENGTH) } : { isReached: end === "done" };
}

const JUDGE_RULES = `You judge whether a company's support agent met criteria in a conversation with a visitor. Judge by the conversation alone.
For each criterion write one line: its number, yes or no, and the reason in one sentence. For example:

1: yes: The agent asked for the order number before it looked the order up.
2: no: The agent promised a date that no tool had given.

Write nothing else.`;

const JUDGEMENT = /^[^\p{L}\p{N}]{0,8}(\d{1,2})[^\p{L}\p{N}]{1,8}(yes|no|true|false)\b[^\p{L}\p{N}]{0,8}(.*)$/iu;
const NO_JUDGEMENT = "The model gave no judgement.";

/**
 * Has the model judge criteria.
 * @param about what the criteria are about.
 * @returns a check for each; one that the model did not judge holds null.
 */
export async function judge(
  write: Write,
  criteria: readonly string[],
  turns: readonly RehearsedTurn[],
  about: "the whole conversation" | "the agent's last reply",
): Promise<Check[]> {
  if (criteria.length === 0) return [];
  const { quote, rule } = quotations();
  const quoted = criteria.map((criterion, at) => quote(`criterion ${at + 1}`, criterion));
  const material = [textOf(turns, quote), `The criteria are about ${about}:`, ...quoted].join("\n\n");
  const written = await write([JUDGE_RULES, rule].join("\n\n"), material).catch(() => "");
  const judged = new Map(
    written.split("\n").flatMap((line) => {
      const [, number, is, reason] = JUDGEMENT.exec(line) ?? [];
      return number === undefined ? [] : [[Number(number), { is: is!, reason: reason! }] as const];
    }),
  );
  return criteria.map((criterion, at): Check => {
    const found = judged.get(at + 1);
    const holds = found ? /^(?:yes|true)$/i.test(found.is) : null;
    return { kind: "criterion", expected: criterion, holds, reason: found ? found.reason.trim() : NO_JUDGEMENT };
  });
}

/** The conversation as the model reads it. Long texts are cut, so that all turns fit. */
function textOf(turns: readonly RehearsedTurn[], quote: Quote): string {
  const maxBytes = MAX_CONVERSATION_BYTES / (3 * turns.length);
  const quoted = (label: string, text: string) => quote(label, truncateBytes(text, maxBytes));
  return turns
    .flatMap(({ visitor, answer, calls, handoffReason }) => [
      quoted("visitor", visitor),
      ...(calls.length > 0 ? [quoted("tools", calls.map(callText).join("\n"))] : []),
      answer === "" ? "The agent is silent, since a person of the team takes over." : quoted("agent", answer),
      ...(handoffReason === null || answer === "" ? [] : ["The agent has handed the conversation to a person of the team."]),
    ])
    .join("\n\n");
}

/** A call as a line of text. */
export function callText({ name, input }: ToolUse): string {
  return `${name} ${JSON.stringify(input)}`;
}
