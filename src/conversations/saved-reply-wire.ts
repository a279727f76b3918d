import { z } from "@hono/zod-openapi";
import type { savedReplies } from "../platform/db/schema.ts";
import { filledText, timestamp, toRecord, uuid } from "../platform/http/fields.ts";
import { pageOf } from "../platform/http/page.ts";
import { valueErrorParams } from "../platform/http/validation.ts";
import { toSingleLine } from "../platform/text.ts";
import { REPLY_VARIABLES, unknownVariables } from "./reply-variables.ts";

const NAMES = Object.keys(REPLY_VARIABLES).map((name) => `{{${name}}}`);

const name = () => filledText(100).overwrite((text) => toSingleLine(text, text.length));
const content = () =>
  filledText(4000).refine((text) => unknownVariables(text).length === 0, valueErrorParams(`use only the variables ${NAMES.join(", ")}`));

const describedName = { description: "A short name, by which the team finds the reply.", example: "Refund sent" };
const describedContent = {
  description: `The text. The console replaces the variables ${NAMES.map((each) => `\`${each}\``).join(", ")} when the reply is inserted.`,
  example: "Hello {{visitor.name}}, your refund went out today.",
};

const describedTeam = { description: "The team that uses it; null for everybody." };

export const savedReplySchema = z
  .object({
    id: uuid(),
    name: z.string().meta(describedName),
    content: z.string().meta(describedContent),
    team_id: uuid().nullable().meta(describedTeam),
    created_at: timestamp(),
    updated_at: timestamp(),
  })
  .openapi("SavedReply");

export const savedReplyListSchema = pageOf(savedReplySchema, "SavedReplyList");

const EXAMPLE = { name: "Refund sent", content: "Hello {{visitor.name}}, your refund went out today." };

export const savedReplyInSchema = z
  .object({
    name: name().meta(describedName),
    content: content().meta(describedContent),
    team_id: uuid().nullable().optional().meta(describedTeam),
  })
  .openapi("SavedReplyIn", { example: EXAMPLE });

export const savedReplyUpdateSchema = z
  .object({
    name: name().nullable().optional().meta(describedName),
    content: content().nullable().optional().meta(describedContent),
    team_id: uuid().nullable().optional().meta(describedTeam),
  })
  .openapi("SavedReplyUpdate", { example: { content: EXAMPLE.content } });

/** Returns the wire record of a saved reply. */
export function toSavedReply(row: typeof savedReplies.$inferSelect): z.infer<typeof savedReplySchema> {
  return toRecord(savedReplySchema, row, {});
}
