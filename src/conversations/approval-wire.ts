import { z } from "@hono/zod-openapi";
import { APPROVAL_OUTCOMES, APPROVAL_STATUSES } from "../platform/db/columns.ts";
import type { approvals } from "../platform/db/schema.ts";
import { timestamp, toTimestamp, toTimestampOrNull, uuid } from "../platform/http/fields.ts";
import { cursorPageOf, cursorQuery } from "../platform/http/page.ts";
import { REDACTED } from "../redaction/fields.ts";
import { teamMemberSchema } from "./wire.ts";

/** The most characters of a reason, which a model reads. */
const MAX_REASON_LENGTH = 1_000;

export const approvalSchema = z
  .object({
    id: uuid(),
    agent_id: uuid(),
    conversation_id: uuid(),
    message_id: uuid().meta({ description: "The agent's message that told the visitor that a colleague is asked." }),
    tool: z.string().meta({ description: "The name of the tool.", example: "refund_order" }),
    arguments: z.record(z.string(), z.unknown()).meta({
      description: "The arguments of the call, as the model wrote them or as they were approved.",
      example: { order: "4711", amount: 48 },
    }),
    status: z.enum(APPROVAL_STATUSES).meta({ description: "`expired` if nobody decided within a day.", example: "pending" }),
    reason: z.string().nullable().meta({ description: "Why it was declined; null otherwise." }),
    decided_by: z
      .object({
        id: z.string().nullable().meta({ description: "Your id of the member; null for an API key.", example: "grace" }),
        name: z.string().meta({ description: "The name of the member or of the API key.", example: "Grace Hopper" }),
      })
      .nullable()
      .meta({ description: "Who decided; null before the decision, and if the call has expired." }),
    outcome: z.enum(APPROVAL_OUTCOMES).nullable().meta({
      description: "What the approved call did: `unknown` if it may have taken effect. null until it is made.",
    }),
    requested_at: timestamp().meta({ description: "When the agent asked." }),
    decided_at: timestamp().nullable().meta({ description: "When it was decided, or expired." }),
    expires_at: timestamp().meta({ description: "The time until which it can be decided." }),
  })
  .openapi("Approval");

export const approvalPageSchema = cursorPageOf(approvalSchema, "ApprovalPage");

export const approvalQuery = cursorQuery.extend({
  status: z.enum(APPROVAL_STATUSES).optional().meta({ description: "Only calls with this status.", example: "pending" }),
  conversation_id: uuid().optional().meta({ description: "Only calls of this conversation.", example: undefined }),
});

const author = () =>
  teamMemberSchema.nullable().optional().meta({ description: "The member of the team who decides. By default the API key." });

export const approveInSchema = z
  .object({
    arguments: z
      .record(z.string(), z.unknown())
      .nullable()
      .optional()
      .meta({ ...REDACTED, description: "Replaces the arguments. They must fit the tool's parameters." }),
    author: author(),
  })
  .openapi("ApproveIn", { example: { author: { id: "grace", name: "Grace Hopper" } } });

export const declineInSchema = z
  .object({
    reason: z
      .string()
      .min(1)
      .max(MAX_REASON_LENGTH)
      .meta({ ...REDACTED, description: "Why the call is not made. The model reads it." }),
    author: author(),
  })
  .openapi("DeclineIn", { example: { reason: "The order is older than 30 days.", author: { id: "grace", name: "Grace Hopper" } } });

export type ApprovalRow = typeof approvals.$inferSelect;

export function toApproval(row: ApprovalRow): z.infer<typeof approvalSchema> {
  const { agentId, conversationId, messageId, tool, status, reason, decidedById, decidedByName, outcome } = row;
  return {
    id: row.id,
    agent_id: agentId,
    conversation_id: conversationId,
    message_id: messageId,
    tool,
    arguments: row.arguments,
    status,
    reason,
    decided_by: decidedByName === null ? null : { id: decidedById, name: decidedByName },
    outcome,
    requested_at: toTimestamp(row.requestedAt),
    decided_at: toTimestampOrNull(row.decidedAt),
    expires_at: toTimestamp(row.expiresAt),
  };
}
