import type { Quote } from "../grounded/quotations.ts";
import type { HandoffReason } from "../platform/db/columns.ts";
import { truncateBytes } from "../platform/text.ts";
import type { ToolUse } from "./expectations.ts";

/** The bytes of a conversation as the model reads it: about 10,000 tokens. */
const MAX_CONVERSATION_BYTES = 30_000;

/** One turn that has run. The answer is empty if humans have the conversation. */
export interface CaseTurn {
  visitor: string;
  answer: string;
  confidence: number;
  handoffReason: HandoffReason | null;
  calls: ToolUse[];
}

/** Returns a conversation as the language model reads it. Long texts are cut, so that all turns fit. */
export function transcriptText(turns: readonly CaseTurn[], quote: Quote): string {
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

/** Returns a call as a line of text. */
export function callText({ name, input }: ToolUse): string {
  return `${name} ${JSON.stringify(input)}`;
}
