import type { HandoffReason } from "../platform/db/columns.ts";
import { quotations } from "../grounded/quotations.ts";
import type { Model } from "../models/model.ts";
import { shortened, truncateBytes } from "../platform/text.ts";
import { smallTalkOf } from "../text/intents.ts";
import type { ReadConversation } from "./suggestion.ts";

/** The bytes of a conversation as the model reads it: about 10,000 tokens. */
const MAX_CONVERSATION_BYTES = 30_000;
/** The characters of each message that a summary without a model quotes. */
const MAX_QUOTE_LENGTH = 400;

const RULES = `You summarise a conversation between a visitor and a company's support, for the colleague who takes it over.
Write at most five short sentences or lines: what the visitor wants, what is known about it, what was answered or tried, and what is open.

- Say only what stands in the conversation. Do not guess, and do not advise.
- Write plain text, without a heading and without a greeting.`;

/** Has a language model summarise a conversation. @throws Error if it fails or writes nothing. */
export async function writeSummary(write: NonNullable<Model["write"]>, { agent, messages, handoff }: ReadConversation): Promise<string> {
  const { quote, rule } = quotations();
  const maxBytes = MAX_CONVERSATION_BYTES / Math.max(1, messages.length);
  const quoted = messages.map(({ role, content }) => quote(LABELS[role] ?? "colleague", truncateBytes(content, maxBytes)));
  const reason = handoff ? [`The agent handed the conversation over: ${HANDOFF_WORDS[handoff.reason]}.`] : [];
  const language = `Write in the language "${agent.language}".`;
  const rules = [RULES, language, rule].join("\n\n");
  const written = await write({ rules, material: [...quoted, ...reason].join("\n\n"), modelName: agent.model });
  if (written === "") throw new Error("The model wrote no summary");
  return written;
}

const LABELS: Partial<Record<string, string>> = { user: "visitor", assistant: "agent" };

/** Puts a summary together without a model: the question, what was answered, and why the conversation was handed over. */
export function composeSummary({ messages, handoff }: ReadConversation): string {
  const asked = messages.filter(({ role, content }) => role === "user" && smallTalkOf(content, "") === undefined);
  const answer = messages.findLast(({ role, needsHuman }) => role === "human" || (role === "assistant" && !needsHuman));
  const [first, last] = [asked[0], asked.at(-1)];
  return [
    first ? `Asked: ${quoteOf(first.content)}` : "The visitor has asked nothing.",
    ...(last && last !== first ? [`Asked last: ${quoteOf(last.content)}`] : []),
    answer ? `Answered: ${quoteOf(answer.content)}` : "Nothing was answered.",
    ...(handoff ? [`Handed over: ${HANDOFF_WORDS[handoff.reason]}.`] : []),
  ].join("\n");
}

function quoteOf(text: string): string {
  return shortened(text.replaceAll(/\s+/g, " ").trim(), MAX_QUOTE_LENGTH);
}

const HANDOFF_WORDS: Record<HandoffReason, string> = {
  customer_request: "the visitor asked for a person",
  missing_knowledge: "the agent's knowledge has no answer",
  low_confidence: "the agent was not sure of its answer",
  unsupported_request: "the agent may not do what the visitor wants",
  tool_failure: "a tool failed",
  model_failure: "the model failed",
  approval_required: "a tool call needs the team's approval",
  approval_expired: "nobody approved a tool call in time",
};
