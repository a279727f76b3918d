import { isUuid } from "../db/ids.ts";
import { type Fields, logProblem } from "./log.ts";

/** The identifiers that messages carry, by their names in the log. */
const ID_FIELDS = {
  workspaceId: "workspace_id",
  agentId: "agent_id",
  conversationId: "conversation_id",
  sourceId: "source_id",
  deliveryId: "delivery_id",
  messageId: "message_id",
  id: "id",
} as const;

/**
 * The identifiers of a message, and nothing else of it: what is no identifier is not known to come from us.
 * @param body a message as it came.
 */
export function idsOf(body: unknown): Fields {
  if (typeof body !== "object" || body === null) return {};
  const known = Object.entries(ID_FIELDS).map(([name, field]) => [field, (body as Record<string, unknown>)[name]] as const);
  return Object.fromEntries(known.flatMap(([field, value]) => (typeof value === "string" && isUuid(value) ? [[field, value]] : [])));
}

/** What was given up after its last try. */
export interface DeadLetter {
  /** Where it came from: a queue, or a conversation's turns. */
  from: string;
  ids: Fields;
  attempts: number;
  /** What becomes of it, and what is for the operator to do. */
  action: string;
}

/** One line for each thing that was tried as often as it may: nothing is lost in silence. */
export function logDeadLetter({ from, ids, attempts, action }: DeadLetter): void {
  logProblem("dead_letter", { from, ...ids, attempts, action });
}
