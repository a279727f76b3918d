import { quotations } from "../grounded/quotations.ts";
import type { Persona } from "../platform/db/columns.ts";
import { truncate } from "../platform/text.ts";
import type { Write } from "./ask-agent.ts";
import { type CaseTurn, transcriptText } from "./transcript.ts";

/*
 * The visitor that the language model plays. It reads nothing of the agent but its answers and the calls of its tools, so it can give
 * away none of the agent's instructions and secrets.
 */

/** The characters of a visitor's message. */
export const MAX_MESSAGE_LENGTH = 2_000;

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
  turns: readonly CaseTurn[],
): Promise<{ message: string } | { isReached: boolean }> {
  const { quote, rule } = quotations();
  const conversation = turns.length === 0 ? "The conversation has not begun. Write the first message." : transcriptText(turns, quote);
  const material = [quote("goal", goal), quote("facts", facts || "none"), conversation].join("\n\n");
  const written = await write([PERSONA_RULES, rule].join("\n\n"), material);
  const [, end] = PERSONA_END.exec(written) ?? [];
  if (written === "" || (end !== undefined && turns.length === 0)) throw new Error("The visitor that the model plays says nothing");
  return end === undefined ? { message: truncate(written, MAX_MESSAGE_LENGTH) } : { isReached: end === "done" };
}
