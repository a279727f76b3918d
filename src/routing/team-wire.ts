import { z } from "@hono/zod-openapi";
import { type ApiError, invalid } from "../platform/http/errors.ts";
import { filledText, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { valueError } from "../platform/http/validation.ts";
import { toSingleLine } from "../platform/text.ts";
import type { TeamRow } from "./team-store.ts";

const MAX_NAME_LENGTH = 100;
/** A member takes part in every team at most, and a plan with more members is an agreement with the operator. */
const MAX_MEMBERS = 500;
const MAX_CONVERSATIONS = 500;
const DEFAULT_CONVERSATIONS = 10;
const MAX_MINUTES = 7 * 24 * 60;

/** The name of a team or rule, as one line. */
export const shortName = () => filledText(MAX_NAME_LENGTH).overwrite((text) => toSingleLine(text, text.length));

const DESCRIBED = {
  name: { description: "The name, as the console shows it.", example: "Billing" },
  member_ids: { description: "The members of the workspace who are in the team." },
  conversations_per_member: {
    description:
      "Round robin gives no more conversations to a member who has this many in the statuses `needs_human` and `human_active`. Other assignments are not limited.",
    example: DEFAULT_CONVERSATIONS,
  },
  unassign_after_minutes: {
    description:
      "After so many minutes without a reply to the visitor, within the business hours, a conversation of the team is taken from its assignee and given to another member. null: it keeps its assignee.",
    example: null,
  },
};

export const teamSchema = z
  .object({
    id: uuid(),
    name: z.string().meta(DESCRIBED.name),
    member_ids: z.array(uuid()).meta(DESCRIBED.member_ids),
    conversations_per_member: z.int().meta(DESCRIBED.conversations_per_member),
    unassign_after_minutes: z.int().nullable().meta(DESCRIBED.unassign_after_minutes),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("Team");

export const teamListSchema = pageOf(teamSchema, "TeamList");

const fields = z.object({
  name: shortName().meta(DESCRIBED.name),
  member_ids: z
    .array(uuid())
    .max(MAX_MEMBERS)
    .overwrite((ids) => [...new Set(ids)])
    .meta(DESCRIBED.member_ids),
  conversations_per_member: z.int().min(1).max(MAX_CONVERSATIONS).meta(DESCRIBED.conversations_per_member),
  unassign_after_minutes: z.int().min(1).max(MAX_MINUTES).nullable().meta(DESCRIBED.unassign_after_minutes),
});

export const teamInSchema = fields
  .extend({
    member_ids: fields.shape.member_ids.default([]),
    conversations_per_member: fields.shape.conversations_per_member.default(DEFAULT_CONVERSATIONS),
    unassign_after_minutes: fields.shape.unassign_after_minutes.default(null),
  })
  .openapi("TeamIn", { example: { name: "Billing", conversations_per_member: 5 } });

export const teamUpdateSchema = fields
  .partial()
  .openapi("TeamUpdate", { description: "Fields that are left out stay unchanged.", example: { unassign_after_minutes: 15 } });

/** Returns the wire record of a team. */
export function toTeam(row: TeamRow): z.infer<typeof teamSchema> {
  return toRecord(teamSchema, row, {});
}

/** Returns the error for a body whose `team_id` names no team of the workspace. */
export function unknownTeam(): ApiError {
  return invalid([{ loc: ["body", "team_id"], ...valueError("the workspace has no team with this id") }]);
}
