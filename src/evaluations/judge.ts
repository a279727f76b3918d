import { quotations } from "../grounded/quotations.ts";
import type { Write } from "./ask-agent.ts";
import type { Check } from "./expectations.ts";
import { type CaseTurn, transcriptText } from "./transcript.ts";

/*
 * The judge of criteria, which is the language model. It reads nothing of the agent but its answers and the calls of its tools, so it can
 * give away none of the agent's instructions and secrets.
 */

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
  turns: readonly CaseTurn[],
  about: "the whole conversation" | "the agent's last reply",
): Promise<Check[]> {
  if (criteria.length === 0) return [];
  const { quote, rule } = quotations();
  const quoted = criteria.map((criterion, at) => quote(`criterion ${at + 1}`, criterion));
  const material = [transcriptText(turns, quote), `The criteria are about ${about}:`, ...quoted].join("\n\n");
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
