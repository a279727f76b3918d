import type { BusinessHours, HandoffReason } from "../platform/db/columns.ts";
import { type Language, languageCode, LANGUAGES, languageOf } from "../text/languages.ts";
import { openingText, OPENS_AT } from "../workspaces/business-hours.ts";
import type { AgentRow } from "./wire.ts";

/*
 * The welcome and hand-off messages of agents. If the operator sets none, the agent is stored with the default texts below. Such
 * an agent hands off in the visitor's language. The chat shows the welcome in the visitor's language, the API in the agent's.
 */

export const DEFAULT_WELCOME = "Hello! How can I help?";
export const DEFAULT_HANDOFF = "I could not find a sure answer to that, so I have asked a colleague to take over. They will reply here.";

/** Texts that do not count as the operator's own message. A caller who reads an agent and writes it back sends one of them. */
const DEFAULT_WELCOMES: ReadonlySet<string> = new Set([
  DEFAULT_WELCOME,
  ...Object.values(LANGUAGES).map(({ replies }) => replies.greeting),
]);
const DEFAULT_HANDOFFS: ReadonlySet<string> = new Set([
  DEFAULT_HANDOFF,
  ...Object.values(LANGUAGES).map((language) => language.handoff_messages.not_sure),
]);

/** Returns the welcome message to store. All default texts are stored as the same one, so that one that is sent back is no change. */
export function storedWelcome(given: string | undefined): string | undefined {
  return given !== undefined && DEFAULT_WELCOMES.has(given) ? DEFAULT_WELCOME : given;
}

/** Returns the hand-off message to store, like `storedWelcome`. */
export function storedHandoff(given: string | undefined): string | undefined {
  return given !== undefined && DEFAULT_HANDOFFS.has(given) ? DEFAULT_HANDOFF : given;
}

type Messages = Pick<AgentRow, "welcomeMessage" | "handoffMessage" | "language">;

/** The operator's own welcome message; undefined if the agent has the default. */
export function ownWelcome({ welcomeMessage }: Pick<Messages, "welcomeMessage">): string | undefined {
  return DEFAULT_WELCOMES.has(welcomeMessage) ? undefined : welcomeMessage;
}

/** The message that new visitors of the agent read. */
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
  approval_required: "customer_request",
  approval_expired: "failure",
};

/**
 * The message that a visitor reads when a human is needed. An operator's own message is used for every reason and language.
 * @param reason null if the team took the conversation without a hand-off.
 * @param language the visitor's language, as a BCP 47 tag.
 */
export function handoffMessageOf(agent: Messages, reason: HandoffReason | null = "missing_knowledge", language = agent.language): string {
  if (!DEFAULT_HANDOFFS.has(agent.handoffMessage)) return agent.handoffMessage;
  return languageOf(language).handoff_messages[SENTENCE_OF[reason ?? "customer_request"]];
}

/**
 * The message that a visitor reads instead of the hand-off message while the team is not there. The time of the next opening is that of
 * the workspace's time zone, in the visitor's language.
 * @param asksContact whether it asks for contact details.
 */
export function closedMessageOf(
  hours: BusinessHours,
  { opensAtMs, nowMs, language, asksContact }: { opensAtMs: number | null; nowMs: number; language: string; asksContact: boolean },
): string {
  const { closed, contact } = languageOf(language).handoff_messages;
  const opensAt = opensAtMs === null ? "" : openingText(hours, languageCode(language), opensAtMs, nowMs);
  const text = (hours.closed_message ?? closed).replaceAll(OPENS_AT, () => opensAt);
  return asksContact ? `${text}\n\n${contact}` : text;
}

/** The message that a visitor reads instead of a hand-off, if the agent never hands off. */
export function handoffOffMessageOf(agent: Pick<AgentRow, "handoffOffMessages">, language: string, asksContact: boolean): string {
  const { off, contact } = languageOf(language).handoff_messages;
  const text = agent.handoffOffMessages[languageCode(language)] ?? off;
  return asksContact ? `${text}\n\n${contact}` : text;
}
