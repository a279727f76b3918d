import type { HandoffReason } from "../platform/db/columns.ts";
import { type Language, LANGUAGES, languageOf } from "../text/languages.ts";
import type { AgentRow } from "./wire.ts";

/*
 * An agent's messages. What is stored for an operator who gave none are the texts below, so that such an agent greets and
 * hands off in its own language, or in its visitor's.
 */

export const DEFAULT_WELCOME = "Hello! How can I help?";
export const DEFAULT_HANDOFF = "I could not find a sure answer to that, so I have asked a colleague to take over. They will reply here.";

/** A caller who reads an agent and writes it back gives the default of a language as its message. */
const DEFAULT_WELCOMES: ReadonlySet<string> = new Set([
  DEFAULT_WELCOME,
  ...Object.values(LANGUAGES).map(({ replies }) => replies.greeting),
]);
const DEFAULT_HANDOFFS: ReadonlySet<string> = new Set([
  DEFAULT_HANDOFF,
  ...Object.values(LANGUAGES).map((language) => language.handoff_messages.not_sure),
]);

type Messages = Pick<AgentRow, "welcomeMessage" | "handoffMessage" | "language">;

/** The operator's greeting of new visitors; undefined where they have none of their own. */
export function ownWelcome({ welcomeMessage }: Pick<Messages, "welcomeMessage">): string | undefined {
  return DEFAULT_WELCOMES.has(welcomeMessage) ? undefined : welcomeMessage;
}

/** The operator's hand-off message, for every reason and language; undefined where they have none of their own. */
function ownHandoff({ handoffMessage }: Pick<Messages, "handoffMessage">): string | undefined {
  return DEFAULT_HANDOFFS.has(handoffMessage) ? undefined : handoffMessage;
}

/** What new visitors of the agent read. */
export function welcomeMessageOf(agent: Messages): string {
  return ownWelcome(agent) ?? languageOf(agent.language).replies.greeting;
}

const SENTENCE_OF: Record<HandoffReason, keyof Language["handoff_messages"]> = {
  customer_request: "customer_request",
  missing_knowledge: "not_sure",
  low_confidence: "not_sure",
  unsupported_request: "unsupported_request",
  tool_failure: "failure",
  model_failure: "failure",
};

/**
 * What a visitor reads when a human is needed.
 * @param reason null where the team took the conversation without a hand-off.
 * @param language the visitor's, as a BCP 47 tag.
 */
export function handoffMessageOf(agent: Messages, reason: HandoffReason | null = "missing_knowledge", language = agent.language): string {
  return ownHandoff(agent) ?? languageOf(language).handoff_messages[SENTENCE_OF[reason ?? "customer_request"]];
}
